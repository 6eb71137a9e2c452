import type { MerkleRoot } from './hash.ts';

// Nodes are copied as words: a view for each hash would cost a fifth of the time. These buffers are shared, so the
// functions are not re-entrant.
const pair = new Uint8Array(64);
const pairWords = new Uint32Array(pair.buffer);
const inner = new Uint8Array(32);
const outer = new Uint8Array(32);
const outerWords = new Uint32Array(outer.buffer);
const NODE_WORDS = 8;

/**
 * Returns the merkle root of `hashes` (32 bytes each, concatenated), and whether two neighbours on some level were
 * equal: then the list may be a mutation of a shorter one with the same root (CVE-2012-2459).
 */
export function merkleRoot(hashes: Uint8Array): { root: MerkleRoot; mutated: boolean } {
  let count = hashes.length / 32;
  const nodes = new Uint8Array(Math.max(64, (count + (count & 1)) * 32));
  nodes.set(hashes);
  const words = new Uint32Array(nodes.buffer);
  let mutated = false;
  while (count > 1) {
    for (let at = 0; at + 1 < count && !mutated; at += 2) mutated = equalNodes(words, at * NODE_WORDS);
    if (count & 1) {
      words.copyWithin(count * NODE_WORDS, (count - 1) * NODE_WORDS, count * NODE_WORDS);
      count++;
    }
    for (let at = 0; at < count; at += 2) hashPair(words, at, at + 1, words, at >> 1);
    count >>= 1;
  }
  return { root: nodes.slice(0, 32) as MerkleRoot, mutated };
}

function equalNodes(words: Uint32Array, at: number): boolean {
  for (let i = 0; i < NODE_WORDS; i++) if (words[at + i] !== words[at + NODE_WORDS + i]) return false;
  return true;
}

/** Writes the parent of two nodes to `to`, which may be `from`. */
function hashPair(from: Uint32Array, left: number, right: number, to: Uint32Array, parent: number): void {
  for (let i = 0; i < NODE_WORDS; i++) {
    pairWords[i] = from[left * NODE_WORDS + i]!;
    pairWords[NODE_WORDS + i] = from[right * NODE_WORDS + i]!;
  }
  Bun.SHA256.hash(pair, inner);
  Bun.SHA256.hash(inner, outer);
  for (let i = 0; i < NODE_WORDS; i++) to[parent * NODE_WORDS + i] = outerWords[i]!;
}

/**
 * Returns the siblings from the leaf at `index` to the root; on a level with an odd number of nodes the last one is its
 * own sibling.
 */
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

/** Returns the level above `count` nodes; an odd last one is paired with itself. */
export function levelAbove(nodes: Uint8Array, count: number): Uint8Array {
  const from = new Uint32Array(nodes.slice().buffer);
  const above = new Uint32Array(((count + 1) >> 1) * NODE_WORDS);
  for (let at = 0; at < count; at += 2) hashPair(from, at, Math.min(at + 1, count - 1), above, at >> 1);
  return new Uint8Array(above.buffer);
}
