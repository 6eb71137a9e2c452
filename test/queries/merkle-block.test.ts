import { expect, test } from 'bun:test';
import { hash256 } from '../../src/crypto/hash-functions.ts';
import { merkleRoot } from '../../src/primitives/merkle.ts';
import { encodeMerkleBlock, readMerkleBlock } from '../../src/queries/merkle-block.ts';

const txidAt = (i: number) => hash256(Uint8Array.of(i & 255, i >> 8));

function blockOf(count: number) {
  const txids = new Uint8Array(count * 32);
  for (let i = 0; i < count; i++) txids.set(txidAt(i), i * 32);
  const header = new Uint8Array(80);
  header.set(merkleRoot(txids).root, 36);
  return { header, txids };
}

test('every choice of transactions of small blocks comes back', () => {
  for (let count = 1; count <= 9; count++) {
    const { header, txids } = blockOf(count);
    for (let chosen = 0; chosen < 1 << count; chosen++) {
      const isMatch = (i: number) => ((chosen >> i) & 1) === 1;
      const shown = readMerkleBlock(encodeMerkleBlock(header, txids, isMatch))!;
      const wanted = Array.from({ length: count }, (_, i) => i)
        .filter(isMatch)
        .map(txidAt);
      expect(shown.matches as readonly Uint8Array[]).toEqual(wanted);
      expect(shown.txCount).toBe(count);
      expect(shown.hash as Uint8Array).toEqual(hash256(header));
    }
  }
});

test('one of many takes a path of hashes, not all of them', () => {
  const { header, txids } = blockOf(1000);
  const bytes = encodeMerkleBlock(header, txids, (i) => i === 777);
  // Header, count, eleven hashes with their number, twenty-one flags with theirs.
  expect(bytes.length).toBe(80 + 4 + 1 + 11 * 32 + 1 + 3);
  expect(readMerkleBlock(bytes)!.matches as readonly Uint8Array[]).toEqual([txidAt(777)]);
});

test('no change of a byte before the tree’s flags goes unnoticed', () => {
  const { header, txids } = blockOf(7);
  const bytes = encodeMerkleBlock(header, txids, (i) => i === 3);
  for (let at = 36; at < bytes.length; at++) {
    // Time, bits and nonce are not the tree’s.
    if (at >= 68 && at < 80) continue;
    const changed = bytes.slice();
    changed[at]! ^= 1;
    let shown: ReturnType<typeof readMerkleBlock> = null;
    try {
      shown = readMerkleBlock(changed);
    } catch {
      // Ends early.
    }
    // A tree of the same shape may have another number of transactions; the caller compares it with that of the block.
    if (shown?.txCount !== 7) continue;
    expect(shown.matches.map((txid) => txid.toHex())).not.toContain(txidAt(3).toHex());
  }
});

// CVE-2012-2459: a list whose end is repeated has the root of the shorter one.
test('two equal branches are refused', () => {
  const { header } = blockOf(3);
  const txids = new Uint8Array(128);
  for (const [at, i] of [0, 1, 2, 2].entries()) txids.set(txidAt(i), at * 32);
  expect(merkleRoot(txids).root as Uint8Array).toEqual(header.slice(36, 68));
  expect(readMerkleBlock(encodeMerkleBlock(header, txids, (i) => i === 3))).toBeNull();
});

test('counts that cannot be are refused', () => {
  const bytes = new Uint8Array(80 + 4 + 1 + 32 + 2);
  expect(readMerkleBlock(bytes)).toBeNull();
  const view = new DataView(bytes.buffer);
  view.setUint32(80, 0xffff_ffff, true);
  expect(readMerkleBlock(bytes)).toBeNull();
  expect(() => readMerkleBlock(bytes.subarray(0, 82))).toThrow();
});
