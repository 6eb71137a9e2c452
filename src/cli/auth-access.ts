import { existsSync, readFileSync, type Stats, statSync } from 'node:fs';
import { join } from 'node:path';
import { AuthStore } from '../auth/auth-store.ts';
import type { Config } from '../config/settings.ts';
import { OperatorError } from '../util/operator-error.ts';

/** Files that a node leaves in the directory of its network. */
const MARKS = ['lock', 'auth.db'];

/**
 * Opens auth.db of a node, whether it runs or not. Throws OperatorError where there is no node's directory, since a
 * mistyped path must not make one, and where the directory belongs to another user: files written by root would lock the
 * node out of its own keys.
 */
export function openAuthStore({ networkDir }: Pick<Config, 'networkDir'>, command: string): AuthStore {
  assertOwner(networkDir, ownerOf(networkDir, command), command);
  // SQLite gives its journals the mode of the database, so the umask protects the database file itself.
  process.umask(0o077);
  return new AuthStore(join(networkDir, 'auth.db'));
}

/** Throws OperatorError where a directory belongs to another user than the one who runs this program. */
export function assertOwner(dir: string, owner: number, command: string): void {
  const uid = process.geteuid?.() ?? owner;
  if (uid === owner) return;
  const name = userName(owner);
  const user = name ?? `'#${owner}'`;
  throw new OperatorError(
    `${dir} belongs to ${name ?? 'a user'} (uid ${owner}): run this as that user: sudo -u ${user} obverse ${command}`,
  );
}

/** The name of a command-line user in the audit log. */
export function localUser(): string {
  return `cli:${process.getuid?.() ?? 'unknown'}`;
}

function ownerOf(networkDir: string, command: string): number {
  let stats: Stats;
  try {
    stats = statSync(networkDir);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ENOENT' && code !== 'ENOTDIR')
      throw new OperatorError(`${networkDir} cannot be read (${code}): run obverse ${command} as the user of the node`);
    throw noNode(networkDir);
  }
  if (!stats.isDirectory() || (isReadable(stats) && !MARKS.some((name) => existsSync(join(networkDir, name)))))
    throw noNode(networkDir);
  return stats.uid;
}

/** Whether this user may list the directory, and so see whether it holds a node's files. */
function isReadable({ uid }: Stats): boolean {
  const own = process.geteuid?.() ?? uid;
  return own === uid || own === 0;
}

function noNode(networkDir: string): OperatorError {
  return new OperatorError(
    `${networkDir} holds no data of a node: check --datadir, --network and --config, or start the node once`,
  );
}

function userName(uid: number): string | null {
  try {
    const line = readFileSync('/etc/passwd', 'utf8')
      .split('\n')
      .find((each) => each.split(':')[2] === String(uid));
    return line?.split(':')[0] ?? null;
  } catch {
    return null;
  }
}
