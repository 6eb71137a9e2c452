import type { Call } from '../http/call.ts';
import { willCompress } from '../http/compress.ts';
import { ownerOf } from '../http/owner.ts';
import type { PlainReply } from '../http/plain-reply.ts';
import { LONG_REPLY, type ReplyLedger } from '../http/reply-ledger.ts';
import { type ReadReply, sentReply } from './answer.ts';

/** Counts the bytes of long replies by the owner of the request. */
interface ReplyContext {
  readonly replies: Pick<ReplyLedger, 'admit' | 'body'>;
  call(request: Request): Call;
}

/** Returns a short reply as it is, and a long one as a Response that counts its unsent bytes. */
export function sendableReply(reply: PlainReply, request: Request, context: ReplyContext): Response | PlainReply {
  return reply.body.length <= LONG_REPLY ? reply : replyResponse(sentReply(reply), request, context);
}

/** Returns a reply as a Response, which counts its unsent bytes if it is long. Throws ApiError where too many are unsent. */
export function replyResponse({ headers, body }: ReadReply, request: Request, context: ReplyContext): Response {
  if (body.length <= LONG_REPLY) return new Response(body as string | Uint8Array<ArrayBuffer>, { headers });
  const { replies } = context;
  const owner = ownerOf(context.call(request));
  replies.admit(owner);
  const bytes = (typeof body === 'string' ? new TextEncoder().encode(body) : body) as Uint8Array<ArrayBuffer>;
  // Replies that will be compressed are counted after the compression.
  const compressed = willCompress(request, headers['content-type'] ?? null);
  return new Response(compressed ? bytes : replies.body(bytes, { owner, signal: request.signal }), { headers });
}

/** Returns a signal that aborts with another one, or after `ms` milliseconds; 0 for no limit. */
export function limitedSignal(signal: AbortSignal, ms: number): AbortSignal {
  return ms > 0 ? AbortSignal.any([signal, AbortSignal.timeout(ms)]) : signal;
}
