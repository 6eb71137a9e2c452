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

const SECONDS_IN_A_MONTH = 30 * 24 * 60 * 60;
const READ_US_PER_BYTE = 0.001;

export function findBlock({ reads }: Pick<ReadEnv, 'reads'>, blockHash: BlockHash): HeaderRecord {
  return reads.headers.byHash(blockHash) ?? rpcFail('invalidAddressOrKey', 'Block not found');
}

/** Throws where the block's body is not there. */
export function checkBody({ body, stats }: HeaderRecord): void {
  if (!body || !stats) rpcFail('misc', 'Block not available (not fully downloaded)');
}

export const getblockcount = rpcMethod({
  name: 'getblockcount',
  category: 'blockchain',
  help: 'Height of the tip of the active chain. The genesis block has height 0.',
  params: [],
  result: 'a number',
  scope: 'read',
  run: ({ tip }) => tip.height,
});

export const getbestblockhash = rpcMethod({
  name: 'getbestblockhash',
  category: 'blockchain',
  help: 'Hash of the tip of the active chain.',
  params: [],
  result: 'a hash',
  scope: 'read',
  run: ({ tip }) => hashToHex(tip.hash),
});

export const getblockhash = rpcMethod({
  name: 'getblockhash',
  category: 'blockchain',
  help: 'Hash of the block at a height of the active chain.',
  params: [integer('height')],
  result: 'a hash',
  scope: 'read',
  run({ reads, tip }, height) {
    if (height < 0 || height > tip.height) return rpcFail('invalidParameter', 'Block height out of range');
    return hashToHex(reads.headers.byHeight(height)!.hash);
  },
});

export const getblockheader = rpcMethod({
  name: 'getblockheader',
  category: 'blockchain',
  help: 'A block header, as an object or as hex.',
  params: [hash<BlockHash>('blockhash', 'hash'), optional(flag('verbose'), true)],
  result: 'an object, or hex where verbose is false',
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
  result: 'hex at verbosity 0, else an object',
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
  result: 'a number',
  scope: 'read',
  run: ({ tip }) => workFields(headerBits(tip)).difficulty,
});

export const gettxout = rpcMethod({
  name: 'gettxout',
  category: 'blockchain',
  help: 'An unspent output.',
  params: [hash<Txid>('txid'), integer('n', { unsigned: true }), optional(flag('include_mempool'), true)],
  result: 'an object, or null where it is spent or unknown',
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
  result: 'an object',
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
  result: 'an object with the statistics chosen, or all',
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
  result: 'an object',
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
