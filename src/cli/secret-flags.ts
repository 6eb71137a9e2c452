import type { Loaded } from '../config/load.ts';
import type { Key } from '../config/settings.ts';
import { UsageError } from './command.ts';

/** Throws UsageError where a flag gives the URL of a database with a password: the list of processes shows it to all users. */
export function refusePasswordInFlags({ given }: Pick<Loaded, 'given'>, keys: readonly Key[]): void {
  for (const key of keys) {
    const written = given.get(key);
    if (written?.source !== 'flag' || !hasPassword(String(written.value))) continue;
    const flag = written.origin.replace(/^flag /, '');
    throw new UsageError(
      `${flag} has a password, which other users of this host can read in the list of processes: set OBVERSE_SERVE_FROM, or serve.from in the settings file`,
    );
  }
}

function hasPassword(text: string): boolean {
  const { password, searchParams } = new URL(text);
  return password !== '' || searchParams.has('password');
}
