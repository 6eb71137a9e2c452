import { RPC_TYPE } from '../../http/errors.ts';
import { PlainReply, type ReplyKind } from '../../http/plain-reply.ts';
import type { ChainState } from '../../storage/chain-reads.ts';
import { RPC_ERROR } from '../../util/rpc-error-codes.ts';
import { isObject, member, NumberText, type RpcValue } from './json.ts';
import { type JsonPieces, replyBody, type SendLong } from './reply-body.ts';
import { RpcError } from './rpc-error.ts';

/** One parsed call; `invalid` holds the error of a malformed one. */
export interface RpcCall {
  readonly version: '2.0' | 'legacy';
  /** Id to repeat in the reply, as JSON text; undefined if the call had none. */
  readonly id: string | undefined;
  readonly method: string;
  readonly params: RpcValue;
  readonly invalid: RpcError | null;
  /** Where the reply to the call may be kept. */
  readonly prepared?: PreparedCall | null;
}

/** A call that was parsed before, of a method whose replies may be kept. */
export interface PreparedCall {
  /** The first call with this text, apart from its id. */
  readonly call: RpcCall;
  /** The text of the request around its id. */
  readonly around: string;
  kept: KeptReply | null;
}

/** The reply to a call without its id, and the state that it belongs to. */
export interface KeptReply {
  readonly state: ChainState;
  /** Number of the newest event of the mempool; null if the reply does not read the mempool. */
  readonly mempoolSeq: number | null;
  /** The text before the id, and behind it. */
  readonly head: string;
  readonly tail: string;
}

/** A call of version 2.0 without id gets no reply. */
export function isNotification({ version, id }: RpcCall): boolean {
  return version === '2.0' && id === undefined;
}

const bad = (message: string) => new RpcError(RPC_ERROR.invalidRequest, message);

/** Parses one request object; never throws. */
export function readCall(value: RpcValue): RpcCall {
  if (!isObject(value))
    return { version: 'legacy', id: 'null', method: '', params: null, invalid: bad('Invalid Request object') };
  const rawId = Object.hasOwn(value, 'id') ? value.id! : undefined;
  let id = rawId === undefined ? undefined : rawId instanceof NumberText ? rawId.text : JSON.stringify(rawId);
  const marker = member(value, 'jsonrpc');
  const version = marker === '2.0' ? '2.0' : 'legacy';
  const method = member(value, 'method');
  const params = member(value, 'params');
  let invalid: RpcError | null = null;
  if (marker !== null && typeof marker !== 'string') invalid = bad('jsonrpc field must be a string');
  else if (marker !== null && marker !== '1.0' && marker !== '2.0') invalid = bad('JSON-RPC version not supported');
  else if (version === '2.0' && !isScalarId(rawId)) {
    invalid = bad('id must be a string, a number or null');
    id = 'null';
  } else if (method === null) invalid = bad('Missing method');
  else if (typeof method !== 'string') invalid = bad('Method must be a string');
  else if (params !== null && !Array.isArray(params) && !isObject(params))
    invalid = bad('Params must be an array or object');
  return { version, id, method: typeof method === 'string' ? method : '', params, invalid };
}

function isScalarId(id: RpcValue | undefined): boolean {
  return id === undefined || id === null || typeof id === 'string' || id instanceof NumberText;
}

/** Returns the reply to a successful call. */
export function resultReply({ version, id }: Pick<RpcCall, 'version' | 'id'>, result: JsonPieces): JsonPieces {
  const tail = id === undefined ? '}' : `,"id":${id}}`;
  const [head, end] = version === '2.0' ? ['{"jsonrpc":"2.0","result":', tail] : ['{"result":', `,"error":null${tail}`];
  const [only] = result;
  // Most results are one short text.
  return result.length === 1 && typeof only === 'string' ? [head + only + end] : [head, ...result, end];
}

export function errorReply({ version, id }: Pick<RpcCall, 'version' | 'id'>, error: RpcError): string {
  const { rpcCode: code, message, data } = error;
  const text = JSON.stringify({ code, message, ...(data && { data }) });
  const tail = id === undefined ? '' : `,"id":${id}`;
  return version === '2.0' ? `{"jsonrpc":"2.0","error":${text}${tail}}` : `{"result":null,"error":${text}${tail}}`;
}

/** Returns the HTTP status of a single failed call. In version 2.0 it is 200 if the request itself is valid. */
export function errorStatus({ version, invalid }: Pick<RpcCall, 'version' | 'invalid'>, { rpcCode }: RpcError): number {
  if (invalid || rpcCode === RPC_ERROR.invalidRequest) return 400;
  if (version === '2.0') return 200;
  return rpcCode === RPC_ERROR.methodNotFound ? 404 : 500;
}

export function rpcReply(status: number, pieces: JsonPieces, send: SendLong | null = null): Response | PlainReply {
  // Core ends its replies with a line break.
  const body = replyBody([...pieces, '\n'], send);
  if (status === 200 && typeof body === 'string') return new PlainReply(RPC_KIND, body);
  return new Response(body, { status, headers: { 'content-type': RPC_TYPE } });
}

export const RPC_KIND: ReplyKind = { type: RPC_TYPE, cacheControl: null };

/** Returns the reply to a batch. `replies` holds those of all calls except notifications. */
export function batchReply(
  calls: readonly RpcCall[],
  replies: readonly string[],
  send: SendLong | null = null,
): Response | PlainReply {
  if (replies.length === 0 && calls.length > 0) return new Response(null, { status: 204 });
  return rpcReply(200, [`[${replies.join(',')}]`], send);
}
