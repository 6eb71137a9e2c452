import { sha256 } from '../crypto/hash-functions.ts';
import { writeVarBytes } from '../primitives/compact-size.ts';
import { ByteWriter, compareBytes } from '../util/bytes.ts';

/** Leaf version of BIP-342 scripts (BIP-341). */
export const TAPROOT_LEAF_TAPSCRIPT = 0xc0;
/** Mask of the leaf version in the first byte of a control block; the other bit is the parity of the output key. */
export const TAPROOT_LEAF_MASK = 0xfe;

const CONTROL_BASE_SIZE = 33;
const CONTROL_NODE_SIZE = 32;
const CONTROL_MAX_SIZE = CONTROL_BASE_SIZE + CONTROL_NODE_SIZE * 128;

/** Returns the prefix of a BIP-340 tagged hash: SHA256(tag) || SHA256(tag). */
export function tagPrefix(tag: string): Uint8Array {
  const hash = sha256(new TextEncoder().encode(tag));
  const prefix = new Uint8Array(64);
  prefix.set(hash);
  prefix.set(hash, 32);
  return prefix;
}

const LEAF = tagPrefix('TapLeaf');
const BRANCH = tagPrefix('TapBranch');
const TWEAK = tagPrefix('TapTweak');
/** Scratch space of one call. */
const scratch = new ByteWriter(1024);

export function tapLeafHash(leafVersion: number, script: Uint8Array): Uint8Array {
  scratch.reset();
  scratch.bytes(LEAF);
  scratch.u8(leafVersion);
  writeVarBytes(scratch, script);
  return sha256(scratch.finish());
}

/** Returns the TapBranch hash of two nodes, the lexicographically smaller first. */
export function tapBranchHash(a: Uint8Array, b: Uint8Array): Uint8Array {
  const ordered = compareBytes(a, b) < 0;
  scratch.reset();
  scratch.bytes(BRANCH);
  scratch.bytes(ordered ? a : b);
  scratch.bytes(ordered ? b : a);
  return sha256(scratch.finish());
}

/** Returns the TapTweak hash of an internal key; without scripts (null) it commits to the key alone. */
export function tapTweakHash(internalKey: Uint8Array, merkleRoot: Uint8Array | null): Uint8Array {
  scratch.reset();
  scratch.bytes(TWEAK);
  scratch.bytes(internalKey);
  if (merkleRoot !== null) scratch.bytes(merkleRoot);
  return sha256(scratch.finish());
}

export function isControlBlockSize(size: number): boolean {
  return size >= CONTROL_BASE_SIZE && size <= CONTROL_MAX_SIZE && (size - CONTROL_BASE_SIZE) % CONTROL_NODE_SIZE === 0;
}

/** Returns the internal key of a control block, as a view. */
export function controlInternalKey(control: Uint8Array): Uint8Array {
  return control.subarray(1, CONTROL_BASE_SIZE);
}

/** Returns the root of the script tree from a leaf and the path in its control block, whose size is valid. */
export function controlMerkleRoot(control: Uint8Array, leafHash: Uint8Array): Uint8Array {
  let hash = leafHash;
  for (let at = CONTROL_BASE_SIZE; at < control.length; at += CONTROL_NODE_SIZE)
    hash = tapBranchHash(hash, control.subarray(at, at + CONTROL_NODE_SIZE));
  return hash;
}
