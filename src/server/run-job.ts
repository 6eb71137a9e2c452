import { ApiError } from '../http/errors.ts';
import { MempoolMirror } from '../mempool/mirror.ts';
import { packScripts } from '../primitives/packed-scripts.ts';
import { failureOf, type ReadEndpoint, type ReadReply, replyOf, sentReply } from '../queries/answer.ts';
import { spentTxids } from '../queries/mempool-parts.ts';
import {
  MempoolBehind,
  NeedsScripts,
  NeedsSpenders,
  type ReadBase,
  type ReadEnv,
  withSnapshot,
} from '../queries/read-env.ts';
import type { ReaderJob, ReaderResult } from '../queries/reader-jobs.ts';
import { withWallet } from '../queries/wallet-env.ts';
import { READ_ENDPOINTS } from '../rest/read-endpoints.ts';
import { coreRestEndpoint } from '../rpc/core-rest/core-rest-endpoint.ts';
import { parseJson } from '../rpc/engine/json.ts';
import { readArguments } from '../rpc/engine/method.ts';
import { RpcError } from '../rpc/engine/rpc-error.ts';
import { runScanStep } from '../rpc/methods/blockchain/scan-steps.ts';
import { dumpUtxoSet } from '../rpc/methods/blockchain/utxo-dump.ts';
import { loadedText } from '../rpc/methods/blockchain/utxo-load-job.ts';
import { RPC_METHODS } from '../rpc/methods/methods.ts';
import { systemClock } from '../util/clock.ts';
import type { WalletReads } from '../wallet/store/wallet-reads.ts';

/** Runs one job on one snapshot. Throws only on internal errors; other errors are part of the result. */
export function runJob(base: Omit<ReadBase, 'mirror'>, job: ReaderJob, checkpoint: () => void): ReaderResult {
  try {
    if (job.kind === 'dump')
      return { ok: true, reply: { headers: {}, body: JSON.stringify(dumpUtxoSet(base, job.dump, checkpoint)) } };
    if (job.kind === 'load') return { ok: true, reply: { headers: {}, body: loadedText(job.load, checkpoint) } };
    const mirror = job.mempool ? MempoolMirror.fromPart(job.mempool, systemClock) : null;
    return withSnapshot({ ...base, mirror }, checkpoint, (env) => {
      if (job.kind === 'rest') return { ok: true, reply: restReply(env, job) };
      if (job.kind === 'scan') return { ok: true, reply: { headers: {}, body: runScanStep(env, job.step) } };
      return { ok: true, reply: rpcReply(env, job, job.wallet && base.wallets ? base.wallets(job.wallet) : null) };
    });
  } catch (error) {
    if (error instanceof MempoolBehind) return { ok: false, behind: true };
    if (error instanceof NeedsSpenders) return { ok: false, spendersOf: error.txids };
    if (error instanceof NeedsScripts) return { ok: false, touching: packScripts(error.scripts).slice() };
    if (error instanceof ApiError) return { ok: false, api: failureOf(error) };
    if (error instanceof RpcError)
      return { ok: false, rpc: { rpcCode: error.rpcCode, message: error.message, data: error.data } };
    throw error;
  }
}

function restReply(env: ReadEnv, { name, input }: Extract<ReaderJob, { kind: 'rest' }>): ReadReply {
  const endpoint =
    name === coreRestEndpoint.name ? (coreRestEndpoint as ReadEndpoint<unknown>) : READ_ENDPOINTS.get(name);
  if (!endpoint) throw new Error(`no endpoint ${name}`);
  return sentReply(replyOf(env, endpoint.run(env, input)));
}

function rpcReply(
  env: ReadEnv,
  { method, params, asks, wallet }: Extract<ReaderJob, { kind: 'rpc' }>,
  reads: WalletReads | null,
): ReadReply {
  const found = RPC_METHODS.get(method);
  if (!found) throw new Error(`no method ${method}`);
  const args = readArguments(found, parseJson(params));
  if (asks === 'spends') return { headers: {}, body: spentTxids(found.spends!(env, args)) };
  if (asks === 'scripts') return { headers: {}, body: packScripts(found.scripts!(env, args)) };
  if (!wallet || !reads) return { headers: {}, body: JSON.stringify(found.invoke(env, args)) };
  const body = withWallet(env, { state: wallet, reads }, (inside) => JSON.stringify(found.invoke(inside, args)));
  return { headers: {}, body };
}
