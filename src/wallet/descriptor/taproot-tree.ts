import { tapTweakPublicKey } from '../../crypto/keys.ts';
import {
  controlMerkleRoot,
  isControlBlockSize,
  TAPROOT_LEAF_MASK,
  tapBranchHash,
  tapLeafHash,
  tapTweakHash,
} from '../../script/taproot.ts';
import { assert } from '../../util/assert.ts';
import { concatBytes, equalBytes } from '../../util/bytes.ts';
import type { TaprootLeaf, TaprootSpendData } from '../keys/signing-data.ts';

/** Maximum depth of a script in the tree (BIP-341). */
export const MAX_TAPROOT_DEPTH = 128;

const CONTROL_BASE_SIZE = 33;
const HASH_SIZE = 32;

/** A script of a tree with its depth. */
export interface TreeLeaf {
  readonly depth: number;
  readonly leafVersion: number;
  readonly script: Uint8Array;
}

/** Limit of the scripts of one output, since their control blocks take up to 4 KiB each. */
export const MAX_TREE_LEAVES = 1 << 16;

/** A subtree and its parent. */
interface Subtree {
  readonly depth: number;
  readonly hash: Uint8Array;
  /** Null for the root, and for a subtree whose sibling is not read yet. */
  above: { readonly parent: Subtree; readonly sibling: Uint8Array } | null;
}

/** Whether leaves in this order and at these depths make up one whole binary tree; so do none. */
export function isWholeTree(depths: readonly number[]): boolean {
  const open: number[] = [];
  for (const given of depths) {
    let depth = given;
    if (depth < 0 || depth > MAX_TAPROOT_DEPTH || depth < (open.at(-1) ?? 0)) return false;
    while (open.at(-1) === depth) {
      if (depth === 0) return false;
      open.pop();
      depth--;
    }
    open.push(depth);
  }
  return open.length === 0 || (open.length === 1 && open[0] === 0);
}

/**
 * Returns the taproot output of an internal key and its scripts, listed from left to right. Returns null if the
 * internal key is not on the curve. Throws if the leaves do not form a complete tree.
 */
export function buildTaproot(internalKey: Uint8Array, leaves: readonly TreeLeaf[]): TaprootSpendData | null {
  assert(isWholeTree(leaves.map(({ depth }) => depth)), 'the leaves are a whole tree');
  const open: Subtree[] = [];
  const bottom = leaves.map(({ depth, leafVersion, script }) => {
    const node: Subtree = { depth, hash: tapLeafHash(leafVersion, script), above: null };
    let tree = node;
    while (open.at(-1)?.depth === tree.depth) tree = combine(open.pop()!, tree);
    open.push(tree);
    return node;
  });
  const merkleRoot = open[0]?.hash ?? null;
  const tweaked = tapTweakPublicKey(internalKey, tapTweakHash(internalKey, merkleRoot));
  if (tweaked === null) return null;
  const controlled = leaves.map(({ leafVersion, script }, i) => {
    const branch: Uint8Array[] = [];
    for (let { above } = bottom[i]!; above !== null; { above } = above.parent) branch.push(above.sibling);
    const controlBlock = concatBytes(Uint8Array.of(leafVersion | tweaked.parity), internalKey, ...branch);
    return { leafVersion, script, controlBlock };
  });
  return { outputKey: tweaked.key, internalKey, merkleRoot, leaves: controlled };
}

function combine(left: Subtree, right: Subtree): Subtree {
  const parent = { depth: left.depth - 1, hash: tapBranchHash(left.hash, right.hash), above: null };
  left.above = { parent, sibling: right.hash };
  right.above = { parent, sibling: left.hash };
  return parent;
}

/** A node of a tree that is reconstructed from control blocks. */
interface KnownNode {
  hash: Uint8Array | null;
  leaf: TaprootLeaf | null;
  children: [KnownNode, KnownNode] | null;
}

/**
 * Returns the scripts in the order of a tree that has this output, from their control blocks. The order of siblings
 * does not matter. Returns null if the internal key does not belong to the output, or a part of the tree is unknown.
 */
export function inferTaprootTree(data: TaprootSpendData, outputKey: Uint8Array): TreeLeaf[] | null {
  const tweaked = tapTweakPublicKey(data.internalKey, tapTweakHash(data.internalKey, data.merkleRoot));
  if (tweaked === null || !equalBytes(tweaked.key, outputKey)) return null;
  if (data.merkleRoot === null) return [];
  const root = newNode(data.merkleRoot);
  for (const leaf of data.leaves) if (belongs(leaf, data.merkleRoot) && !placeLeaf(root, leaf)) return null;
  return listLeaves(root);
}

function newNode(hash: Uint8Array | null): KnownNode {
  return { hash, leaf: null, children: null };
}

function belongs({ leafVersion, script, controlBlock }: TaprootLeaf, merkleRoot: Uint8Array): boolean {
  if (leafVersion < 0 || leafVersion > 0xff || (leafVersion & 1) !== 0) return false;
  if (!isControlBlockSize(controlBlock.length) || (controlBlock[0]! & TAPROOT_LEAF_MASK) !== leafVersion) return false;
  return equalBytes(controlMerkleRoot(controlBlock, tapLeafHash(leafVersion, script)), merkleRoot);
}

/** Descends from the root by the hashes of the control block, from last to first. */
function placeLeaf(root: KnownNode, leaf: TaprootLeaf): boolean {
  const { controlBlock } = leaf;
  let node = root;
  for (let at = controlBlock.length - HASH_SIZE; at >= CONTROL_BASE_SIZE; at -= HASH_SIZE) {
    if (node.leaf !== null) return false;
    const hash = controlBlock.subarray(at, at + HASH_SIZE);
    if (node.children === null) {
      node.children = [newNode(null), newNode(hash)];
      node = node.children[0];
      continue;
    }
    const [left, right] = node.children;
    if (isNode(left, hash) || (left.hash === null && !isNode(right, hash))) {
      left.hash = hash;
      node = right;
    } else if (isNode(right, hash) || right.hash === null) {
      right.hash = hash;
      node = left;
    } else return false;
  }
  if (node.children !== null) return false;
  node.leaf = leaf;
  node.hash = tapLeafHash(leaf.leafVersion, leaf.script);
  return true;
}

function isNode(node: KnownNode, hash: Uint8Array): boolean {
  return node.hash !== null && equalBytes(node.hash, hash);
}

function listLeaves(root: KnownNode): TreeLeaf[] | null {
  const found: TreeLeaf[] = [];
  const todo: { node: KnownNode; depth: number }[] = [{ node: root, depth: 0 }];
  // Nested pairs of equal subtrees double the number of leaves with every level.
  for (let next = todo.pop(); next; next = todo.pop()) {
    const { node, depth } = next;
    if (node.leaf !== null) {
      found.push({ depth, leafVersion: node.leaf.leafVersion, script: node.leaf.script });
      if (found.length > MAX_TREE_LEAVES) return null;
    } else if (node.children !== null) {
      const [left, right] = node.children;
      // Leaves of equal subtrees have equal control blocks, so all of them were placed on one side.
      const twin = isUnknown(right) && right.hash !== null && node.hash !== null;
      const both = twin && equalBytes(tapBranchHash(right.hash!, right.hash!), node.hash!);
      todo.push({ node: both ? left : right, depth: depth + 1 }, { node: left, depth: depth + 1 });
    } else return null;
  }
  return found;
}

function isUnknown({ leaf, children }: KnownNode): boolean {
  return leaf === null && children === null;
}
