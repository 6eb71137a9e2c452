import { UsageError } from './command.ts';

const UNIT_SECONDS = { s: 1, m: 60, h: 3600, d: 86_400, w: 604_800, y: 31_536_000 } as const;
const MAX_SECONDS = 100 * UNIT_SECONDS.y;
const DURATION = /^(\d{1,9})([smhdwy])$/;
/** Length of `2027-01-31`. */
const DAY_LENGTH = 10;
const DATE = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d)?Z)?$/;

/** Returns a duration such as `90d` in seconds. Throws UsageError. */
export function readDuration(flag: string, text: string): number {
  const [, count, unit] = DURATION.exec(text) ?? [];
  const seconds = Number(count) * UNIT_SECONDS[unit as keyof typeof UNIT_SECONDS];
  if (!(seconds <= MAX_SECONDS))
    throw new UsageError(`${flag} takes a duration, such as 90d, 24h or 30m, up to 100y, not ${text}`);
  return seconds;
}

/**
 * Returns a moment in Unix seconds, from a duration ahead of or behind `now`, or from a date in UTC. Throws UsageError.
 */
export function readMoment(flag: string, text: string, now: number, direction: 'ahead' | 'back'): number {
  if (DURATION.test(text)) return now + (direction === 'ahead' ? 1 : -1) * readDuration(flag, text);
  const at = DATE.test(text) ? Date.parse(text) / 1000 : Number.NaN;
  // Date.parse accepts a day that the month does not have, as a day of the next month.
  if (Number.isNaN(at) || !new Date(at * 1000).toISOString().startsWith(text.slice(0, DAY_LENGTH)))
    throw new UsageError(`${flag} takes a duration (90d, 24h) or a date (2027-01-31, 2027-01-31T12:00Z), not ${text}`);
  return at;
}

/** `2027-01-31 12:00:05Z` */
export function secondsText(seconds: number): string {
  return `${new Date(seconds * 1000).toISOString().slice(0, 19).replace('T', ' ')}Z`;
}

/** `2027-01-31 12:00Z` */
export function momentText(seconds: number): string {
  return `${new Date(seconds * 1000).toISOString().slice(0, 16).replace('T', ' ')}Z`;
}
