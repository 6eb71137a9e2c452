import { sha256 } from '../crypto/hash.ts';
import { positionHeight, type TxPosition } from '../primitives/coin.ts';
import { SCRIPT_HASH_SIZE, type ScriptWriter } from '../storage/script-store.ts';
import { KeyIndex } from '../util/key-index.ts';
import { sortedOrder } from '../util/sorted-order.ts';
import { HistoryRows } from './history-rows.ts';

/** One coin that a commit adds to, takes from, or moves within the UTXO set. */
export interface CoinMove {
  readonly script: Uint8Array;
  readonly vout: number;
  readonly value: number;
  readonly from: TxPosition | null;
  readonly to: TxPosition | null;
}

/** `scriptHash` is the first bytes of this. */
const hashOut = new Uint8Array(32);

/** What one commit does to one script, while it is added up. */
interface Change {
  received: bigint;
  sent: bigint;
  txs: number;
  utxos: number;
  lastHeight: number;
  /** Where a script that was not known appears first; null for one that was. */
  firstHeight: number | null;
  /** Whether history of it was taken back. */
  shrunk: boolean;
}

/**
 * The address index's part of the next commit: who received and spent what in blocks that were connected or
 * disconnected since the last one. Rows are gathered per block and written sorted, because that is several times faster
 * than to write each block on its own.
 */
export class AddressRows {
  readonly #scripts = new KeyIndex(SCRIPT_HASH_SIZE);
  readonly #added = new HistoryRows();
  readonly #removed = new HistoryRows();

  /** Rows gathered so far; the memory they take is in proportion. */
  get size(): number {
    return this.#added.length + this.#removed.length;
  }

  /** Where the rows of the next connected block will begin, for `cutTo`. */
  get mark(): number {
    return this.#added.length;
  }

  receive(script: Uint8Array, position: TxPosition, value: number): void {
    this.#added.add(this.#local(script), position, value, 0);
  }

  spend(script: Uint8Array, position: TxPosition, value: number): void {
    this.#added.add(this.#local(script), position, 0, value);
  }

  /** Forgets blocks connected since `mark`: they were disconnected before a commit wrote them. */
  cutTo(mark: number): void {
    this.#added.cutTo(mark);
  }

  /** Takes back what a committed block received or spent. */
  unreceive(script: Uint8Array, position: TxPosition, value: number): void {
    this.#removed.add(this.#local(script), position, value, 0);
  }

  unspend(script: Uint8Array, position: TxPosition, value: number): void {
    this.#removed.add(this.#local(script), position, 0, value);
  }

  /**
   * Writes everything and begins anew. `moves` are the changes of the UTXO set in the same commit. Returns the last
   * script id that was ever given, given the one before.
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

  /** The number of a script within this commit. Called for every input and output: it makes no object. */
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
