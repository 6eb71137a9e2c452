/** A Merkle proof, as the node sends it. Hashes are in display order. */
export interface MerkleProof {
  readonly txid: string;
  readonly blockHash: string;
  /** Index of the transaction in its block. */
  readonly pos: number;
  readonly merkle: readonly string[];
  /** 80 bytes, hexadecimal. */
  readonly header: string;
}

/** The result of a check. `reason` names the first step that failed. */
export type ProofResult = { readonly valid: true } | { readonly valid: false; readonly reason: string };

const HEADER_BYTES = 80;
const MERKLE_ROOT_AT = 36;
const HASH_BYTES = 32;

/**
 * Checks with the browser's own SHA-256 that the header has the hash of the block, that its proof of work meets the target
 * that it states, and that the transaction is at its position beneath the Merkle root of the header. It does not check
 * that the block is in the chain with the most work.
 */
export async function checkMerkleProof(proof: MerkleProof): Promise<ProofResult> {
  const header = fromHex(proof.header);
  if (header?.length !== HEADER_BYTES) return failed('The header does not have 80 bytes.');
  const hash = await doubleSha256(header);
  if (displayed(hash) !== proof.blockHash) return failed('The header does not have the hash of this block.');
  if (BigInt(`0x${displayed(hash)}`) > targetOf(header))
    return failed('The hash does not meet the target of the header.');

  let node = fromHex(proof.txid)?.reverse();
  if (node?.length !== HASH_BYTES) return failed('The txid does not have 32 bytes.');
  let index = proof.pos;
  for (const step of proof.merkle) {
    const sibling = fromHex(step)?.reverse();
    if (sibling?.length !== HASH_BYTES) return failed('A hash of the proof does not have 32 bytes.');
    node = await doubleSha256(index % 2 === 1 ? join(sibling, node) : join(node, sibling));
    index = Math.floor(index / 2);
  }
  // A longer index would prove the same transaction at several positions.
  if (index !== 0) return failed('The position lies outside the tree of the proof.');
  const root = header.slice(MERKLE_ROOT_AT, MERKLE_ROOT_AT + HASH_BYTES);
  return displayed(node) === displayed(root)
    ? { valid: true }
    : failed('The Merkle root of the header is another one.');
}

const failed = (reason: string): ProofResult => ({ valid: false, reason });

/** The target of a header, from its compact form: three bytes of mantissa and one of exponent. */
function targetOf(header: Uint8Array): bigint {
  const bits = new DataView(header.buffer, header.byteOffset).getUint32(72, true);
  const [exponent, mantissa] = [bits >>> 24, BigInt(bits & 0x7fffff)];
  return exponent <= 3 ? mantissa >> BigInt(8 * (3 - exponent)) : mantissa << BigInt(8 * (exponent - 3));
}

async function doubleSha256(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  const once = await crypto.subtle.digest('SHA-256', bytes);
  return new Uint8Array(await crypto.subtle.digest('SHA-256', once));
}

function join(left: Uint8Array, right: Uint8Array): Uint8Array<ArrayBuffer> {
  const both = new Uint8Array(left.length + right.length);
  both.set(left);
  both.set(right, left.length);
  return both;
}

function fromHex(hex: string): Uint8Array<ArrayBuffer> | null {
  if (!/^(?:[0-9a-f]{2})*$/i.test(hex)) return null;
  return Uint8Array.from(hex.match(/../g) ?? [], (byte) => Number.parseInt(byte, 16));
}

function displayed(hash: Uint8Array): string {
  return [...hash]
    .reverse()
    .map((byte) => byte.toString(16).padStart(2, '0'))
    .join('');
}
