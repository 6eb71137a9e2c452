import { ApiError } from '../../http/errors.ts';
import { asResponse } from '../../http/plain-reply.ts';
import { parseJson, type RpcValue } from './json.ts';
import { batchReply, errorReply, isNotification, readCall } from './protocol.ts';
import { asRpcError } from './rpc-error.ts';

/** Limit in bytes of a request before the node has started. No credentials are checked yet, and such requests are short. */
const MAX_BODY = 16 * 1024;
/** Clients send an empty value while they find no cookie file. */
const BASIC = /^basic\b/i;

/** Whether the request may come from a client of Bitcoin Core. Such clients retry only if the error has Core's form. */
export function isOfCoreClient({ headers }: Request): boolean {
  return BASIC.test(headers.get('authorization') ?? '');
}

/** Rejects a request that arrives before the node has started. A batch gets one error per call, as in Core. */
export async function rejectWhileStarting(request: Request): Promise<Response> {
  const refusal = new ApiError('warming_up', 'the node is starting');
  const length = request.headers.get('content-length');
  const calls =
    isOfCoreClient(request) && length !== null && Number(length) <= MAX_BODY ? await callsOf(request) : null;
  if (!calls) throw refusal;
  const error = asRpcError(refusal);
  const wanted = calls.filter((call) => !isNotification(call));
  return asResponse(
    batchReply(
      calls,
      wanted.map((call) => errorReply(call, call.invalid ?? error)),
    ),
  );
}

/** Returns the calls of a batch, or null if the request is no batch. */
async function callsOf(request: Request) {
  try {
    const body = parseJson(await request.text());
    return Array.isArray(body) ? (body as RpcValue[]).map(readCall) : null;
  } catch {
    return null;
  }
}
