import { sha256 } from '../crypto/hash-functions.ts';
import { positionHeight, type TxPosition } from '../primitives/coin.ts';
import { SCRIPT_HASH_SIZE, type ScriptWriter } from '../storage/script-store.ts';
import { KeyIndex } from '../util/key-index.ts';
import { sortedOrder } from '../util/sorted-order.ts';
import { HistoryRows } from './history-rows.ts';

/** A coin that a commit creates, spends, or gives another position. */
export interface CoinMove {
  readonly script: Uint8Array;
  readonly vout: number;
  readonly value: number;
  readonly from: TxPosition | null;
  readonly to: TxPosition | null;
}

/** Output buffer of the script hash, whose first bytes are the key. */
const hashOut = new Uint8Array(32);

/** Sums of the changes of one script in one commit. */
interface Change {
  received: bigint;
  sent: bigint;
  txs: number;
  utxos: number;
  lastHeight: number;
  /** Height of first appearance of a new script; null for a known one. */
  firstHeight: number | null;
  /** Whether history was removed. */
  shrunk: boolean;
}

/**
 * The changes of the address index for the next commit: amounts that scripts received and spent in blocks that were
 * connected or disconnected. Rows are collected for many blocks and written sorted, which is several times faster than
 * writing each block by itself.
 */
export class AddressRows {
  readonly #scripts = new KeyIndex(SCRIPT_HASH_SIZE);
  readonly #added = new HistoryRows();
  readonly #removed = new HistoryRows();

  /** Number of collected rows, which determines the memory. */
  get size(): number {
    return this.#added.length + this.#removed.length;
  }

  /** Index at which the rows of the next connected block begin, for `cutTo`. */
  get mark(): number {
    return this.#added.length;
  }

  receive(script: Uint8Array, position: TxPosition, value: number): void {
    this.#added.add(this.#local(script), position, value, 0);
  }

  spend(script: Uint8Array, position: TxPosition, value: number): void {
    this.#added.add(this.#local(script), position, 0, value);
  }

  /** Drops the rows of blocks that were connected since `mark` and disconnected before a commit. */
  cutTo(mark: number): void {
    this.#added.cutTo(mark);
  }

  /** Stages the removal of what a committed block received or spent. */
  unreceive(script: Uint8Array, position: TxPosition, value: number): void {
    this.#removed.add(this.#local(script), position, value, 0);
  }

  unspend(script: Uint8Array, position: TxPosition, value: number): void {
    this.#removed.add(this.#local(script), position, 0, value);
  }

  /**
   * Writes all rows and clears them. `moves` are the changes of the UTXO set in the same commit. Returns the last
   * script id ever used, given the previous one.
   */
  write(writer: ScriptWriter, moves: Iterable<CoinMove>, lastId: number): number {
    const coins = Array.from(moves, ({ script, ...move }) => ({ ...move, local: this.#local(script) }));
    const count = this.#scripts.count;
    const order = sortedOrder(count, (local) => this.#scripts.order(local));
    const ids = new Float64Array(count);
    for (const local of order) ids[local] = writer.id(this.#scripts.key(local));

    const changes: Change[] = new Array(count);
    let last = lastId;
    this.#removed.each((local, position, received, sent) => {
      writer.removeHistory(ids[local]!, position);
      const change = changeOf(changes, local);
      change.received -= BigInt(received);
      change.sent -= BigInt(sent);
      change.txs--;
      change.shrunk = true;
    });
    this.#added.each((local, position, received, sent) => {
      const change = changeOf(changes, local);
      if (ids[local] === 0) {
        ids[local] = ++last;
        change.firstHeight = positionHeight(position);
      }
      change.lastHeight = positionHeight(position);
      if (received > 0) change.received += BigInt(received);
      if (sent > 0) change.sent += BigInt(sent);
      change.txs++;
    });
    for (const { local, from, to, vout } of coins) {
      const change = changeOf(changes, local);
      if (to !== null) change.utxos++;
      if (from === null) continue;
      change.utxos--;
      writer.removeCoin(ids[local]!, from, vout);
    }

    this.#added.eachSorted(
      (local) => ids[local]!,
      (local, position, received, sent) => writer.addHistory(ids[local]!, position, received, sent),
    );
    const kept = coins.filter(({ to }) => to !== null);
    for (const i of sortedOrder(kept.length, (at) => ids[kept[at]!.local]!)) {
      const { local, to, vout, value } = kept[i]!;
      writer.addCoin(ids[local]!, to!, vout, value);
    }
    writer.finish();
    for (const local of order) {
      const change = changes[local];
      if (change === undefined) continue;
      const hash = this.#scripts.key(local).slice();
      if (change.firstHeight !== null) writer.insert(hash, ids[local]!, change, change.firstHeight);
      else writer.update(hash, change);
      if (change.shrunk) writer.recomputeBounds(hash);
    }
    this.#scripts.clear();
    this.#added.clear();
    this.#removed.clear();
    return last;
  }

  /** Returns the number of a script within this commit. Called for every input and output, so it allocates nothing. */
  #local(script: Uint8Array): number {
    return this.#scripts.intern(sha256(script, hashOut));
  }
}

function changeOf(list: Change[], local: number): Change {
  return (list[local] ??= {
    received: 0n,
    sent: 0n,
    txs: 0,
    utxos: 0,
    lastHeight: 0,
    firstHeight: null,
    shrunk: false,
  });
}
