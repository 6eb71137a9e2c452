/** Databases whose lock failures are counted; the wallets are counted together. */
export const COUNTED_DATABASES = ['chain', 'node', 'auth', 'wallet', 'watches', 'webhooks'] as const;

export type CountedDatabaseName = (typeof COUNTED_DATABASES)[number];

/** Statements by database that failed because another connection held the lock. */
export type LockFailures = Partial<Readonly<Record<CountedDatabaseName, number>>>;

/** Counts of this thread, with those that its workers have reported. */
let counts: LockFailures = {};
let unreported: LockFailures = {};

export function addLockFailures(more: LockFailures): void {
  counts = sumOfFailures(counts, more);
  unreported = sumOfFailures(unreported, more);
}

/** Returns the failures since the start, of this thread and of the workers that report to it. */
export function lockFailures(): LockFailures {
  return counts;
}

/** Returns the failures that a worker has not reported yet, and counts them as reported; null without any. */
export function unreportedLockFailures(): LockFailures | null {
  const more = unreported;
  unreported = {};
  return Object.keys(more).length > 0 ? more : null;
}

export function sumOfFailures(a: LockFailures, b: LockFailures): LockFailures {
  const sum: Partial<Record<CountedDatabaseName, number>> = { ...a };
  for (const name of COUNTED_DATABASES) if (b[name]) sum[name] = (sum[name] ?? 0) + b[name];
  return sum;
}
