import { concatBytes } from '../util/bytes.ts';
import { secretBytes, secretConcat } from '../util/secret-bytes.ts';

const scratch = new Uint8Array(32);

/** Returns SHA-256, 32 bytes; writes to `out` if given. */
export function sha256(data: Uint8Array, out: Uint8Array = new Uint8Array(32)): Uint8Array {
  Bun.SHA256.hash(data, out);
  return out;
}

/**
 * Returns SHA-256 of SHA-256, 32 bytes, the hash of transactions, blocks and merkle trees; writes to `out` if given.
 */
export function hash256(data: Uint8Array, out: Uint8Array = new Uint8Array(32)): Uint8Array {
  Bun.SHA256.hash(data, scratch);
  Bun.SHA256.hash(scratch, out);
  return out;
}

export function ripemd160(data: Uint8Array): Uint8Array {
  const out = new Uint8Array(20);
  Bun.CryptoHasher.hash('ripemd160', data, out);
  return out;
}

export function sha1(data: Uint8Array): Uint8Array {
  const out = new Uint8Array(20);
  Bun.SHA1.hash(data, out);
  return out;
}

/** Returns RIPEMD-160 of SHA-256, 20 bytes, the hash of keys and scripts in addresses. */
export function hash160(data: Uint8Array): Uint8Array {
  Bun.SHA256.hash(data, scratch);
  return ripemd160(scratch);
}

/** Returns the tagged hash function of BIP-340 for a tag: SHA-256 of `sha256(tag) || sha256(tag) || data`. */
export function taggedHasher(tag: string): (...data: Uint8Array[]) => Uint8Array {
  const tagHash = sha256(new TextEncoder().encode(tag));
  return (...data) => sha256(concatBytes(tagHash, tagHash, ...data));
}

/** Returns a tagged hash function for secret data, which overwrites its copy of the data. */
export function secretTaggedHasher(tag: string): (...data: Uint8Array[]) => Uint8Array {
  const tagHash = sha256(new TextEncoder().encode(tag));
  return (...data) => {
    const joined = secretConcat(tagHash, tagHash, ...data);
    const hash = sha256(joined, secretBytes(32));
    joined.fill(0);
    return hash;
  };
}
