import { statSync } from 'node:fs';
import type { Log } from '../util/log.ts';

const WRITABLE_BY_OTHERS = 0o022;

/** Warns of data directories in which other users could replace files such as the cookie, a key or a wallet. */
export function warnOfExposedDirectories(directories: readonly string[], log: Log): void {
  for (const directory of new Set(directories)) {
    const { mode, uid } = statSync(directory);
    const foreign = uid !== process.getuid?.() && uid !== 0;
    if ((mode & WRITABLE_BY_OTHERS) === 0 && !foreign) continue;
    log.warn('the data directory is writable for other users', {
      directory,
      mode: (mode & 0o7777).toString(8),
      owner: uid,
      advice: 'change its owner to the user who runs the node, and its mode to 700',
    });
  }
}
