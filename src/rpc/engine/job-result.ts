import { ApiError } from '../../http/errors.ts';
import type { JobResult } from '../../queries/reader-jobs.ts';
import { RpcError } from './rpc-error.ts';

/** Returns the result of a reader worker as text. Throws RpcError or ApiError if the job failed. */
export function jobText(result: JobResult): string {
  const body = jobBody(result);
  return typeof body === 'string' ? body : new TextDecoder().decode(body);
}

/** Returns the result of a reader worker as it was sent. Throws RpcError or ApiError if the job failed. */
export function jobBody(result: JobResult): string | Uint8Array {
  if (result.ok) return result.reply.body;
  if ('rpc' in result) throw new RpcError(result.rpc.rpcCode, result.rpc.message, result.rpc.data);
  throw new ApiError(result.api.failure, result.api.message, result.api.details);
}
