import { coins } from '../../../http/core-number.ts';
import { coinHeight, isCoinbaseCoin } from '../../../primitives/coin.ts';
import { type BlockHash, hashToHex, type Txid } from '../../../primitives/hash.ts';
import type { ReadEnv } from '../../../queries/read-env.ts';
import type { ReadSettings } from '../../../queries/read-settings.ts';
import { utxoStats } from '../../../queries/utxo-stats.ts';
import type { HeaderRecord } from '../../../storage/header-store.ts';
import type { UtxoHashType } from '../../../storage/utxo-hash.ts';
import { coreScript } from '../../../views/core/core-script.ts';
import { EXAMPLE, example } from '../../engine/example.ts';
import { type RpcMethod, rpcMethod } from '../../engine/method.ts';
import { flagParam, hashOrHeight, hashParam, integerParam, optional, textParam } from '../../engine/params.ts';
import { rpcFail } from '../../engine/rpc-error.ts';
import { anyOf, bool, coinAmount, hashStr, int, maybe, nil, noted, obj } from '../../engine/schema.ts';
import { outputScript } from '../schemas.ts';
import { blockAtHeight, findBlock } from './blockchain-methods.ts';

const gettxout = rpcMethod({
  name: 'gettxout',
  category: 'blockchain',
  help: 'Returns an unspent transaction output.',
  params: [
    hashParam<Txid>('txid', 'txid', { note: 'Transaction that made the output.' }),
    integerParam('n', { unsigned: true, note: 'Index of the output.' }),
    optional(
      flagParam('include_mempool', {
        note: 'Whether the mempool counts: its outputs are found, and what its transactions spend is not.',
      }),
      true,
    ),
  ],
  result: anyOf(
    nil('the output is spent or unknown'),
    obj({
      bestblock: hashStr('hash of the tip'),
      confirmations: int('0 if the transaction is in the mempool'),
      value: coinAmount('value of the output'),
      scriptPubKey: noted(outputScript, 'output script'),
      coinbase: bool('whether the transaction is a coinbase'),
    }),
  ),
  examples: [example([EXAMPLE.txid, 0]), example({ txid: EXAMPLE.txid, n: 0, include_mempool: false })],
  scope: 'read',
  run({ reads, tip, params, mempool }, txid, vout, includeMempool) {
    if (includeMempool && mempool.spender({ txid, vout })) return null;
    const waiting = includeMempool ? mempool.findEntry(txid)?.parsed.tx.outputs[vout] : undefined;
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

const gettxoutsetinfo = rpcMethod({
  name: 'gettxoutsetinfo',
  category: 'blockchain',
  help: 'Returns statistics of the set of unspent outputs. With index.coinStats they are available for each block, unless hash_type is hash_serialized_3. Without it they are those of the tip, and the call scans the whole set, which takes minutes on the main network.',
  params: [
    optional(
      textParam('hash_type', { note: 'Commitment to compute: hash_serialized_3, muhash, or none, which is fastest.' }),
      'hash_serialized_3',
    ),
    optional(
      hashOrHeight('hash_or_height', { note: 'Block to describe, which needs index.coinStats; the tip by default.' }),
      null,
    ),
    optional(flagParam('use_index', { note: 'Whether index.coinStats is used where it is on.' }), true),
  ],
  result: obj({
    height: int('height of the block'),
    bestblock: hashStr('hash of the block'),
    txouts: int('number of unspent outputs'),
    bogosize: int('size of the set in bytes, by a measure that does not depend on the database'),
    hash_serialized_3: maybe(hashStr('if hash_type is hash_serialized_3')),
    muhash: maybe(hashStr('if hash_type is muhash')),
    total_amount: coinAmount('value of all unspent outputs'),
    transactions: maybe(int('number of transactions with unspent outputs; not with index.coinStats')),
    disk_size: maybe(int('estimated bytes on disk; not with index.coinStats')),
    total_unspendable_amount: maybe(
      coinAmount('value that no output holds any more; only with index.coinStats, as the members below'),
    ),
    block_info: maybe(
      noted(
        obj({
          prevout_spent: coinAmount('value of the outputs that the block spent'),
          coinbase: coinAmount('value of the spendable outputs of its coinbase'),
          new_outputs_ex_coinbase: coinAmount('value of the spendable outputs of its other transactions'),
          unspendable: coinAmount('value that became unspendable with it'),
          unspendables: noted(
            obj({
              genesis_block: coinAmount('subsidy of the genesis block'),
              bip30: coinAmount('subsidy of a coinbase that a later one overwrites'),
              scripts: coinAmount('value of outputs that no script can spend'),
              unclaimed_rewards: coinAmount('subsidy and fees that the coinbase did not claim'),
            }),
            'the parts of unspendable',
          ),
        }),
        'amounts of the block',
      ),
    ),
  }),
  examples: [
    example([]),
    example(['none']),
    example(['none', 100]),
    example(['muhash', EXAMPLE.blockHash]),
    example({ hash_type: 'muhash', use_index: false }),
  ],
  scope: 'read',
  long: true,
  async ready(main, hashType, target, useIndex) {
    if (!usesIndex(main.settings, hashType, useIndex)) return;
    const isMissing = (env: ReadEnv) => {
      const block = target === null ? env.tip : findTarget(env, target);
      return env.reads.coinStats.get(block.id) === null;
    };
    // The index covers a new block a moment after its commit.
    if (await main.read(isMissing)) await main.ctx.node().call('coinStatsCaughtUp');
  },
  run(env, hashType, target, useIndex) {
    if (!HASH_TYPES.includes(hashType)) return rpcFail('invalidParameter', `'${hashType}' is not a valid hash_type`);
    if (target !== null) checkHistoric(env, hashType, useIndex);
    if (usesIndex(env.settings, hashType, useIndex)) return indexedStats(env, hashType, target);
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

/** Whether a call reads the index. As in Core, it has no hash_serialized_3. */
function usesIndex({ indexes }: ReadSettings, hashType: string, useIndex: boolean): boolean {
  return indexes.coinStats && useIndex && (hashType === 'muhash' || hashType === 'none');
}

/** Throws RpcError if the statistics of a given block are not available. */
function checkHistoric({ settings }: ReadEnv, hashType: string, useIndex: boolean): void {
  if (!settings.indexes.coinStats)
    rpcFail('invalidParameter', 'Querying specific block heights requires coinstatsindex');
  if (hashType === 'hash_serialized_3')
    rpcFail('invalidParameter', 'hash_serialized_3 hash type cannot be queried for a specific block');
  if (!useIndex) rpcFail('invalidParameter', 'Cannot set use_index to false when querying for a specific block');
}

function findTarget(env: ReadEnv, target: number | BlockHash): HeaderRecord {
  return typeof target === 'number' ? blockAtHeight(env, target) : findBlock(env, target);
}

function indexedStats(env: ReadEnv, hashType: string, target: number | BlockHash | null) {
  const { reads, tip } = env;
  const { id, height, hash } = target === null ? tip : findTarget(env, target);
  const stats = reads.coinStats.get(id);
  if (stats === null) {
    const covered = Math.max(0, reads.indexes.covered('coinStats')?.height ?? 0);
    if (target !== null && height > covered)
      return rpcFail(
        'internal',
        `Unable to get data because coinstatsindex is still syncing. Current height: ${covered}`,
        'index_not_ready',
      );
    return rpcFail('internal', 'Unable to read UTXO set');
  }
  const { genesis, bip30, scripts, unclaimed } = stats;
  return {
    height,
    bestblock: hashToHex(hash),
    txouts: stats.txouts,
    bogosize: stats.bogosize,
    ...(hashType === 'muhash' && { muhash: hashToHex(stats.muhash) }),
    total_amount: coins(stats.totalAmount),
    total_unspendable_amount: coins(stats.totalUnspendable),
    block_info: {
      prevout_spent: coins(stats.prevoutSpent),
      coinbase: coins(stats.coinbase),
      new_outputs_ex_coinbase: coins(stats.newOutputs),
      unspendable: coins(genesis + bip30 + scripts + unclaimed),
      unspendables: {
        genesis_block: coins(genesis),
        bip30: coins(bip30),
        scripts: coins(scripts),
        unclaimed_rewards: coins(unclaimed),
      },
    },
  };
}

export const utxoMethods: readonly RpcMethod[] = [gettxout, gettxoutsetinfo];
