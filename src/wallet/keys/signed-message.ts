import { hash160, hash256 } from '../../crypto/hash-functions.ts';
import { recoverPublicKey, signEcdsaCompact } from '../../crypto/keys.ts';
import { writeVarBytes } from '../../primitives/compact-size.ts';
import { ByteWriter, concatBytes, equalBytes } from '../../util/bytes.ts';
import type { PrivateKey } from './private-key.ts';

const MAGIC = new TextEncoder().encode('Bitcoin Signed Message:\n');
const SIGNATURE_SIZE = 65;
/** Offset of the first byte of a signature: recovery id, plus 4 for a compressed key. */
const HEADER_BASE = 27;
const COMPRESSED = 4;
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

/** Returns the hash that is signed for a message. */
function messageHash(message: string): Uint8Array {
  const w = new ByteWriter();
  writeVarBytes(w, MAGIC);
  writeVarBytes(w, new TextEncoder().encode(message));
  return hash256(w.finish());
}

/** Returns the Base64 signature from which the key is recovered. */
export function signMessage(key: PrivateKey, message: string): string {
  const { signature, recoveryId } = signEcdsaCompact(messageHash(message), key.reveal());
  const header = HEADER_BASE + recoveryId + (key.compressed ? COMPRESSED : 0);
  return concatBytes(Uint8Array.of(header), signature).toBase64();
}

/** Whether the key with that HASH160 has signed; null where the signature is not Base64. */
export function verifyMessage(keyHash: Uint8Array, signature: string, message: string): boolean | null {
  const bytes = decodeBase64(signature);
  if (bytes === null) return null;
  if (bytes.length !== SIGNATURE_SIZE) return false;
  const header = bytes[0]! - HEADER_BASE;
  const compressed = (header & COMPRESSED) !== 0;
  const publicKey = recoverPublicKey(messageHash(message), bytes.subarray(1), header & 3, compressed);
  return publicKey !== null && equalBytes(hash160(publicKey), keyHash);
}

/** Returns null for incomplete text, other characters, or nonzero padding bits. */
function decodeBase64(text: string): Uint8Array | null {
  if (text.length % 4 !== 0 || !BASE64.test(text)) return null;
  try {
    return Uint8Array.fromBase64(text, { lastChunkHandling: 'strict' });
  } catch {
    return null;
  }
}
