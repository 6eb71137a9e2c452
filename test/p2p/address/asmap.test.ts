import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { decodeAddrTables, encodeAddrTables } from '../../../src/p2p/address/addr-file.ts';
import { AddrManager } from '../../../src/p2p/address/addr-manager.ts';
import { AddrTables } from '../../../src/p2p/address/addr-tables.ts';
import { Asmap, asmapProblem } from '../../../src/p2p/address/asmap.ts';
import { netGroup } from '../../../src/p2p/address/net-group.ts';
import { NetGroups, PREFIX_GROUPS } from '../../../src/p2p/address/net-groups.ts';
import { bytesToHex, hexToBytes } from '../../../src/util/bytes.ts';
import { at, fixture, ip, NOW, ONION, peer } from './addr-fixture.ts';

/** The map of Core's tests: 101.N.0.0/16 belongs to N from 1 to 8, and 250.0.0.0/8 to 1000. */
const CORE_MAP = hexToBytes(
  'fb03ec0fb03fc0fe00fb03ec0fb03fc0fe00fb03ec0fb0fffffeffedb0ffd486e628290000400000400040990100800180040000050006001cf039',
);

/** Part of a map: a number for all addresses, both values of the next bit, or bits that must match. */
type Part =
  | { readonly asn: number }
  | { readonly zero: Part; readonly one: Part }
  | { readonly bits: readonly number[]; readonly rest: Part; readonly otherwise: number };

const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => from + i);

function integerBits(value: number, least: number, sizes: readonly number[]): number[] {
  const bits: number[] = [];
  let start = least;
  for (const [k, size] of sizes.entries()) {
    if (value >= start + 2 ** size) {
      bits.push(1);
      start += 2 ** size;
      continue;
    }
    if (k < sizes.length - 1) bits.push(0);
    for (let i = size - 1; i >= 0; i--) bits.push(Math.floor((value - start) / 2 ** i) % 2);
    return bits;
  }
  throw new Error(`${value} has no code`);
}
const asnBits = (asn: number) => integerBits(asn, 1, range(15, 24));

/** Encodes a part; matches behind one another have 8 bits but for the last. */
function encodePart(part: Part): number[] {
  if ('asn' in part) return [0, ...asnBits(part.asn)];
  if ('zero' in part) {
    const zero = encodePart(part.zero);
    return [1, 0, ...integerBits(zero.length, 17, range(5, 30)), ...zero, ...encodePart(part.one)];
  }
  const matches = range(0, Math.ceil(part.bits.length / 8) - 1).flatMap((i) => {
    const bits = part.bits.slice(i * 8, i * 8 + 8);
    return [1, 1, 0, ...integerBits(Number.parseInt(`1${bits.join('')}`, 2), 2, range(1, 8))];
  });
  return [1, 1, 1, ...asnBits(part.otherwise), ...matches, ...encodePart(part.rest)];
}

function encodeMap(part: Part): Uint8Array {
  const bits = encodePart(part);
  const bytes = new Uint8Array(Math.ceil(bits.length / 8));
  for (const [i, bit] of bits.entries()) bytes[i >> 3]! |= bit << (i & 7);
  return bytes;
}

function modelAs(part: Part, address: readonly number[], used = 0): number {
  if ('asn' in part) return part.asn;
  if ('zero' in part) return modelAs(address[used] === 1 ? part.one : part.zero, address, used + 1);
  if (part.bits.some((bit, i) => address[used + i] !== bit)) return part.otherwise;
  return modelAs(part.rest, address, used + part.bits.length);
}

const asns = fc.oneof(fc.integer({ min: 1, max: 100 }), fc.integer({ min: 1, max: 33_521_664 }));
const parts = fc.letrec<{ part: Part; branch: Part }>((tie) => ({
  part: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.record({ asn: asns }),
    tie('branch'),
    // A default in front of a number alone would be superfluous, and Core refuses it.
    fc.record({
      bits: fc.array(fc.nat(1), { minLength: 1, maxLength: 20 }),
      rest: fc.oneof(fc.record({ asn: asns }), tie('branch')),
      otherwise: asns,
    }),
  ),
  branch: fc.record({ zero: tie('part'), one: tie('part') }),
})).part;
const addresses = fc.uint8Array({ minLength: 16, maxLength: 16 });
const bitsOf = (bytes: Uint8Array) => [...bytes].flatMap((byte) => range(0, 7).map((i) => (byte >> (7 - i)) & 1));

test("a map of Core's tests has Core's numbers and version", () => {
  expect(asmapProblem(CORE_MAP)).toBeNull();
  const map = new Asmap(CORE_MAP);
  expect(bytesToHex(map.version.toReversed())).toBe('bafc9da308f45179443bd1d22325400ac9104f741522d003e3fac86700f68895');
  const groups = new NetGroups(map);
  for (let n = 1; n <= 8; n++) expect(groups.mappedAs(ip(`101.${n}.7.9`))).toBe(n);
  expect(groups.mappedAs(ip('250.1.1.1'))).toBe(1000);
  expect(groups.mappedAs(ip('64:ff9b::101.3.1.1'))).toBe(3);
  expect(groups.mappedAs(ip(ONION))).toBe(0);
});

test('a map gives each address the number of its part', () => {
  fc.assert(
    fc.property(parts, fc.array(addresses, { minLength: 1, maxLength: 20 }), (part, asked) => {
      const bytes = encodeMap(part);
      expect(asmapProblem(bytes)).toBeNull();
      const map = new Asmap(bytes);
      for (const address of asked) expect(map.lookUp(address)).toBe(modelAs(part, bitsOf(address)));
    }),
  );
});

test('bytes that pass the check have a number for every address', () => {
  const mutated = fc
    .tuple(parts, fc.array(fc.tuple(fc.nat(), fc.integer({ min: 1, max: 255 })), { maxLength: 3 }))
    .map(([part, flips]) => {
      const bytes = encodeMap(part);
      for (const [where, flip] of flips) bytes[where % bytes.length]! ^= flip;
      return bytes;
    });
  fc.assert(
    fc.property(fc.oneof(mutated, fc.uint8Array({ maxLength: 60 })), addresses, (bytes, address) => {
      fc.pre(asmapProblem(bytes) === null);
      expect(new Asmap(bytes).lookUp(address)).toBeGreaterThanOrEqual(0);
    }),
  );
});

test.each([
  ['no bytes', '', 'it ends without a return'],
  ['a return that is cut off', '00', 'it ends within an instruction'],
  ['a padding that is not zero', `${'00'.repeat(2)}80`, 'its last bits are not zero'],
  ['more than seven bits of padding', `${'00'.repeat(4)}`, 'bytes follow its last instruction'],
])('%s is no map', (_, hex, reason) => expect(asmapProblem(hexToBytes(hex))).toBe(reason));

test('a map that uses more bits than an address has is refused', () => {
  const chain = (length: number): Part => ({ bits: Array(length).fill(1), rest: { asn: 1 }, otherwise: 2 });
  expect(asmapProblem(encodeMap(chain(128)))).toBeNull();
  expect(asmapProblem(encodeMap(chain(129)))).toBe('it uses more bits than an address has');
});

test('addresses of one autonomous system are in one group; unmapped ones keep their prefix', () => {
  const v6: Part = { bits: bitsOf(ip('2a00::').bytes).slice(0, 16), rest: { asn: 7 }, otherwise: 9 };
  const v4: Part = { bits: bitsOf(hexToBytes('00000000000000000000ffff')).slice(1), rest: { asn: 7 }, otherwise: 9 };
  const groups = new NetGroups(
    new Asmap(encodeMap({ zero: { ...v4, rest: { zero: { asn: 7 }, one: { asn: 8 } } }, one: v6 })),
  );
  expect(groups.groupOf(ip('1.2.3.4'))).toEqual(Uint8Array.of(2, 7, 0, 0, 0));
  expect(groups.groupOf(ip('101.2.3.4'))).toEqual(groups.groupOf(ip('1.2.3.4')));
  expect(groups.groupOf(ip('201.2.3.4'))).toEqual(Uint8Array.of(2, 8, 0, 0, 0));
  expect(groups.groupOf(ip(ONION))).toEqual(netGroup(ip(ONION)));
  expect(PREFIX_GROUPS.groupOf(ip('1.2.3.4'))).toEqual(Uint8Array.of(1, 1, 2));
});

test('addresses keep their buckets with the same map, and move to those of another one', () => {
  const groups = new NetGroups(new Asmap(CORE_MAP));
  const { clock, below } = fixture();
  const manager = new AddrManager(new AddrTables(new Uint8Array(32).fill(3), groups), clock, below);
  for (let n = 1; n <= 8; n++) {
    manager.add([peer(`101.${n}.1.1`), peer(`101.${n}.9.9`)], ip(`250.${n}.1.1`));
    manager.good(at(`101.${n}.1.1`), NOW);
  }
  const places = (of: AddrManager) =>
    (['new', 'tried'] as const).flatMap((table) => [...of.places(table)].map((one) => [one.bucket, one.position]));
  const bytes = encodeAddrTables(manager.tables);
  expect(bytesToHex(bytes).endsWith(bytesToHex(groups.version))).toBe(true);
  const same = new AddrManager(decodeAddrTables(bytes, groups), clock, below);
  expect(places(same)).toEqual(places(manager));
  const other = new AddrManager(decodeAddrTables(bytes, PREFIX_GROUPS), clock, below);
  expect([other.tables.problem(), other.size()]).toEqual([null, manager.size()]);
  expect(places(other)).not.toEqual(places(manager));
});
