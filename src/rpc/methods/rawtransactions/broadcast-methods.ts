import { rejectionText } from '../../../consensus/rejection.ts';
import { coins } from '../../../http/core-number.ts';
import type { AcceptResult, EffectiveFeerate } from '../../../mempool/accept-result.ts';
import { feeForSize, feeratePerKvB } from '../../../policy/feerate.ts';
import { isChildWithParentsTree, MAX_PACKAGE_COUNT } from '../../../policy/packages.ts';
import type { Amount } from '../../../primitives/amount.ts';
import { type ParsedTransaction, parseTransaction } from '../../../primitives/block.ts';
import type { Txid } from '../../../primitives/hash.ts';
import { hashToHex } from '../../../primitives/hash.ts';
import { checkNotSyncing } from '../../../queries/broadcast.ts';
import { broadcastStatus, rejectionView } from '../../../queries/broadcast-reply.ts';
import { isIndexReady } from '../../../queries/index-reads.ts';
import type { ReadEnv } from '../../../queries/read-env.ts';
import { vsizeOf } from '../../../queries/tx-facts.ts';
import { DecodeError, hexToBytes } from '../../../util/bytes.ts';
import { RPC_ERROR } from '../../../util/rpc-error-codes.ts';
import { EXAMPLE, example } from '../../engine/example.ts';
import { type MainThreadEnv, nodeMethod, type RpcMethod } from '../../engine/method.ts';
import { amount, array, feerate, optional, readString, textParam } from '../../engine/params.ts';
import { RpcError, rpcFail } from '../../engine/rpc-error.ts';
import { arr, bool, coinAmount, hashStr, hexStr, int, mapOf, maybe, obj, str } from '../../engine/schema.ts';

/** Default of `maxfeerate`, satoshis per 1,000 virtual bytes. A higher feerate is probably a mistake. */
const MAX_RAW_TX_FEERATE = 10_000_000n;
const MAX_FEE = 'Fee exceeds maximum configured by user (e.g. -maxtxfee, maxfeerate)';
const MAX_BURN = 'Unspendable output exceeds maximum configured by user (maxburnamount)';

const MAX_FEERATE_NOTE =
  'Feerate above which a transaction is rejected, coins per 1,000 virtual bytes; 0 for no limit, and below 1.';
const MAX_BURN_NOTE = 'Value of an unspendable output above which the transaction is rejected, coins.';

const SIZES = {
  vsize_adjusted: maybe(int('virtual bytes with the cost of signature operations')),
  vsize: maybe(int('equal to vsize_adjusted')),
  vsize_bip141: maybe(int('virtual bytes by weight alone (BIP-141)')),
};

const sendrawtransaction = nodeMethod({
  name: 'sendrawtransaction',
  category: 'rawtransactions',
  help: 'Submits a signed transaction to the mempool and announces it to peers, or with p2p.privateBroadcast sends it to a few peers through Tor. A transaction that is already in the mempool is announced again.',
  params: [
    textParam('hexstring', { schema: hexStr(), note: 'Serialized transaction.' }),
    optional(feerate('maxfeerate', { note: MAX_FEERATE_NOTE }), MAX_RAW_TX_FEERATE),
    optional(amount('maxburnamount', { note: MAX_BURN_NOTE }), 0n),
  ],
  result: hashStr('txid'),
  examples: [example([EXAMPLE.signedTransaction]), example([EXAMPLE.signedTransaction, 0.2])],
  scope: 'broadcast',
  // No other task runs between the begin of a call and that of its node call, so the node thread receives a batch in order.
  overlaps: true,
  async run(env, hex, maxFeerate, maxBurn) {
    const { ctx, read } = env;
    const tx = decode(hex, 'TX decode failed. Make sure the tx has at least one input.');
    checkInSync(env);
    const limits = { maxFeerate: maxFeerate === 0n ? null : Number(maxFeerate), maxBurn: Number(maxBurn) };
    const result = await ctx.node().call('broadcast', tx.raw, limits);
    // The caller must find the transaction in the mempool after this reply.
    await ctx.mempool.drained();
    // Also if the mempool holds the transaction with another witness, which is announced instead.
    if (result.status === 'private-queue-full') return rpcFail('resourceFull', 'Private broadcast queue is full');
    if (result.status !== 'rejected') {
      ctx.metrics.txBroadcast(broadcastStatus(result.status));
      return hashToHex(tx.txid);
    }
    // The coins of a confirmed transaction are spent, so it is rejected; Core reports that it is confirmed.
    if (await read((reading) => isConfirmed(reading, tx.txid))) return alreadyConfirmed();
    ctx.metrics.txBroadcast('rejected');
    throw rejectionError(result, tx);
  },
});

/** Whether a transaction is in the active chain. Without the transaction index, only while an output of it is unspent. */
function isConfirmed(env: ReadEnv, txid: Txid): boolean {
  return isIndexReady(env, 'tx') ? env.reads.txs.byTxid(txid) !== null : env.reads.coins.anyOf(txid) !== null;
}

function alreadyConfirmed(): never {
  return rpcFail('alreadyInChain', 'Transaction outputs already in utxo set');
}

function rejectionError(result: Extract<AcceptResult, { status: 'rejected' }>, { txid }: ParsedTransaction): RpcError {
  const { rejection, conflicts, missingInputs } = result;
  const details = {
    ...rejectionView(result),
    txid: hashToHex(txid),
    conflicts: conflicts.map(hashToHex),
    missingInputs: missingInputs.map((prevout) => ({ txid: hashToHex(prevout.txid), vout: prevout.vout })),
  };
  const data = { code: 'tx_rejected', details };
  if (rejection.reason === 'max-fee-exceeded') return new RpcError(RPC_ERROR.verify, MAX_FEE, data);
  if (rejection.reason === 'max-burn-exceeded') return new RpcError(RPC_ERROR.verify, MAX_BURN, data);
  const code = rejection.kind === 'missing-inputs' ? RPC_ERROR.verify : RPC_ERROR.verifyRejected;
  return new RpcError(code, rejectionText(rejection), data);
}

const testmempoolaccept = nodeMethod({
  name: 'testmempoolaccept',
  category: 'rawtransactions',
  help: 'Validates transactions as if they were submitted, without adding them to the mempool. A later one may spend outputs of an earlier one.',
  params: [
    array('rawtxs', readString, {
      oneline: '["rawtx",...]',
      schema: arr(hexStr()),
      note: 'Serialized transactions, 1 to 25, parents before children.',
    }),
    optional(feerate('maxfeerate', { note: MAX_FEERATE_NOTE }), MAX_RAW_TX_FEERATE),
  ],
  result: arr(
    obj({
      txid: hashStr('id of the transaction'),
      wtxid: hashStr('hash with witnesses'),
      'package-error': maybe(str('reason for which the transactions are rejected as a package')),
      allowed: maybe(bool('absent if validation ended before this transaction')),
      ...SIZES,
      fees: maybe(
        obj(
          {
            base: coinAmount('fee of the transaction'),
            'effective-feerate': coinAmount('per 1,000 virtual bytes, with fee deltas'),
            'effective-includes': arr(hashStr(), 'wtxids of the transactions with this common feerate'),
          },
          'fees; only if allowed is true',
        ),
      ),
      'reject-reason': maybe(str('if allowed is false')),
      'reject-details': maybe(str('the reason with details')),
    }),
    'in the order of the transactions',
  ),
  examples: [example([[EXAMPLE.signedTransaction]]), example([[EXAMPLE.signedTransaction], 0])],
  scope: 'broadcast',
  async run(env, hexes, maxFeerate) {
    const txs = decodeAll(hexes);
    const { rejection, results } = await env.ctx.node().call(
      'testTransactions',
      txs.map(({ raw }) => raw),
    );
    const packageError = rejection?.kind === 'policy' ? rejectionText({ ...rejection, debug: rejection.debug }) : null;
    let stopped = false;
    return txs.map((tx) => {
      const names = {
        txid: hashToHex(tx.txid),
        wtxid: hashToHex(tx.wtxid),
        ...(packageError !== null && { 'package-error': packageError }),
      };
      const result = stopped ? undefined : results.get(hashToHex(tx.wtxid));
      if (!result) return names;
      if (result.status === 'rejected') {
        const { kind, reason } = result.rejection;
        if (kind === 'missing-inputs') return { ...names, allowed: false, 'reject-reason': 'missing-inputs' };
        const details = rejectionText(result.rejection);
        return { ...names, allowed: false, 'reject-reason': reason, 'reject-details': details };
      }
      if (result.status !== 'accepted') return names;
      const most = feeForSize(maxFeerate, result.vsize);
      if (most > 0n && BigInt(result.fee) > most) {
        // Later transactions may spend its outputs, so they are not validated.
        stopped = true;
        return { ...names, allowed: false, 'reject-reason': 'max-fee-exceeded' };
      }
      return { ...names, allowed: true, ...sizesAndFees(tx, result.vsize, result.fee, result.effective) };
    });
  },
});

const submitpackage = nodeMethod({
  name: 'submitpackage',
  category: 'rawtransactions',
  help: 'Submits a child together with its unconfirmed parents, so that the fee of the child counts for the parents as well.',
  params: [
    array('package', readString, {
      oneline: '["rawtx",...]',
      schema: arr(hexStr()),
      note: 'Serialized transactions, 1 to 25: parents that do not depend on each other, and last their child.',
    }),
    optional(feerate('maxfeerate', { note: MAX_FEERATE_NOTE }), MAX_RAW_TX_FEERATE),
    optional(amount('maxburnamount', { note: MAX_BURN_NOTE }), 0n),
  ],
  result: obj({
    package_msg: str('success, or the reason for the rejection of the package'),
    'tx-results': mapOf(
      'wtxid',
      obj({
        txid: hashStr('id of the transaction'),
        'other-wtxid': maybe(hashStr('wtxid in the mempool, if the transaction is there with another witness')),
        ...SIZES,
        fees: maybe(
          obj(
            {
              base: coinAmount('fee of the transaction'),
              'effective-feerate': maybe(coinAmount('per 1,000 virtual bytes; absent if it was in the mempool before')),
              'effective-includes': maybe(arr(hashStr(), 'wtxids of the transactions with this common feerate')),
            },
            'fees; only if the mempool has the transaction with this witness',
          ),
        ),
        error: maybe(str('reason for its rejection')),
      }),
      'result for each transaction of the package',
    ),
    'replaced-transactions': arr(hashStr(), 'txids'),
  }),
  examples: [example([[EXAMPLE.signedTransaction]])],
  scope: 'broadcast',
  async run(env, hexes, maxFeerate, maxBurn) {
    const txs = decodeAll(hexes);
    checkInSync(env);
    if (txs.length > 1 && !isChildWithParentsTree(txs))
      return rpcFail('verify', 'package topology disallowed. not child-with-parents or parents depend on each other.');
    const limits = { maxFeerate: maxFeerate === 0n ? null : Number(maxFeerate), maxBurn: Number(maxBurn) };
    const { rejection, results } = await env.ctx.node().call(
      'submitPackage',
      txs.map(({ raw }) => raw),
      limits,
    );
    await env.ctx.mempool.drained();
    const replaced = new Set<string>();
    const views = txs.map((tx) => {
      const id = hashToHex(tx.wtxid);
      const result = results.get(id);
      if (result?.status === 'rejected' && result.rejection.reason === 'max-burn-exceeded') rpcFail('verify', MAX_BURN);
      if (result?.status === 'accepted') for (const txid of result.replaced) replaced.add(hashToHex(txid));
      return [id, { txid: hashToHex(tx.txid), ...memberView(tx, result) }];
    });
    return {
      package_msg: rejection ? rejectionText({ ...rejection, debug: rejection.debug }) : 'success',
      'tx-results': Object.fromEntries(views),
      'replaced-transactions': [...replaced],
    };
  },
});

function memberView(tx: ParsedTransaction, result: AcceptResult | undefined) {
  switch (result?.status) {
    case undefined:
      return { error: 'package-not-validated' };
    case 'rejected':
      return { error: rejectionText(result.rejection) };
    case 'different-witness':
      return { 'other-wtxid': hashToHex(result.wtxid) };
    case 'in-mempool':
      return sizesAndFees(tx, result.vsize, result.fee, null);
    case 'accepted':
      return sizesAndFees(tx, result.vsize, result.fee, result.effective);
  }
}

function sizesAndFees(tx: ParsedTransaction, vsize: number, fee: number, effective: EffectiveFeerate | null) {
  return {
    vsize_adjusted: vsize,
    vsize,
    vsize_bip141: vsizeOf(tx),
    fees: {
      base: coins(fee),
      ...(effective && {
        'effective-feerate': coins(rateOf(effective)),
        'effective-includes': effective.includes.map(hashToHex),
      }),
    },
  };
}

function rateOf({ fee, vsize }: EffectiveFeerate): Amount {
  return feeratePerKvB({ fee: BigInt(fee), vsize });
}

function decodeAll(hexes: readonly string[]): ParsedTransaction[] {
  if (hexes.length < 1 || hexes.length > MAX_PACKAGE_COUNT)
    return rpcFail('invalidParameter', `Array must contain between 1 and ${MAX_PACKAGE_COUNT} transactions.`);
  return hexes.map((hex) => decode(hex, `TX decode failed: ${hex} Make sure the tx has at least one input.`));
}

function decode(hex: string, message: string): ParsedTransaction {
  try {
    return parseTransaction(hexToBytes(hex));
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    return rpcFail('deserialization', message, 'tx_decode_failed');
  }
}

/** Throws RpcError during the initial block download, when coins that transactions spend may still be missing. */
function checkInSync({ ctx }: MainThreadEnv): void {
  checkNotSyncing(ctx.node().status(), ctx.params.name, ctx.tip()?.height ?? 0);
}

export const broadcastMethods: readonly RpcMethod[] = [sendrawtransaction, testmempoolaccept, submitpackage];
