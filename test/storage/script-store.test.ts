import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { HISTORY, SCRIPT_COINS } from '../../src/storage/runs/run-family.ts';
import { putPosition } from '../../src/storage/runs/run-range.ts';
import { type ScriptKey, ScriptStore } from '../../src/storage/script-store.ts';
import { MemoryRuns } from '../lib/run-entries.ts';
import { type KeyChange, pairValue, RunModel } from '../lib/run-model.ts';

const SALT = new Uint8Array(16).fill(3);
const SCRIPTS = [0, 1, 2].map((n) => Uint8Array.of(0x51 + n));
const at = (height: number, index: number) => height * 2 ** 20 + index;

interface Row {
  readonly script: number;
  readonly position: number;
  readonly vout: number;
  readonly value: number;
}

const row = fc.record({
  script: fc.nat(2),
  position: fc.tuple(fc.nat(6), fc.nat(2)).map(([height, index]) => at(height, index)),
  vout: fc.constantFrom(0, 1, 2, 2 ** 32 - 1),
  value: fc.nat(21_000_000_0000_0000),
});
const commits = fc.array(fc.array(row, { maxLength: 20, size: 'max' }), { minLength: 1, maxLength: 6 });

/** A store over the runs of several commits, in which rows come and go, and what it must hold. */
function storeOf(list: readonly (readonly Row[])[]) {
  const runs = new MemoryRuns();
  const store = new ScriptStore(runs, () => SALT);
  const keys = SCRIPTS.map((script) => store.keyOf(script));
  const history = new RunModel(HISTORY);
  const coins = new RunModel(SCRIPT_COINS);
  const rows = { history: new Map<string, Row>(), coins: new Map<string, Row>() };
  const change = (each: Row, kind: 'history' | 'coins'): KeyChange => {
    const key = new Uint8Array(kind === 'history' ? HISTORY.keySize : SCRIPT_COINS.keySize);
    key.set(keys[each.script]!);
    putPosition(key, 10, each.position);
    if (kind === 'coins') new DataView(key.buffer).setUint32(16, each.vout);
    const hex = key.toHex();
    // As RunModel does: an added row is removed by the next change of its key.
    if (!rows[kind].delete(hex)) rows[kind].set(hex, each);
    return { key, value: pairValue(each.value, kind === 'history' ? each.value + 1 : 0), replace: false };
  };
  for (const commit of list)
    runs.commit([
      history.commit(commit.map((each) => change(each, 'history'))),
      coins.commit(commit.map((each) => change(each, 'coins'))),
    ]);
  const of = (kind: 'history' | 'coins', script: number) =>
    [...rows[kind].values()]
      .filter((each) => each.script === script)
      .sort((a, b) => a.position - b.position || a.vout - b.vout);
  return { store, keys, of };
}

const LIMITS = [-1, 0, 1, 2, 3, 1000];
const POSITIONS = [
  -Infinity,
  -1,
  0,
  at(2, 0),
  at(3, 1),
  at(6, 2),
  2 ** 48 - 1,
  2 ** 48,
  Number.MAX_SAFE_INTEGER,
  Infinity,
];

function expectAnswers(store: ScriptStore, key: ScriptKey, history: readonly Row[], coins: readonly Row[]): void {
  for (const above of POSITIONS)
    for (const below of POSITIONS)
      for (const order of ['asc', 'desc'] as const) {
        const between = history.filter(({ position }) => position > above && position < below);
        if (order === 'desc') between.reverse();
        for (const limit of LIMITS)
          expect(store.history(key, { above, below, order, limit })).toEqual(
            between
              .slice(0, Math.max(limit, 0))
              .map(({ position, value }) => ({ position, received: value, sent: value + 1 })),
          );
      }
  for (const position of POSITIONS)
    for (const vout of [0, 1, 2 ** 32 - 2, 2 ** 32 - 1]) {
      const after = coins.filter(
        (each) => each.position > position || (each.position === position && each.vout > vout),
      );
      for (const limit of LIMITS)
        expect(store.coins(key, { position, vout }, limit)).toEqual(
          after
            .slice(0, Math.max(limit, 0))
            .map((each) => ({ position: each.position, vout: each.vout, value: each.value })),
        );
    }
  for (const height of [-1, 0, 2, 6, 7, 2 ** 28, Number.MAX_SAFE_INTEGER, Infinity]) {
    const sum = coins
      .filter(({ position }) => position % 2 ** 20 === 0 && position >= height * 2 ** 20)
      .reduce((all, { value }) => all + value, 0);
    // Unspent coins are worth no more than the supply; sums above 2^53 would be rounded in the order of the rows.
    if (sum <= Number.MAX_SAFE_INTEGER) expect(store.coinbaseValueFrom(key, height)).toBe(sum);
  }
}

describe('the address index', () => {
  test('equals plain lists over several runs with removals, for all bounds and limits', () => {
    fc.assert(
      fc.property(commits, (list) => {
        const { store, keys, of } = storeOf(list);
        for (const [script, key] of keys.entries()) {
          const [history, coins] = [of('history', script), of('coins', script)];
          const totals = store.totals(SCRIPTS[script]!);
          if (history.length === 0) {
            expect(totals).toBeNull();
            continue;
          }
          const sum = (extra: number) => history.reduce((all, { value }) => all + BigInt(value + extra), 0n);
          const heights = history.map(({ position }) => Math.floor(position / 2 ** 20));
          expect(totals).toEqual({
            key,
            received: sum(0),
            sent: sum(1),
            txs: history.length,
            utxos: coins.length,
            firstHeight: heights[0]!,
            lastHeight: heights.at(-1)!,
          });
          expectAnswers(store, key, history, coins);
        }
      }),
      { numRuns: 12 },
    );
  });

  test('has other keys with another salt', () => {
    const other = new ScriptStore(new MemoryRuns(), () => new Uint8Array(16).fill(4));
    const store = new ScriptStore(new MemoryRuns(), () => SALT);
    expect(store.keyOf(SCRIPTS[0]!).toHex()).not.toBe(other.keyOf(SCRIPTS[0]!).toHex());
    expect(store.totals(SCRIPTS[0]!)).toBeNull();
  });
});
