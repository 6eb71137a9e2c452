import { describe, expect, test } from 'bun:test';
import { checkPackageTruc, checkSingleTruc, type TrucParent, type TrucSibling } from '../../src/policy/truc.ts';
import type { ParsedTransaction } from '../../src/primitives/block.ts';
import { hashToHex } from '../../src/primitives/hash.ts';
import type { Outpoint } from '../../src/primitives/outpoint.ts';
import { input, NONE, outpointOf, parsedOf, someOutpoint } from './policy-fixture.ts';

const nameOf = ({ txid, wtxid }: ParsedTransaction) => `tx ${hashToHex(txid)} (wtxid=${hashToHex(wtxid)})`;
/** Has a witness, so that txid and wtxid differ. */
const tx = (version: number, ...prevouts: Outpoint[]) =>
  parsedOf({ version, inputs: prevouts.map((prevout) => input(prevout, { witness: [NONE] })) });
const inMempool = (
  { tx: { version }, txid, wtxid }: ParsedTransaction,
  counts: Partial<TrucParent> = {},
): TrucParent => ({ txid, wtxid, version, ancestorCount: 1, descendantCount: 1, ...counts });

const v3 = tx(3, someOutpoint(1));
const other3 = tx(3, someOutpoint(3));
const v2 = tx(2, someOutpoint(2));

function single(
  parsed: ParsedTransaction,
  parents: readonly TrucParent[] = [],
  { vsize = 100, siblings = [] as readonly TrucSibling<string>[] } = {},
) {
  return checkSingleTruc({ parsed, vsize, parents, siblings: () => siblings });
}
const inPackage = (
  txs: readonly ParsedTransaction[],
  index: number,
  parents: readonly TrucParent[] = [],
  vsize = 100,
) => checkPackageTruc({ package: txs, index, vsize, parents });
const refused = (debug: string) => ({ debug, sibling: null });

describe('versions must not mix', () => {
  test('version 2 cannot spend an unconfirmed version 3', () => {
    const child = tx(2, outpointOf(v3));
    const debug = `non-version=3 ${nameOf(child)} cannot spend from version=3 ${nameOf(v3)}`;
    expect(single(child, [inMempool(v3)])).toEqual(refused(debug));
    expect(inPackage([v3, child], 1)).toBe(debug);
    expect(inPackage([child], 0, [inMempool(v3)])).toBe(debug);

    const ofBoth = tx(2, outpointOf(v2), outpointOf(v3));
    const debugBoth = `non-version=3 ${nameOf(ofBoth)} cannot spend from version=3 ${nameOf(v3)}`;
    expect(single(ofBoth, [inMempool(v2), inMempool(v3)])).toEqual(refused(debugBoth));
    expect(inPackage([v2, v3, ofBoth], 2)).toBe(debugBoth);
    expect(inPackage([v3, ofBoth], 1, [inMempool(v2)])).toBe(debugBoth);
  });

  test('version 3 cannot spend an unconfirmed version 2', () => {
    const child = tx(3, outpointOf(v2));
    const debug = `version=3 ${nameOf(child)} cannot spend from non-version=3 ${nameOf(v2)}`;
    expect(single(child, [inMempool(v2)])).toEqual(refused(debug));
    expect(inPackage([v2, child], 1)).toBe(debug);
    expect(inPackage([child], 0, [inMempool(v2)])).toBe(debug);

    const ofBoth = tx(3, outpointOf(v3), outpointOf(v2));
    expect(single(ofBoth, [inMempool(v3), inMempool(v2)])).toEqual(
      refused(`version=3 ${nameOf(ofBoth)} cannot spend from non-version=3 ${nameOf(v2)}`),
    );
    expect(inPackage([v3, v2, ofBoth], 2)).toBe(`${nameOf(ofBoth)} would have too many ancestors`);
  });

  test('each can spend its own version, and confirmed outputs', () => {
    for (const [version, parent] of [
      [3, v3],
      [2, v2],
    ] as const) {
      const child = tx(version, outpointOf(parent));
      expect(single(child)).toBeNull();
      expect(single(child, [inMempool(parent)])).toBeNull();
      expect(inPackage([parent, child], 0)).toBeNull();
      expect(inPackage([parent, child], 1)).toBeNull();
      expect(inPackage([child], 0, [inMempool(parent)])).toBeNull();
    }
  });

  test('other versions have no limits', () => {
    const child = tx(2, outpointOf(v2));
    const crowded = inMempool(v2, { ancestorCount: 20, descendantCount: 20 });
    expect(single(child, [crowded, inMempool(v2)], { vsize: 90_000 })).toBeNull();
    expect(inPackage([v2, child], 1, [crowded], 90_000)).toBeNull();
  });
});

describe('size', () => {
  test('is at most 10,000 virtual bytes', () => {
    const debug = `version=3 ${nameOf(v3)} is too big: 10001 > 10000 virtual bytes`;
    expect(single(v3, [], { vsize: 10_000 })).toBeNull();
    expect(single(v3, [], { vsize: 10_001 })).toEqual(refused(debug));
    expect(inPackage([v3], 0, [], 10_000)).toBeNull();
    expect(inPackage([v3], 0, [], 10_001)).toBe(debug);
  });

  test('is at most 1,000 virtual bytes with an unconfirmed parent', () => {
    const child = tx(3, outpointOf(v3));
    const debug = `version=3 child ${nameOf(child)} is too big: 1001 > 1000 virtual bytes`;
    const parents = [inMempool(v3)];
    expect(single(child, parents, { vsize: 1000 })).toBeNull();
    expect(single(child, parents, { vsize: 1001 })).toEqual(refused(debug));
    expect(inPackage([v3, child], 1, [], 1000)).toBeNull();
    expect(inPackage([v3, child], 1, [], 1001)).toBe(debug);
    expect(inPackage([child], 0, parents, 1001)).toBe(debug);
  });
});

describe('ancestors', () => {
  test('are at most one parent', () => {
    const child = tx(3, outpointOf(v3), outpointOf(other3));
    const debug = `${nameOf(child)} would have too many ancestors`;
    expect(single(child, [inMempool(v3), inMempool(other3)])).toEqual(refused(debug));
    expect(inPackage([v3, other3, child], 2)).toBe(debug);
    expect(inPackage([v3, child], 1, [inMempool(other3)])).toBe(debug);
    expect(inPackage([child], 0, [inMempool(v3), inMempool(other3)])).toBe(debug);
  });

  test('exclude a parent with a parent of its own', () => {
    const child = tx(3, outpointOf(v3));
    const debug = `${nameOf(child)} would have too many ancestors`;
    const parents = [inMempool(v3, { ancestorCount: 2 })];
    expect(single(child, parents)).toEqual(refused(debug));
    expect(inPackage([child], 0, parents)).toBe(debug);
  });

  test('exclude a transaction of the package with both parent and child', () => {
    const middle = tx(3, outpointOf(v3));
    const last = tx(3, outpointOf(middle));
    const debug = `${nameOf(last)} would have too many ancestors`;
    // Only the middle transaction shows the violation.
    expect([0, 1, 2].map((index) => inPackage([v3, middle, last], index))).toEqual([null, debug, null]);
    expect(inPackage([middle, last], 0, [inMempool(v3)])).toBe(debug);
  });
});

describe('descendants', () => {
  const parents = [inMempool(v3, { descendantCount: 2 })];
  const child = tx(3, outpointOf(v3, 1));
  const debug = `${nameOf(v3)} would exceed descendant count limit`;
  const sibling = { id: 'sibling', ancestorCount: 2, conflicts: false };

  test('allow a second child to replace the first', () =>
    expect(single(child, parents, { siblings: [sibling] })).toEqual({ debug, sibling: 'sibling' }));

  test('do not count a child that is replaced anyway', () =>
    expect(single(child, parents, { siblings: [{ ...sibling, conflicts: true }] })).toBeNull());

  test('offer no sibling for eviction if there are several', () => {
    const crowded = [inMempool(v3, { descendantCount: 3 })];
    const another = { ...sibling, id: 'another' };
    expect(single(child, crowded, { siblings: [sibling, another] })).toEqual(refused(debug));
    expect(single(child, crowded, { siblings: [sibling, { ...another, conflicts: true }] })).toBeNull();
    const grandchild = { ...sibling, id: 'grandchild', ancestorCount: 3 };
    expect(single(child, crowded, { siblings: [sibling, grandchild] })).toEqual(refused(debug));
  });

  test('offer no sibling with other parents for eviction', () =>
    expect(single(child, parents, { siblings: [{ ...sibling, ancestorCount: 3 }] })).toEqual(refused(debug)));

  test('offer no sibling for eviction in a package', () => {
    const first = tx(3, outpointOf(v3, 0));
    expect(inPackage([v3, first, child], 1)).toBe(debug);
    expect(inPackage([v3, first, child], 2)).toBe(debug);
    expect(inPackage([first, child], 0, [inMempool(v3)])).toBe(debug);
    expect(inPackage([first, child], 1, [inMempool(v3)])).toBe(debug);
    expect(inPackage([child], 0, parents)).toBe(debug);
  });
});

test('do not read the siblings unless there is a second child', () => {
  const never = () => {
    throw new Error('asked for siblings');
  };
  const ask = (parsed: ParsedTransaction, parents: TrucParent[], vsize = 100) =>
    checkSingleTruc({ parsed, vsize, parents, siblings: never });
  expect(ask(v3, [])).toBeNull();
  expect(ask(tx(3, outpointOf(v3)), [inMempool(v3)])).toBeNull();
  expect(ask(tx(2, outpointOf(v2)), [inMempool(v2, { descendantCount: 9 })])).toBeNull();
  expect(ask(tx(3, outpointOf(v3)), [inMempool(v3, { descendantCount: 9 })], 1001)).not.toBeNull();
});
