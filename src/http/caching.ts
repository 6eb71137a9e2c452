import { hashToHex } from '../primitives/hash.ts';

/** The part of an Elysia handler's context that is needed here. */
export interface ReplyContext {
  readonly request: Request;
  readonly set: { headers: Record<string, string | number | undefined> };
}

/**
 * Marks a reply as made from the snapshot with this tip: X-Chain-Height and -Hash, a weak ETag, and revalidation on each
 * use. `mempoolSeq` belongs in wherever the reply shows the mempool too. Returns whether the client's copy is still
 * good: the handler may then return null at once, for the server answers 304.
 */
export function tipBound(
  { request, set }: ReplyContext,
  tip: { readonly height: number; readonly hash: Uint8Array },
  mempoolSeq?: number,
): boolean {
  const hash = hashToHex(tip.hash);
  const etag = `W/"${hash.slice(-16)}${mempoolSeq === undefined ? '' : `-${mempoolSeq}`}"`;
  set.headers['x-chain-height'] = String(tip.height);
  set.headers['x-chain-hash'] = hash;
  set.headers['cache-control'] = 'private, no-cache';
  set.headers.etag = etag;
  return etagMatches(request.headers.get('if-none-match'), etag);
}

/** Marks a reply whose content its address determines: kept for a day, `tag` is the hash that names it. */
export function immutable({ request, set }: ReplyContext, tag: string): boolean {
  return strong(request, set, tag, 'private, immutable, max-age=86400');
}

/** Marks a reply that is the same for ever while there is one, but may go away: a transaction's bytes. */
export function revalidated({ request, set }: ReplyContext, tag: string): boolean {
  return strong(request, set, tag, 'private, no-cache');
}

/** Whether a value of If-None-Match names `etag`; the weak comparison of RFC 9110. */
export function etagMatches(header: string | null, etag: string): boolean {
  if (header === null) return false;
  if (header.trim() === '*') return true;
  const opaque = etag.replace(/^W\//, '');
  return header.split(',').some((candidate) => candidate.trim().replace(/^W\//, '') === opaque);
}

function strong(request: Request, set: ReplyContext['set'], tag: string, cacheControl: string): boolean {
  set.headers['cache-control'] = cacheControl;
  set.headers.etag = `"${tag}"`;
  return etagMatches(request.headers.get('if-none-match'), `"${tag}"`);
}
