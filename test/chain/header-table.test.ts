import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { ChainEntry } from '../../src/chain/chain-entry.ts';
import { HeaderTable } from '../../src/chain/header-table.ts';
import type { BlockHash, MerkleRoot } from '../../src/primitives/hash.ts';
import type { BlockHeader } from '../../src/primitives/header.ts';

const bytes32 = fc.uint8Array({ minLength: 32, maxLength: 32 });
const uint32 = fc.nat(0xffff_ffff);
const place = fc.record({ file: fc.nat(10_000), offset: uint32, size: uint32 });
const row = fc.record({
  hash: bytes32.map((hash) => hash as BlockHash),
  version: fc.integer({ min: -0x8000_0000, max: 0x7fff_ffff }),
  merkleRoot: bytes32.map((root) => root as MerkleRoot),
  time: uint32,
  bits: uint32,
  nonce: uint32,
  chainwork: fc.bigInt({ min: 0n, max: 2n ** 128n - 1n }),
  status: fc.nat(31),
  sequence: fc.integer(),
  complete: fc.boolean(),
  body: place,
  undo: place,
});

describe('the header table', () => {
  test('returns the stored values however often it has grown', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(row, { minLength: 1, maxLength: 50, selector: ({ hash }) => hash.toHex() }),
        (rows) => {
          const table = new HeaderTable(1);
          let parent: ChainEntry | null = null;
          const entries = rows.map(({ hash, chainwork, status, sequence, complete, body, undo, ...rest }, i) => {
            const header: BlockHeader = { ...rest, previousHash: parent?.hash ?? (new Uint8Array(32) as BlockHash) };
            const at = table.addRow(i + 7, hash, header, parent?.row ?? -1, chainwork);
            const entry: ChainEntry = new ChainEntry(table, at, parent);
            Object.assign(entry, { status, sequence, complete, body, undo });
            parent = entry;
            return entry;
          });
          for (const [i, expected] of rows.entries()) {
            const entry = entries[i]!;
            expect(entry).toMatchObject(expected);
            expect([entry.id, entry.height, entry.parent]).toEqual([i + 7, i, entries[i - 1] ?? null]);
            expect(table.findRow(expected.hash)).toBe(i);
            expect([...table.children(i)]).toEqual(i + 1 < rows.length ? [i + 1] : []);
          }
        },
      ),
    );
  });

  test('yields children from the newest on', () => {
    const table = new HeaderTable(1);
    const add = (n: number, parent: number) => {
      const hash = new Uint8Array(32).fill(n) as BlockHash;
      const merkleRoot = new Uint8Array(32) as MerkleRoot;
      return table.addRow(
        n,
        hash,
        { version: 1, previousHash: hash, merkleRoot, time: 0, bits: 0, nonce: 0 },
        parent,
        1n,
      );
    };
    const genesis = add(1, -1);
    const children = [add(2, genesis), add(3, genesis), add(4, genesis)];
    expect([...table.children(genesis)]).toEqual(children.toReversed());
    expect(table.hasChildren(genesis)).toBeTrue();
    expect(children.some((child) => table.hasChildren(child))).toBeFalse();
    expect(table.findRow(new Uint8Array(32).fill(5))).toBe(-1);
  });

  test('returns copies of hashes', () => {
    const hash = new Uint8Array(32).fill(9) as BlockHash;
    const merkleRoot = new Uint8Array(32).fill(8) as MerkleRoot;
    const entry = ChainEntry.detached(
      1,
      hash,
      { version: 1, previousHash: hash, merkleRoot, time: 0, bits: 0, nonce: 0 },
      null,
      0n,
    );
    expect(entry.hash.buffer.byteLength).toBe(32);
    entry.hash.fill(0);
    expect(entry.hash).toEqual(hash);
    expect(entry.merkleRoot.buffer.byteLength).toBe(32);
  });
});
