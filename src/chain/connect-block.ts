import { mustCheckBip30 } from '../consensus/bip30.ts';
import { blockSigops } from '../consensus/block-sigops.ts';
import type { ConsensusParams } from '../consensus/consensus-params.ts';
import { medianTimePast } from '../consensus/header-entry.ts';
import { MAX_BLOCK_SIGOPS_COST, MAX_MONEY_NUMBER, WITNESS_SCALE_FACTOR } from '../consensus/limits.ts';
import { type BlockRejection, reject } from '../consensus/rejection.ts';
import { blockSubsidy } from '../consensus/subsidy.ts';
import type { AddressRows, RowsMark } from '../indexes/address-rows.ts';
import { type ParsedBlock, type ParsedTransaction, transactionOf } from '../primitives/block.ts';
import { hashToHex } from '../primitives/hash.ts';
import { readTxUndo } from '../primitives/undo.ts';
import { isUnspendable } from '../script/templates.ts';
import type { BodyStats } from '../storage/header-store.ts';
import type { RunBatch } from '../storage/runs/run-batch.ts';
import { ByteReader } from '../util/bytes.ts';
import { noteProgress } from '../util/progress.ts';
import type { Result } from '../util/result.ts';
import type { ChainEntry } from './chain-entry.ts';
import type { CoinsCache } from './coins-cache.ts';
import { checkInputs, createOutputs, type LockParent, spendInputs, type TxConnection } from './connect-transaction.ts';
import type { ScriptFailure, ScriptVerifier } from './script-verifier.ts';
import { SpentCoins } from './spent-coins.ts';

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

/** The coins of the transaction that is being connected, and the undo records of the block. */
const spent = new SpentCoins();
const undoWriter = spent.undo;

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
  const { columns, txids } = block;
  const { txCount, txAt, firstOutput, value: values } = columns;
  const { height } = entry;
  const parent = entry.parent!;

  const mayRepeat = mustCheckBip30(entry.hash, parent, params);
  if (mayRepeat)
    for (let i = 0; i < txCount; i++)
      if (coins.hasAnyOf(txids.subarray(i * 32, i * 32 + 32), firstOutput[i + 1]! - firstOutput[i]!))
        return reject('consensus', 'bad-txns-BIP30', 'tried to overwrite transaction');

  // BIP-68, BIP-112 and BIP-113 activated together at `csvHeight`.
  const lockParent: LockParent | null =
    height >= params.csvHeight ? { entry: parent, medianTime: medianTimePast(parent) } : null;
  const mark = rows?.mark ?? null;
  const checks = verifier?.begin(flags) ?? null;
  const ownSigops = blockSigops(block);
  const undoOffsets = new Uint32Array(txCount);
  undoWriter.reset();
  const sums = { fees: 0, sigops: 0, valueChange: 0, utxoChange: 0 };
  const connection: TxConnection = { height, coins, spent, rows, lockParent, flags, sums };

  const rejectBlock = (done: number, rejection: BlockRejection): Result<never, BlockRejection> => {
    checks?.cancel();
    const undo = undoWriter.finish();
    for (let i = done - 1; i >= 0; i--) disconnectTx(block.txs[i]!, i, undo, undoOffsets[i]!, coins);
    if (mark !== null) rows!.cutTo(mark);
    return { ok: false, ...rejection };
  };

  for (let i = 0; i < txCount; i++) {
    noteProgress();
    undoOffsets[i] = undoWriter.length;
    sums.sigops += ownSigops[i]! * WITNESS_SCALE_FACTOR;
    const rejection = i === 0 ? null : checkInputs(block, i, connection);
    if (rejection !== null) return rejectBlock(i, rejection);
    if (sums.sigops > MAX_BLOCK_SIGOPS_COST)
      return rejectBlock(i, reject('consensus', 'bad-blk-sigops', 'too many sigops'));
    if (i > 0) spendInputs(block, i, connection);
    createOutputs(block, i, connection, i === 0 && !mayRepeat);
    if (i > 0) checks?.add(block, i, undoWriter.buffer, undoOffsets[i]!, undoWriter.length);
  }

  const { fees, valueChange, utxoChange } = sums;
  const allowed = fees + Number(blockSubsidy(height, params.subsidyHalvingInterval));
  let reward = 0;
  for (let output = 0; output < firstOutput[1]!; output++) reward += values[output]!;
  if (reward > allowed)
    return rejectBlock(
      txCount,
      reject('consensus', 'bad-cb-amount', `coinbase pays too much (actual=${reward} vs limit=${allowed})`),
    );
  return {
    ok: true,
    value: {
      undo: undoWriter.finish().slice(),
      offsets: txAt.slice(0, txCount),
      undoOffsets,
      txids,
      fees,
      valueChange,
      utxoChange,
      scripts: checks?.finish() ?? null,
    },
  };
}

/** Returns the rejection of a block whose script check failed. */
export function scriptRejection(block: ParsedBlock, failure: ScriptFailure, text: string): BlockRejection {
  const { tx, txid, wtxid } = transactionOf(block, failure.tx + 1);
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

/** Returns the figures that follow from a block's body alone. */
export function bodyStats({ raw, columns, strippedSize }: ParsedBlock): BodyStats {
  const { txCount, firstInput, firstOutput, value } = columns;
  let valueOut = 0n;
  let sum = 0;
  let reward = 0;
  for (let output = 0; output < value.length; output++) {
    if (output < firstOutput[1]!) {
      reward += value[output]!;
      continue;
    }
    // Values are in MoneyRange, so that the sum of two is exact.
    sum += value[output]!;
    if (sum < MAX_MONEY_NUMBER) continue;
    valueOut += BigInt(sum);
    sum = 0;
  }
  // For display only: value can move many times within one block, so that the sum exceeds 2^53 and is rounded.
  return {
    txCount,
    size: raw.length,
    strippedSize,
    inputs: firstInput[txCount]! - firstInput[1]!,
    outputs: firstOutput[txCount]!,
    valueOut: Number(valueOut + BigInt(sum)),
    reward,
  };
}
