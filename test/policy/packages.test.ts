import { describe, expect, test } from 'bun:test';
import { sha256 } from '../../src/crypto/hash-functions.ts';
import { checkPackage, isChildWithParents, isChildWithParentsTree, packageHash } from '../../src/policy/packages.ts';
import { type ParsedTransaction, parseTransaction, weightOf } from '../../src/primitives/block.ts';
import { hashFromHex, hashToHex, type Wtxid } from '../../src/primitives/hash.ts';
import { Op } from '../../src/script/opcodes.ts';
import { concatBytes, hexToBytes } from '../../src/util/bytes.ts';
import { filled, input, NONE, outpointOf, output, parsedOf, someOutpoint, spending } from './policy-fixture.ts';

const reasonOf = (txs: readonly ParsedTransaction[]) => {
  const rejection = checkPackage(txs);
  if (rejection !== null) expect(rejection.kind).toBe('policy');
  return rejection?.reason ?? null;
};
const independent = (count: number) => Array.from({ length: count }, (_, i) => spending([someOutpoint(i)]));

/** A transaction of exactly this weight, at least 160,000. */
function weighing(weight: number, seed: number): ParsedTransaction {
  const data = concatBytes(Uint8Array.of(Op.OP_RETURN), filled(20_000, Op.OP_1));
  const build = (stuffing: number) =>
    parsedOf({ inputs: [input(someOutpoint(seed), { witness: [filled(stuffing)] })], outputs: [output(0n, data)] });
  const least = 70_000;
  const parsed = build(least + weight - weightOf(build(least)));
  expect(weightOf(parsed)).toBe(weight);
  return parsed;
}

describe('a package', () => {
  test('has at most 25 transactions', () => {
    expect(reasonOf([])).toBeNull();
    expect(reasonOf(independent(25))).toBeNull();
    expect(reasonOf(independent(26))).toBe('package-too-many-transactions');
  });

  test('has at most 404,000 units of weight, more if it is a single transaction', () => {
    const first = weighing(202_000, 1);
    expect(reasonOf([first, weighing(202_000, 2)])).toBeNull();
    expect(reasonOf([first, weighing(202_001, 2)])).toBe('package-too-large');
    expect(reasonOf([weighing(404_001, 1)])).toBeNull();
  });

  test('has no duplicates by txid', () => {
    const [parsed] = independent(1);
    expect(reasonOf([parsed!, parsed!])).toBe('package-contains-duplicates');
    const witnessed = parsedOf({ inputs: [input(someOutpoint(0), { witness: [NONE] })] });
    expect(witnessed.txid).toEqual(parsed!.txid);
    expect(witnessed.wtxid).not.toEqual(parsed!.wtxid);
    expect(reasonOf([witnessed, parsed!])).toBe('package-contains-duplicates');
  });

  test('has parents before children', () => {
    const parent = spending([someOutpoint(1)]);
    const child = spending([outpointOf(parent)]);
    const grandchild = spending([outpointOf(child)]);
    expect(reasonOf([parent, child, grandchild])).toBeNull();
    expect(reasonOf([child, parent])).toBe('package-not-sorted');
    expect(reasonOf([parent, grandchild, child])).toBe('package-not-sorted');
    // Transactions between them are not known here.
    expect(reasonOf([grandchild, parent])).toBeNull();
  });

  test('has no conflicting transactions', () => {
    const first = spending([someOutpoint(1), someOutpoint(2)]);
    expect(reasonOf([first, spending([someOutpoint(3), someOutpoint(2)])])).toBe('conflict-in-package');
    expect(reasonOf([first, spending([someOutpoint(1, 1)])])).toBeNull();
    // Within one transaction another rule rejects it.
    expect(reasonOf([spending([someOutpoint(1), someOutpoint(1)]), spending([someOutpoint(2)])])).toBeNull();
  });

  test('has only transactions with inputs', () => {
    const parsed = parsedOf();
    const empty = { ...parsed, tx: { ...parsed.tx, inputs: [] } };
    expect(reasonOf([empty])).toBe('conflict-in-package');
  });

  test('is rejected for the first fault', () => {
    const [parsed] = independent(1);
    const heavy = weighing(300_000, 1);
    expect(reasonOf(Array.from({ length: 26 }, () => heavy))).toBe('package-too-many-transactions');
    expect(reasonOf([heavy, heavy])).toBe('package-too-large');
    const child = spending([outpointOf(parsed!)]);
    expect(reasonOf([child, parsed!, parsed!])).toBe('package-contains-duplicates');
    expect(reasonOf([child, parsed!, spending([someOutpoint(0)], { locktime: 1 })])).toBe('package-not-sorted');
  });
});

test('a child with its parents', () => {
  const [a, b, other] = independent(3) as [ParsedTransaction, ParsedTransaction, ParsedTransaction];
  const child = spending([outpointOf(a), outpointOf(b), someOutpoint(9)]);
  expect(isChildWithParents([])).toBe(false);
  expect(isChildWithParents([child])).toBe(false);
  expect(isChildWithParents([a, child])).toBe(true);
  expect(isChildWithParents([a, b, child])).toBe(true);
  expect(isChildWithParents([a, other, child])).toBe(false);
  expect(isChildWithParents([child, a])).toBe(false);
  expect(isChildWithParents([a, b])).toBe(false);
  expect(isChildWithParentsTree([a, b, child])).toBe(true);
  expect(isChildWithParentsTree([a, other, child])).toBe(false);
  const middle = spending([outpointOf(a, 1)]);
  const last = spending([outpointOf(a), outpointOf(middle)]);
  expect(isChildWithParents([a, middle, last])).toBe(true);
  expect(isChildWithParentsTree([a, middle, last])).toBe(false);
});

// The transactions of Core's package_hash_tests.
test('the hash of a package depends on wtxids in display order', () => {
  const raw = [
    '02000000000101964b8aa63509579ca6086e6012eeaa4c2f4dd1e283da29b67c8eea38b3c6fd220000000000fdffffff0294c618000000000017a9145afbbb42f4e83312666d0697f9e66259912ecde38768fa2c0000000000160014897388a0889390fd0e153a22bb2cf9d8f019faf50247304402200547406380719f84d68cf4e96cc3e4a1688309ef475b150be2b471c70ea562aa02206d255f5acc40fd95981874d77201d2eb07883657ce1c796513f32b6079545cdf0121023ae77335cefcb5ab4c1dc1fb0d2acfece184e593727d7d5906c78e564c7c11d125cf0c00',
    '01000000010b26e9b7735eb6aabdf358bab62f9816a21ba9ebdb719d5299e88607d722c190000000008b4830450220070aca44506c5cef3a16ed519d7c3c39f8aab192c4e1c90d065f37b8a4af6141022100a8e160b856c2d43d27d8fba71e5aef6405b8643ac4cb7cb3c462aced7f14711a0141046d11fee51b0e60666d5049a9101a72741df480b96ee26488a4d3466b95c9a40ac5eeef87e10a5cd336c19a84565f80fa6c547957b7700ff4dfbdefe76036c339ffffffff021bff3d11000000001976a91404943fdd508053c75000106d3bc6e2754dbcff1988ac2f15de00000000001976a914a266436d2965547608b9e15d9032a7b9d64fa43188ac00000000',
    '0200000000010177862801f77c2c068a70372b4c435ef8dd621291c36a64eb4dd491f02218f5324600000000fdffffff014a0100000000000022512035ea312034cfac01e956a269f3bf147f569c2fbb00180677421262da042290d803402be713325ff285e66b0380f53f2fae0d0fb4e16f378a440fed51ce835061437566729d4883bc917632f3cff474d6384bc8b989961a1d730d4a87ed38ad28bd337b20f1d658c6c138b1c312e072b4446f50f01ae0da03a42e6274f8788aae53416a7fac0063036f7264010118746578742f706c61696e3b636861727365743d7574662d3800357b2270223a226272632d3230222c226f70223a226d696e74222c227469636b223a224342414c222c22616d74223a2236393639227d6821c1f1d658c6c138b1c312e072b4446f50f01ae0da03a42e6274f8788aae53416a7f00000000',
  ];
  const wtxids = [
    '85cd1a31eb38f74ed5742ec9cb546712ab5aaf747de28a9168b53e846cbda17f',
    'b4749f017444b051c44dfd2720e88f314ff94f3dd6d56d40ef65854fcd7fff6b',
    'e065bac15f62bb4e761d761db928ddee65a47296b2b776785abb912cdec474e3',
  ];
  const parsed = raw.map((hex) => parseTransaction(hexToBytes(hex)));
  expect(parsed.map(({ wtxid }) => hashToHex(wtxid))).toEqual(wtxids);
  const expected = sha256(concatBytes(...wtxids.map((hex) => hashFromHex<Wtxid>(hex))));
  for (const order of ['012', '021', '102', '120', '201', '210'])
    expect(packageHash(Array.from(order, (i) => parsed[Number(i)]!.wtxid))).toEqual(expected);
});
