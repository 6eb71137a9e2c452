import type { Txid } from '../../../primitives/hash.ts';
import { EXAMPLE, example } from '../../engine/example.ts';
import { nodeMethod, type RpcMethod } from '../../engine/method.ts';
import { hashParam, largeInteger, numberParam, optional } from '../../engine/params.ts';
import { rpcFail } from '../../engine/rpc-error.ts';
import { bool, int, mapOf, maybe, obj } from '../../engine/schema.ts';

const prioritisetransaction = nodeMethod({
  name: 'prioritisetransaction',
  category: 'mining',
  help: 'Adds a delta to the fee with which a transaction competes for block templates and for space in the mempool. The fee that it pays stays the same, and deltas of several calls add up.',
  params: [
    hashParam<Txid>('txid', 'txid', { note: 'Transaction; it need not be in the mempool yet.' }),
    optional(numberParam('dummy', { placeholder: true, note: 'Must be 0 or null; kept for older clients.' }), 0),
    largeInteger('fee_delta', { note: 'Satoshis to add to the fee; negative to subtract.' }),
  ],
  result: bool('true'),
  examples: [example([EXAMPLE.txid, 0, 10000]), example({ txid: EXAMPLE.txid, fee_delta: -5000 })],
  scope: 'admin',
  async run({ ctx }, txid, dummy, delta) {
    if (dummy !== 0)
      return rpcFail(
        'invalidParameter',
        'Priority is no longer supported, dummy argument to prioritisetransaction must be 0.',
      );
    const accepted = await ctx.node().call('prioritise', txid, delta);
    return accepted || rpcFail('invalidParameter', 'Priority is not supported for transactions with dust outputs.');
  },
});

const getprioritisedtransactions = nodeMethod({
  name: 'getprioritisedtransactions',
  category: 'mining',
  help: 'Returns all fee deltas of prioritisetransaction, for transactions in the mempool and for others.',
  params: [],
  result: mapOf(
    'txid',
    obj({
      fee_delta: int('satoshis'),
      in_mempool: bool('whether the transaction is in the mempool'),
      modified_fee: maybe(int('fee with the delta, satoshis; only in the mempool')),
    }),
  ),
  scope: 'read',
  async run({ ctx }) {
    const all = await ctx.node().call('prioritised');
    return Object.fromEntries(
      all.map(({ txid, delta, modifiedFee }) => [
        txid,
        {
          fee_delta: delta,
          in_mempool: modifiedFee !== null,
          ...(modifiedFee !== null && { modified_fee: modifiedFee }),
        },
      ]),
    );
  },
});

export const prioritiseMethods: readonly RpcMethod[] = [prioritisetransaction, getprioritisedtransactions];
