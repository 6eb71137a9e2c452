import { ApiError } from './errors.ts';
import { failureOf, type ReadFailure, type ReadReply, replyOf } from './readers/answer.ts';
import { type ReadEnv, withSnapshot } from './readers/read-env.ts';
import { READ_ENDPOINTS } from './rest/read-endpoints.ts';
import { parseJson } from './rpc/json.ts';
import { readArguments } from './rpc/method.ts';
import { RPC_METHODS } from './rpc/methods.ts';
import { RpcError } from './rpc/rpc-error.ts';

/** Work for a reader worker, as plain data. */
export type ReaderJob =
  | { readonly kind: 'rest'; readonly name: string; readonly input: unknown }
  /** `params` is JSON text: amounts and ids keep the digits they were written with. */
  | { readonly kind: 'rpc'; readonly method: string; readonly params: string };

export type ReaderResult =
  | { readonly ok: true; readonly reply: ReadReply }
  | { readonly ok: false; readonly api: ReadFailure }
  | { readonly ok: false; readonly rpc: Pick<RpcError, 'rpcCode' | 'message' | 'data'> };

/** Does one job on one snapshot. Throws only what neither the caller nor the chain can be blamed for. */
export function runJob(
  base: Pick<ReadEnv, 'reads' | 'params' | 'settings'>,
  job: ReaderJob,
  checkpoint: () => void,
): ReaderResult {
  try {
    return withSnapshot(base, false, (env) => {
      const watched: ReadEnv = { ...env, expectWork: checkpoint };
      return { ok: true, reply: job.kind === 'rest' ? restReply(watched, job) : rpcReply(watched, job) };
    });
  } catch (error) {
    if (error instanceof ApiError) return { ok: false, api: failureOf(error) };
    if (error instanceof RpcError)
      return { ok: false, rpc: { rpcCode: error.rpcCode, message: error.message, data: error.data } };
    throw error;
  }
}

function restReply(env: ReadEnv, { name, input }: Extract<ReaderJob, { kind: 'rest' }>): ReadReply {
  const endpoint = READ_ENDPOINTS.get(name);
  if (!endpoint) throw new Error(`no endpoint ${name}`);
  return replyOf(env, endpoint.run(env, input));
}

function rpcReply(env: ReadEnv, { method, params }: Extract<ReaderJob, { kind: 'rpc' }>): ReadReply {
  const found = RPC_METHODS.get(method);
  if (!found) throw new Error(`no method ${method}`);
  const result = found.invoke(env, readArguments(found, parseJson(params)));
  return { headers: {}, body: JSON.stringify(result) };
}
