import type { Loaded } from '../config/load.ts';
import type { Key } from '../config/settings.ts';
import { variableOf } from '../config/sources.ts';
import { UsageError } from './command.ts';

/** Throws UsageError where a flag gives the URL of a database with a password: the list of processes shows it to all users. */
export function refusePasswordInFlags(loaded: Pick<Loaded, 'given'>, keys: readonly Key[]): void {
  for (const key of keys) refuseSecretFlag(loaded, key, 'a password', hasPassword);
}

/** Throws UsageError where a flag gives the value of a setting, and the value is secret. `secret` names what it holds. */
export function refuseSecretFlag(
  { given }: Pick<Loaded, 'given'>,
  key: Key,
  secret: string,
  isSecret: (value: string) => boolean = () => true,
): void {
  const written = given.get(key);
  if (written?.source !== 'flag' || !isSecret(String(written.value))) return;
  const flag = written.origin.replace(/^flag /, '');
  throw new UsageError(
    `${flag} has ${secret}, which other users of this host can read in the list of processes: set ${variableOf(key)}, or ${key} in the settings file`,
  );
}

function hasPassword(text: string): boolean {
  const { password, searchParams } = new URL(text);
  return password !== '' || searchParams.has('password');
}
