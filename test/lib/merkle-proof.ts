import type { Proof } from './node-client.ts';

/**
 * Checks a proof as a client would, from the text of the interface alone. Returns what is wrong, or null. Whether the
 * header is in the best chain is for the caller to say.
 */
export function proofFault({ txid, pos, merkle, merkleRoot, header, blockHash }: Proof): string | null {
  let hash = reversed(txid);
  for (const [level, sibling] of merkle.entries()) {
    const other = reversed(sibling);
    hash = hash256(((pos >> level) & 1) === 1 ? Buffer.concat([other, hash]) : Buffer.concat([hash, other]));
  }
  if (pos >> merkle.length !== 0) return `position ${pos} is outside a tree of ${merkle.length} levels`;
  if (reversed(hash).toString('hex') !== merkleRoot) return 'the branch does not lead to merkleRoot';
  const bytes = Buffer.from(header, 'hex');
  if (bytes.length !== 80) return `the header has ${bytes.length} bytes`;
  if (reversed(bytes.subarray(36, 68)).toString('hex') !== merkleRoot) return 'the header has another root';
  const headerHash = reversed(hash256(bytes));
  if (headerHash.toString('hex') !== blockHash) return 'the header hashes to something else than blockHash';
  const bits = bytes.readUInt32LE(72);
  const target = BigInt(bits & 0xff_ffff) << (8n * BigInt((bits >>> 24) - 3));
  if (BigInt(`0x${headerHash.toString('hex')}`) > target) return 'the header does not meet its bits';
  return null;
}

function reversed(value: string | Uint8Array): Buffer {
  return Buffer.from(typeof value === 'string' ? Buffer.from(value, 'hex') : value).reverse();
}

function hash256(bytes: Uint8Array): Buffer {
  return sha256(sha256(bytes));
}

function sha256(bytes: Uint8Array): Buffer {
  return new Bun.CryptoHasher('sha256').update(bytes).digest();
}
