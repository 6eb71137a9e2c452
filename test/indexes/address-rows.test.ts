import { describe, expect, test } from 'bun:test';
import { AddressRows } from '../../src/indexes/address-rows.ts';
import { ScriptKeys, ScriptStore } from '../../src/storage/script-store.ts';
import { addressBatches } from '../lib/run-chain.ts';
import { MemoryRuns } from '../lib/run-entries.ts';

const A = Uint8Array.of(1);
const B = Uint8Array.of(2);
const C = Uint8Array.of(3);
const SALT = new Uint8Array(16).fill(7);
const at = (height: number, index = 0) => height * 2 ** 20 + index;
const coin = (height: number, index = 0, vout = 0) => ({ position: at(height, index), vout });

class Index {
  readonly #runs = new MemoryRuns();
  readonly #keys = new ScriptKeys(SALT);
  readonly store = new ScriptStore(this.#runs, () => SALT);

  commit(rows: AddressRows): void {
    this.#runs.commit(addressBatches(rows, this.#keys));
  }

  of(script: Uint8Array) {
    const totals = this.store.totals(script);
    if (!totals) return null;
    const { key, received, sent, txs, utxos, firstHeight, lastHeight } = totals;
    const history = this.store.history(key, { above: -1, below: Infinity, order: 'asc', limit: 100 });
    const coins = this.store.coins(key, { position: -1, vout: 0 }, 100);
    return {
      totals: [Number(received), Number(sent), txs, utxos],
      heights: [firstHeight, lastHeight],
      history: history.map(({ position, received: got, sent: gave }) => [position, got, gave]),
      coins: coins.map(({ position, vout, value }) => [position, vout, value]),
    };
  }
}

describe('AddressRows', () => {
  test('writes history, coins and totals of several blocks at once', () => {
    const index = new Index();
    const rows = new AddressRows();
    rows.receive(A, at(1), 0, 50);
    rows.spend(A, at(2, 1), coin(1), 50);
    rows.receive(B, at(2, 1), 0, 30);
    rows.receive(A, at(2, 1), 1, 20);
    expect(rows.size).toBe(3);
    index.commit(rows);
    expect(index.of(A)).toEqual({
      totals: [70, 50, 2, 1],
      heights: [1, 2],
      history: [
        [at(1), 50, 0],
        [at(2, 1), 20, 50],
      ],
      coins: [[at(2, 1), 1, 20]],
    });
    expect(index.of(B)!.totals).toEqual([30, 0, 1, 1]);
  });

  test('rows that are cut off have no effect', () => {
    const index = new Index();
    const rows = new AddressRows();
    rows.receive(A, at(1), 0, 50);
    const { mark } = rows;
    rows.receive(B, at(2), 0, 50);
    rows.spend(A, at(2, 1), coin(1), 50);
    rows.cutTo(mark);
    index.commit(rows);
    expect(index.of(A)!.totals).toEqual([50, 0, 1, 1]);
    expect(index.of(B)).toBeNull();
  });

  const written = () => {
    const index = new Index();
    const first = new AddressRows();
    first.receive(A, at(1), 0, 50);
    first.spend(A, at(2, 1), coin(1), 50);
    first.receive(B, at(2, 1), 0, 50);
    index.commit(first);
    return { index, rows: new AddressRows() };
  };

  test('removes a block and the scripts that were new in it', () => {
    const { index, rows } = written();
    rows.unspend(A, at(2, 1), coin(1), 50);
    rows.unreceive(B, at(2, 1), 0, 50);
    index.commit(rows);
    expect(index.of(A)).toEqual({
      totals: [50, 0, 1, 1],
      heights: [1, 1],
      history: [[at(1), 50, 0]],
      coins: [[at(1), 0, 50]],
    });
    expect(index.of(B)).toBeNull();
    const next = new AddressRows();
    next.receive(C, at(2), 0, 1);
    next.receive(B, at(2, 1), 0, 2);
    index.commit(next);
    const keys = [A, B, C].map((script) => index.store.totals(script)!.key.toHex());
    expect(new Set(keys).size).toBe(3);
    expect(index.of(C)!.coins).toEqual([[at(2), 0, 1]]);
    expect(index.of(B)!.coins).toEqual([[at(2, 1), 0, 2]]);
  });

  test('moves a coin that another branch creates at another position', () => {
    const { index, rows } = written();
    rows.unspend(A, at(2, 1), coin(1), 50);
    rows.unreceive(B, at(2, 1), 0, 50);
    rows.spend(A, at(3, 4), coin(1), 50);
    rows.receive(B, at(3, 4), 0, 50);
    index.commit(rows);
    expect(index.of(A)!.totals).toEqual([50, 50, 2, 0]);
    expect(index.of(B)).toEqual({
      totals: [50, 0, 1, 1],
      heights: [3, 3],
      history: [[at(3, 4), 50, 0]],
      coins: [[at(3, 4), 0, 50]],
    });
  });

  // Its removal and its addition cancel; it must keep its script although another one comes first now.
  test('keeps a coin that another branch creates at the same position', () => {
    const { index, rows } = written();
    rows.unspend(A, at(2, 1), coin(1), 50);
    rows.unreceive(B, at(2, 1), 0, 50);
    rows.receive(C, at(2), 0, 7);
    rows.spend(A, at(2, 1), coin(1), 50);
    rows.receive(B, at(2, 1), 0, 50);
    index.commit(rows);
    expect(index.of(B)).toEqual({
      totals: [50, 0, 1, 1],
      heights: [2, 2],
      history: [[at(2, 1), 50, 0]],
      coins: [[at(2, 1), 0, 50]],
    });
    expect(index.of(C)).toEqual({
      totals: [7, 0, 1, 1],
      heights: [2, 2],
      history: [[at(2), 7, 0]],
      coins: [[at(2), 0, 7]],
    });
  });

  test('adds up sums beyond 2^53', () => {
    const index = new Index();
    const rows = new AddressRows();
    const most = 21_000_000_0000_0000;
    for (let i = 1; i <= 10; i++) {
      rows.receive(A, at(i), 0, most);
      rows.spend(A, at(i, 1), coin(i), most);
    }
    index.commit(rows);
    expect(index.store.totals(A)!.received).toBe(21_000_000_0000_0000n * 10n);
    expect(index.store.totals(A)!.sent).toBe(21_000_000_0000_0000n * 10n);
  });
});
