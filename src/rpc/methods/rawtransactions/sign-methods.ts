import { outpointKey } from '../../../primitives/outpoint.ts';
import { type Transaction, type TxOutput, transactionBytes, txidOf } from '../../../primitives/transaction.ts';
import { SIGHASH_DEFAULT, sighashFromName } from '../../../script/sighash-type.ts';
import { equalBytes } from '../../../util/bytes.ts';
import { PrivateKey } from '../../../wallet/keys/private-key.ts';
import { SigningData } from '../../../wallet/keys/signing-data.ts';
import { combineTransactions, signTransaction } from '../../../wallet/signing/sign-transaction.ts';
import { EXAMPLE, example } from '../../engine/example.ts';
import { type RpcMethod, rpcMethod } from '../../engine/method.ts';
import { array, optional, readString, textParam } from '../../engine/params.ts';
import { rpcFail } from '../../engine/rpc-error.ts';
import { arr, hexStr } from '../../engine/schema.ts';
import { makeTransaction, makeTransactionUs, TRANSACTION_EXAMPLES, TRANSACTION_PARAMS } from './make-transaction.ts';
import { previousOutputsParam, readPreviousOutput } from './previous-outputs.ts';
import { SIGNED } from './psbt-schemas.ts';
import { signedView } from './signed-view.ts';
import { findOutput } from './spent-outputs.ts';
import { readTransactionHex } from './transaction-hex.ts';

/** Microseconds to sign an input. */
const SIGN_US = 1500;
/** Microseconds to verify the signatures of an input. */
const CHECK_US = 150;
/** Microseconds to parse a private key. */
const KEY_US = 50;
/** Microseconds to decode a character of hex. */
const READ_US = 0.1;

/** Description of a `sighashtype` argument. */
export const SIGHASH_NOTE =
  'DEFAULT, ALL, NONE, SINGLE, or one of the last three with |ANYONECANPAY. By default DEFAULT, which means ALL for inputs other than taproot.';

const NEEDS_INPUTS = 'TX decode failed. Make sure the tx has at least one input.';

const createrawtransaction = rpcMethod({
  name: 'createrawtransaction',
  category: 'rawtransactions',
  help: 'Returns an unsigned transaction with the given inputs and outputs. Neither wallet nor chain is read, and nothing is sent.',
  params: TRANSACTION_PARAMS,
  result: hexStr('serialized transaction'),
  examples: TRANSACTION_EXAMPLES,
  scope: 'read',
  run({ params, expectWork }, inputs, outputs, locktime, replaceable, version) {
    expectWork(makeTransactionUs({ inputs, outputs }));
    return transactionBytes(makeTransaction({ inputs, outputs, locktime, replaceable, version }, params)).toHex();
  },
});

const combinerawtransaction = rpcMethod({
  name: 'combinerawtransaction',
  category: 'rawtransactions',
  help: 'Merges the signatures of several copies of a transaction. The spent outputs must be unspent in the chain or the mempool.',
  params: [
    array('txs', readString, {
      oneline: '["hexstring",...]',
      schema: arr(hexStr()),
      note: 'Two or more copies of the transaction, which differ in their signatures only.',
    }),
  ],
  result: hexStr('serialized transaction'),
  examples: [example([[EXAMPLE.transaction, EXAMPLE.signedTransaction]])],
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

/** Returns the hash type of a name, or null for null. Throws RpcError for an unknown name. */
export function readSighashName(name: string | null): number | null {
  if (name === null) return null;
  return sighashFromName(name) ?? rpcFail('invalidParameter', `'${name}' is not a valid sighash parameter.`);
}

const signrawtransactionwithkey = rpcMethod({
  name: 'signrawtransactionwithkey',
  category: 'rawtransactions',
  help: 'Signs a transaction with the given private keys only. The keys are not stored.',
  params: [
    textParam('hexstring', { schema: hexStr(), note: 'Serialized transaction.' }),
    array('privkeys', readString, { oneline: '["privatekey",...]', note: 'Private keys in WIF.' }),
    optional(previousOutputsParam, null),
    optional(textParam('sighashtype', { note: SIGHASH_NOTE }), null),
  ],
  result: SIGNED,
  examples: [
    example([EXAMPLE.transaction, [EXAMPLE.privateKey]]),
    example(
      [
        EXAMPLE.transaction,
        [EXAMPLE.privateKey],
        [{ txid: EXAMPLE.txid, vout: 0, scriptPubKey: '0014751e76e8199196d454941c45d1b3a323f1433bd6', amount: 0.2 }],
      ],
      'With a spent output that the node does not know:',
    ),
  ],
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
        const { outpoint, output } = readPreviousOutput(value, spent, keys, { requireScripts: true });
        spent.set(outpointKey(outpoint), output);
      }
      const outputs = tx.inputs.map(({ prevout }) => spent.get(outpointKey(prevout)) ?? null);
      const hashType = readSighashName(sighashName) ?? SIGHASH_DEFAULT;
      const signed = signTransaction(tx, outputs, keys, hashType, () => env.expectWork(0));
      return signedView(signed.tx, signed.errors, outputs);
    } finally {
      // This includes the case that a worker starts the call again.
      for (const key of keys.privateKeys.values()) key.wipe();
    }
  },
  spends: (_env, hex) => prevoutsOf(readTransactionHex(hex, NEEDS_INPUTS)),
});

export const signMethods: readonly RpcMethod[] = [
  createrawtransaction,
  combinerawtransaction,
  signrawtransactionwithkey,
];
