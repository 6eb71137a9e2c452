import { fail } from './errors.ts';
import type { PageLimits } from './options.ts';
import { excessOf } from './value-count.ts';

/** The values of a query, as Elysia passes them. */
export type Query = Readonly<Record<string, string | undefined>>;

const HASH = /^[0-9a-fA-F]{64}$/;
const HEIGHT = /^(?:0|[1-9][0-9]{0,9})$/;
const MAX_HEIGHT = 2 ** 31 - 1;

/** Returns 64 hex digits in lower case. Throws `invalid_hash` or `invalid_txid`. */
export function hashInput(text: string, failure: 'invalid_hash' | 'invalid_txid' = 'invalid_hash'): string {
  return HASH.test(text) ? text.toLowerCase() : fail(failure, 'a hash has 64 hex digits');
}

/** Returns a height of the path. Throws `invalid_height`. */
export function heightInput(text: string): number {
  const height = HEIGHT.test(text) ? Number(text) : Number.POSITIVE_INFINITY;
  return height <= MAX_HEIGHT ? height : fail('invalid_height', 'a height is a number from 0 to 2147483647');
}

/** Returns a whole number of the query within bounds. Throws `invalid_parameter`. */
export function numberInput(
  query: Query,
  name: string,
  { min, max, fallback }: { min: number; max: number; fallback: number },
): number {
  const text = query[name];
  if (text === undefined) return fallback;
  const value = HEIGHT.test(text) ? Number(text) : Number.NaN;
  return value >= min && value <= max ? value : invalid(name, `must be a number from ${min} to ${max}`);
}

/** Returns a height of the query, or null. Throws `invalid_parameter`. */
export function heightOption(query: Query, name: string): number | null {
  const height = numberInput(query, name, { min: 0, max: MAX_HEIGHT, fallback: -1 });
  return height < 0 ? null : height;
}

export function invalid(parameter: string, reason: string): never {
  return fail('invalid_parameter', `${parameter} ${reason}`, { parameter, reason });
}

/** Throws `invalid_request` for a JSON body with so many values that parsing it would delay other requests. */
export async function checkValues(body: Uint8Array, max: number): Promise<void> {
  const excess = await excessOf(body, max);
  if (excess) fail('invalid_request', `the body holds more than ${excess}`);
}

/** The members that the pages of every list share. */
export interface PageInput {
  readonly limit: number;
  readonly cursor: string | null;
  /** The path, as it appears in links. */
  readonly path: string;
  /** The given filters, in the order of the documentation. */
  readonly filters: Readonly<Record<string, string>>;
}

/** Reads the page parameters of a query. `filters` names the parameters that a cursor is bound to. */
export function pageInput(query: Query, path: string, limits: PageLimits, filters: readonly string[] = []): PageInput {
  const given = filters.flatMap((name) => (query[name] === undefined ? [] : [[name, query[name]] as const]));
  return {
    limit: numberInput(query, 'limit', { min: 1, max: limits.max, fallback: Math.min(limits.default, limits.max) }),
    cursor: query.cursor ?? null,
    path,
    filters: Object.fromEntries(given),
  };
}

/** Returns the text that a cursor of this list is bound to. */
export function boundTo({ path, filters }: PageInput): string {
  return `${path}?${new URLSearchParams(filters)}`;
}

/** Returns path and query of the next page, which begins behind `cursor`. */
export function nextPage({ path, filters, limit }: PageInput, cursor: string): string {
  return `${path}?${new URLSearchParams({ ...filters, limit: String(limit), cursor })}`;
}
