import { Database } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
import { AddressRows, type CoinMove } from '../../src/indexes/address-rows.ts';
import { SCHEMA } from '../../src/storage/schema.ts';
import { ScriptStore, ScriptWriter } from '../../src/storage/script-store.ts';

const A = Uint8Array.of(1);
const B = Uint8Array.of(2);
const C = Uint8Array.of(3);
const at = (height: number, index = 0) => height * 2 ** 20 + index;

class Index {
  readonly store: ScriptStore;
  readonly #db = new Database(':memory:');
  readonly #writer: ScriptWriter;
  lastId = 0;

  constructor() {
    this.#db.run(SCHEMA);
    this.#writer = new ScriptWriter(this.#db);
    this.store = new ScriptStore(this.#db);
  }

  commit(rows: AddressRows, moves: readonly CoinMove[]): void {
    this.#db.transaction(() => {
      this.lastId = rows.write(this.#writer, moves, this.lastId);
    })();
  }

  of(script: Uint8Array) {
    const totals = this.store.totals(script);
    if (!totals) return null;
    const { id, received, sent, txs, utxos, firstHeight, lastHeight } = totals;
    const history = this.store.history(id, { above: -1, below: Infinity, order: 'asc', limit: 100 });
    const coins = this.store.coins(id, { position: -1, vout: 0 }, 100);
    return {
      totals: [Number(received), Number(sent), txs, utxos],
      heights: [firstHeight, lastHeight],
      history: history.map(({ position, received: got, sent: gave }) => [position, got, gave]),
      coins: coins.map(({ position, vout, value }) => [position, vout, value]),
    };
  }
}

const move = (script: Uint8Array, value: number, from: number | null, to: number | null, vout = 0): CoinMove => ({
  script,
  vout,
  value,
  from,
  to,
});

describe('AddressRows', () => {
  test('writes history, coins and totals of several blocks at once', () => {
    const index = new Index();
    const rows = new AddressRows();
    rows.receive(A, at(1), 50);
    rows.spend(A, at(2, 1), 50);
    rows.receive(B, at(2, 1), 30);
    rows.receive(A, at(2, 1), 20);
    index.commit(rows, [move(B, 30, null, at(2, 1)), move(A, 20, null, at(2, 1), 1)]);
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
    expect(rows.size).toBe(0);
  });

  test('rows that are cut off have no effect', () => {
    const index = new Index();
    const rows = new AddressRows();
    rows.receive(A, at(1), 50);
    const { mark } = rows;
    rows.receive(B, at(2), 50);
    rows.spend(A, at(2, 1), 50);
    rows.cutTo(mark);
    index.commit(rows, [move(A, 50, null, at(1))]);
    expect(index.of(A)!.totals).toEqual([50, 0, 1, 1]);
    expect(index.of(B)).toBeNull();
  });

  const written = () => {
    const index = new Index();
    const rows = new AddressRows();
    rows.receive(A, at(1), 50);
    rows.spend(A, at(2, 1), 50);
    rows.receive(B, at(2, 1), 50);
    index.commit(rows, [move(B, 50, null, at(2, 1))]);
    return { index, rows };
  };

  test('removes a block and the scripts that were new in it', () => {
    const { index, rows } = written();
    rows.unspend(A, at(2, 1), 50);
    rows.unreceive(B, at(2, 1), 50);
    index.commit(rows, [move(B, 50, at(2, 1), null), move(A, 50, null, at(1))]);
    expect(index.of(A)).toEqual({
      totals: [50, 0, 1, 1],
      heights: [1, 1],
      history: [[at(1), 50, 0]],
      coins: [[at(1), 0, 50]],
    });
    expect(index.of(B)).toBeNull();
    rows.receive(C, at(2), 1);
    rows.receive(B, at(2, 1), 2);
    index.commit(rows, [move(C, 1, null, at(2)), move(B, 2, null, at(2, 1))]);
    const ids = [A, B, C].map((script) => index.store.totals(script)!.id);
    expect(new Set(ids).size).toBe(3);
    expect(Math.max(...ids)).toBeLessThanOrEqual(index.lastId);
    expect(index.of(B)!.coins).toEqual([[at(2, 1), 0, 2]]);
  });

  test('moves a coin that another branch creates at another position', () => {
    const { index, rows } = written();
    rows.unspend(A, at(2, 1), 50);
    rows.unreceive(B, at(2, 1), 50);
    rows.spend(A, at(3, 4), 50);
    rows.receive(B, at(3, 4), 50);
    index.commit(rows, [move(B, 50, at(2, 1), at(3, 4))]);
    expect(index.of(A)!.totals).toEqual([50, 50, 2, 0]);
    expect(index.of(B)).toEqual({
      totals: [50, 0, 1, 1],
      heights: [3, 3],
      history: [[at(3, 4), 50, 0]],
      coins: [[at(3, 4), 0, 50]],
    });
  });

  // The UTXO set does not report such a coin as changed; it must keep its script although another one comes first now.
  test('keeps a coin that another branch creates at the same position', () => {
    const { index, rows } = written();
    rows.unspend(A, at(2, 1), 50);
    rows.unreceive(B, at(2, 1), 50);
    rows.receive(C, at(2), 7);
    rows.spend(A, at(2, 1), 50);
    rows.receive(B, at(2, 1), 50);
    index.commit(rows, [move(C, 7, null, at(2))]);
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
      rows.receive(A, at(i), most);
      rows.spend(A, at(i, 1), most);
    }
    index.commit(rows, []);
    expect(index.store.totals(A)!.received).toBe(21_000_000_0000_0000n * 10n);
    expect(index.store.totals(A)!.sent).toBe(21_000_000_0000_0000n * 10n);
  });
});
