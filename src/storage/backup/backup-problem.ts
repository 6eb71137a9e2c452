import { diskProblem } from '../../util/disk-problem.ts';
import { OperatorError } from '../../util/operator-error.ts';

/** Returns a sentence for the operator where a copy fails for a known cause, else the error unchanged. */
export function copyProblem(error: unknown, what: string): Error {
  if (!(error instanceof Error)) return new Error(String(error));
  if (error.name === 'OperatorError') return error;
  const disk = diskProblem(error);
  if (disk !== null) return new OperatorError(`${what} stopped: ${disk}; run the same command again to continue it`);
  const { code = '', path = '' } = error as NodeJS.ErrnoException;
  if (code === 'EACCES' || code === 'EPERM' || code === 'EROFS')
    return new OperatorError(`${what} stopped: ${path || 'a file'} cannot be read or written (${code})`);
  if (code === 'ENOENT') return new OperatorError(`${what} stopped: ${path} is missing; obverse verify finds damage`);
  if (code === 'ENOTDIR') return new OperatorError(`${what} stopped: a part of ${path} is not a directory`);
  return error;
}
