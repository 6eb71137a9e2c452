import { fail, txRejectClass } from '../http/errors.ts';
import { feeRateOf, sat } from '../http/sat.ts';
import type { AcceptResult, PackageResult } from '../mempool/accept-result.ts';
import type { BroadcastLimits, BroadcastResult } from '../mempool/client-submissions.ts';
import type { ParsedTransaction } from '../primitives/block.ts';
import { positionHeight } from '../primitives/coin.ts';
import { hashToHex, type Txid } from '../primitives/hash.ts';
import { BlockPruned } from '../storage/chain-reads.ts';
import type { ApiContext } from './api-context.ts';
import { type Broadcast, checkNotSyncing } from './broadcast.ts';
import type { ReadEnv } from './read-env.ts';
import type { AnswerService } from './read-service.ts';
import { confirmationsAt, confirmedFacts, confirmedPosition, feeOf, type TxFacts, vsizeOf } from './tx-facts.ts';

type Rejected = Extract<AcceptResult, { status: 'rejected' }>;
type Refused = Extract<BroadcastResult, { status: 'rejected' | 'different-witness' }>;
type Taken = Extract<BroadcastResult, { status: 'accepted' | 'in-mempool' | 'scheduled' }>;
/** Reject reasons that may pass: fees fall, and parents arrive. */
const RETRYABLE_REASONS: ReadonlySet<string> = new Set(['mempool min fee not met', 'mempool full']);
const RETRYABLE_CLASSES: ReadonlySet<string> = new Set(['missing-inputs', 'premature']);

/** Returns a rejection for clients: Core's reject reason, its class, and whether a retry may succeed. */
export function rejectionView({ rejection }: Pick<Rejected, 'rejection'>) {
  const { reason, debug } = rejection;
  const rejectClass = txRejectClass(rejection);
  return {
    reason: reason === 'max feerate exceeded' ? 'max-fee-exceeded' : reason,
    debug: debug ?? null,
    class: rejectClass,
    retryable: RETRYABLE_REASONS.has(reason) || RETRYABLE_CLASSES.has(rejectClass),
  };
}

/** Submits a transaction. Submitting the same one again returns the same reply. Throws ApiError `tx_rejected`. */
export async function broadcastReply(
  ctx: ApiContext,
  service: AnswerService,
  { tx, maxFeeRate, maxBurn }: Broadcast,
  signal: AbortSignal,
) {
  const known = service.read((env) => alreadyConfirmed(env, tx));
  if (known) return known;
  checkNotSyncing(ctx.node().status(), ctx.params.name, ctx.tip()?.height ?? 0);
  const limits: BroadcastLimits = { maxFeerate: maxFeeRate === 0 ? null : maxFeeRate * 1000, maxBurn };
  const result = await ctx.node().call('broadcast', tx.raw, limits);
  // A client that is notified of the transaction must be able to read it at once.
  await ctx.mempool.drained();
  if (isTaken(result)) {
    ctx.metrics.txBroadcast(broadcastStatus(result.status));
    return takenView(tx, result);
  }
  if (result.status === 'private-queue-full') return fail('overloaded', 'Private broadcast queue is full');
  // A block may have confirmed it in the meantime.
  const confirmed = await service.readWhole((env) => alreadyConfirmed(env, tx), signal);
  if (confirmed) return confirmed;
  return refuse(ctx, tx, result);
}

function isTaken(result: BroadcastResult): result is Taken {
  return result.status === 'accepted' || result.status === 'in-mempool' || result.status === 'scheduled';
}

/** Returns the word of the REST interface for an outcome. */
export function broadcastStatus(status: Taken['status'] | 'different-witness') {
  return status === 'accepted' || status === 'scheduled' ? status : 'already_in_mempool';
}

function takenView({ txid, wtxid }: ParsedTransaction, result: Taken) {
  const { status, vsize, fee } = result;
  const { replaced, relayedTo } = result.status === 'scheduled' ? { replaced: [], relayedTo: 0 } : result;
  return {
    txid: hashToHex(txid),
    wtxid: hashToHex(wtxid),
    status: broadcastStatus(status),
    vsize,
    fee,
    feeRate: feeRateOf(fee, vsize),
    replaced: replaced.map(hashToHex),
    blockHash: null,
    confirmations: 0,
    relayedTo,
  };
}

function refuse({ metrics }: ApiContext, { txid }: ParsedTransaction, result: Refused): never {
  const rejected = result.status === 'rejected' ? result : differentWitness(txid);
  const view = rejectionView(rejected);
  metrics.txBroadcast('rejected');
  metrics.mempoolRejected(view.class);
  return fail(
    rejected.rejection.kind,
    `the transaction is refused: ${view.reason}${view.debug ? ` (${view.debug})` : ''}`,
    {
      ...view,
      txid: hashToHex(txid),
      conflicts: rejected.conflicts.map(hashToHex),
      missingInputs: rejected.missingInputs.map((prevout) => ({ txid: hashToHex(prevout.txid), vout: prevout.vout })),
    },
  );
}

/** The mempool holds the same transaction with another witness. */
function differentWitness(txid: ParsedTransaction['txid']): Rejected {
  const rejection = { kind: 'conflict', reason: 'txn-same-nonwitness-data-in-mempool' } as const;
  return { status: 'rejected', rejection, conflicts: [txid], missingInputs: [] };
}

/** Returns the reply for a transaction that is confirmed; null for any other. */
function alreadyConfirmed(env: ReadEnv, submitted: ParsedTransaction) {
  const position = confirmedPosition(env, submitted.txid);
  if (position === null) return null;
  const facts = storedFacts(env, submitted.txid);
  const confirmed = facts?.parsed ?? submitted;
  const vsize = vsizeOf(confirmed);
  const fee = facts && feeOf(facts);
  return {
    txid: hashToHex(confirmed.txid),
    wtxid: hashToHex(confirmed.wtxid),
    status: 'already_confirmed',
    vsize,
    fee: fee === null ? null : sat(fee),
    feeRate: fee === null ? null : feeRateOf(fee, vsize),
    replaced: [],
    blockHash: hashToHex(env.reads.headers.byHeight(positionHeight(position))!.hash),
    confirmations: confirmationsAt(env.tip, position),
    relayedTo: 0,
  };
}

/** Returns the facts of a confirmed transaction; null where its block has been pruned. */
function storedFacts(env: ReadEnv, txid: Txid): TxFacts | null {
  try {
    return confirmedFacts(env, txid);
  } catch (error) {
    if (error instanceof BlockPruned) return null;
    throw error;
  }
}

/** Returns the results of transactions that were validated but not submitted. */
export function testReply(txs: readonly ParsedTransaction[], { rejection, results }: PackageResult) {
  return txs.map(({ txid, wtxid }) => {
    const id = hashToHex(wtxid);
    const result = results.get(id);
    const names = { txid: hashToHex(txid), wtxid: id };
    const none = { vsize: null, fee: null, feeRate: null };
    // The transaction was not validated, because the package as a whole or an earlier transaction was rejected.
    if (!result)
      return {
        ...names,
        allowed: null,
        ...none,
        reason: rejection?.reason ?? null,
        class: null,
        debug: rejection?.debug ?? null,
      };
    if (result.status === 'accepted' || result.status === 'in-mempool') {
      const { vsize, fee } = result;
      return {
        ...names,
        allowed: true,
        vsize,
        fee,
        feeRate: feeRateOf(fee, vsize),
        reason: null,
        class: null,
        debug: null,
      };
    }
    const {
      reason,
      debug,
      class: rejectClass,
    } = rejectionView(result.status === 'rejected' ? result : differentWitness(txid));
    return { ...names, allowed: false, ...none, reason, class: rejectClass, debug };
  });
}

/** Returns the results of a submitted package. */
export function packageReply(txs: readonly ParsedTransaction[], { rejection, results }: PackageResult) {
  const replaced = new Set<string>();
  const views = txs.map((tx) => {
    const id = hashToHex(tx.wtxid);
    const result = results.get(id);
    const txid = hashToHex(tx.txid);
    const none = { vsize: null, fee: null, feeRate: null, effectiveFeeRate: null };
    if (!result)
      return [
        id,
        {
          txid,
          status: 'not_validated',
          ...none,
          reason: rejection?.reason ?? null,
          class: null,
          retryable: null,
          debug: rejection?.debug ?? null,
        },
      ];
    if (result.status === 'accepted' || result.status === 'in-mempool') {
      if (result.status === 'accepted') for (const each of result.replaced) replaced.add(hashToHex(each));
      const { vsize, fee } = result;
      const effective = result.status === 'accepted' ? feeRateOf(result.effective.fee, result.effective.vsize) : null;
      const status = result.status === 'accepted' ? 'accepted' : 'already_in_mempool';
      return [
        id,
        {
          txid,
          status,
          vsize,
          fee,
          feeRate: feeRateOf(fee, vsize),
          effectiveFeeRate: effective,
          reason: null,
          class: null,
          retryable: null,
          debug: null,
        },
      ];
    }
    const view = rejectionView(result.status === 'rejected' ? result : differentWitness(tx.txid));
    return [id, { txid, status: 'rejected', ...none, ...view }];
  });
  return {
    packageMessage: rejection?.reason ?? 'success',
    results: Object.fromEntries(views),
    replaced: [...replaced],
  };
}
