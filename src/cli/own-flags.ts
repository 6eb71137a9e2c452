import { isKey, KEYS } from '../config/settings.ts';
import { didYouMean } from '../util/suggest.ts';
import { UsageError } from './command.ts';

/** The kind of value a flag takes; only a `list` may be given more than once. */
export type FlagKind = 'text' | 'list' | 'switch';

export interface OwnFlags {
  /** Values by the name of the flag, such as `--label`. A switch that was given has an empty list. */
  readonly values: ReadonlyMap<string, readonly string[]>;
  /** The remaining arguments: settings and words. */
  readonly rest: readonly string[];
}

/** Short forms of settings, which are not keys of the configuration. */
const SHORT_FORMS = ['dev', 'import'];

/**
 * Separates the flags of a command from settings. Throws UsageError for an unknown flag and for a flag without its
 * value.
 */
export function splitOwnFlags(args: readonly string[], flags: Readonly<Record<string, FlagKind>>): OwnFlags {
  const values = new Map<string, string[]>();
  const rest: string[] = [];
  for (let i = 0; i < args.length; i++) {
    const arg = args[i]!;
    const at = arg.startsWith('--') ? arg.indexOf('=') : -1;
    const flag = at < 0 ? arg : arg.slice(0, at);
    const kind = Object.hasOwn(flags, flag) ? flags[flag]! : null;
    if (kind === null) {
      const name = flag.slice(2);
      if (flag.startsWith('-') && !isKey(name) && !SHORT_FORMS.includes(name))
        throw new UsageError(
          `unknown flag ${flag}${didYouMean(flag, [...Object.keys(flags), ...KEYS.map((key) => `--${key}`)])}`,
        );
      rest.push(arg);
      continue;
    }
    if (values.has(flag) && kind !== 'list') throw new UsageError(`${flag} is given twice`);
    const given = values.get(flag) ?? [];
    values.set(flag, given);
    if (kind === 'switch') {
      if (at >= 0) throw new UsageError(`${flag} takes no value`);
      continue;
    }
    const value = at < 0 ? args[++i] : arg.slice(at + 1);
    if (value === undefined || value === '' || value.startsWith('--')) throw new UsageError(`${flag} needs a value`);
    given.push(value);
  }
  return { values, rest };
}
