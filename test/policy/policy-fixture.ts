import { hash256 } from '../../src/crypto/hash-functions.ts';
import { type ParsedTransaction, parseTransaction } from '../../src/primitives/block.ts';
import type { Txid } from '../../src/primitives/hash.ts';
import type { Outpoint } from '../../src/primitives/outpoint.ts';
import { type Transaction, type TxInput, type TxOutput, transactionBytes } from '../../src/primitives/transaction.ts';
import { hexToBytes } from '../../src/util/bytes.ts';

export const NONE = new Uint8Array(0);
/** A compressed key, of which only the length matters. */
export const KEY = new Uint8Array(33).fill(2);
export const P2PKH = hexToBytes(`76a914${'00'.repeat(20)}88ac`);
export const ANCHOR = hexToBytes('51024e73');

/** An outpoint of no transaction, another one for each seed. */
export function someOutpoint(seed: number, vout = 0): Outpoint {
  return { txid: hash256(Uint8Array.of(seed & 0xff, seed >> 8)) as Txid, vout };
}

export function input(prevout: Outpoint, changes: Partial<TxInput> = {}): TxInput {
  return { prevout, scriptSig: NONE, sequence: 0xffff_ffff, witness: [], ...changes };
}

export function output(value: bigint, scriptPubKey: Uint8Array = P2PKH): TxOutput {
  return { value, scriptPubKey };
}

export function txOf(changes: Partial<Transaction> = {}): Transaction {
  return { version: 2, inputs: [input(someOutpoint(1))], outputs: [output(90_000n)], locktime: 0, ...changes };
}

export function parsedOf(changes: Partial<Transaction> = {}): ParsedTransaction {
  return parseTransaction(transactionBytes(txOf(changes)));
}

/** A transaction that spends outputs of others and has some itself. */
export function spending(prevouts: readonly Outpoint[], changes: Partial<Transaction> = {}): ParsedTransaction {
  return parsedOf({ inputs: prevouts.map((prevout) => input(prevout)), ...changes });
}

export function outpointOf({ txid }: ParsedTransaction, vout = 0): Outpoint {
  return { txid, vout };
}

/** `count` equal bytes. */
export function filled(count: number, byte = 0): Uint8Array {
  return new Uint8Array(count).fill(byte);
}
