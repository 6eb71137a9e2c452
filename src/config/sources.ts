import { didYouMean } from '../util/suggest.ts';
import { isKey, KEYS, type Key, SETTINGS } from './settings.ts';

export type Env = Readonly<Record<string, string | undefined>>;

/** A value as it was written. */
export interface Given {
  readonly key: Key;
  readonly value: unknown;
  /** The place it was written in, for messages: `flag --http.listen`. */
  readonly origin: string;
  readonly source: 'flag' | 'environment' | 'file';
}

export interface Gathered {
  readonly given: ReadonlyMap<Key, Given>;
  /** One line for each problem. */
  readonly problems: readonly string[];
}

const SHORT_FORMS: Readonly<Record<string, Key>> = { dev: 'dev.enabled', import: 'import.files' };

const NO_KEYS = [
  'OBVERSE_API_KEY',
  'OBVERSE_API_KEY_FILE',
  'OBVERSE_VECTORS',
  'OBVERSE_DUMPABLE',
  'OBVERSE_SIGNATURE_LIBRARY',
];
const PREFIX = 'OBVERSE_';
const KEY_BY_VARIABLE = new Map(KEYS.map((key) => [variableOf(key), key]));

/** Returns the variable of a key: `http.allowedHosts` -> `OBVERSE_HTTP_ALLOWED_HOSTS`. */
export function variableOf(key: string): string {
  return PREFIX + key.replaceAll('.', '_').replaceAll(/[A-Z]/g, '_$&').toUpperCase();
}

/** Splits an argument list into settings and the other arguments. */
export function readFlags(args: readonly string[]): Gathered & { readonly positionals: readonly string[] } {
  const given = new Map<Key, Given>();
  const problems: string[] = [];
  const positionals: string[] = [];
  for (let i = 0; i < args.length; i++) {
    const arg = args[i]!;
    if (!arg.startsWith('-') || arg === '-') {
      positionals.push(arg);
      continue;
    }
    const [flag, attached] = splitOnce(arg, '=');
    const name = flag.replace(/^-+/, '');
    const key = Object.hasOwn(SHORT_FORMS, name) ? SHORT_FORMS[name]! : name;
    if (!flag.startsWith('--') || !isKey(key)) {
      problems.push(`unknown flag ${flag}${didYouMean(name, [...KEYS, ...Object.keys(SHORT_FORMS)])}`);
      // A value that follows an unknown flag is not an argument of the command.
      if (attached === null && args[i + 1]?.startsWith('-') === false) i++;
      continue;
    }
    let value = attached;
    if (value === null) {
      const next = args[i + 1];
      if (SETTINGS[key].kind === 'boolean') {
        value = next === 'true' || next === 'false' ? args[++i]! : 'true';
      } else if (next === undefined || next.startsWith('--')) {
        problems.push(`${key}: flag ${flag} needs a value: ${SETTINGS[key].allowed}`);
        continue;
      } else {
        value = args[++i]!;
      }
    }
    const origin = `flag ${flag}`;
    const earlier = given.get(key);
    if (!earlier) given.set(key, { key, value, origin, source: 'flag' });
    else if (SETTINGS[key].kind === 'list') given.set(key, { ...earlier, value: [earlier.value, value].flat() });
    else problems.push(`${key}: given twice, by ${earlier.origin} and ${origin}`);
  }
  return { given, problems, positionals };
}

export function readEnvironment(env: Env): Gathered {
  const given = new Map<Key, Given>();
  const problems: string[] = [];
  for (const [name, value] of Object.entries(env)) {
    if (!name.startsWith(PREFIX) || value === undefined || NO_KEYS.includes(name)) continue;
    const key = KEY_BY_VARIABLE.get(name);
    if (key) given.set(key, { key, value, origin: `environment ${name}`, source: 'environment' });
    else
      problems.push(`unknown environment variable ${name}${didYouMean(name, [...KEY_BY_VARIABLE.keys(), ...NO_KEYS])}`);
  }
  return { given, problems };
}

/** Parses the text of a TOML file into dotted keys. */
export function readToml(text: string, file: string): Gathered {
  const given = new Map<Key, Given>();
  const problems: string[] = [];
  let root: object;
  try {
    root = Bun.TOML.parse(text);
  } catch (error) {
    return { given, problems: [`${file}, at or after line ${firstBadLine(text)}: ${tomlMessage(error)}`] };
  }
  const visit = (table: object, prefix: string) => {
    for (const [name, value] of Object.entries(table)) {
      const key = prefix + name;
      const origin = `file ${file}`;
      if (isKey(key)) {
        if (key === 'config') problems.push(`config: not allowed in ${origin}: only as flag or environment variable`);
        else if (given.has(key)) problems.push(`${key}: given twice in ${origin}`);
        else given.set(key, { key, value, origin, source: 'file' });
      } else if (isTable(value) && KEYS.some((known) => known.startsWith(`${key}.`))) visit(value, `${key}.`);
      else problems.push(`unknown key ${key} in ${origin}${didYouMean(key, KEYS)}`);
    }
  };
  visit(root, '');
  return { given, problems };
}

/**
 * Returns the number of the first line that makes the file invalid. The parser reports no position, so the longest
 * valid run of whole lines is searched for.
 */
function firstBadLine(text: string): number {
  const lines = text.split('\n');
  for (let count = lines.length - 1; count > 0; count--) {
    try {
      Bun.TOML.parse(lines.slice(0, count).join('\n'));
      return count + 1;
    } catch {
      // One line less.
    }
  }
  return 1;
}

/** Removes the part of the message that quotes the file, which may be a secret. */
function tomlMessage(error: unknown): string {
  const message = error instanceof Error ? error.message : 'not TOML';
  return message.replace(/^TOML Parse error: /, '').replace(/:? ".*$/s, '');
}

function isTable(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date);
}

function splitOnce(text: string, separator: string): [string, string | null] {
  const at = text.indexOf(separator);
  return at < 0 ? [text, null] : [text.slice(0, at), text.slice(at + 1)];
}
