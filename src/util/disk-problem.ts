/** Failures of the disk that are no fault of the data: the pattern of code or message, and the sentence. */
const PROBLEMS: readonly (readonly [pattern: RegExp, text: string])[] = [
  [/ENOSPC|no space left|database or disk is full/i, 'no space left on the device'],
  [/EDQUOT/, 'the disk quota is exhausted'],
  [/EIO|disk I\/O error/i, 'the device reports read or write errors'],
];

/** Returns the reason if an error comes from a full or failing disk; else null. Errors of SQLite and of files are known. */
export function diskProblem(error: unknown): string | null {
  if (!(error instanceof Error)) return null;
  const { code = '' } = error as NodeJS.ErrnoException;
  return PROBLEMS.find(([pattern]) => pattern.test(`${code} ${error.message}`))?.[1] ?? null;
}
