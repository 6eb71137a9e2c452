import { coins } from '../../../http/core-number.ts';
import { ancestorsOf, childrenOf, descendantsOf, parentsOf } from '../../../mempool/relatives.ts';
import { isReplaceableByBip125 } from '../../../mempool/replaceability.ts';
import { virtualSize } from '../../../policy/virtual-size.ts';
import { hashToHex, type Txid } from '../../../primitives/hash.ts';
import type { Outpoint } from '../../../primitives/outpoint.ts';
import { isIndexReady } from '../../../queries/index-reads.ts';
import { mempoolTotals } from '../../../queries/mempool-totals.ts';
import { type ConfirmedSpend, confirmedSpends } from '../../../queries/output-spends.ts';
import { needSpenders, type ReadEnv } from '../../../queries/read-env.ts';
import { EXAMPLE, example } from '../../engine/example.ts';
import { member, type RpcObject } from '../../engine/json.ts';
import { JsonText, type MainThreadEnv, nodeMethod, type RpcMethod, rpcMethod } from '../../engine/method.ts';
import {
  array,
  checkMembers,
  flagParam,
  hashParam,
  optional,
  options,
  readHashValue,
  readInteger,
  readObject,
} from '../../engine/params.ts';
import { rpcFail } from '../../engine/rpc-error.ts';
import { anyOf, arr, bool, hashStr, hexStr, int, maybe, noted, obj, str } from '../../engine/schema.ts';
import { entriesById, mempoolEntry } from '../schemas.ts';
import { chunkFinder, inSlices, slotOf, type Wanted } from './mempool-slices.ts';

const RELATIVES = anyOf(arr(hashStr(), 'verbose is false'), noted(entriesById, 'verbose is true'));
const relativeParams = [
  hashParam<Txid>('txid', 'txid', { note: 'Transaction in the mempool.' }),
  optional(flagParam('verbose', { note: 'True for entries by txid, false for txids.' }), false),
] as const;

const getrawmempool = nodeMethod({
  name: 'getrawmempool',
  category: 'blockchain',
  help: 'Returns the txids of all transactions in the mempool, or their entries.',
  params: [
    optional(flagParam('verbose', { note: 'True for entries by txid, false for txids.' }), false),
    optional(
      flagParam('mempool_sequence', { note: 'Whether the sequence number of the mempool is added; not with verbose.' }),
      false,
    ),
  ],
  result: anyOf(
    arr(hashStr(), 'verbose is false'),
    noted(entriesById, 'verbose is true'),
    obj(
      {
        txids: arr(hashStr(), 'txids in the order of arrival'),
        mempool_sequence: int('starts at 1, counts each transaction that enters or leaves other than with a block'),
      },
      'mempool_sequence is true',
    ),
  ),
  examples: [example([]), example([true])],
  scope: 'read',
  async run(env, verbose, withSequence) {
    const { mempool } = env;
    if (verbose && withSequence)
      return rpcFail('invalidParameter', 'Verbose results cannot contain mempool sequence values.');
    await onTip(env);
    const all = mempool.arrivalOrder();
    if (verbose) return entryTexts(env, all);
    const { sequence } = mempoolTotals(env);
    const txids = await inSlices(env, all, (slot) => `"${hashToHex(mempool.entries.txid(slot))}"`);
    if (withSequence) return new JsonText('{"txids":[', ...txids, `],"mempool_sequence":${sequence}}`);
    return new JsonText('[', ...txids, ']');
  },
});

const getmempoolentry = nodeMethod({
  name: 'getmempoolentry',
  category: 'blockchain',
  help: 'Returns the mempool entry of a transaction.',
  params: [hashParam<Txid>('txid', 'txid', { note: 'Transaction in the mempool.' })],
  result: mempoolEntry,
  examples: [example([EXAMPLE.txid])],
  scope: 'read',
  async run(env, txid) {
    await onTip(env);
    return entryView(env, slotOf(env, txid));
  },
});

const getmempoolancestors = nodeMethod({
  name: 'getmempoolancestors',
  category: 'blockchain',
  help: 'Returns the ancestors of a transaction that are in the mempool.',
  params: relativeParams,
  result: RELATIVES,
  examples: [example([EXAMPLE.txid]), example([EXAMPLE.txid, true])],
  scope: 'read',
  async run(env, txid, verbose) {
    await onTip(env);
    return relatives(env, ancestorsOf(env.mempool.entries, slotOf(env, txid)).slice(1), verbose);
  },
});

const getmempooldescendants = nodeMethod({
  name: 'getmempooldescendants',
  category: 'blockchain',
  help: 'Returns the descendants of a transaction that are in the mempool.',
  params: relativeParams,
  result: RELATIVES,
  examples: [example([EXAMPLE.txid]), example([EXAMPLE.txid, true])],
  scope: 'read',
  async run(env, txid, verbose) {
    await onTip(env);
    return relatives(env, descendantsOf(env.mempool.entries, slotOf(env, txid)).slice(1), verbose);
  },
});

const gettxspendingprevout = rpcMethod({
  name: 'gettxspendingprevout',
  category: 'blockchain',
  help: 'Returns the transactions that spend the given outputs: those of the mempool and, with the spender index (index.spender), those of the chain.',
  params: [
    array('outputs', (value) => value, {
      oneline: '[{"txid":"hex","vout":n},...]',
      schema: arr(obj({ txid: hashStr('transaction of the output'), vout: int('index of the output') })),
      note: 'Outputs to look up, at least one.',
    }),
    optional(
      options(
        'options',
        {
          mempool_only: bool(
            'if false, outputs that the mempool does not spend are looked up in the spender index, which is needed then; true by default unless index.spender is on',
          ),
          return_spending_tx: bool('adds the spending transactions as hex; false by default'),
        },
        { note: 'Extent of the search and of the result.' },
      ),
      {},
    ),
  ],
  result: arr(
    obj({
      txid: hashStr('transaction of the output'),
      vout: int('index of the output'),
      spendingtxid: maybe(hashStr('absent if the output is unspent')),
      spendingtx: maybe(hexStr('only with return_spending_tx')),
      blockhash: maybe(hashStr('block of a confirmed spending transaction')),
    }),
  ),
  examples: [
    example([[{ txid: EXAMPLE.txid, vout: 0 }]]),
    example([[{ txid: EXAMPLE.txid, vout: 0 }], { return_spending_tx: true }]),
  ],
  scope: 'read',
  run(env, outputs, given: RpcObject) {
    if (outputs.length === 0) return rpcFail('invalidParameter', 'Invalid parameter, outputs are missing');
    env.expectWork(outputs.length * OUTPOINT_US);
    checkMembers(given, { mempool_only: 'bool', return_spending_tx: 'bool' });
    const wholeTx = member(given, 'return_spending_tx') === true;
    const mempoolOnly = member(given, 'mempool_only') ?? !env.settings.indexes.spender;
    const asked = outputs.map((value) => {
      const output = readObject(value, { txid: 'string', vout: 'number' });
      const txid = readHashValue<Txid>(member(output, 'txid'), 'txid');
      const vout = readInteger(member(output, 'vout'));
      if (vout < 0) rpcFail('invalidParameter', 'Invalid parameter, vout cannot be negative');
      return { txid, vout };
    });
    needSpenders(env, distinctTxids(asked));
    const { entries } = env.mempool;
    const slots = asked.map((prevout) => entries.spender(prevout));
    const unresolved = mempoolOnly === true ? [] : asked.filter((_, i) => slots[i]! < 0);
    const spends = unresolved.length > 0 ? chainSpends(env, unresolved) : [];
    let next = 0;
    return asked.map(({ txid, vout }, i) => {
      const slot = slots[i]!;
      const output = { txid: hashToHex(txid), vout };
      if (slot >= 0)
        return {
          ...output,
          spendingtxid: hashToHex(entries.txid(slot)),
          ...(wholeTx && { spendingtx: entries.raw(slot).toHex() }),
        };
      const spend = mempoolOnly === true ? null : spends[next++]!;
      if (spend === null) return output;
      return {
        ...output,
        spendingtxid: hashToHex(spend.record.txid),
        ...(wholeTx && { spendingtx: spend.raw.toHex() }),
        blockhash: hashToHex(spend.block.hash),
      };
    });
  },
  mempoolPart: () => [],
});

/** Time to look up one output in the mempool, microseconds. */
const OUTPOINT_US = 5;

/** Returns the confirmed spends of outputs. Throws RpcError with Core's text if the spender index is not available. */
function chainSpends(env: ReadEnv, outpoints: readonly Outpoint[]): (ConfirmedSpend | null)[] {
  if (!isIndexReady(env, 'spender'))
    return rpcFail(
      'misc',
      'Mempool lacks a relevant spend, and txospenderindex is unavailable.',
      env.settings.indexes.spender ? 'index_not_ready' : 'feature_disabled',
      { feature: 'spender_index' },
    );
  return confirmedSpends(env, outpoints);
}

function distinctTxids(outpoints: readonly Outpoint[]): Txid[] {
  return [...new Map(outpoints.map(({ txid }) => [hashToHex(txid), txid])).values()];
}

const savemempool = nodeMethod({
  name: 'savemempool',
  category: 'blockchain',
  help: 'Saves the mempool to disk. It fails while the saved mempool is still being loaded.',
  params: [],
  result: obj({ filename: str('path of the file') }),
  scope: 'admin',
  async run({ ctx, mempool }) {
    if (!mempool.totals?.loaded) return rpcFail('misc', 'The mempool was not loaded yet', 'warming_up');
    return { filename: await ctx.node().call('saveMempool') };
  },
});

/**
 * Resolves when the mempool stands on the tip, so that the changes of a block are never seen half applied: a reorganization
 * changes thousands of entries, which the mirror applies in slices.
 */
function onTip(env: MainThreadEnv): Promise<unknown> {
  return env.read(({ mempool }) => mempool.tip);
}

function relatives(env: MainThreadEnv, slots: readonly number[], verbose: boolean): unknown {
  const { entries } = env.mempool;
  if (verbose) return entryTexts(env, { slots, numbers: slots.map((slot) => entries.order(slot)) });
  return slots.map((slot) => hashToHex(entries.txid(slot)));
}

/** Returns the entries by txid. It yields between slices; transactions that leave the mempool meanwhile are omitted. */
async function entryTexts(env: MainThreadEnv, wanted: Wanted): Promise<JsonText> {
  const { entries } = env.mempool;
  const chunkOf = chunkFinder(env);
  const parts = await inSlices(
    env,
    wanted,
    (slot) => `"${hashToHex(entries.txid(slot))}":${JSON.stringify(entryView(env, slot, chunkOf))}`,
  );
  return new JsonText('{', ...parts, '}');
}

function entryView(env: MainThreadEnv, slot: number, chunkOf = chunkFinder(env)) {
  const { mempool } = env;
  const chunk = chunkOf(slot);
  const { entries } = mempool;
  const ancestors = ancestorsOf(entries, slot);
  const descendants = descendantsOf(entries, slot);
  const vsize = entries.vsize(slot);
  const sum = (slots: readonly number[], of: (slot: number) => number) =>
    slots.reduce((all, each) => all + of(each), 0);
  const fees = (slots: readonly number[]) => coins(sum(slots, (each) => entries.modifiedFee(each)));
  const names = (slots: readonly number[]) => slots.map((each) => hashToHex(entries.txid(each))).sort();
  const isSignalShown = env.settings.deprecated.includes('bip125');
  return {
    vsize_adjusted: vsize,
    vsize,
    vsize_bip141: virtualSize(entries.weight(slot), 0, 0),
    weight: entries.weight(slot),
    time: entries.time(slot),
    height: entries.height(slot),
    descendantcount: descendants.length,
    descendantsize: sum(descendants, (each) => entries.vsize(each)),
    ancestorcount: ancestors.length,
    ancestorsize: sum(ancestors, (each) => entries.vsize(each)),
    wtxid: hashToHex(entries.wtxid(slot)),
    chunkweight: chunk.weight,
    fees: {
      base: coins(entries.fee(slot)),
      modified: coins(entries.modifiedFee(slot)),
      ancestor: fees(ancestors),
      descendant: fees(descendants),
      chunk: coins(chunk.fee),
    },
    depends: names(parentsOf(entries, slot)),
    spentby: names(childrenOf(entries, slot)),
    unbroadcast: mempool.isUnbroadcast(slot),
    ...(isSignalShown && { 'bip125-replaceable': isReplaceableByBip125(entries, slot) }),
  };
}

export const mempoolMethods: readonly RpcMethod[] = [
  getrawmempool,
  getmempoolentry,
  getmempoolancestors,
  getmempooldescendants,
  gettxspendingprevout,
  savemempool,
];
