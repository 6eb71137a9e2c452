import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { DepGraph } from '../../../src/mempool/cluster/dep-graph.ts';
import { compareDiagrams, compareFeerate, type FeeFrac } from '../../../src/mempool/cluster/feefrac.ts';
import { chunksOf, linearize } from '../../../src/mempool/cluster/linearize.ts';

interface Tx {
  readonly fee: number;
  readonly size: number;
  readonly parents: readonly number[];
}

/** Every order with parents first. */
function* allOrders(txs: readonly Tx[], taken: readonly number[] = []): Generator<readonly number[]> {
  if (taken.length === txs.length) yield taken;
  for (const [i, { parents }] of txs.entries())
    if (!taken.includes(i) && parents.every((parent) => taken.includes(parent))) yield* allOrders(txs, [...taken, i]);
}

const amounts = fc.record({ fee: fc.integer({ min: -5, max: 60 }), size: fc.integer({ min: 1, max: 20 }) });

/** Up to `max` transactions, each with parents among those before it. */
const graphOf = (max: number, maxParents: number) =>
  fc
    .array(fc.tuple(amounts, fc.array(fc.nat(1000), { maxLength: maxParents })), {
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

describe('the order of a cluster', () => {
  test('holds all, parents first, in chunks of falling feerates', () => {
    fc.assert(
      fc.property(graphOf(40, 3), (txs) => {
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

  test('is the best there is where nobody has two parents', () => {
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

  test('is never worse in its first chunk than any single transaction with all it needs', () => {
    fc.assert(
      fc.property(graphOf(12, 3), (txs) => {
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

  test('of 64 with 64 bits', () => {
    const txs = Array.from({ length: 64 }, (_, i): Tx => ({ fee: i, size: 1, parents: i === 0 ? [] : [i - 1] }));
    const graph = new DepGraph(txs);
    expect(linearize(graph)).toEqual(txs.map((_, i) => i));
    expect(chunksOf(graph, linearize(graph))).toHaveLength(1);
    expect(graph.dependsOn(63, 0)).toBe(true);
    expect(graph.dependsOn(31, 32)).toBe(false);
  });
});

describe('diagrams', () => {
  const frac = (fee: number, size: number): FeeFrac => ({ fee, size });

  test('better, worse, the same, neither', () => {
    expect(compareDiagrams([frac(10, 1)], [frac(9, 1)])).toBe(1);
    expect(compareDiagrams([frac(9, 1)], [frac(10, 1)])).toBe(-1);
    expect(compareDiagrams([frac(10, 2)], [frac(5, 1), frac(5, 1)])).toBe(0);
    expect(compareDiagrams([frac(10, 10), frac(1, 1)], [frac(5, 1), frac(5, 10)])).toBe(null);
    // More fee for more size: above at its end, below nowhere.
    expect(compareDiagrams([frac(20, 10)], [frac(10, 5)])).toBe(1);
    // Less room for the same fee is better.
    expect(compareDiagrams([frac(10, 4)], [frac(10, 5)])).toBe(1);
    expect(compareDiagrams([], [])).toBe(0);
    expect(compareDiagrams([frac(1, 1)], [])).toBe(1);
    expect(compareDiagrams([frac(-1, 1)], [])).toBe(-1);
  });

  test('feerates are compared exactly where products pass 2^53', () => {
    expect(compareFeerate(2_100_000_000_000_001, 400_001, 2_100_000_000_000_000, 400_001)).toBe(1);
    expect(compareFeerate(2_100_000_000_000_000, 400_000, 2_100_000_000_000_001, 400_000)).toBe(-1);
    expect(compareFeerate(2_000_000_000_000_000, 400_000, 1_000_000_000_000_000, 200_000)).toBe(0);
  });
});
