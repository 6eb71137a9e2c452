import { sha256 } from '../crypto/hash-functions.ts';
import { type ApiError, type ErrorDetails, type FailureCode, JSON_TYPE, RPC_TYPE } from '../http/errors.ts';
import { PlainReply, type ReplyKind } from '../http/plain-reply.ts';
import type { ReadEnv } from './read-env.ts';

/**
 * How long a reply may be cached: `tip` until the chain changes; `body` until its text changes; `immutable`
 * permanently; `revalidated` as long as the resource exists; `none` not at all. The members `immutable` and
 * `revalidated` hold the strong ETag.
 */
export type Freshness = 'none' | 'tip' | 'body' | { readonly immutable: string } | { readonly revalidated: string };

/** The result of an endpoint; `next` is path and query of the next page. */
export interface Answer {
  /** `jsonText`: the body is JSON text already; `coreJson` and `coreText` are texts with the content types of Core. */
  readonly type: 'json' | 'jsonText' | 'text' | 'bytes' | 'coreJson' | 'coreText';
  readonly body: unknown;
  readonly freshness: Freshness;
  readonly next: string | null;
}

export function jsonAnswer(body: unknown, next: string | null = null): Answer {
  return { type: 'json', body, freshness: 'tip', next };
}

/** As `jsonAnswer`, for a body that is JSON text already. */
export function jsonTextAnswer(body: string): Answer {
  return { type: 'jsonText', body, freshness: 'tip', next: null };
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
  /**
   * Whether a worker's reply to an input is kept in the cache of long replies; without this member each one is. Replies of
   * which a client can request any number, and which take no longer to make than to look up, would only evict others.
   */
  isCached?(input: I): boolean;
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
  json: JSON_TYPE,
  jsonText: JSON_TYPE,
  text: 'text/plain; charset=utf-8',
  bytes: 'application/octet-stream',
  coreJson: RPC_TYPE,
  coreText: 'text/plain',
} as const;

const CACHE_CONTROL = {
  none: 'no-store',
  revalidated: 'private, no-cache',
  immutable: 'private, immutable, max-age=86400',
} as const;

type Caching = keyof typeof CACHE_CONTROL;

const KINDS = Object.fromEntries(
  Object.entries(CONTENT_TYPES).map(([name, type]) => [
    name,
    Object.fromEntries(
      Object.entries(CACHE_CONTROL).map(([caching, cacheControl]) => [caching, { type, cacheControl }]),
    ),
  ]),
) as Readonly<Record<Answer['type'], Readonly<Record<Caching, ReplyKind>>>>;

/** Serializes an answer, with its tip and its freshness. */
export function replyOf(
  { state, mempoolSeq }: Pick<ReadEnv, 'state' | 'mempoolSeq'>,
  { type, body, freshness, next }: Answer,
): PlainReply {
  const { tipView } = state;
  const out = type === 'json' ? JSON.stringify(body) : (body as string | Uint8Array);
  const etag =
    freshness === 'none'
      ? null
      : etagOf(freshness, mempoolSeq === null ? tipView.hash : `${tipView.hash}-${mempoolSeq}`, out);
  return new PlainReply(KINDS[type][cachingOf(freshness)], out, { tip: tipView, etag, next });
}

/** Returns a reply as plain data. */
export function sentReply(reply: PlainReply): ReadReply {
  return { headers: reply.headers(), body: reply.body };
}

function cachingOf(freshness: Freshness): Caching {
  if (freshness === 'none') return 'none';
  return typeof freshness === 'object' && 'immutable' in freshness ? 'immutable' : 'revalidated';
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
