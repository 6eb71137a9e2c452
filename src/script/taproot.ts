import { sha256 } from '../crypto/hash.ts';
import { writeVarBytes } from '../primitives/compact-size.ts';
import { ByteWriter, compareBytes } from '../util/bytes.ts';

/** BIP-341: leaf version of BIP-342 scripts. */
export const TAPROOT_LEAF_TAPSCRIPT = 0xc0;
/** The leaf version in the first byte of a control block; the other bit is the parity of the output key. */
export const TAPROOT_LEAF_MASK = 0xfe;

const CONTROL_BASE_SIZE = 33;
const CONTROL_NODE_SIZE = 32;
const CONTROL_MAX_SIZE = CONTROL_BASE_SIZE + CONTROL_NODE_SIZE * 128;

/** The tag's hash, twice: what a BIP-340 tagged hash begins with. */
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
const scratch = new ByteWriter(1024);

export function tapLeafHash(leafVersion: number, script: Uint8Array): Uint8Array {
  scratch.reset();
  scratch.bytes(LEAF);
  scratch.u8(leafVersion);
  writeVarBytes(scratch, script);
  return sha256(scratch.finish());
}

/** The order of the two does not matter: the smaller goes first. */
export function tapBranchHash(a: Uint8Array, b: Uint8Array): Uint8Array {
  const ordered = compareBytes(a, b) < 0;
  scratch.reset();
  scratch.bytes(BRANCH);
  scratch.bytes(ordered ? a : b);
  scratch.bytes(ordered ? b : a);
  return sha256(scratch.finish());
}

/** What is added to the internal key; without scripts (null) it commits to the key alone. */
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

/** The internal key that a control block names, a view. */
export function controlInternalKey(control: Uint8Array): Uint8Array {
  return control.subarray(1, CONTROL_BASE_SIZE);
}

/** Root of the script tree, from a leaf and the path in its control block, whose size must be right. */
export function controlMerkleRoot(control: Uint8Array, leafHash: Uint8Array): Uint8Array {
  let hash = leafHash;
  for (let at = CONTROL_BASE_SIZE; at < control.length; at += CONTROL_NODE_SIZE)
    hash = tapBranchHash(hash, control.subarray(at, at + CONTROL_NODE_SIZE));
  return hash;
}
