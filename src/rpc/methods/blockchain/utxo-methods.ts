import { coins } from '../../../http/core-number.ts';
import { coinHeight, isCoinbaseCoin } from '../../../primitives/coin.ts';
import { hashToHex, type Txid } from '../../../primitives/hash.ts';
import { utxoStats } from '../../../queries/utxo-stats.ts';
import type { UtxoHashType } from '../../../storage/utxo-hash.ts';
import { coreScript } from '../../../views/core/core-script.ts';
import { EXAMPLE, example } from '../../engine/example.ts';
import { type RpcMethod, rpcMethod } from '../../engine/method.ts';
import { flagParam, hashOrHeight, hashParam, integerParam, optional, textParam } from '../../engine/params.ts';
import { rpcFail } from '../../engine/rpc-error.ts';
import { anyOf, bool, coinAmount, hashStr, int, maybe, nil, noted, obj } from '../../engine/schema.ts';
import { outputScript } from '../schemas.ts';

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
  help: 'Returns statistics of the set of unspent outputs at the tip. It scans the whole set, which takes minutes on the main network.',
  params: [
    optional(
      textParam('hash_type', { note: 'Commitment to compute: hash_serialized_3, muhash, or none, which is fastest.' }),
      'hash_serialized_3',
    ),
    optional(
      hashOrHeight('hash_or_height', {
        note: 'Block to describe. Every value but null is rejected, since there is no coinstatsindex.',
      }),
      null,
    ),
    optional(flagParam('use_index', { note: 'Has no effect, since there is no coinstatsindex.' }), true),
  ],
  result: obj({
    height: int('height of the tip'),
    bestblock: hashStr('hash of the tip'),
    txouts: int('number of unspent outputs'),
    bogosize: int('size of the set in bytes, by a measure that does not depend on the database'),
    hash_serialized_3: maybe(hashStr('if hash_type is hash_serialized_3')),
    muhash: maybe(hashStr('if hash_type is muhash')),
    total_amount: coinAmount('value of all unspent outputs'),
    transactions: int('number of transactions with unspent outputs'),
    disk_size: int('estimated bytes on disk'),
  }),
  examples: [example([]), example(['none']), example({ hash_type: 'muhash' })],
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

export const utxoMethods: readonly RpcMethod[] = [gettxout, gettxoutsetinfo];
