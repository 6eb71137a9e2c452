import { loadConfig } from '../config/load.ts';
import { type Address, hostPortText, type Setting } from '../config/setting.ts';
import { type Config, KEYS, type Key, SETTINGS, valueOfKey } from '../config/settings.ts';
import type { Given } from '../config/sources.ts';
import { type Command, UsageError } from './command.ts';
import { COMMON_OPTIONS } from './help-text.ts';
import { splitOwnFlags } from './own-flags.ts';

/** One row of the output. */
interface Row {
  readonly key: Key;
  /** The value that applies; null for none and for a secret. */
  readonly value: string | number | boolean | readonly string[] | null;
  /** The place that gives the value: `default`, or one such as `flag --http.listen`. */
  readonly source: string;
}

export const command: Command = {
  usage: 'settings [--all] [--json] [options]',
  description: `Checks the settings as start does before it opens anything, and prints those that are given, with the place that
gives each: a flag, a variable or the file. Nothing is changed, and the node may be running. The exit status is 2 where a
setting is unknown, has a value that is not allowed, or contradicts another one. The values of secrets are not printed.`,
  options: [
    ['--all', 'print the defaults of the other settings as well'],
    ['--json', 'print one JSON object per line'],
    ...COMMON_OPTIONS,
  ],
  examples: ['obverse settings --config /etc/obverse/obverse.toml', 'obverse settings --all --network signet'],
  async run(args, { out }) {
    const { values, rest } = splitOwnFlags(args, { '--all': 'switch', '--json': 'switch' });
    const { config, given, positionals } = loadConfig(rest);
    if (positionals.length > 0) throw new UsageError(`settings takes no argument: ${positionals[0]}`);
    const keys = values.has('--all') ? KEYS : KEYS.filter((key) => given.has(key));
    const print = values.has('--json') ? (row: Row) => JSON.stringify(row) : lineOf;
    for (const key of keys) out(`${print(rowOf(key, config, given.get(key)))}\n`);
    return 0;
  },
};

function rowOf(key: Key, config: Config, given: Given | undefined): Row {
  const setting: Setting<unknown> = SETTINGS[key];
  const value = setting.secret ? null : printable(valueOfKey(config, key));
  return { key, value, source: given?.origin ?? 'default' };
}

function printable(value: unknown): Row['value'] {
  if (Array.isArray(value)) return value.map((each) => String(printable(each)));
  if (value === null || typeof value === 'number' || typeof value === 'boolean') return value;
  if (typeof value !== 'object') return String(value);
  if ('host' in value && 'port' in value && Object.keys(value).length === 2) return hostPortText(value as Address);
  return JSON.stringify(value, (_, inner) => (typeof inner === 'bigint' ? String(inner) : inner));
}

function lineOf({ key, value, source }: Row): string {
  if ((SETTINGS[key] as Setting<unknown>).secret) return `${key} (not printed)  # ${source}`;
  const text = Array.isArray(value) ? value.join(',') : String(value ?? '');
  return `${key} ${text || '(none)'}  # ${source}`;
}
