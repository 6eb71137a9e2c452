import { inputSigopCost } from '../consensus/block-sigops.ts';
import { missingInputs } from '../consensus/check-tx-inputs.ts';
import { MAX_MONEY_NUMBER } from '../consensus/limits.ts';
import { calculateSequenceLocks, evaluateSequenceLocks } from '../consensus/locktime.ts';
import { type BlockRejection, reject, type TxRejection } from '../consensus/rejection.ts';
import type { AddressRows } from '../indexes/address-rows.ts';
import { type ParsedBlock, type ParsedTransaction, transactionOf } from '../primitives/block.ts';
import { u32At } from '../primitives/block-columns.ts';
import { txPosition } from '../primitives/coin.ts';
import { hashToHex } from '../primitives/hash.ts';
import { isUnspendableAt } from '../script/templates.ts';
import type { ChainEntry } from './chain-entry.ts';
import type { CoinsCache } from './coins-cache.ts';
import { hasSequenceLock, type SpentCoins } from './spent-coins.ts';

// The steps of connecting one transaction are functions of their own: the engine takes twice 0.3 s to compile one that has
// all of them.

/** The block from which relative locks are calculated (BIP-68). */
export interface LockParent {
  readonly entry: ChainEntry;
  readonly medianTime: number;
}

/** Sums over the transactions of a block that are connected. */
interface ConnectedSums {
  fees: number;
  sigops: number;
  valueChange: number;
  utxoChange: number;
}

/** The block in which transactions are connected. */
export interface TxConnection {
  readonly height: number;
  readonly coins: CoinsCache;
  /** The coins of the transaction that is being connected, and the undo records of the block. */
  readonly spent: SpentCoins;
  /** Null if the rows of the address index are not collected. */
  readonly rows: AddressRows | null;
  readonly lockParent: LockParent | null;
  readonly flags: number;
  readonly sums: ConnectedSums;
}

/** Finds the coins that a transaction spends, and adds its fee and the sigops of its inputs. Returns its rejection, or null. */
export function checkInputs(
  block: ParsedBlock,
  i: number,
  { height, lockParent, coins, spent, flags, sums }: TxConnection,
): BlockRejection | null {
  const { raw, columns } = block;
  const input = columns.firstInput[i]!;
  const inputCount = columns.firstInput[i + 1]! - input;
  if (!spent.findCoins(coins, raw, columns.prevoutAt, input, inputCount))
    return inTransaction(missingInputs(), transactionOf(block, i));
  const fee = spent.feeOf(block, i, height);
  if (typeof fee !== 'number') return inTransaction(fee, transactionOf(block, i));
  sums.fees += fee;
  if (sums.fees > MAX_MONEY_NUMBER)
    return reject('consensus', 'bad-txns-accumulated-fee-outofrange', 'accumulated fee in the block out of range');
  if (lockParent !== null && hasSequenceLock(block, i)) {
    const { tx, txid } = transactionOf(block, i);
    const locks = calculateSequenceLocks(tx, spent.coins(), lockParent.entry);
    if (!evaluateSequenceLocks(locks, height, lockParent.medianTime))
      return reject('consensus', 'bad-txns-nonfinal', `contains a non-BIP68-final transaction ${hashToHex(txid)}`);
  }
  const undo = spent.undo.buffer;
  for (let n = 0; n < inputCount; n++)
    sums.sigops += inputSigopCost(block, input + n, {
      spent: undo,
      from: spent.scriptAt[n]!,
      to: spent.scriptEnd[n]!,
      flags,
    });
  return null;
}

/** Spends the coins that `checkInputs` has found. */
export function spendInputs(
  { raw, columns }: ParsedBlock,
  i: number,
  { height, coins, spent, rows, sums }: TxConnection,
): void {
  const { firstInput, prevoutAt } = columns;
  const undo = spent.undo.buffer;
  const position = txPosition(height, i);
  const input = firstInput[i]!;
  const inputCount = firstInput[i + 1]! - input;
  for (let n = 0; n < inputCount; n++) {
    const at = prevoutAt[input + n]!;
    const vout = u32At(raw, at + 32);
    const value = spent.value[n]!;
    // Looking a coin up may make the table grow.
    coins.spendCoin(spent.generation === coins.slotGeneration ? spent.slot[n]! : coins.findSlotAt(raw, at, vout));
    rows?.spendAt(undo, spent.scriptAt[n]!, spent.scriptEnd[n]!, position, spent.position[n]!, vout, value);
    sums.valueChange -= value;
  }
  sums.utxoChange -= inputCount;
}

/**
 * Adds the spendable outputs of a transaction to the coins. `mayOverwrite` is true for a coinbase that may repeat an
 * earlier txid.
 */
export function createOutputs(
  { raw, columns, txids }: ParsedBlock,
  i: number,
  { height, coins, rows, sums }: TxConnection,
  mayOverwrite: boolean,
): void {
  const { firstOutput, scriptAt, scriptEnd, value: values } = columns;
  const position = txPosition(height, i);
  for (let output = firstOutput[i]!; output < firstOutput[i + 1]!; output++) {
    const from = scriptAt[output]!;
    const to = scriptEnd[output]!;
    if (isUnspendableAt(raw, from, to)) continue;
    const vout = output - firstOutput[i]!;
    const value = values[output]!;
    if (mayOverwrite) {
      const overwritten = overwriteCoin(coins, txids.subarray(0, 32), vout, position, rows);
      sums.valueChange -= overwritten.value;
      sums.utxoChange -= overwritten.coins;
    }
    coins.addCoinAt(txids, i * 32, vout, { position, value, bytes: raw, from, to });
    rows?.receiveAt(raw, from, to, position, vout, value);
    sums.valueChange += value;
    sums.utxoChange++;
  }
}

/**
 * Handles the two coinbases that BIP-30 exempts: each repeats an earlier txid, and the earlier coin is lost. Finds no
 * coin for any other coinbase.
 */
function overwriteCoin(
  coins: CoinsCache,
  txid: Uint8Array,
  vout: number,
  position: number,
  rows: AddressRows | null,
): { value: number; coins: number } {
  const slot = coins.findSlot(txid, vout);
  if (slot < 0) return { value: 0, coins: 0 };
  const coin = coins.coinAt(slot);
  const { output } = coin;
  // Indexed as a spend by the later coinbase, so that the totals of the script match its coins.
  rows?.spend(output.scriptPubKey, position, { position: coin.position, vout }, Number(output.value));
  return { value: Number(output.value), coins: 1 };
}

function inTransaction({ reason, debug }: TxRejection, { txid }: ParsedTransaction): BlockRejection {
  return { kind: 'consensus', reason, debug: `${debug ?? ''} in transaction ${hashToHex(txid)}` };
}
