import { statSync } from 'node:fs';
import type { Log } from '../util/log.ts';

const WRITABLE_BY_OTHERS = 0o022;

/** Warns of data directories in which other users could replace files: a cookie, a key or a wallet could be theirs. */
export function warnOfExposedDirectories(directories: readonly string[], log: Log): void {
  for (const directory of new Set(directories)) {
    const { mode, uid } = statSync(directory);
    const foreign = uid !== process.getuid?.() && uid !== 0;
    if ((mode & WRITABLE_BY_OTHERS) === 0 && !foreign) continue;
    log.warn('other users can write to the data directory', {
      directory,
      mode: (mode & 0o7777).toString(8),
      owner: uid,
      advice: 'make it the property of the user who runs the node, with mode 700',
    });
  }
}
