import { double } from '../../../http/core-number.ts';
import { type BlockHash, hashToHex } from '../../../primitives/hash.ts';
import { headerBits, headerTime, medianTime, rawBlock, workFields } from '../../../queries/block-facts.ts';
import { blockStats } from '../../../queries/block-stats.ts';
import { blockPruned, type ReadEnv } from '../../../queries/read-env.ts';
import type { HeaderRecord } from '../../../storage/header-store.ts';
import { coreBlock, coreHeader } from '../../../views/core/core-block.ts';
import { EXAMPLE, example } from '../../engine/example.ts';
import { type RpcMethod, rpcMethod } from '../../engine/method.ts';
import {
  array,
  flagParam,
  hashOrHeight,
  hashParam,
  integerParam,
  optional,
  readString,
  verbosity,
} from '../../engine/params.ts';
import { rpcFail } from '../../engine/rpc-error.ts';
import { anyOf, hashStr, hexStr, int, maybe, num, obj, tuple, unixTime } from '../../engine/schema.ts';
import { header, shownBlock, txOfBlock } from '../schemas.ts';

const SECONDS_IN_A_MONTH = 30 * 24 * 60 * 60;
const READ_US_PER_BYTE = 0.001;

/** Statistics of a block that are whole numbers. Amounts are satoshis, feerates satoshis per virtual byte. */
const BLOCK_NUMBERS = {
  avgfee: 'average fee',
  avgfeerate: 'average feerate',
  avgtxsize: 'average size of a transaction, bytes',
  height: 'height of the block',
  ins: 'number of inputs without that of the coinbase',
  maxfee: 'highest fee',
  maxfeerate: 'highest feerate',
  maxtxsize: 'size of the largest transaction, bytes',
  medianfee: 'median fee',
  mediantxsize: 'median size of a transaction, bytes',
  minfee: 'lowest fee',
  minfeerate: 'lowest feerate',
  mintxsize: 'size of the smallest transaction, bytes',
  outs: 'number of outputs',
  subsidy: 'block subsidy',
  swtotal_size: 'size of all transactions with a witness, bytes',
  swtotal_weight: 'weight of all transactions with a witness',
  swtxs: 'number of transactions with a witness',
  total_out: 'value of all outputs without those of the coinbase',
  total_size: 'size of all transactions without the coinbase, bytes',
  total_weight: 'weight of all transactions without the coinbase',
  totalfee: 'sum of all fees',
  txs: 'number of transactions with the coinbase',
  utxo_increase: 'outputs made minus outputs spent',
  utxo_size_inc: 'growth of the set of outputs, bytes',
  utxo_increase_actual: 'outputs made minus outputs spent, without unspendable outputs',
  utxo_size_inc_actual: 'growth of the set of unspent outputs, bytes, without unspendable outputs',
} as const;

const PERCENTILES = tuple(
  Array.from({ length: 5 }, () => int()),
  'feerates at 10, 25, 50, 75 and 90 % of the weight',
);

const BLOCK_STATS = obj(
  {
    ...Object.fromEntries(Object.entries(BLOCK_NUMBERS).map(([name, note]) => [name, maybe(int(note))])),
    blockhash: maybe(hashStr('hash of the block')),
    feerate_percentiles: maybe(PERCENTILES),
    time: maybe(unixTime('time of the block')),
    mediantime: maybe(unixTime('median of the block and up to ten blocks before it')),
  },
  'the selected statistics, or all; amounts are satoshis, feerates satoshis per virtual byte',
);

export function findBlock({ reads, tip }: Pick<ReadEnv, 'reads' | 'tip'>, blockHash: BlockHash): HeaderRecord {
  return (
    reads.headers.byHash(blockHash) ??
    rpcFail('invalidAddressOrKey', 'Block not found', 'block_not_found', { tipHeight: tip.height })
  );
}

/** Throws RpcError or ApiError if the body of the block is not stored. */
export function checkBody({ reads }: Pick<ReadEnv, 'reads'>, { body, stats }: HeaderRecord): void {
  if (!stats) rpcFail('misc', 'Block not available (not fully downloaded)', 'block_not_found');
  if (!body) blockPruned(reads.pruneHeight());
}

/** Throws RpcError if the undo data of the block are not stored. The genesis block needs none. */
function checkUndo({ reads }: ReadEnv, { undo, fees, height }: HeaderRecord): void {
  if (undo || height === 0) return;
  if (fees === null) rpcFail('misc', 'Undo data not available');
  const details = { pruneHeight: reads.pruneHeight() };
  rpcFail('misc', 'Undo data not available (pruned data)', 'block_pruned', details);
}

const getblockcount = rpcMethod({
  name: 'getblockcount',
  category: 'blockchain',
  help: 'Returns the height of the tip of the active chain. The genesis block has height 0.',
  params: [],
  result: int('height'),
  scope: 'read',
  isKept: true,
  run: ({ tip }) => tip.height,
});

const getbestblockhash = rpcMethod({
  name: 'getbestblockhash',
  category: 'blockchain',
  help: 'Returns the hash of the tip of the active chain.',
  params: [],
  result: hashStr(),
  scope: 'read',
  isKept: true,
  run: ({ tip }) => hashToHex(tip.hash),
});

const getblockhash = rpcMethod({
  name: 'getblockhash',
  category: 'blockchain',
  help: 'Returns the hash of the block at a height of the active chain.',
  params: [integerParam('height', { note: 'Height of the block, from 0 to that of the tip.' })],
  result: hashStr('block hash'),
  examples: [example([0]), example({ height: 0 })],
  scope: 'read',
  isKept: true,
  run({ reads, tip }, height) {
    if (height < 0 || height > tip.height)
      return rpcFail('invalidParameter', 'Block height out of range', 'block_not_found', { tipHeight: tip.height });
    return hashToHex(reads.headers.byHeight(height)!.hash);
  },
});

const getblockheader = rpcMethod({
  name: 'getblockheader',
  category: 'blockchain',
  help: 'Returns the header of a block, of the active chain or of another branch.',
  params: [
    hashParam<BlockHash>('blockhash', 'hash', { note: 'Hash of the block.' }),
    optional(flagParam('verbose', { note: 'True for an object, false for the 80 bytes as hex.' }), true),
  ],
  result: anyOf(header, hexStr('verbose is false')),
  examples: [example([EXAMPLE.blockHash]), example([EXAMPLE.blockHash, false])],
  scope: 'read',
  isKept: true,
  run(env, blockHash, verbose) {
    const block = findBlock(env, blockHash);
    return verbose ? coreHeader(env, block) : block.header.toHex();
  },
});

const getblock = rpcMethod({
  name: 'getblock',
  category: 'blockchain',
  help: 'Returns a block, of the active chain or of another branch, in the requested detail.',
  params: [
    hashParam<BlockHash>('blockhash', 'blockhash', { note: 'Hash of the block.' }),
    optional(
      verbosity('verbosity', {
        aliases: ['verbose'],
        note: '0 or false for hex, 1 or true for an object with txids, 2 with transactions, 3 with the spent outputs as well.',
      }),
      1,
    ),
  ],
  result: anyOf(
    hexStr('verbosity 0'),
    shownBlock(hashStr(), 'verbosity 1'),
    shownBlock(txOfBlock({ withPrevouts: false }), 'verbosity 2'),
    shownBlock(txOfBlock({ withPrevouts: true }), 'verbosity 3'),
  ),
  examples: [example([EXAMPLE.blockHash]), example({ blockhash: EXAMPLE.blockHash, verbosity: 2 })],
  scope: 'read',
  run(env, blockHash, level) {
    const block = findBlock(env, blockHash);
    checkBody(env, block);
    if (level > 0) return coreBlock(env, block, level);
    env.expectWork(block.body!.size * READ_US_PER_BYTE);
    return rawBlock(env, block).toHex();
  },
});

const getdifficulty = rpcMethod({
  name: 'getdifficulty',
  category: 'blockchain',
  help: 'Returns the difficulty of the tip: a multiple of the minimum difficulty of the main network.',
  params: [],
  result: num(),
  scope: 'read',
  run: ({ tip }) => workFields(headerBits(tip)).difficulty,
});

const getblockstats = rpcMethod({
  name: 'getblockstats',
  category: 'blockchain',
  help: 'Returns statistics of one block. Amounts are satoshis.',
  params: [
    hashOrHeight('hash_or_height', { note: 'Hash of a block, or height in the active chain.' }),
    optional(
      array('stats', readString, {
        oneline: 'stats',
        note: 'Names of the wanted members of the result; all by default.',
      }),
      [],
    ),
  ],
  result: BLOCK_STATS,
  examples: [example([0]), example([0, ['txs', 'total_weight', 'feerate_percentiles']])],
  scope: 'read',
  run(env, target, chosen) {
    const block = typeof target === 'number' ? blockAtHeight(env, target) : findBlock(env, target);
    checkBody(env, block);
    checkUndo(env, block);
    const stats: Readonly<Record<string, unknown>> = blockStats(env, block);
    if (chosen.length === 0) return stats;
    // Core keeps the selected names in a sorted set.
    const entries = [...new Set(chosen)].sort().map((name) => {
      if (!Object.hasOwn(stats, name)) rpcFail('invalidParameter', `Invalid selected statistic '${name}'`);
      return [name, stats[name]];
    });
    return Object.fromEntries(entries);
  },
});

/** Returns a block of the active chain. Throws RpcError with Core's texts. */
export function blockAtHeight({ reads, tip }: ReadEnv, height: number): HeaderRecord {
  if (height < 0) return rpcFail('invalidParameter', `Target block height ${height} is negative`);
  if (height > tip.height)
    return rpcFail('invalidParameter', `Target block height ${height} after current tip ${tip.height}`);
  return reads.headers.byHeight(height)!;
}

const getchaintxstats = rpcMethod({
  name: 'getchaintxstats',
  category: 'blockchain',
  help: 'Returns the number of transactions of the chain, and their rate within a window of blocks.',
  params: [
    optional(integerParam('nblocks', { note: 'Length of the window in blocks; a month of blocks by default.' }), null),
    optional(
      hashParam<BlockHash>('blockhash', 'blockhash', { note: 'Last block of the window; the tip by default.' }),
      null,
    ),
  ],
  result: obj({
    time: unixTime('time of the last block of the window'),
    txcount: maybe(int('transactions from the genesis block to that block, where that is known')),
    window_final_block_hash: hashStr('last block of the window'),
    window_final_block_height: int('its height'),
    window_block_count: int('blocks of the window'),
    window_interval: maybe(int('seconds between the median times of its ends')),
    window_tx_count: maybe(int('transactions of the window')),
    txrate: maybe(num('transactions per second')),
  }),
  examples: [example([]), example([144])],
  scope: 'read',
  run(env, nblocks, blockHash) {
    const { reads, tip, params } = env;
    const end = blockHash ? findBlock(env, blockHash) : tip;
    if (!reads.headers.isActive(end)) return rpcFail('invalidParameter', 'Block is not in main chain');
    const month = Math.floor(SECONDS_IN_A_MONTH / params.consensus.powTargetSpacing);
    const count = nblocks ?? Math.max(0, Math.min(month, end.height - 1));
    if (count < 0 || (count > 0 && count >= end.height))
      return rpcFail('invalidParameter', "Invalid block count: should be between 0 and the block's height - 1");
    const start = reads.headers.byHeight(end.height - count)!;
    const seconds = medianTime(reads, end) - medianTime(reads, start);
    // Unknown below a loaded UTXO set that is not validated yet, as in Core.
    const txcount = reads.headers.totals(end.height)?.txs ?? null;
    const before = reads.headers.totals(start.height)?.txs ?? null;
    const inWindow = txcount === null || before === null ? null : txcount - before;
    return {
      time: headerTime(end),
      ...(txcount !== null && { txcount }),
      window_final_block_hash: hashToHex(end.hash),
      window_final_block_height: end.height,
      window_block_count: count,
      ...(count > 0 && { window_interval: seconds }),
      ...(count > 0 && inWindow !== null && { window_tx_count: inWindow }),
      ...(count > 0 && seconds > 0 && inWindow !== null && { txrate: double(inWindow / seconds) }),
    };
  },
});

export const blockchainMethods: readonly RpcMethod[] = [
  getblockcount,
  getbestblockhash,
  getblockhash,
  getblockheader,
  getblock,
  getdifficulty,
  getblockstats,
  getchaintxstats,
];
