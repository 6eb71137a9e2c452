import { coinHeight, isCoinbaseCoin } from '../../primitives/coin.ts';
import { type BlockHash, hashToHex, type Txid } from '../../primitives/hash.ts';
import type { HeaderRecord } from '../../storage/header-store.ts';
import { headerBits, headerTime, medianTime, rawBlock, workFields } from '../readers/block-facts.ts';
import { blockStats } from '../readers/block-stats.ts';
import type { ReadEnv } from '../readers/read-env.ts';
import { type UtxoHashType, utxoStats } from '../readers/utxo-stats.ts';
import { coreBlock, coreHeader } from '../views/core-block.ts';
import { coins, double } from '../views/core-number.ts';
import { coreScript } from '../views/core-script.ts';
import { rpcMethod } from './method.ts';
import { array, flag, hash, hashOrHeight, integer, optional, readString, text, verbosity } from './params.ts';
import { rpcFail } from './rpc-error.ts';
import {
  anyOf,
  bool,
  coinAmount,
  hashStr,
  hexStr,
  int,
  maybe,
  nil,
  num,
  obj,
  type Schema,
  tuple,
  unixTime,
} from './schema.ts';
import { header, outputScript, shownBlock, txOfBlock } from './shapes.ts';

const SECONDS_IN_A_MONTH = 30 * 24 * 60 * 60;
const READ_US_PER_BYTE = 0.001;

const BLOCK_STATS = obj(
  Object.fromEntries(
    [
      ...['avgfee', 'avgfeerate', 'avgtxsize', 'height', 'ins', 'maxfee', 'maxfeerate', 'maxtxsize', 'medianfee'],
      ...['mediantxsize', 'minfee', 'minfeerate', 'mintxsize', 'outs', 'subsidy', 'swtotal_size', 'swtotal_weight'],
      ...['swtxs', 'total_out', 'total_size', 'total_weight', 'totalfee', 'txs', 'utxo_increase', 'utxo_size_inc'],
      ...['utxo_increase_actual', 'utxo_size_inc_actual'],
    ]
      .map((name): [string, Schema] => [name, int()])
      .concat([
        ['blockhash', hashStr()],
        [
          'feerate_percentiles',
          tuple(
            Array.from({ length: 5 }, () => int()),
            'by weight: 10, 25, 50, 75 and 90 %',
          ),
        ],
        ['time', unixTime()],
        ['mediantime', unixTime()],
      ])
      .map(([name, schema]) => [name, maybe(schema)]),
  ),
  'those that were chosen, or all; amounts in satoshis, feerates in satoshis per virtual byte',
);

export function findBlock({ reads, tip }: Pick<ReadEnv, 'reads' | 'tip'>, blockHash: BlockHash): HeaderRecord {
  return (
    reads.headers.byHash(blockHash) ??
    rpcFail('invalidAddressOrKey', 'Block not found', 'block_not_found', { tipHeight: tip.height })
  );
}

/** Throws where the block's body is not there. */
export function checkBody({ body, stats }: HeaderRecord): void {
  if (!body || !stats) rpcFail('misc', 'Block not available (not fully downloaded)', 'block_not_found');
}

export const getblockcount = rpcMethod({
  name: 'getblockcount',
  category: 'blockchain',
  help: 'Height of the tip of the active chain. The genesis block has height 0.',
  params: [],
  result: int('height'),
  scope: 'read',
  run: ({ tip }) => tip.height,
});

export const getbestblockhash = rpcMethod({
  name: 'getbestblockhash',
  category: 'blockchain',
  help: 'Hash of the tip of the active chain.',
  params: [],
  result: hashStr(),
  scope: 'read',
  run: ({ tip }) => hashToHex(tip.hash),
});

export const getblockhash = rpcMethod({
  name: 'getblockhash',
  category: 'blockchain',
  help: 'Hash of the block at a height of the active chain.',
  params: [integer('height')],
  result: hashStr(),
  scope: 'read',
  run({ reads, tip }, height) {
    if (height < 0 || height > tip.height)
      return rpcFail('invalidParameter', 'Block height out of range', 'block_not_found', { tipHeight: tip.height });
    return hashToHex(reads.headers.byHeight(height)!.hash);
  },
});

export const getblockheader = rpcMethod({
  name: 'getblockheader',
  category: 'blockchain',
  help: 'A block header, as an object or as hex.',
  params: [hash<BlockHash>('blockhash', 'hash'), optional(flag('verbose'), true)],
  result: anyOf(header, hexStr('where it is false')),
  scope: 'read',
  run(env, blockHash, verbose) {
    const block = findBlock(env, blockHash);
    return verbose ? coreHeader(env, block) : block.header.toHex();
  },
});

export const getblock = rpcMethod({
  name: 'getblock',
  category: 'blockchain',
  help: 'A block: as hex (0), with transaction ids (1), with transactions (2), with what they spent (3).',
  params: [hash<BlockHash>('blockhash'), optional(verbosity('verbosity', { aliases: ['verbose'] }), 1)],
  result: anyOf(
    hexStr('verbosity 0'),
    shownBlock(hashStr(), 'verbosity 1'),
    shownBlock(txOfBlock({ withPrevouts: false }), 'verbosity 2'),
    shownBlock(txOfBlock({ withPrevouts: true }), 'verbosity 3'),
  ),
  scope: 'read',
  run(env, blockHash, level) {
    const block = findBlock(env, blockHash);
    checkBody(block);
    if (level > 0) return coreBlock(env, block, level);
    env.expectWork(block.body!.size * READ_US_PER_BYTE);
    return rawBlock(env, block).toHex();
  },
});

export const getdifficulty = rpcMethod({
  name: 'getdifficulty',
  category: 'blockchain',
  help: 'Difficulty of the tip, as a multiple of the least difficulty of the main network.',
  params: [],
  result: num(),
  scope: 'read',
  run: ({ tip }) => workFields(headerBits(tip)).difficulty,
});

export const gettxout = rpcMethod({
  name: 'gettxout',
  category: 'blockchain',
  help: 'An unspent output.',
  params: [hash<Txid>('txid'), integer('n', { unsigned: true }), optional(flag('include_mempool'), true)],
  result: anyOf(
    nil('where it is spent or unknown'),
    obj({
      bestblock: hashStr('the tip'),
      confirmations: int('0 in the mempool'),
      value: coinAmount(),
      scriptPubKey: outputScript,
      coinbase: bool(),
    }),
  ),
  scope: 'read',
  run({ reads, tip, params, mempool }, txid, vout, includeMempool) {
    if (includeMempool && mempool.spender({ txid, vout })) return null;
    const waiting = includeMempool ? mempool.find(txid)?.parsed.tx.outputs[vout] : undefined;
    if (waiting)
      return {
        bestblock: hashToHex(tip.hash),
        confirmations: 0,
        value: coins(waiting.value),
        scriptPubKey: coreScript(waiting.scriptPubKey, params),
        coinbase: false,
      };
    const coin = reads.coins.get({ txid, vout });
    return (
      coin && {
        bestblock: hashToHex(tip.hash),
        confirmations: tip.height - coinHeight(coin) + 1,
        value: coins(coin.output.value),
        scriptPubKey: coreScript(coin.output.scriptPubKey, params),
        coinbase: isCoinbaseCoin(coin),
      }
    );
  },
});

const HASH_TYPES: readonly string[] = ['hash_serialized_3', 'muhash', 'none'] satisfies UtxoHashType[];

export const gettxoutsetinfo = rpcMethod({
  name: 'gettxoutsetinfo',
  category: 'blockchain',
  help: 'Statistics of the set of unspent outputs; goes through all of them.',
  params: [
    optional(text('hash_type'), 'hash_serialized_3'),
    optional(hashOrHeight('hash_or_height'), null),
    optional(flag('use_index'), true),
  ],
  result: obj({
    height: int(),
    bestblock: hashStr(),
    txouts: int('unspent outputs'),
    bogosize: int('their size, by a measure that no storage changes'),
    hash_serialized_3: maybe(hashStr('as hash_type asks')),
    muhash: maybe(hashStr('as hash_type asks')),
    total_amount: coinAmount(),
    transactions: int('with unspent outputs'),
    disk_size: int('bytes, estimated'),
  }),
  scope: 'read',
  long: true,
  run(env, hashType, target) {
    if (!HASH_TYPES.includes(hashType)) return rpcFail('invalidParameter', `'${hashType}' is not a valid hash_type`);
    if (target !== null) return rpcFail('invalidParameter', 'Querying specific block heights requires coinstatsindex');
    const stats = utxoStats(env, hashType as UtxoHashType);
    return {
      height: env.tip.height,
      bestblock: hashToHex(env.tip.hash),
      txouts: stats.txouts,
      bogosize: stats.bogosize,
      ...(stats.hash && { [hashType]: hashToHex(stats.hash) }),
      total_amount: coins(stats.totalAmount),
      transactions: stats.transactions,
      disk_size: stats.diskSize,
    };
  },
});

export const getblockstats = rpcMethod({
  name: 'getblockstats',
  category: 'blockchain',
  help: 'Statistics of one block, all amounts in satoshis.',
  params: [hashOrHeight('hash_or_height'), optional(array('stats', readString, { oneline: 'stats' }), [])],
  result: BLOCK_STATS,
  scope: 'read',
  run(env, target, chosen) {
    const block = typeof target === 'number' ? blockAtHeight(env, target) : findBlock(env, target);
    checkBody(block);
    if (!block.undo && block.height > 0) return rpcFail('misc', 'Undo data not available');
    const stats: Readonly<Record<string, unknown>> = blockStats(env, block);
    if (chosen.length === 0) return stats;
    // Core keeps the chosen ones in a sorted set.
    const entries = [...new Set(chosen)].sort().map((name) => {
      if (!Object.hasOwn(stats, name)) rpcFail('invalidParameter', `Invalid selected statistic '${name}'`);
      return [name, stats[name]];
    });
    return Object.fromEntries(entries);
  },
});

function blockAtHeight({ reads, tip }: ReadEnv, height: number): HeaderRecord {
  if (height < 0) return rpcFail('invalidParameter', `Target block height ${height} is negative`);
  if (height > tip.height)
    return rpcFail('invalidParameter', `Target block height ${height} after current tip ${tip.height}`);
  return reads.headers.byHeight(height)!;
}

export const getchaintxstats = rpcMethod({
  name: 'getchaintxstats',
  category: 'blockchain',
  help: 'How many transactions the chain has, and how fast they came in a window of blocks.',
  params: [optional(integer('nblocks'), null), optional(hash<BlockHash>('blockhash'), null)],
  result: obj({
    time: unixTime('of the final block'),
    txcount: int('from the genesis block on'),
    window_final_block_hash: hashStr(),
    window_final_block_height: int(),
    window_block_count: int(),
    window_interval: maybe(int('seconds')),
    window_tx_count: maybe(int()),
    txrate: maybe(num('a second')),
  }),
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
    const txcount = reads.headers.totals(end.height)!.txs;
    const inWindow = txcount - reads.headers.totals(start.height)!.txs;
    return {
      time: headerTime(end),
      txcount,
      window_final_block_hash: hashToHex(end.hash),
      window_final_block_height: end.height,
      window_block_count: count,
      ...(count > 0 && { window_interval: seconds, window_tx_count: inWindow }),
      ...(count > 0 && seconds > 0 && { txrate: double(inWindow / seconds) }),
    };
  },
});
