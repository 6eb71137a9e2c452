import { mustCheckBip30 } from '../consensus/bip30.ts';
import { checkSpentCoins, missingInputs } from '../consensus/check-tx-inputs.ts';
import type { ConsensusParams } from '../consensus/consensus-params.ts';
import { medianTimePast } from '../consensus/header-entry.ts';
import { MAX_BLOCK_SIGOPS_COST } from '../consensus/limits.ts';
import { calculateSequenceLocks, evaluateSequenceLocks } from '../consensus/locktime.ts';
import { type BlockRejection, reject, type TxRejection } from '../consensus/rejection.ts';
import { txSigopCost } from '../consensus/sigops.ts';
import { blockSubsidy } from '../consensus/subsidy.ts';
import type { AddressRows, RowsMark } from '../indexes/address-rows.ts';
import { isMoneyRange } from '../primitives/amount.ts';
import type { ParsedBlock, ParsedTransaction } from '../primitives/block.ts';
import { type Coin, txPosition } from '../primitives/coin.ts';
import { hashToHex } from '../primitives/hash.ts';
import { sumOutputs, type TxOutput } from '../primitives/transaction.ts';
import { readTxUndo, writeUndoRecord } from '../primitives/undo.ts';
import { isUnspendable } from '../script/templates.ts';
import type { BodyStats } from '../storage/header-store.ts';
import type { RunBatch } from '../storage/runs/run-batch.ts';
import { ByteReader, ByteWriter } from '../util/bytes.ts';
import { noteProgress } from '../util/progress.ts';
import type { Result } from '../util/result.ts';
import type { ChainEntry } from './chain-entry.ts';
import type { CoinsCache } from './coins-cache.ts';
import type { ScriptFailure, ScriptVerifier } from './script-verifier.ts';

/** Effects of connecting a block, in memory until the next commit. */
export interface BlockEffects {
  /** Undo records of all transactions except the coinbase, in input order. */
  readonly undo: Uint8Array;
  /** Offset of each transaction within the block, bytes. Its undo records begin at the same index of `undoOffsets`. */
  readonly offsets: Uint32Array;
  readonly undoOffsets: Uint32Array;
  readonly txids: Uint8Array;
  /** Sum of the fees, satoshis. */
  readonly fees: number;
  /** Change of the UTXO set: its value in satoshis, and its number of outputs. */
  readonly valueChange: number;
  readonly utxoChange: number;
  /** Resolves to the first script failure or to null; null if scripts are not checked. */
  readonly scripts: Promise<ScriptFailure | null> | null;
}

/** A block that is connected in memory and not committed yet. */
export interface StagedBlock {
  readonly entry: ChainEntry;
  readonly effects: BlockEffects;
  /** Index of its first row among the staged rows of the address index; null if none are collected. */
  readonly rowsMark: RowsMark | null;
  readonly stats: BodyStats;
  /** Totals of the chain up to and including this block. */
  readonly circulating: number;
  readonly utxos: number;
  readonly txs: number;
  /** Its encoded BIP-158 filter; null if the filter index had not reached this height yet. */
  readonly filter: Uint8Array | null;
  /** Keys of its inputs in the spender index; null if that index had not reached this height yet. */
  readonly spends: Uint8Array | null;
  /** Result of the script checks; undefined while they run, null if all inputs are valid. */
  scriptFailure: ScriptFailure | null | undefined;
}

/** The next commit: everything between the committed tip and `tip`. */
export interface SealedChange {
  readonly tip: ChainEntry;
  /** Connected blocks in ascending order of height. */
  readonly connected: readonly StagedBlock[];
  /** Blocks that leave the committed chain, the highest first. */
  readonly disconnected: readonly ChainEntry[];
  readonly coins: RunBatch;
  /** Rows of the address index; null if they were not collected, since that index had not reached these blocks yet. */
  readonly rows: AddressRows | null;
}

/** State and parameters that connecting a block needs. */
export interface ConnectContext {
  readonly coins: CoinsCache;
  /** Null if the rows of the address index are not collected. */
  readonly rows: AddressRows | null;
  readonly params: ConsensusParams;
  readonly flags: number;
  /** Null for assumed-valid blocks, whose scripts are not checked. */
  readonly verifier: ScriptVerifier | null;
}

const undoWriter = new ByteWriter(1 << 20);

/**
 * Spends and creates the block's coins in the cache and stages the rows of its addresses, with the checks in the order
 * of Core's ConnectBlock. A rejected block leaves the cache and the rows unchanged. Script checks run on the workers
 * meanwhile; `scripts` resolves to their result.
 */
export function connectBlock(
  block: ParsedBlock,
  entry: ChainEntry,
  context: ConnectContext,
): Result<BlockEffects, BlockRejection> {
  const { coins, rows, params, flags, verifier } = context;
  const { height } = entry;
  const parent = entry.parent!;

  const mayRepeat = mustCheckBip30(entry.hash, parent, params);
  if (mayRepeat)
    for (const { txid, tx } of block.txs)
      if (coins.hasAnyOf(txid, tx.outputs.length))
        return reject('consensus', 'bad-txns-BIP30', 'tried to overwrite transaction');

  // BIP-68, BIP-112 and BIP-113 activated together at `csvHeight`.
  const lockParent = height >= params.csvHeight ? { entry: parent, medianTime: medianTimePast(parent) } : null;
  const mark = rows?.mark ?? null;
  const checks = verifier?.begin(flags) ?? null;
  const count = block.txs.length;
  const offsets = new Uint32Array(count);
  const undoOffsets = new Uint32Array(count);
  undoWriter.reset();
  let fees = 0n;
  let sigops = 0;
  let valueChange = 0;
  let utxoChange = 0;

  const rejectBlock = (done: number, rejection: BlockRejection): Result<never, BlockRejection> => {
    checks?.cancel();
    const undo = undoWriter.finish();
    for (let i = done - 1; i >= 0; i--) disconnectTx(block.txs[i]!, i, undo, undoOffsets[i]!, coins);
    if (mark !== null) rows!.cutTo(mark);
    return { ok: false, ...rejection };
  };

  for (let i = 0; i < count; i++) {
    noteProgress();
    const parsed = block.txs[i]!;
    const { tx, txid } = parsed;
    const position = txPosition(height, i);
    offsets[i] = parsed.offset;
    undoOffsets[i] = undoWriter.length;
    let spent: Coin[] = [];
    if (i > 0) {
      const found = findCoins(parsed, coins);
      if (found === null) return rejectBlock(i, inTransaction(missingInputs(), parsed));
      spent = found;
      const fee = checkSpentCoins(tx, spent, height);
      if (!fee.ok) return rejectBlock(i, inTransaction(fee, parsed));
      fees += fee.value;
      if (!isMoneyRange(fees))
        return rejectBlock(
          i,
          reject('consensus', 'bad-txns-accumulated-fee-outofrange', 'accumulated fee in the block out of range'),
        );
      if (lockParent !== null) {
        const locks = calculateSequenceLocks(tx, spent, lockParent.entry);
        if (!evaluateSequenceLocks(locks, height, lockParent.medianTime))
          return rejectBlock(
            i,
            reject('consensus', 'bad-txns-nonfinal', `contains a non-BIP68-final transaction ${hashToHex(txid)}`),
          );
      }
    }
    sigops += txSigopCost(tx, spent.map(outputOf), flags);
    if (sigops > MAX_BLOCK_SIGOPS_COST) return rejectBlock(i, reject('consensus', 'bad-blk-sigops', 'too many sigops'));

    for (let n = 0; n < spent.length; n++) {
      const { prevout } = tx.inputs[n]!;
      const coin = spent[n]!;
      const value = Number(coin.output.value);
      coins.spendCoin(coins.findSlot(prevout.txid, prevout.vout));
      rows?.spend(coin.output.scriptPubKey, position, { position: coin.position, vout: prevout.vout }, value);
      writeUndoRecord(undoWriter, coin.position, coin.output.value, coin.output.scriptPubKey);
      valueChange -= value;
      utxoChange--;
    }
    for (let vout = 0; vout < tx.outputs.length; vout++) {
      const { value, scriptPubKey } = tx.outputs[vout]!;
      if (isUnspendable(scriptPubKey)) continue;
      const amount = Number(value);
      if (i === 0 && !mayRepeat) {
        const overwritten = overwriteCoin(coins, txid, vout, position, rows);
        valueChange -= overwritten.value;
        utxoChange -= overwritten.coins;
      }
      coins.addCoin(txid, vout, position, amount, scriptPubKey);
      rows?.receive(scriptPubKey, position, vout, amount);
      valueChange += amount;
      utxoChange++;
    }
    if (checks !== null && i > 0)
      checks.add(parsed.wtxid, parsed.raw, undoWriter.finish().subarray(undoOffsets[i]!), tx.inputs.length);
  }

  const allowed = fees + blockSubsidy(height, params.subsidyHalvingInterval);
  const reward = sumOutputs(block.txs[0]!.tx);
  if (reward > allowed)
    return rejectBlock(
      count,
      reject('consensus', 'bad-cb-amount', `coinbase pays too much (actual=${reward} vs limit=${allowed})`),
    );
  return {
    ok: true,
    value: {
      undo: undoWriter.finish().slice(),
      offsets,
      undoOffsets,
      txids: block.txids,
      fees: Number(fees),
      valueChange,
      utxoChange,
      scripts: checks?.finish() ?? null,
    },
  };
}

/** Returns the rejection of a block whose script check failed. */
export function scriptRejection(block: ParsedBlock, failure: ScriptFailure, text: string): BlockRejection {
  const { tx, txid, wtxid } = block.txs[failure.tx + 1]!;
  const { prevout } = tx.inputs[failure.input]!;
  return {
    kind: 'consensus',
    reason: `block-script-verify-flag-failed (${text})`,
    debug: `input ${failure.input} of ${hashToHex(txid)} (wtxid ${hashToHex(wtxid)}), spending ${hashToHex(prevout.txid)}:${prevout.vout}`,
  };
}

/** Undoes a block in the cache: removes the coins that it created and restores those that it spent. */
export function disconnectBlock(block: ParsedBlock, undo: Uint8Array, coins: CoinsCache): void {
  const undoOffsets = undoOffsetsOf(block, undo);
  for (let i = block.txs.length - 1; i >= 0; i--) disconnectTx(block.txs[i]!, i, undo, undoOffsets[i]!, coins);
}

/** Returns by how much a block has grown the UTXO set: the value in satoshis and the number of outputs. */
export function utxoGrowth(block: ParsedBlock, undo: Uint8Array): { valueChange: number; utxoChange: number } {
  const r = new ByteReader(undo);
  let valueChange = 0;
  let utxoChange = 0;
  for (let i = 0; i < block.txs.length; i++) {
    const { tx } = block.txs[i]!;
    if (i > 0)
      for (const { output } of readTxUndo(r, tx.inputs.length)) {
        valueChange -= Number(output.value);
        utxoChange--;
      }
    for (const { value, scriptPubKey } of tx.outputs) {
      if (isUnspendable(scriptPubKey)) continue;
      valueChange += Number(value);
      utxoChange++;
    }
  }
  return { valueChange, utxoChange };
}

const outputOf = (coin: Coin): TxOutput => coin.output;

function findCoins({ tx }: ParsedTransaction, coins: CoinsCache): Coin[] | null {
  const spent: Coin[] = [];
  for (const { prevout } of tx.inputs) {
    const slot = coins.findSlot(prevout.txid, prevout.vout);
    if (slot < 0) return null;
    spent.push(coins.coinAt(slot));
  }
  return spent;
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

function disconnectTx(
  { tx, txid }: ParsedTransaction,
  index: number,
  undo: Uint8Array,
  undoOffset: number,
  coins: CoinsCache,
): void {
  for (let vout = 0; vout < tx.outputs.length; vout++) {
    const slot = coins.findSlot(txid, vout);
    if (slot >= 0) coins.spendCoin(slot);
  }
  if (index === 0) return;
  const spent = readTxUndo(new ByteReader(undo, undoOffset), tx.inputs.length);
  for (let n = tx.inputs.length - 1; n >= 0; n--) {
    const { prevout } = tx.inputs[n]!;
    const { position, output } = spent[n]!;
    coins.restoreCoin(prevout.txid, prevout.vout, position, Number(output.value), output.scriptPubKey);
  }
}

function undoOffsetsOf(block: ParsedBlock, undo: Uint8Array): Uint32Array {
  const r = new ByteReader(undo);
  return Uint32Array.from(block.txs, ({ tx }, i) => {
    const at = r.pos;
    if (i > 0) readTxUndo(r, tx.inputs.length);
    return at;
  });
}

function inTransaction({ reason, debug }: TxRejection, { txid }: ParsedTransaction): BlockRejection {
  return { kind: 'consensus', reason, debug: `${debug ?? ''} in transaction ${hashToHex(txid)}` };
}

/** Returns the figures that follow from a block's body alone. */
export function bodyStats({ raw, txs, strippedSize }: ParsedBlock): BodyStats {
  let inputs = 0;
  let outputs = 0;
  let valueOut = 0n;
  for (let i = 0; i < txs.length; i++) {
    const { tx } = txs[i]!;
    outputs += tx.outputs.length;
    if (i === 0) continue;
    inputs += tx.inputs.length;
    valueOut += sumOutputs(tx);
  }
  // For display only: value can move many times within one block, so that the sum exceeds 2^53 and is rounded.
  return {
    txCount: txs.length,
    size: raw.length,
    strippedSize,
    inputs,
    outputs,
    valueOut: Number(valueOut),
    reward: Number(sumOutputs(txs[0]!.tx)),
  };
}
