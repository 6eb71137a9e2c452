import type { Amount } from '../primitives/amount.ts';
import { parseTransaction, weightOf } from '../primitives/block.ts';
import { type Outpoint, outpointKey } from '../primitives/outpoint.ts';
import { type Transaction, type TxOutput, transactionBytes, txidOf } from '../primitives/transaction.ts';
import { Op } from '../script/opcodes.ts';
import { scriptOf } from '../script/script-builder.ts';
import { assert } from '../util/assert.ts';
import type { SigningProvider } from '../wallet/keys/signing-data.ts';
import { signTransaction } from '../wallet/signing/sign-transaction.ts';
import type { SeededRandom } from './seeded-random.ts';

export interface OwnCoin {
  readonly outpoint: Outpoint;
  readonly output: TxOutput;
}

export interface Payments {
  readonly transactions: readonly Transaction[];
  readonly fees: Amount;
}

export interface PaymentOptions {
  /** Coins that may be spent in the next block, in any order. */
  readonly coins: readonly OwnCoin[];
  /** Scripts of the recipients; the sandbox only pays itself. */
  readonly scripts: readonly Uint8Array[];
  /** Keys and scripts that spend the coins. */
  readonly signing: SigningProvider;
  readonly random: SeededRandom;
  /** Height of the tip. */
  readonly height: number;
}

/** BIP-125: signals replaceability, as wallets do today. */
const SEQUENCE_RBF = 0xffff_fffd;

/** Smaller coins are not spent by a payment of their own, but added to others. */
const LEAST_COIN = 100_000n;
const LEAST_PAYMENT = 10_000n;

/** With more coins than this, payments combine several of them. */
const MANY_COINS = 120;

/**
 * Returns three to six signed payments, or fewer where there are too few coins. The first has several outputs, and
 * sometimes the last one spends an output of another. The same options give the same payments.
 */
export function makePayments({ coins, scripts, signing, random, height }: PaymentOptions): Payments {
  const left = random.shuffled([...coins].sort((a, b) => (coinKey(a) < coinKey(b) ? -1 : 1)));
  const count = random.between(3, 6);
  const crowded = coins.length > MANY_COINS;
  const transactions: Transaction[] = [];
  let fees = 0n;
  for (let i = 0; i < count; i++) {
    const previous = transactions.at(-1);
    const chained = i === count - 1 && previous !== undefined && random.chance(0.4);
    const inputs = chained ? largestOutput(previous) : reserveCoins(left, crowded ? 6 : random.chance(0.3) ? 2 : 1);
    if (inputs === null) break;
    const several = i === 0 ? random.between(3, 7) : 1;
    const { tx, fee } = payment({ inputs, payees: several, scripts, signing, random, height });
    transactions.push(tx);
    fees += fee;
  }
  return { transactions, fees };
}

function coinKey({ outpoint }: OwnCoin): string {
  return outpointKey(outpoint);
}

/** Removes a coin that can pay, and up to `most - 1` others, from the list; null where none is left. */
function reserveCoins(left: OwnCoin[], most: number): OwnCoin[] | null {
  const at = left.findIndex(({ output }) => output.value >= LEAST_COIN);
  if (at < 0) return null;
  return [...left.splice(at, 1), ...left.splice(0, most - 1)];
}

function largestOutput(tx: Transaction): OwnCoin[] | null {
  let best: OwnCoin | null = null;
  const txid = txidOf(tx);
  for (const [vout, output] of tx.outputs.entries())
    if (best === null || output.value > best.output.value) best = { outpoint: { txid, vout }, output };
  return best !== null && best.output.value >= LEAST_COIN ? [best] : null;
}

type PaymentPlan = Omit<PaymentOptions, 'coins'> & {
  readonly inputs: readonly OwnCoin[];
  readonly payees: number;
};

function payment(plan: PaymentPlan): { tx: Transaction; fee: Amount } {
  const { inputs, payees, scripts, random, height } = plan;
  const total = inputs.reduce((sum, { output }) => sum + output.value, 0n);
  // Low rates are the most frequent. Neither end of the range is reached, as a signature may be a byte longer or
  // shorter.
  const rate = 1.2 + 18 * random.fraction() ** 2;
  // At most half of the value is paid, so that the change covers the fee.
  const outputs = Array.from({ length: payees }, () => ({
    value: amountUpTo(total / 2n / BigInt(payees), random),
    scriptPubKey: random.pick(scripts),
  }));
  if (payees > 1 && random.chance(0.3)) outputs.push({ value: 0n, scriptPubKey: noteScript(height) });
  const change = { value: total - sumOf(outputs), scriptPubKey: random.pick(scripts) };
  const changeAt = random.between(0, outputs.length);
  const withFee = (fee: Amount) =>
    signed(plan, outputs.toSpliced(changeAt, 0, { ...change, value: change.value - fee }));
  const fee = BigInt(Math.ceil(rate * vsizeOf(withFee(0n))));
  return { tx: withFee(fee), fee };
}

function signed({ inputs, signing, height }: PaymentPlan, outputs: readonly TxOutput[]): Transaction {
  const unsigned = {
    version: 2,
    inputs: inputs.map(({ outpoint }) => ({
      prevout: outpoint,
      scriptSig: new Uint8Array(0),
      sequence: SEQUENCE_RBF,
      witness: [],
    })),
    outputs,
    // As wallets do, so that re-mining the last block gains nothing (anti fee sniping).
    locktime: height,
  };
  const { tx, errors } = signTransaction(
    unsigned,
    inputs.map(({ output }) => output),
    signing,
  );
  assert(errors.size === 0, 'the sandbox has the keys of its own coins');
  return tx;
}

/** Returns an amount from `LEAST_PAYMENT` to `most`, uniform in its logarithm; half of them are round. */
function amountUpTo(most: Amount, random: SeededRandom): Amount {
  const value = BigInt(Math.floor(Number(most) / 1000 ** random.fraction()));
  if (value <= LEAST_PAYMENT) return most < LEAST_PAYMENT ? most : LEAST_PAYMENT;
  if (random.chance(0.5)) return value;
  const unit = 10n ** BigInt(value.toString().length - 2);
  return value - (value % unit);
}

/** Returns a data output (OP_RETURN). */
function noteScript(height: number): Uint8Array {
  return scriptOf(Op.OP_RETURN, new TextEncoder().encode(`obverse sandbox, after block ${height}`));
}

function sumOf(outputs: readonly TxOutput[]): Amount {
  return outputs.reduce((sum, { value }) => sum + value, 0n);
}

function vsizeOf(tx: Transaction): number {
  return Math.ceil(weightOf(parseTransaction(transactionBytes(tx))) / 4);
}
