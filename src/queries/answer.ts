import { sha256 } from '../crypto/hash-functions.ts';
import type { ApiError, ErrorDetails, FailureCode } from '../http/errors.ts';
import { hashToHex } from '../primitives/hash.ts';
import type { ReadEnv } from './read-env.ts';

/**
 * How long a reply may be cached: `tip` until the chain changes; `body` until its text changes; `immutable`
 * permanently; `revalidated` as long as the resource exists; `none` not at all. The members `immutable` and
 * `revalidated` hold the strong ETag.
 */
export type Freshness = 'none' | 'tip' | 'body' | { readonly immutable: string } | { readonly revalidated: string };

/** The result of an endpoint; `next` is path and query of the next page. */
export interface Answer {
  readonly type: 'json' | 'text' | 'bytes';
  readonly body: unknown;
  readonly freshness: Freshness;
  readonly next: string | null;
}

export function jsonAnswer(body: unknown, next: string | null = null): Answer {
  return { type: 'json', body, freshness: 'tip', next };
}

export function textAnswer(body: string, freshness: Freshness): Answer {
  return { type: 'text', body, freshness, next: null };
}

export function bytesAnswer(body: Uint8Array, freshness: Freshness): Answer {
  return { type: 'bytes', body, freshness, next: null };
}

/** A read endpoint. The same function runs on the main thread and in a reader worker, which identifies it by name. */
export interface ReadEndpoint<I> {
  readonly name: string;
  run(env: ReadEnv, input: I): Answer;
  /**
   * Returns the slots of the mempool that a worker needs; without this member the endpoint does not read the mempool.
   */
  mempoolPart?(env: ReadEnv, input: I): Iterable<number>;
}

/** A reply as plain data, which a worker can send. */
export interface ReadReply {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array;
}

/** The content of an ApiError as plain data. */
export interface ReadFailure {
  readonly failure: FailureCode;
  readonly message: string;
  readonly details: ErrorDetails | null;
}

const CONTENT_TYPES = {
  json: 'application/json; charset=utf-8',
  text: 'text/plain; charset=utf-8',
  bytes: 'application/octet-stream',
} as const;

/** Serializes an answer, with the headers for its tip and its freshness. */
export function replyOf(env: Pick<ReadEnv, 'tip' | 'mempoolSeq'>, { type, body, freshness, next }: Answer): ReadReply {
  const { tip, mempoolSeq } = env;
  const tipHash = hashToHex(tip.hash);
  const out = type === 'json' ? JSON.stringify(body) : (body as string | Uint8Array);
  const headers: Record<string, string> = {
    'content-type': CONTENT_TYPES[type],
    'x-chain-height': String(tip.height),
    'x-chain-hash': tipHash,
    'cache-control': cacheControlOf(freshness),
  };
  if (freshness !== 'none')
    headers.etag = etagOf(freshness, mempoolSeq === null ? tipHash : `${tipHash}-${mempoolSeq}`, out);
  if (next !== null) headers.link = `<${next}>; rel="next"`;
  return { headers, body: out };
}

function cacheControlOf(freshness: Freshness): string {
  if (freshness === 'none') return 'no-store';
  return typeof freshness === 'object' && 'immutable' in freshness
    ? 'private, immutable, max-age=86400'
    : 'private, no-cache';
}

function etagOf(freshness: Exclude<Freshness, 'none'>, state: string, body: string | Uint8Array): string {
  // A block hash begins with zeros, so the tag uses its end.
  if (freshness === 'tip') return `W/"${state.slice(48)}"`;
  if (freshness === 'body') {
    const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body;
    return `"${sha256(bytes).toHex().slice(0, 32)}"`;
  }
  return `"${'immutable' in freshness ? freshness.immutable : freshness.revalidated}"`;
}

export function failureOf({ failure, message, details }: ApiError): ReadFailure {
  return { failure, message, details };
}
