const SATOSHIS_PER_COIN = 100_000_000n;
const MINUTE = 60;
const HOUR = 3600;
const DAY = 86_400;

/** Returns a whole number with a thin space between groups of three digits, for example "1 234 567". */
export function formatCount(value: number | bigint): string {
  return String(value).replace(/\B(?=(\d{3})+$)/g, '\u202f');
}

/** Returns a count with its noun, which has an "s" unless the count is 1. */
export function formatCounted(value: number, noun: string): string {
  return `${formatCount(value)} ${noun}${value === 1 ? '' : 's'}`;
}

/** Returns an amount of satoshis as coins with eight decimals, exactly; a plus sign leads a `signed` amount above 0. */
export function formatAmount(satoshis: number | bigint, { signed = false } = {}): string {
  const amount = BigInt(satoshis);
  const size = amount < 0n ? -amount : amount;
  const sign = amount < 0n ? '\u2212' : signed && amount > 0n ? '+' : '';
  const fraction = String(size % SATOSHIS_PER_COIN).padStart(8, '0');
  return `${sign}${formatCount(size / SATOSHIS_PER_COIN)}.${fraction}`;
}

/** Returns a fee rate in satoshis per virtual byte with at most three significant decimals. */
export function formatFeeRate(rate: number): string {
  return rate >= 100 ? formatCount(Math.round(rate)) : String(Number(rate.toFixed(rate >= 10 ? 1 : 2)));
}

const BINARY_UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];

/** Returns a size in bytes with the unit that leaves one to four digits before the point. */
export function formatBytes(bytes: number): string {
  let unit = 0;
  let value = bytes;
  for (; value >= 1024 && unit < BINARY_UNITS.length - 1; unit++) value /= 1024;
  return `${unit === 0 ? value : value.toFixed(value >= 100 ? 0 : 1)}\u202f${BINARY_UNITS[unit]}`;
}

const DECIMAL_PREFIXES = ['', 'k', 'M', 'G', 'T', 'P', 'E', 'Z'];

/** Returns a large value with a decimal prefix, for example "812.4 E" of hashes a second. */
export function formatLarge(value: number): string {
  let prefix = 0;
  let rest = value;
  for (; rest >= 1000 && prefix < DECIMAL_PREFIXES.length - 1; prefix++) rest /= 1000;
  const digits = rest !== 0 && rest < 0.01 ? rest.toExponential(2) : String(Number(rest.toFixed(rest >= 100 ? 1 : 2)));
  return prefix === 0 ? digits : `${digits}\u202f${DECIMAL_PREFIXES[prefix]}`;
}

/** Returns a time in Unix seconds in the zone of the reader, to the second. */
export function formatTime(unixSeconds: number): string {
  const at = new Date(unixSeconds * 1000);
  const two = (value: number) => String(value).padStart(2, '0');
  const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  return `${day} ${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}

/** Returns a time in Unix seconds in UTC, as RFC 3339 writes it. */
export function formatUtc(unixSeconds: number): string {
  return new Date(unixSeconds * 1000).toISOString().replace('.000Z', 'Z');
}

/** Returns a span of seconds in its two largest units, for example "3 d 4 h". */
export function formatSpan(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  if (whole < MINUTE) return `${whole} s`;
  if (whole < HOUR) return `${Math.floor(whole / MINUTE)} min`;
  if (whole < DAY) return `${Math.floor(whole / HOUR)} h ${Math.floor((whole % HOUR) / MINUTE)} min`;
  return `${formatCount(Math.floor(whole / DAY))} d ${Math.floor((whole % DAY) / HOUR)} h`;
}

/** Returns how long ago a time was, both in Unix seconds; "just now" for less than five seconds and for the future. */
export function formatAge(unixSeconds: number, now: number): string {
  const age = now - unixSeconds;
  return age < 5 ? 'just now' : `${formatSpan(age)} ago`;
}

/** Returns the beginning and the end of a hash, which are enough to recognize it. */
export function shortenHash(hash: string, ends = 8): string {
  return hash.length <= 2 * ends + 1 ? hash : `${hash.slice(0, ends)}\u2026${hash.slice(-ends)}`;
}
