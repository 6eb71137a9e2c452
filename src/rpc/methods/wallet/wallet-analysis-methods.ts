import { coins } from '../../../http/core-number.ts';
import type { Outpoint } from '../../../primitives/outpoint.ts';
import { outpointKey } from '../../../primitives/outpoint.ts';
import { type Transaction, txidOf } from '../../../primitives/transaction.ts';
import { WalletTxViews } from '../../../views/core/wallet-tx.ts';
import { addressGroups } from '../../../wallet/read/address-groups.ts';
import { EXAMPLE, example } from '../../engine/example.ts';
import { type RpcMethod, walletMethod } from '../../engine/method.ts';
import { array, checkMembers, optional, options, readString } from '../../engine/params.ts';
import { rpcFail } from '../../engine/rpc-error.ts';
import { anyOf, arr, bool, coinAmount, hexStr, obj, str, tuple } from '../../engine/schema.ts';
import { findOutput } from '../rawtransactions/spent-outputs.ts';
import { readTransactionHex } from '../rawtransactions/transaction-hex.ts';

/** Microseconds to process a transaction of the wallet. */
const GROUP_TX_US = 60;
/** Microseconds to process an input of a simulated transaction. */
const SIMULATED_INPUT_US = 30;

const listaddressgroupings = walletMethod({
  name: 'listaddressgroupings',
  help: 'Returns groups of addresses whose common ownership the chain reveals: inputs of one transaction, and its change.',
  params: [],
  result: arr(
    arr(
      anyOf(
        tuple([str('address'), coinAmount()], 'an address without a label'),
        tuple([str('address'), coinAmount(), str('label')]),
      ),
    ),
  ),
  run({ view, params, expectWork }) {
    expectWork(view.reads.txCount() * GROUP_TX_US);
    const views = new WalletTxViews(view, params);
    return addressGroups(view, params, (script) => views.isChange(script)).map((group) =>
      group.map(({ script, address, balance }) => {
        const entry = view.reads.bookEntry(script);
        return [address, coins(balance), ...(entry ? [entry.label] : [])];
      }),
    );
  },
});

const simulaterawtransaction = walletMethod({
  name: 'simulaterawtransaction',
  help: 'Returns the change of the balance that transactions would cause. A later one may spend outputs of an earlier one.',
  params: [
    optional(
      array('rawtxs', readString, {
        oneline: '["rawtx",...]',
        schema: arr(hexStr()),
        note: 'Serialized transactions; null is rejected, as by Bitcoin Core.',
      }),
      null,
    ),
    optional(options('options', { include_watchonly: bool('has no effect') }, { note: 'Has no effect.' }), {}),
  ],
  result: obj({ balance_change: coinAmount('negative if the balance decreases') }),
  examples: [example([[EXAMPLE.transaction]])],
  run(env, rawTxs, given) {
    checkMembers(given, { include_watchonly: 'bool' });
    const txs = readTxs(rawTxs);
    env.expectWork(txs.reduce((sum, { inputs }) => sum + inputs.length * SIMULATED_INPUT_US, 0));
    const { reads } = env.view;
    const made = new Map<string, bigint>();
    const spent = new Set<string>();
    let change = 0n;
    for (const tx of txs) {
      for (const { prevout } of tx.inputs) {
        const key = outpointKey(prevout);
        if (spent.has(key)) rpcFail('invalidParameter', 'Transaction(s) are spending the same output more than once');
        const own = made.get(key);
        if (own === undefined && findOutput(env, prevout) === null)
          rpcFail('invalidParameter', 'One or more transaction inputs are missing or have been spent already');
        change -= own ?? BigInt(reads.txs.coin(prevout)?.value ?? 0);
        spent.add(key);
      }
      const txid = txidOf(tx);
      for (const [vout, { value, scriptPubKey }] of tx.outputs.entries()) {
        const received = reads.keys.scripts(scriptPubKey).length > 0 ? value : 0n;
        made.set(outpointKey({ txid, vout }), received);
        change += received;
      }
    }
    return { balance_change: coins(change) };
  },
  spends: (_env, rawTxs) => readTxs(rawTxs).flatMap(prevoutsOf),
});

function readTxs(rawTxs: readonly string[] | null): Transaction[] {
  if (rawTxs === null) return rpcFail('type', 'JSON value of type null is not of expected type array');
  return rawTxs.map((hex) => readTransactionHex(hex, 'Transaction hex string decoding failure.', { plain: true }));
}

function prevoutsOf({ inputs }: Transaction): Outpoint[] {
  return inputs.map(({ prevout }) => prevout);
}

export const walletAnalysisMethods: readonly RpcMethod[] = [listaddressgroupings, simulaterawtransaction];
