import { RPC_TYPE } from '../../http/errors.ts';
import { isObject, member, NumberText, type RpcValue } from './json.ts';
import { type JsonPieces, replyBody, type SendLong } from './reply-body.ts';
import { RPC_ERROR, RpcError } from './rpc-error.ts';

/** One call as it was understood, or what is wrong with it. */
export interface RpcCall {
  readonly version: '2.0' | 'legacy';
  /** JSON text to echo; undefined where the call had none. */
  readonly id: string | undefined;
  readonly method: string;
  readonly params: RpcValue;
  readonly invalid: RpcError | null;
}

/** A 2.0 call without id wants no answer. */
export function isNotification({ version, id }: RpcCall): boolean {
  return version === '2.0' && id === undefined;
}

const bad = (message: string) => new RpcError(RPC_ERROR.invalidRequest, message);

/** Reads one request object; never throws. */
export function readCall(value: RpcValue): RpcCall {
  if (!isObject(value))
    return { version: 'legacy', id: 'null', method: '', params: null, invalid: bad('Invalid Request object') };
  const rawId = Object.hasOwn(value, 'id') ? value.id! : undefined;
  let id = rawId === undefined ? undefined : JSON.stringify(rawId);
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

/** The reply to a call that worked. */
export function resultReply({ version, id }: Pick<RpcCall, 'version' | 'id'>, result: JsonPieces): JsonPieces {
  const tail = id === undefined ? '}' : `,"id":${id}}`;
  return version === '2.0'
    ? ['{"jsonrpc":"2.0","result":', ...result, tail]
    : ['{"result":', ...result, `,"error":null${tail}`];
}

export function errorReply({ version, id }: Pick<RpcCall, 'version' | 'id'>, error: RpcError): string {
  const { rpcCode: code, message, data } = error;
  const text = JSON.stringify({ code, message, ...(data && { data }) });
  const tail = id === undefined ? '' : `,"id":${id}`;
  return version === '2.0' ? `{"jsonrpc":"2.0","error":${text}${tail}}` : `{"result":null,"error":${text}${tail}}`;
}

/** The HTTP status of a single call that failed: 200 in version 2.0 wherever the request itself made sense. */
export function errorStatus({ version, invalid }: Pick<RpcCall, 'version' | 'invalid'>, { rpcCode }: RpcError): number {
  if (invalid || rpcCode === RPC_ERROR.invalidRequest) return 400;
  if (version === '2.0') return 200;
  return rpcCode === RPC_ERROR.methodNotFound ? 404 : 500;
}

export function rpcReply(status: number, pieces: JsonPieces, send: SendLong | null = null): Response {
  // The line end is Core's.
  return new Response(replyBody([...pieces, '\n'], send), { status, headers: { 'content-type': RPC_TYPE } });
}

/** The reply to a batch: what its calls were answered, but for notifications. */
export function batchReply(
  calls: readonly RpcCall[],
  replies: readonly string[],
  send: SendLong | null = null,
): Response {
  if (replies.length === 0 && calls.length > 0) return new Response(null, { status: 204 });
  return rpcReply(200, [`[${replies.join(',')}]`], send);
}
