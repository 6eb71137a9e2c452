import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { bestChunks } from '../../../src/mempool/cluster/best-chunks.ts';
import { TxGraph } from '../../../src/mempool/cluster/tx-graph.ts';

/** A naive graph as the reference. */
class Model {
  readonly txs = new Map<number, { fee: number; weight: number; parents: Set<number> }>();

  clone(): Model {
    const copy = new Model();
    for (const [slot, tx] of this.txs) copy.txs.set(slot, { ...tx, parents: new Set(tx.parents) });
    return copy;
  }

  remove(slot: number): void {
    this.txs.delete(slot);
    for (const { parents } of this.txs.values()) parents.delete(slot);
  }

  ancestors(slot: number): Set<number> {
    const seen = new Set([slot]);
    for (const at of seen) for (const parent of this.txs.get(at)!.parents) seen.add(parent);
    return seen;
  }

  descendants(slot: number): Set<number> {
    return new Set([...this.txs.keys()].filter((other) => this.ancestors(other).has(slot)));
  }

  cluster(slot: number): Set<number> {
    const seen = new Set([slot]);
    for (const at of seen)
      for (const [other, { parents }] of this.txs)
        if (parents.has(at) || this.txs.get(at)!.parents.has(other)) seen.add(other);
    return seen;
  }
}

const MAX_COUNT = 8;
const MAX_WEIGHT = 1000;
const sorted = (slots: Iterable<number>) => [...slots].sort((a, b) => a - b);

function expectSame(graph: TxGraph, model: Model): void {
  let oversized = false;
  for (const slot of model.txs.keys()) {
    expect(sorted(graph.ancestors(slot))).toEqual(sorted(model.ancestors(slot)));
    expect(sorted(graph.descendants(slot))).toEqual(sorted(model.descendants(slot)));
    const cluster = model.cluster(slot);
    expect(sorted(graph.cluster(slot))).toEqual(sorted(cluster));
    const weight = [...cluster].reduce((sum, member) => sum + model.txs.get(member)!.weight, 0);
    if (cluster.size > MAX_COUNT || weight > MAX_WEIGHT) oversized = true;
    const order = graph.cluster(slot);
    for (const [i, member] of order.entries())
      for (const parent of model.txs.get(member)!.parents) expect(order.indexOf(parent)).toBeLessThan(i);
  }
  expect(graph.isOversized()).toBe(oversized);
  const chunks = [...bestChunks(graph, Number.POSITIVE_INFINITY)];
  expect(sorted(chunks.flatMap(({ slots }) => slots))).toEqual(sorted(model.txs.keys()));
  expect(chunks.reduce((sum, { fee }) => sum + fee, 0)).toBe(
    [...model.txs.values()].reduce((sum, { fee }) => sum + fee, 0),
  );
  // The result may stop early: just enough of the best.
  const rates = chunks.map(({ fee, size }) => fee / size);
  expect(rates).toEqual(rates.toSorted((a, b) => b - a));
  const weight = chunks.reduce((sum, { size }) => sum + size, 0);
  for (const wanted of [1, weight / 3, weight]) {
    const best = [...bestChunks(graph, wanted)];
    expect(best.map(({ fee, size }) => fee / size)).toEqual(rates.slice(0, best.length));
    const sum = best.reduce((total, { size }) => total + size, 0);
    expect(sum).toBeGreaterThanOrEqual(Math.min(wanted, weight));
    if (best.length > 0) expect(sum - best.at(-1)!.size).toBeLessThan(wanted);
  }
  const worst = graph.worstChunk();
  const last = chunks.at(-1);
  expect(worst === null).toBe(last === undefined);
  if (worst && last) expect(worst.fee * last.size).toBe(last.fee * worst.size);
}

const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('add' as const),
      fee: fc.nat(100),
      weight: fc.integer({ min: 1, max: 300 }),
    }),
  },
  { weight: 6, arbitrary: fc.record({ do: fc.constant('link' as const), a: fc.nat(50), b: fc.nat(50) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('remove' as const), a: fc.nat(50) }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('fee' as const), a: fc.nat(50), fee: fc.integer({ min: -50, max: 200 }) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom('stage' as const, 'commit' as const, 'abort' as const) }) },
);

describe('TxGraph', () => {
  test('the graph matches a naive model through staged, committed and aborted changes', () => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 10, maxLength: 60, size: 'max' }), (steps) => {
        const graph = new TxGraph(MAX_COUNT, MAX_WEIGHT);
        let model = new Model();
        let before: Model | null = null;
        for (const one of steps) {
          const slots = [...model.txs.keys()];
          const pick = (n: number) => slots[n % slots.length]!;
          if (one.do === 'add') {
            const slot = graph.add(one.fee, one.weight);
            expect(model.txs.has(slot)).toBe(false);
            model.txs.set(slot, { fee: one.fee, weight: one.weight, parents: new Set() });
          } else if (one.do === 'stage') {
            if (before) continue;
            graph.startStaging();
            before = model.clone();
          } else if (one.do === 'commit' || one.do === 'abort') {
            if (!before) continue;
            if (one.do === 'commit') graph.commitStaging();
            else {
              graph.abortStaging();
              model = before;
            }
            before = null;
          } else if (slots.length === 0) continue;
          else if (one.do === 'link') {
            const [parent, child] = [pick(one.a), pick(one.b)];
            if (model.ancestors(parent).has(child)) continue;
            graph.addDependency(parent, child);
            model.txs.get(child)!.parents.add(parent);
          } else if (one.do === 'remove') {
            graph.remove(pick(one.a));
            model.remove(pick(one.a));
          } else if (one.do === 'fee') {
            graph.setFee(pick(one.a), one.fee);
            model.txs.get(pick(one.a))!.fee = one.fee;
          }
          expectSame(graph, model);
        }
      }),
      { numRuns: 120 },
    );
  });

  test('a replacement is compared only by the clusters it affects', () => {
    const graph = new TxGraph();
    const [parent, child, other] = [graph.add(100, 400), graph.add(900, 400), graph.add(5000, 400)];
    graph.addDependency(parent, child);
    graph.startStaging();
    const replacement = graph.add(2000, 400);
    graph.remove(child);
    graph.addDependency(parent, replacement);
    const { main, staging } = graph.diagrams();
    expect(main).toEqual([expect.objectContaining({ fee: 1000, size: 800 })]);
    expect(staging).toEqual([expect.objectContaining({ fee: 2100, size: 800 })]);
    graph.commitStaging();
    expect(sorted(graph.cluster(parent))).toEqual(sorted([parent, replacement]));
    expect(graph.cluster(other)).toEqual([other]);
  });

  test('trim leaves clusters within the limits and keeps the parents of every kept transaction', () => {
    const graph = new TxGraph(4, 10_000);
    const slots = Array.from({ length: 7 }, (_, i) => graph.add(i * 10, 100));
    for (let i = 1; i < slots.length; i++) graph.addDependency(slots[i - 1]!, slots[i]!);
    expect(graph.isOversized()).toBe(true);
    const out = graph.trim();
    for (const slot of out) graph.remove(slot);
    expect(graph.isOversized()).toBe(false);
    expect(graph.cluster(slots[0]!)).toEqual(slots.slice(0, 4));
  });
});
