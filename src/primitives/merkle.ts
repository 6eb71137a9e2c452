import type { MerkleRoot } from './hash.ts';

/**
 * Merkle root of `hashes` (32 bytes each, one after the other), and whether two neighbours on some level were equal:
 * then the list may be a mutation of a shorter one with the same root (CVE-2012-2459).
 */
export function merkleRoot(hashes: Uint8Array): { root: MerkleRoot; mutated: boolean } {
  let count = hashes.length / 32;
  const nodes = new Uint8Array(Math.max(64, (count + (count & 1)) * 32));
  nodes.set(hashes);
  const scratch = new Uint8Array(32);
  let mutated = false;
  while (count > 1) {
    for (let at = 0; at + 1 < count && !mutated; at += 2) mutated = equalNodes(nodes, at);
    if (count & 1) {
      nodes.copyWithin(count * 32, (count - 1) * 32, count * 32);
      count++;
    }
    for (let at = 0; at < count; at += 2) {
      Bun.SHA256.hash(nodes.subarray(at * 32, at * 32 + 64), scratch);
      Bun.SHA256.hash(scratch, nodes.subarray(at * 16, at * 16 + 32));
    }
    count >>= 1;
  }
  return { root: nodes.slice(0, 32) as MerkleRoot, mutated };
}

function equalNodes(nodes: Uint8Array, at: number): boolean {
  const left = at * 32;
  for (let i = 0; i < 32; i++) if (nodes[left + i] !== nodes[left + 32 + i]) return false;
  return true;
}

/** Siblings from leaf to root that connect the leaf at `index`; where a level is odd the sibling is the node itself. */
export function merkleBranch(hashes: Uint8Array, index: number): Uint8Array[] {
  const branch: Uint8Array[] = [];
  let nodes = hashes;
  let at = index;
  for (let count = hashes.length / 32; count > 1; count = (count + 1) >> 1) {
    const sibling = Math.min(at ^ 1, count - 1);
    branch.push(nodes.slice(sibling * 32, sibling * 32 + 32));
    nodes = levelAbove(nodes, count);
    at >>= 1;
  }
  return branch;
}

/** The level above `count` nodes, the last one paired with itself where `count` is odd. */
export function levelAbove(nodes: Uint8Array, count: number): Uint8Array {
  const above = new Uint8Array(((count + 1) >> 1) * 32);
  const pair = new Uint8Array(64);
  const scratch = new Uint8Array(32);
  for (let at = 0; at < count; at += 2) {
    const right = Math.min(at + 1, count - 1);
    pair.set(nodes.subarray(at * 32, at * 32 + 32));
    pair.set(nodes.subarray(right * 32, right * 32 + 32), 32);
    Bun.SHA256.hash(pair, scratch);
    Bun.SHA256.hash(scratch, above.subarray(at * 16, at * 16 + 32));
  }
  return above;
}
