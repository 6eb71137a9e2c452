import { coins } from '../../../http/core-number.ts';
import { ancestorsOf } from '../../../mempool/relatives.ts';
import { isReplaceableByBip125 } from '../../../mempool/replaceability.ts';
import { signalsOptInRbf } from '../../../policy/rbf.ts';
import { parseTransaction } from '../../../primitives/block.ts';
import { type BlockHash, hashToHex, type Txid } from '../../../primitives/hash.ts';
import { headerFromBytes } from '../../../primitives/header.ts';
import { sumOutputs } from '../../../primitives/transaction.ts';
import { parsedBlock } from '../../../queries/block-body.ts';
import type { ReadEnv } from '../../../queries/read-env.ts';
import type { WalletEnv } from '../../../queries/wallet-env.ts';
import type { HeaderRecord } from '../../../storage/header-store.ts';
import { coreTx } from '../../../views/core/core-tx.ts';
import { type Replaceability, WalletTxViews } from '../../../views/core/wallet-tx.ts';
import type { WalletTxRecord } from '../../../wallet/store/wallet-tx-reads.ts';
import { checkLabel, readWallet, WATCH_ONLY_NOTE, walletName } from '../../engine/call-wallet.ts';
import { EXAMPLE, example } from '../../engine/example.ts';
import { type MainThreadEnv, nodeMethod, type RpcMethod, walletMethod } from '../../engine/method.ts';
import { flagParam, hashParam, integerParam, optional, readHashValue, textParam } from '../../engine/params.ts';
import { orFail, rpcFail } from '../../engine/rpc-error.ts';
import { bool, int, nil, obj } from '../../engine/schema.ts';
import { lastProcessedBlock } from './wallet-methods.ts';
import { listedTxs, transactionOfWallet, txsSinceBlock } from './wallet-schemas.ts';

/** Microseconds to show an entry. */
const ENTRY_US = 120;
/** Microseconds to count an entry. */
const COUNT_US = 3;
/** Below every number of confirmations. */
const ANY_DEPTH = -100_000_000;

const listtransactions = walletMethod({
  name: 'listtransactions',
  help: 'Returns the latest transactions of the wallet, oldest first. A transaction has one entry per output that was sent or received.',
  params: [
    optional(textParam('label', { note: 'Label whose receipts are listed; * for all transactions.' }), '*'),
    optional(integerParam('count', { note: 'Highest number of entries.' }), 10),
    optional(integerParam('skip', { note: 'Number of latest entries to skip.' }), 0),
    optional(flagParam('include_watchonly', { note: WATCH_ONLY_NOTE }), false),
  ],
  result: listedTxs,
  examples: [example([]), example(['*', 20, 100])],
  run(env, given, count, skip) {
    const { view, params, expectWork } = env;
    const label = given === '*' ? null : given;
    if (label === '') rpcFail('invalidParameter', 'Label argument must be a valid label name or "*".');
    if (count < 0) rpcFail('invalidParameter', 'Negative count');
    if (skip < 0) rpcFail('invalidParameter', 'Negative from');
    // All receipts of a label are read before they are sorted.
    const counted = label === null ? skip : skip + view.reads.receivedCount();
    expectWork(count * ENTRY_US + counted * COUNT_US);
    return new WalletTxViews(view, params, replaceabilityIn(env)).latest(label, count, skip).reverse();
  },
  mempoolPart: unconfirmedPart,
});

const listsinceblock = walletMethod({
  name: 'listsinceblock',
  help: 'Returns the transactions of the wallet after a block, including unconfirmed ones, and those that a reorg has removed since.',
  params: [
    optional(
      textParam('blockhash', { note: 'Block after which the list begins; all transactions if it is empty.' }),
      '',
    ),
    optional(
      integerParam('target_confirmations', {
        note: 'Confirmations of the block that is returned as lastblock, at least 1. The list itself does not depend on it.',
      }),
      1,
    ),
    optional(flagParam('include_watchonly', { note: WATCH_ONLY_NOTE }), false),
    optional(flagParam('include_removed', { note: 'Whether transactions of removed blocks are listed.' }), true),
    optional(flagParam('include_change', { note: 'Whether change outputs are listed.' }), false),
    optional(textParam('label', { note: 'Label whose receipts are listed; all transactions by default.' }), null),
  ],
  result: txsSinceBlock,
  examples: [example([]), example([EXAMPLE.blockHash, 6])],
  run(env, blockHash, target, _watchOnly, includeRemoved, includeChange, label) {
    const { view, params } = env;
    const since = blockHash === '' ? null : detour(env, readHashValue<BlockHash>(blockHash, 'blockhash'));
    if (target < 1) rpcFail('invalidParameter', 'Invalid parameter');
    if (label !== null) checkLabel(label);
    const views = new WalletTxViews(view, params, replaceabilityIn(env));
    const list = (tx: WalletTxRecord, minDepth: number) =>
      views.entries(tx, { minDepth, long: true, label, includeChange });
    const txs = since === null ? view.reads.allTransactions() : view.reads.transactionsSince(since.fork);
    env.expectWork(txs.length * ENTRY_US);
    const lastHeight = view.tipHeight + 1 - Math.min(target, view.tipHeight + 1);
    return {
      transactions: txs.flatMap((tx) => list(tx, 0)),
      ...(includeRemoved && {
        removed: since === null ? [] : removedIn(env, since.blocks).flatMap((tx) => list(tx, ANY_DEPTH)),
      }),
      lastblock: hashToHex(lastHeight === view.tipHeight ? view.tipHash : env.reads.headers.byHeight(lastHeight)!.hash),
    };
  },
  mempoolPart: unconfirmedPart,
});

/** The option of WalletTxViews that shows replaceability, if the settings demand it. */
function replaceabilityIn({
  settings,
  mempool,
  view,
}: Pick<MainThreadEnv, 'settings' | 'mempool'> & Pick<WalletEnv, 'view'>) {
  if (!settings.deprecated.includes('bip125')) return {};
  const { entries } = mempool;
  return {
    replaceability(tx: WalletTxRecord): Replaceability {
      const slot = entries.find(tx.txid);
      if (slot >= 0) return isReplaceableByBip125(entries, slot) ? 'yes' : 'no';
      return signalsOptInRbf(parseTransaction(view.reads.txs.raw(tx.id)).tx) ? 'yes' : 'unknown';
    },
  };
}

/** Returns the mempool slots that replaceability depends on: unconfirmed transactions of the wallet with their ancestors. */
function unconfirmedPart({ settings, view, mempool: { entries } }: WalletEnv): readonly number[] {
  if (!settings.deprecated.includes('bip125')) return [];
  return view.reads.transactionsSince(view.tipHeight).flatMap(({ txid }) => {
    const slot = entries.find(txid);
    return slot < 0 ? [] : ancestorsOf(entries, slot);
  });
}

/** Returns the fork point of a block with the active chain, and the blocks between them, the highest first. */
function detour({ reads }: ReadEnv, blockHash: BlockHash): { fork: number; blocks: HeaderRecord[] } {
  const blocks: HeaderRecord[] = [];
  let block = reads.headers.byHash(blockHash) ?? rpcFail('invalidAddressOrKey', 'Block not found');
  while (!reads.headers.isActive(block)) {
    blocks.push(block);
    block = reads.headers.byHash(headerFromBytes(block.header).previousHash)!;
  }
  return { fork: block.height, blocks };
}

function removedIn(env: WalletEnv, blocks: readonly HeaderRecord[]): WalletTxRecord[] {
  return blocks.flatMap((block) => {
    if (!block.body) rpcFail('internal', "Can't read block from disk");
    return parsedBlock(env, block)
      .txs.map(({ txid }) => env.view.reads.txs.byTxid(txid))
      .filter((tx) => tx !== null);
  });
}

const gettransaction = nodeMethod({
  name: 'gettransaction',
  category: 'wallet',
  help: 'Returns a transaction of the wallet.',
  params: [
    hashParam<Txid>('txid', 'txid', { note: 'Transaction to return.' }),
    optional(flagParam('include_watchonly', { note: WATCH_ONLY_NOTE }), false),
    optional(flagParam('verbose', { note: 'Whether the decoded transaction is included.' }), false),
  ],
  result: transactionOfWallet,
  examples: [example([EXAMPLE.txid]), example({ txid: EXAMPLE.txid, verbose: true })],
  scope: 'wallet.read',
  run: (env, txid, _watchOnly, verbose) =>
    readWallet(env, (view) => {
      const tx = view.reads.txs.byTxid(txid) ?? rpcFail('invalidAddressOrKey', 'Invalid or non-wallet transaction id');
      const views = new WalletTxViews(
        view,
        env.ctx.params,
        replaceabilityIn({ settings: env.settings, mempool: env.mempool, view }),
      );
      const parsed = parseTransaction(view.reads.txs.raw(tx.id));
      const credit = view.isImmature(tx) ? 0 : view.reads.txs.coinsOf(tx.id).reduce((sum, { value }) => sum + value, 0);
      const fromMe = tx.debit > 0;
      const fee = fromMe ? Number(sumOutputs(parsed.tx)) - tx.debit : 0;
      return {
        amount: coins(credit - tx.debit - fee),
        ...(fromMe && { fee: coins(fee) }),
        ...views.about(tx),
        details: views.entries(tx, { minDepth: 0, long: false, label: null, includeChange: false }),
        hex: parsed.raw.toHex(),
        ...(verbose && { decoded: decoded(env, views, tx, parsed) }),
        lastprocessedblock: lastProcessedBlock(view),
      };
    }),
});

function decoded(
  { ctx }: MainThreadEnv,
  views: WalletTxViews,
  { coinbase }: WalletTxRecord,
  parsed: ReturnType<typeof parseTransaction>,
) {
  const facts = { parsed, isCoinbase: coinbase, spent: null, place: null };
  const { hex: _hex, vout, ...rest } = coreTx(facts, ctx.params, { withFee: false, withPrevouts: false });
  return {
    ...rest,
    vout: vout.map((output, i) => ({
      ...output,
      ...(views.isChange(parsed.tx.outputs[i]!.scriptPubKey) && { ischange: true }),
    })),
  };
}

const abandontransaction = nodeMethod({
  name: 'abandontransaction',
  category: 'wallet',
  help: 'Abandons an unconfirmed transaction that is not in the mempool, together with its descendants, so that the wallet can spend their inputs again.',
  params: [hashParam<Txid>('txid', 'txid', { note: 'Transaction to abandon.' })],
  result: nil(),
  examples: [example([EXAMPLE.txid])],
  scope: 'wallet.spend',
  async run(env, txid) {
    orFail(await env.ctx.node().call('walletAbandon', walletName(env), txid));
    return null;
  },
});

const rescanblockchain = nodeMethod({
  name: 'rescanblockchain',
  category: 'wallet',
  help: 'Searches the chain again for transactions of the wallet, by means of the address index, or block by block without it.',
  params: [
    optional(integerParam('start_height', { note: 'First height.' }), 0),
    optional(integerParam('stop_height', { note: 'Last height; the tip by default.' }), null),
  ],
  result: obj({ start_height: int('first height that was scanned'), stop_height: int('last scanned height') }),
  examples: [example([]), example([100000, 120000])],
  scope: 'wallet.keys',
  async run(env, start, stop) {
    const last = orFail(await env.ctx.node().call('walletRescan', walletName(env), start, stop));
    return { start_height: start, stop_height: last };
  },
});

const abortrescan = nodeMethod({
  name: 'abortrescan',
  category: 'wallet',
  help: 'Aborts the running rescan of the wallet.',
  params: [],
  result: bool('whether a rescan was running'),
  scope: 'wallet.keys',
  run: async (env) => orFail(await env.ctx.node().call('walletAbortScan', walletName(env))),
});

export const walletHistoryMethods: readonly RpcMethod[] = [
  listtransactions,
  listsinceblock,
  gettransaction,
  abandontransaction,
  rescanblockchain,
  abortrescan,
];
