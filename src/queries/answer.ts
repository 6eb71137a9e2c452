import { sha256 } from '../crypto/hash.ts';
import type { ApiError, ErrorDetails, FailureCode } from '../http/errors.ts';
import { hashToHex } from '../primitives/hash.ts';
import type { ReadEnv } from './read-env.ts';

/**
 * How long a reply stays good: `tip` until the chain moves; `body` until its text changes; `immutable` for ever;
 * `revalidated` as long as there is one; `none` not at all. What `immutable` and `revalidated` hold is the strong ETag.
 */
export type Freshness = 'none' | 'tip' | 'body' | { readonly immutable: string } | { readonly revalidated: string };

/** What an endpoint found; `next` is path and query of the page behind this one. */
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

/** One endpoint that reads: the same function runs on the front and in a reader worker, where it goes by its name. */
export interface ReadEndpoint<I> {
  readonly name: string;
  run(env: ReadEnv, input: I): Answer;
  /** Slots of the mempool that a worker needs to make it; without this the answer is made without the mempool. */
  mempoolPart?(env: ReadEnv, input: I): Iterable<number>;
}

/** An answer as it leaves: all of it plain, so that a worker can send it. */
export interface ReadReply {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array;
}

/** Why there is no answer; what an ApiError holds, in plain form. */
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

/** Serializes an answer, with the headers that say which tip it belongs to and how long it is good. */
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
  // The hash begins with zeros; its end tells blocks apart.
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
