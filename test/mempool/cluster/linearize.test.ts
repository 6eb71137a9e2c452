import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { bestOrder } from '../../../src/mempool/cluster/best-order.ts';
import { DepGraph } from '../../../src/mempool/cluster/dep-graph.ts';
import { compareDiagrams, compareFeerate, type FeeFrac } from '../../../src/mempool/cluster/feefrac.ts';
import { chunksOf, linearize } from '../../../src/mempool/cluster/linearize.ts';

interface Tx {
  readonly fee: number;
  readonly size: number;
  readonly parents: readonly number[];
}

/** Returns all topological orders. */
function* allOrders(txs: readonly Tx[], taken: readonly number[] = []): Generator<readonly number[]> {
  if (taken.length === txs.length) yield taken;
  for (const [i, { parents }] of txs.entries())
    if (!taken.includes(i) && parents.every((parent) => taken.includes(parent))) yield* allOrders(txs, [...taken, i]);
}

const amounts = fc.record({ fee: fc.integer({ min: -5, max: 60 }), size: fc.integer({ min: 1, max: 20 }) });

/** Fees whose products with sizes exceed a double, so that no order is proven optimal. */
const hugeAmounts = amounts.map(({ fee, size }) => ({ fee: fee * 2 ** 40, size }));

/** Returns up to `max` transactions, each with parents among the earlier ones. */
const graphOf = (max: number, maxParents: number, each = amounts) =>
  fc
    .array(fc.tuple(each, fc.array(fc.nat(1000), { maxLength: maxParents })), {
      minLength: 1,
      maxLength: max,
      size: 'max',
    })
    .map((list) =>
      list.map(
        ([{ fee, size }, links], i): Tx => ({
          fee,
          size,
          parents: i === 0 ? [] : [...new Set(links.map((link) => link % i))],
        }),
      ),
    );

function isTopological(txs: readonly Tx[], order: readonly number[]): boolean {
  const seen = new Set<number>();
  for (const i of order) {
    if (!txs[i]!.parents.every((parent) => seen.has(parent))) return false;
    seen.add(i);
  }
  return seen.size === txs.length;
}

/** Returns fee and size of all topologically closed sets of up to 2^n transactions. */
function* closedSets(txs: readonly Tx[]): Generator<FeeFrac> {
  for (let set = 1; set < 1 << txs.length; set++) {
    const members = txs.filter((_, i) => set & (1 << i));
    if (members.some(({ parents }) => parents.some((parent) => !(set & (1 << parent))))) continue;
    yield { fee: sum(members, 'fee'), size: sum(members, 'size') };
  }
}

const sum = (list: readonly FeeFrac[], what: keyof FeeFrac) => list.reduce((total, each) => total + each[what], 0);

/** Returns whether this fee at this size lies above a diagram. */
function liesAbove({ fee, size }: FeeFrac, chunks: readonly FeeFrac[]): boolean {
  let at = 0;
  let earned = 0;
  for (const chunk of chunks) {
    if (size <= at + chunk.size) return (fee - earned) * chunk.size > (size - at) * chunk.fee;
    at += chunk.size;
    earned += chunk.fee;
  }
  return fee > earned;
}

function isConnected(txs: readonly Tx[], members: readonly number[]): boolean {
  const seen = new Set([members[0]!]);
  for (const i of seen)
    for (const j of members) if (txs[i]!.parents.includes(j) || txs[j]!.parents.includes(i)) seen.add(j);
  return seen.size === members.length;
}

describe('linearize', () => {
  const anyGraph = fc.oneof(graphOf(40, 3), graphOf(64, 8), graphOf(40, 3, hugeAmounts));

  test('the order contains every transaction once, parents first, in chunks of falling feerates', () => {
    fc.assert(
      fc.property(anyGraph, (txs) => {
        const graph = new DepGraph(txs);
        const order = linearize(graph);
        expect(isTopological(txs, order)).toBe(true);
        const chunks = chunksOf(graph, order);
        expect(chunks.flatMap(({ members }) => members)).toEqual(order);
        for (let i = 1; i < chunks.length; i++) {
          const [a, b] = [chunks[i - 1]!, chunks[i]!];
          expect(compareFeerate(a.fee, a.size, b.fee, b.size)).toBeGreaterThanOrEqual(0);
        }
      }),
      { numRuns: 200 },
    );
  });

  test('the order is optimal if no transaction has two parents', () => {
    fc.assert(
      fc.property(graphOf(6, 1), (txs) => {
        const graph = new DepGraph(txs);
        const own = chunksOf(graph, linearize(graph));
        for (const order of allOrders(txs))
          expect([0, 1]).toContain(compareDiagrams(own, chunksOf(graph, order)) as number);
      }),
      { numRuns: 150 },
    );
  });

  test('the order is optimal: no closed set of transactions earns more at its size', () => {
    const graphs = fc.oneof(graphOf(8, 2), graphOf(8, 4), graphOf(10, 3));
    fc.assert(
      fc.property(graphs, (txs) => {
        const graph = new DepGraph(txs);
        const own = chunksOf(graph, linearize(graph));
        expect([...closedSets(txs)].filter((set) => liesAbove(set, own))).toEqual([]);
      }),
      { numRuns: 500 },
    );
  });

  test('the order is optimal where repeatedly mining the best ancestor package is not', () => {
    const txs: Tx[] = [
      { fee: 0, size: 6, parents: [] },
      { fee: 2, size: 4, parents: [] },
      { fee: 7, size: 4, parents: [0] },
      { fee: 9, size: 3, parents: [0] },
      { fee: 4, size: 1, parents: [0, 1, 3] },
    ];
    const graph = new DepGraph(txs);
    // The last transaction has the best ancestor feerate, but mining it first delays the third.
    const chunks = chunksOf(graph, linearize(graph)).map(({ fee, size, members }) => [fee, size, members.toSorted()]);
    expect(chunks).toEqual([
      [16, 13, [0, 2, 3]],
      [6, 5, [1, 4]],
    ]);
  });

  test('the order of a large cluster is nowhere below any other order', () => {
    fc.assert(
      fc.property(graphOf(64, 6), fc.array(fc.nat(1000), { minLength: 64, maxLength: 64 }), (txs, choices) => {
        const graph = new DepGraph(txs);
        const own = chunksOf(graph, linearize(graph));
        const other: number[] = [];
        while (other.length < txs.length) {
          const free = txs.flatMap(({ parents }, i) =>
            !other.includes(i) && parents.every((parent) => other.includes(parent)) ? i : [],
          );
          other.push(free[choices[other.length]! % free.length]!);
        }
        let at: FeeFrac = { fee: 0, size: 0 };
        for (const { fee, size } of chunksOf(graph, other)) {
          at = { fee: at.fee + fee, size: at.size + size };
          expect(liesAbove(at, own)).toBe(false);
        }
      }),
      { numRuns: 150 },
    );
  });

  test('every chunk of the order is connected', () => {
    fc.assert(
      fc.property(anyGraph, (txs) => {
        const graph = new DepGraph(txs);
        for (const { members } of chunksOf(graph, linearize(graph))) expect(isConnected(txs, members)).toBe(true);
      }),
      { numRuns: 300 },
    );
  });

  test('the optimal order is given up after the step limit', () => {
    // Each pays for two that pay nothing, and shares half of them with the next.
    const txs = Array.from({ length: 64 }, (_, i): Tx => {
      if (i < 32) return { fee: 0, size: 10 + (i % 3), parents: [] };
      return { fee: 100 + ((i * 7) % 13), size: 1, parents: [i - 32, (i - 31) % 32] };
    });
    const graph = new DepGraph(txs);
    expect(bestOrder(graph, 100)).toBeNull();
    const best = bestOrder(graph, 500_000)!;
    expect(isTopological(txs, best)).toBe(true);
    expect(compareDiagrams(chunksOf(graph, best), chunksOf(graph, linearize(graph)))).toBe(0);
  });

  test('the first chunk is at least as good as any transaction with its ancestors', () => {
    fc.assert(
      fc.property(fc.oneof(graphOf(12, 3), graphOf(12, 3, hugeAmounts)), (txs) => {
        const graph = new DepGraph(txs);
        const first = chunksOf(graph, linearize(graph))[0]!;
        for (let i = 0; i < txs.length; i++) {
          let fee = 0;
          let size = 0;
          for (let j = 0; j < txs.length; j++)
            if (graph.dependsOn(i, j)) {
              fee += txs[j]!.fee;
              size += txs[j]!.size;
            }
          expect(compareFeerate(first.fee, first.size, fee, size)).toBeGreaterThanOrEqual(0);
        }
      }),
      { numRuns: 300 },
    );
  });

  test('a graph of 64 transactions uses all 64 bits of its ancestor sets', () => {
    const txs = Array.from({ length: 64 }, (_, i): Tx => ({ fee: i, size: 1, parents: i === 0 ? [] : [i - 1] }));
    const graph = new DepGraph(txs);
    expect(linearize(graph)).toEqual(txs.map((_, i) => i));
    expect(chunksOf(graph, linearize(graph))).toHaveLength(1);
    expect(graph.dependsOn(63, 0)).toBe(true);
    expect(graph.dependsOn(31, 32)).toBe(false);
  });
});

describe('feerate diagrams', () => {
  const frac = (fee: number, size: number): FeeFrac => ({ fee, size });

  test('compareDiagrams returns better, worse, equal and incomparable', () => {
    expect(compareDiagrams([frac(10, 1)], [frac(9, 1)])).toBe(1);
    expect(compareDiagrams([frac(9, 1)], [frac(10, 1)])).toBe(-1);
    expect(compareDiagrams([frac(10, 2)], [frac(5, 1), frac(5, 1)])).toBe(0);
    expect(compareDiagrams([frac(10, 10), frac(1, 1)], [frac(5, 1), frac(5, 10)])).toBe(null);
    // A higher fee for more size: above at the end, below nowhere.
    expect(compareDiagrams([frac(20, 10)], [frac(10, 5)])).toBe(1);
    // The same fee for less size is better.
    expect(compareDiagrams([frac(10, 4)], [frac(10, 5)])).toBe(1);
    expect(compareDiagrams([], [])).toBe(0);
    expect(compareDiagrams([frac(1, 1)], [])).toBe(1);
    expect(compareDiagrams([frac(-1, 1)], [])).toBe(-1);
  });

  test('feerates are compared exactly where products exceed 2^53', () => {
    expect(compareFeerate(2_100_000_000_000_001, 400_001, 2_100_000_000_000_000, 400_001)).toBe(1);
    expect(compareFeerate(2_100_000_000_000_000, 400_000, 2_100_000_000_000_001, 400_000)).toBe(-1);
    expect(compareFeerate(2_000_000_000_000_000, 400_000, 1_000_000_000_000_000, 200_000)).toBe(0);
  });
});
