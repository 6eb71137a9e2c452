import { sha256 } from '../crypto/hash.ts';
import { positionHeight, type TxPosition } from '../primitives/coin.ts';
import { SCRIPT_HASH_SIZE, type ScriptChange, type ScriptWriter } from '../storage/script-store.ts';
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

/** What one commit does to one script. */
interface Totals {
  received: bigint;
  sent: bigint;
  txs: number;
  utxos: number;
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
   * script id that is in use, given the one before.
   */
  write(writer: ScriptWriter, moves: Iterable<CoinMove>, lastId: number): number {
    const coins = Array.from(moves, ({ script, ...move }) => ({
      ...move,
      local: this.#local(script),
    }));
    const count = this.#scripts.count;
    const order = sortedOrder(count, (local) => this.#scripts.order(local));
    const ids = new Float64Array(count);
    for (const local of order) ids[local] = writer.id(this.#scripts.key(local));

    let last = lastId;
    const lost: Totals[] = new Array(count);
    for (const { local, from, vout } of coins) {
      if (from === null) continue;
      writer.removeCoin(ids[local]!, from, vout);
      totalsOf(lost, local).utxos++;
    }
    this.#removed.each((local, position, received, sent) => {
      writer.removeHistory(ids[local]!, position);
      addRow(totalsOf(lost, local), received, sent);
    });
    const dropped = new Uint8Array(count);
    for (const local of order) {
      const change = lost[local];
      if (change === undefined || change.txs === 0) continue;
      // Ids follow first appearance, so what disconnected blocks leave without a trace are the highest ones.
      if (writer.shrink(this.#scripts.key(local), change)) {
        ids[local] = 0;
        dropped[local] = 1;
        last--;
      }
    }

    const gained: Totals[] = new Array(count);
    const first = new Float64Array(count).fill(-1);
    const latest = new Float64Array(count);
    const fresh = new Uint8Array(count);
    this.#added.each((local, position, received, sent) => {
      if (ids[local] === 0) {
        ids[local] = ++last;
        fresh[local] = 1;
      }
      if (first[local]! < 0) first[local] = positionHeight(position);
      latest[local] = positionHeight(position);
      addRow(totalsOf(gained, local), received, sent);
    });
    for (const { local, to } of coins) if (to !== null) totalsOf(gained, local).utxos++;
    for (const local of order) {
      const change = this.#net(gained[local], lost[local], dropped[local] === 1);
      if (change === null) continue;
      const hash = this.#scripts.key(local).slice();
      if (fresh[local]) writer.insert(hash, ids[local]!, change, first[local]!, latest[local]!);
      else writer.grow(hash, change, latest[local]!);
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
    this.#scripts.clear();
    this.#added.clear();
    this.#removed.clear();
    return last;
  }

  /** The number of a script within this commit. Called for every input and output: it makes no object. */
  #local(script: Uint8Array): number {
    return this.#scripts.intern(sha256(script, hashOut));
  }

  /** What is still to be added to a script's row; what `shrink` took is not taken again. */
  #net(gained: Totals | undefined, lost: Totals | undefined, dropped: boolean): ScriptChange | null {
    const spentOnly = lost !== undefined && lost.txs === 0 && !dropped ? lost.utxos : 0;
    if (gained === undefined) return spentOnly === 0 ? null : { received: 0n, sent: 0n, txs: 0, utxos: -spentOnly };
    return { ...gained, utxos: gained.utxos - spentOnly };
  }
}

function totalsOf(list: Totals[], local: number): Totals {
  return (list[local] ??= { received: 0n, sent: 0n, txs: 0, utxos: 0 });
}

function addRow(totals: Totals, received: number, sent: number): void {
  if (received > 0) totals.received += BigInt(received);
  if (sent > 0) totals.sent += BigInt(sent);
  totals.txs++;
}
