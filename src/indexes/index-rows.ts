import { repeatedCoinbaseHeight } from '../consensus/bip30.ts';
import type { ParsedBlock } from '../primitives/block.ts';
import { txPosition } from '../primitives/coin.ts';
import { readTxUndo } from '../primitives/undo.ts';
import { isUnspendable } from '../script/templates.ts';
import type { IndexName } from '../storage/index-store.ts';
import { RunBatch } from '../storage/runs/run-batch.ts';
import { HISTORY, SCRIPT_COINS, SPENDERS, TX_INDEX } from '../storage/runs/run-family.ts';
import type { ScriptKeys } from '../storage/script-store.ts';
import { indexSpenders, spenderKeys } from '../storage/spender-store.ts';
import { indexTx } from '../storage/tx-store.ts';
import { ByteReader } from '../util/bytes.ts';
import { AddressRows } from './address-rows.ts';

/** The rows of blocks in some of the indexes, for one transaction of the database. */
export class IndexRows {
  readonly address = new AddressRows();
  readonly #txs = new RunBatch(TX_INDEX);
  readonly #history = new RunBatch(HISTORY);
  readonly #coins = new RunBatch(SCRIPT_COINS);
  readonly #spenders = new RunBatch(SPENDERS);

  /**
   * Adds the rows of a block that joins the chain, or their removal. `undo` is its undo data, which only the address
   * index needs.
   */
  addBlock(
    block: ParsedBlock,
    undo: Uint8Array | null,
    { height, indexes, removed }: { height: number; indexes: ReadonlySet<IndexName>; removed: boolean },
  ): void {
    if (indexes.has('tx')) this.addTxids(block.txids, height, removed);
    if (indexes.has('spender')) this.addSpends(spenderKeys(block, height), removed);
    if (indexes.has('address')) addAddressRows(this.address, block, undo!, { height, removed });
  }

  /** Adds the rows of the transaction index: `txids` are those of a block, concatenated. */
  addTxids(txids: Uint8Array, height: number, removed: boolean): void {
    for (let i = 0; i * 32 < txids.length; i++)
      indexTx(this.#txs, txids.subarray(i * 32, i * 32 + 32), txPosition(height, i), removed);
  }

  /** Adds the rows of the spender index: `spends` are those of `spenderKeys`. */
  addSpends(spends: Uint8Array, removed: boolean): void {
    indexSpenders(this.#spenders, spends, removed);
  }

  /** Returns the rows as batches, valid until `clear`. `address`: rows of the address index that were collected elsewhere. */
  batches(scriptKeys: ScriptKeys, address: AddressRows = this.address): RunBatch[] {
    address.addToBatches(scriptKeys, this.#history, this.#coins);
    return [this.#txs, this.#history, this.#coins, this.#spenders];
  }

  /** Removes all rows. */
  clear(): void {
    this.address.clear();
    for (const batch of [this.#txs, this.#history, this.#coins, this.#spenders]) batch.clear();
  }
}

/**
 * Adds the rows of a connected block to those of the address index, or their removal. A position in the undo data is
 * that of the transaction that created the spent coin; it is part of the rows.
 */
export function addAddressRows(
  rows: AddressRows,
  block: ParsedBlock,
  undo: Uint8Array,
  { height, removed }: { height: number; removed: boolean },
): void {
  // The coinbase of the genesis block never was a coin.
  if (height === 0) return;
  const repeated = repeatedCoinbaseHeight(block.hash, height);
  const r = new ByteReader(undo);
  for (let i = 0; i < block.txs.length; i++) {
    const { tx } = block.txs[i]!;
    const position = txPosition(height, i);
    if (i > 0)
      for (const [n, coin] of readTxUndo(r, tx.inputs.length).entries()) {
        const { scriptPubKey, value } = coin.output;
        const spent = { position: coin.position, vout: tx.inputs[n]!.prevout.vout };
        if (removed) rows.unspend(scriptPubKey, position, spent, Number(value));
        else rows.spend(scriptPubKey, position, spent, Number(value));
      }
    for (let vout = 0; vout < tx.outputs.length; vout++) {
      const { value, scriptPubKey } = tx.outputs[vout]!;
      if (isUnspendable(scriptPubKey)) continue;
      const amount = Number(value);
      // The earlier coinbase has the same outputs, which are lost.
      const lost = i === 0 && repeated !== null ? { position: txPosition(repeated, 0), vout } : null;
      if (lost !== null && !removed) rows.spend(scriptPubKey, position, lost, amount);
      if (removed) rows.unreceive(scriptPubKey, position, vout, amount);
      else rows.receive(scriptPubKey, position, vout, amount);
      if (lost !== null && removed) rows.unspend(scriptPubKey, position, lost, amount);
    }
  }
}
