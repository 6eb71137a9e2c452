import { outpointKey } from '../../../primitives/outpoint.ts';
import { type Transaction, type TxOutput, transactionBytes, txidOf } from '../../../primitives/transaction.ts';
import { SIGHASH_DEFAULT, sighashFromName } from '../../../script/sighash-type.ts';
import { equalBytes } from '../../../util/bytes.ts';
import { PrivateKey } from '../../../wallet/keys/private-key.ts';
import { SigningData } from '../../../wallet/keys/signing-data.ts';
import { combineTransactions, signTransaction } from '../../../wallet/signing/sign-transaction.ts';
import { rpcMethod } from '../../engine/method.ts';
import { array, optional, readString, text } from '../../engine/params.ts';
import { rpcFail } from '../../engine/rpc-error.ts';
import { hexStr } from '../../engine/schema.ts';
import { makeTransaction, makingUs, TRANSACTION_PARAMS } from './make-transaction.ts';
import { previousOutputsParam, readPreviousOutput } from './previous-outputs.ts';
import { SIGNED } from './psbt-shapes.ts';
import { signedView } from './signed-view.ts';
import { findOutput } from './spent-outputs.ts';
import { readTransactionHex } from './transaction-hex.ts';

/** Microseconds that an input takes: signatures, and checking them. */
const SIGN_US = 1500;
const CHECK_US = 150;
/** To read a private key, and a character of hex. */
const KEY_US = 50;
const READ_US = 0.1;

const NEEDS_INPUTS = 'TX decode failed. Make sure the tx has at least one input.';

export const createrawtransaction = rpcMethod({
  name: 'createrawtransaction',
  category: 'rawtransactions',
  help: 'An unsigned transaction that spends and pays what is named. Nothing is looked up or sent.',
  params: TRANSACTION_PARAMS,
  result: hexStr(),
  scope: 'read',
  run({ params, expectWork }, inputs, outputs, locktime, replaceable, version) {
    expectWork(makingUs({ inputs, outputs }));
    return transactionBytes(makeTransaction({ inputs, outputs, locktime, replaceable, version }, params)).toHex();
  },
});

export const combinerawtransaction = rpcMethod({
  name: 'combinerawtransaction',
  category: 'rawtransactions',
  help: 'The signatures of several copies of a transaction in one.',
  params: [array('txs', readString, { oneline: '["hexstring",...]' })],
  result: hexStr(),
  scope: 'read',
  run(env, hexes) {
    for (const { length } of hexes) env.expectWork(length * READ_US);
    const copies = readCopies(hexes);
    const [first] = copies;
    env.expectWork(first!.inputs.length * copies.length * CHECK_US);
    const spent = first!.inputs.map(
      ({ prevout }) => findOutput(env, prevout) ?? rpcFail('verify', 'Input not found or already spent'),
    );
    return transactionBytes(combineTransactions(copies, spent, () => env.expectWork(0))).toHex();
  },
  spends: (_env, hexes) => prevoutsOf(readCopies(hexes)[0]!),
});

function readCopies(hexes: readonly string[]): Transaction[] {
  if (hexes.length < 2) return rpcFail('deserialization', 'Missing transactions. At least two transactions required.');
  const copies = hexes.map((hex, i) =>
    readTransactionHex(hex, `TX decode failed for tx ${i}. Make sure the tx has at least one input.`),
  );
  const id = unsignedId(copies[0]!);
  for (const [i, copy] of copies.entries())
    if (!equalBytes(unsignedId(copy), id))
      rpcFail('invalidParameter', `Transaction number ${i + 1} not compatible with first transaction`);
  return copies;
}

function unsignedId(tx: Transaction): Uint8Array {
  return txidOf({ ...tx, inputs: tx.inputs.map((input) => ({ ...input, scriptSig: new Uint8Array(0), witness: [] })) });
}

function prevoutsOf({ inputs }: Transaction) {
  return inputs.map(({ prevout }) => prevout);
}

/** The hash type of a name; null where none is given. */
export function readSighashName(name: string | null): number | null {
  if (name === null) return null;
  return sighashFromName(name) ?? rpcFail('invalidParameter', `'${name}' is not a valid sighash parameter.`);
}

export const signrawtransactionwithkey = rpcMethod({
  name: 'signrawtransactionwithkey',
  category: 'rawtransactions',
  help: 'Signs a transaction with the given private keys and no others. They are not kept.',
  params: [
    text('hexstring'),
    array('privkeys', readString, { oneline: '["privatekey",...]' }),
    optional(previousOutputsParam, null),
    optional(text('sighashtype', { note: 'DEFAULT for taproot and ALL else, where it is left out' }), null),
  ],
  result: SIGNED,
  scope: 'read',
  run(env, hex, wifs, previous, sighashName) {
    env.expectWork(hex.length * READ_US);
    const tx = readTransactionHex(hex, NEEDS_INPUTS);
    env.expectWork(tx.inputs.length * SIGN_US + wifs.length * KEY_US);
    const keys = new SigningData();
    try {
      for (const wif of wifs) {
        const key = PrivateKey.fromWif(wif, env.params.wif);
        if (key === null) return rpcFail('invalidAddressOrKey', 'Invalid private key');
        keys.addPrivateKey(key);
        keys.addPublicKey(key.publicKey);
      }
      const spent = new Map<string, TxOutput | null>();
      for (const { prevout } of tx.inputs) spent.set(outpointKey(prevout), findOutput(env, prevout));
      for (const value of previous ?? []) {
        const { outpoint, output } = readPreviousOutput(value, spent, keys);
        spent.set(outpointKey(outpoint), output);
      }
      const outputs = tx.inputs.map(({ prevout }) => spent.get(outpointKey(prevout)) ?? null);
      const hashType = readSighashName(sighashName) ?? SIGHASH_DEFAULT;
      const signed = signTransaction(tx, outputs, keys, hashType, () => env.expectWork(0));
      return signedView(signed.tx, signed.errors, outputs);
    } finally {
      // Whatever has failed, and where a worker has to begin anew.
      for (const key of keys.privateKeys.values()) key.wipe();
    }
  },
  spends: (_env, hex) => prevoutsOf(readTransactionHex(hex, NEEDS_INPUTS)),
});
