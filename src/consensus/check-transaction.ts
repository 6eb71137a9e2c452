import { isNullOutpoint, outpointKey } from '../primitives/outpoint.ts';
import { isCoinbase, type Transaction, type TxInput, transactionBytes } from '../primitives/transaction.ts';
import { equalBytes } from '../util/bytes.ts';
import {
  COINBASE_SCRIPT_SIG_MAX,
  COINBASE_SCRIPT_SIG_MIN,
  MAX_BLOCK_WEIGHT,
  MAX_MONEY_NUMBER,
  WITNESS_SCALE_FACTOR,
} from './limits.ts';
import { reject, type TxRejection } from './rejection.ts';

/**
 * Checks a transaction without its context (Core's CheckTransaction). `strippedSize`: its size without witness in
 * bytes, measured if it is not given.
 */
export function checkTransaction(tx: Transaction, strippedSize?: number): TxRejection | null {
  if (tx.inputs.length === 0) return reject('consensus', 'bad-txns-vin-empty');
  if (tx.outputs.length === 0) return reject('consensus', 'bad-txns-vout-empty');
  // Without the witness, which is not checked for malleability yet.
  const size = strippedSize ?? transactionBytes(tx, { witness: false }).length;
  if (size * WITNESS_SCALE_FACTOR > MAX_BLOCK_WEIGHT) return reject('consensus', 'bad-txns-oversize');

  // CVE-2010-5139: the sum of the outputs overflowed.
  let total = 0;
  for (const output of tx.outputs) {
    const value = Number(output.value);
    if (value < 0) return reject('consensus', 'bad-txns-vout-negative');
    if (value > MAX_MONEY_NUMBER) return reject('consensus', 'bad-txns-vout-toolarge');
    total += value;
    if (total > MAX_MONEY_NUMBER) return reject('consensus', 'bad-txns-txouttotal-toolarge');
  }

  // CVE-2018-17144: the coin look-up does not detect an outpoint that is listed twice, and spending it twice creates
  // money.
  if (spendsTwice(tx.inputs)) return reject('consensus', 'bad-txns-inputs-duplicate');

  if (isCoinbase(tx)) {
    const { length } = tx.inputs[0]!.scriptSig;
    if (length < COINBASE_SCRIPT_SIG_MIN || length > COINBASE_SCRIPT_SIG_MAX)
      return reject('consensus', 'bad-cb-length');
  } else {
    for (const { prevout } of tx.inputs)
      if (isNullOutpoint(prevout)) return reject('consensus', 'bad-txns-prevout-null');
  }
  return null;
}

/** Up to this many inputs, comparing all pairs is faster than a set. */
const FEW_INPUTS = 12;

function spendsTwice(inputs: readonly TxInput[]): boolean {
  if (inputs.length > FEW_INPUTS) {
    const seen = new Set<string>();
    for (const { prevout } of inputs) seen.add(outpointKey(prevout));
    return seen.size < inputs.length;
  }
  for (let i = 1; i < inputs.length; i++) {
    const a = inputs[i]!.prevout;
    for (let j = 0; j < i; j++) {
      const b = inputs[j]!.prevout;
      if (a.vout === b.vout && a.txid[0] === b.txid[0] && equalBytes(a.txid, b.txid)) return true;
    }
  }
  return false;
}
