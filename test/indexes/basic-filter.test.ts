import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { sha256 } from '../../src/crypto/hash-functions.ts';
import { sipHash, sipHashKeyOf } from '../../src/crypto/siphash.ts';
import {
  basicFilter,
  encodeFilter,
  type FilterHeader,
  filterHash,
  filterHeader,
  matchFilter,
} from '../../src/indexes/basic-filter.ts';
import { encodeBlock, type ParsedBlock, parseBlock } from '../../src/primitives/block.ts';
import { type BlockHash, hashFromHex, hashToHex, type MerkleRoot, type Txid } from '../../src/primitives/hash.ts';
import { ByteWriter, bytesToHex, DecodeError, hexToBytes } from '../../src/util/bytes.ts';
import { decodeFilter } from '../lib/decode-filter.ts';
import { hasVectors, readVectorJson } from '../lib/vectors.ts';

type Row = readonly [
  height: number,
  hash: string,
  block: string,
  spentScripts: readonly string[],
  previousHeader: string,
  filter: string,
  header: string,
  notes: string,
];

const fromHex = (hex: string) => hashFromHex<BlockHash>(hex) as Uint8Array;

describe.each(['core/blockfilters.json', 'bips/bip158-testnet.json'])('%s', (name) => {
  const rows = hasVectors ? readVectorJson<[unknown, ...Row[]]>(name).slice(1) : [];

  for (const row of rows as Row[]) {
    const [height, hash, block, spent, previous, filter, header, notes] = row;
    test(`${height} ${notes}`, () => {
      const parsed = parseBlock(hexToBytes(block));
      const scripts = spent.map(hexToBytes);
      expect(hashToHex(parsed.hash)).toBe(hash);
      const made = basicFilter(parsed, scripts);
      expect(bytesToHex(made)).toBe(filter);
      expect(hashToHex(filterHeader(filterHash(made), fromHex(previous) as FilterHeader))).toBe(header);
      expect(encodeFilter(decodeFilter(made))).toEqual(made);
      for (const { tx } of parsed.txs)
        for (const { scriptPubKey } of tx.outputs)
          if (scriptPubKey.length > 0 && scriptPubKey[0] !== 0x6a)
            expect(matchFilter(made, parsed.hash, [scriptPubKey])).toBe(true);
      for (const script of scripts) if (script.length > 0) expect(matchFilter(made, parsed.hash, [script])).toBe(true);
    });
  }

  test.skipIf(!hasVectors)('all rows were read', () => expect(rows.length).toBe(10));
});

function blockOf(scripts: readonly Uint8Array[], nonce = 0): ParsedBlock {
  const w = new ByteWriter();
  const zero = new Uint8Array(32);
  const prevout = { txid: zero as Txid, vout: 0xffff_ffff };
  encodeBlock(w, {
    header: { version: 4, previousHash: zero as BlockHash, merkleRoot: zero as MerkleRoot, time: 0, bits: 0, nonce },
    transactions: [
      {
        version: 1,
        inputs: [{ prevout, scriptSig: Uint8Array.of(1, 1), sequence: 0xffff_ffff, witness: [] }],
        outputs: scripts.map((scriptPubKey) => ({ value: 0n, scriptPubKey })),
        locktime: 0,
      },
    ],
  });
  return parseBlock(w.finish());
}

const numbered = (n: number) => sha256(Uint8Array.of(n, n >> 8, n >> 16)).subarray(0, 22);

describe('basicFilter', () => {
  const scripts = fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 60 });

  test('contains exactly the scripts of a block, each of which matches', () =>
    fc.assert(
      fc.property(scripts, scripts, fc.nat(), (outputs, spent, nonce) => {
        const block = blockOf(outputs, nonce);
        const filter = basicFilter(block, spent);
        const elements = [...outputs.filter((script) => script[0] !== 0x6a), ...spent].filter(({ length }) => length);
        for (const script of elements) expect(matchFilter(filter, block.hash, [script])).toBe(true);
        const unknown = numbered(nonce);
        if (elements.length > 0) expect(matchFilter(filter, block.hash, [unknown, ...elements])).toBe(true);

        // BIP-158's arithmetic on 128 bits.
        const unique = [...new Set(elements.map(bytesToHex))].map(hexToBytes);
        const key = sipHashKeyOf(block.hash);
        const range = BigInt(unique.length) * 784_931n;
        const values = unique.map((script) => (sipHash(key, script) * range) >> 64n);
        values.sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
        expect([...decodeFilter(filter)].map(BigInt)).toEqual(values);
        expect(encodeFilter(decodeFilter(filter))).toEqual(filter);
      }),
      { numRuns: 100 },
    ));

  test('contains a script once, and neither OP_RETURN outputs nor empty scripts', () => {
    const [a, b] = [numbered(1), numbered(2)];
    const filter = basicFilter(blockOf([a, b, a]), [b]);
    expect(filter[0]).toBe(2);
    const padded = [a, Uint8Array.of(0x6a), new Uint8Array(0), Uint8Array.of(0x6a, 1, 2), b];
    expect(decodeFilter(basicFilter(blockOf(padded), [new Uint8Array(0), a])).length).toBe(2);
    // OP_RETURN outputs cannot be spent, but the rule is about outputs only.
    expect(decodeFilter(basicFilter(blockOf([a]), [Uint8Array.of(0x6a)])).length).toBe(2);
  });

  test('has no elements for a block without scripts, and matches no script then', () => {
    const block = blockOf([Uint8Array.of(0x6a)]);
    const filter = basicFilter(block, []);
    expect(filter).toEqual(Uint8Array.of(0));
    expect(matchFilter(filter, block.hash, [numbered(1)])).toBe(false);
    expect(matchFilter(basicFilter(blockOf([numbered(1)]), []), block.hash, [])).toBe(false);
  });

  test('matches one script in 784,931 by chance', () => {
    const queries = Array.from({ length: 40_000 }, (_, n) => Uint8Array.of(1, n, n >> 8));
    const elements = Array.from({ length: 100 }, (_, n) => numbered(n));
    let accidents = 0;
    for (let nonce = 0; nonce < 40; nonce++) {
      const block = blockOf(elements, nonce);
      if (matchFilter(basicFilter(block, []), block.hash, queries)) accidents++;
    }
    // 1.6 million queries, of which two are expected to match.
    expect(accidents).toBeGreaterThan(0);
    expect(accidents).toBeLessThan(7);
  });

  test('needs about 21 bits for each element', () => {
    const filter = basicFilter(blockOf(Array.from({ length: 3000 }, (_, n) => numbered(n))), []);
    expect((filter.length * 8) / 3000).toBeGreaterThan(20.8);
    expect((filter.length * 8) / 3000).toBeLessThan(21.5);
  });
});

describe('decoding a filter', () => {
  const block = blockOf(Array.from({ length: 300 }, (_, n) => numbered(n)));
  const filter = basicFilter(block, []);
  const decode = (bytes: Uint8Array) => () => decodeFilter(bytes);

  test('fails if it is truncated or has trailing bytes', () => {
    for (let length = 0; length < filter.length; length++)
      expect(decode(filter.subarray(0, length))).toThrow(DecodeError);
    const longer = new Uint8Array(filter.length + 1);
    longer.set(filter);
    expect(decode(longer)).toThrow(DecodeError);
    expect(decode(Uint8Array.of(0, 0))).toThrow(DecodeError);
    expect(() => matchFilter(filter.subarray(0, 100), block.hash, [numbered(1)])).toThrow(DecodeError);
  });

  test('fails for a count that the bytes cannot hold, before anything is allocated', () => {
    const many = hexToBytes(`fe00004000${'ff'.repeat(100)}`);
    expect(decode(many)).toThrow(DecodeError);
    expect(() => matchFilter(many, block.hash, [numbered(1)])).toThrow(DecodeError);
    for (const head of ['fdfc00', 'fe01004000', 'ff0000000001000000', 'ffffffffffffffffff'])
      expect(decode(hexToBytes(head))).toThrow(DecodeError);
  });

  test('accepts a quotient of millions of ones', () => {
    const ones = new Uint8Array(1_000_000).fill(0xff);
    ones[0] = 1;
    expect(decode(ones)).toThrow(DecodeError);
    ones.set([0xfe, 0, 0, 0x80], ones.length - 4);
    // The ones of the whole bytes and seven more, a zero, nineteen bits with the value 4, padding.
    const value = (999_995 * 8 + 7) * 2 ** 19 + 4;
    expect([...decodeFilter(ones)]).toEqual([value]);
    expect(matchFilter(ones, block.hash, [numbered(1)])).toBe(false);
  });
});
