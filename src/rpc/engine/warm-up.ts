import { ApiError } from '../../http/errors.ts';
import { parseJson, type RpcValue } from './json.ts';
import { batchReply, errorReply, isNotification, readCall } from './protocol.ts';
import { asRpcError } from './rpc-error.ts';

/** Nobody has shown credentials yet, and what asks whether there is a node is short. */
const MAX_BODY = 16 * 1024;
/** With nothing behind it where a client found no cookie file yet. */
const BASIC = /^basic\b/i;

/** Whether this may be one of Bitcoin Core's clients: they wait where it is said in its way, and give up otherwise. */
export function isOfCoreClient({ headers }: Request): boolean {
  return BASIC.test(headers.get('authorization') ?? '');
}

/** Refuses a request that came before the node had started. A batch is answered call by call, as Core does. */
export async function rejectWhileStarting(request: Request): Promise<Response> {
  const refusal = new ApiError('warming_up', 'the node is starting');
  const length = request.headers.get('content-length');
  const calls =
    isOfCoreClient(request) && length !== null && Number(length) <= MAX_BODY ? await callsOf(request) : null;
  if (!calls) throw refusal;
  const error = asRpcError(refusal);
  const wanted = calls.filter((call) => !isNotification(call));
  return batchReply(
    calls,
    wanted.map((call) => errorReply(call, call.invalid ?? error)),
  );
}

/** Null where it is no batch. */
async function callsOf(request: Request) {
  try {
    const body = parseJson(await request.text());
    return Array.isArray(body) ? (body as RpcValue[]).map(readCall) : null;
  } catch {
    return null;
  }
}
