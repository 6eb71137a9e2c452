import { concatBytes } from '../util/bytes.ts';
import { secretBytes, secretConcat } from '../util/secret-bytes.ts';

/** Scratch space of one call. */
const scratch = new Uint8Array(32);

/** Returns SHA-256, 32 bytes; writes to `out` if given. */
export function sha256(data: Uint8Array, out: Uint8Array = new Uint8Array(32)): Uint8Array {
  Bun.SHA256.hash(data, out);
  return out;
}

/** Returns SHA-256 of the UTF-8 of a text; writes to `out` if given. */
export function sha256OfText(text: string, out: Uint8Array = new Uint8Array(32)): Uint8Array {
  Bun.SHA256.hash(text, out);
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

/** Up to this many bytes are copied rather than seen through a view of their own, which takes longer to create. */
const SHORT_RANGE = 512;
/** Scratch space of one call. */
const rangeBytes = new Uint8Array(SHORT_RANGE);
/** Views of the beginning of `rangeBytes`, by their length. */
const rangeViews: Uint8Array[] = [];
/** Scratch space of one call. */
const digest = new Uint8Array(32);

/** Returns a view of the first `length` bytes of a buffer for short input of hash functions; null if it is not short. */
function shortInput(length: number): Uint8Array | null {
  if (length > SHORT_RANGE) return null;
  rangeViews[length] ??= rangeBytes.subarray(0, length);
  return rangeViews[length];
}

function rangeOf(bytes: Uint8Array, from: number, to: number): Uint8Array {
  const view = shortInput(to - from);
  if (view === null) return bytes.subarray(from, to);
  for (let i = from, j = 0; i < to; i++, j++) view[j] = bytes[i]!;
  return view;
}

/** Writes SHA-256 of the bytes from `from` up to before `to` to `out`, 32 bytes. */
export function sha256Range(bytes: Uint8Array, from: number, to: number, out: Uint8Array): Uint8Array {
  Bun.SHA256.hash(rangeOf(bytes, from, to), out);
  return out;
}

/** Writes `hash256` of the bytes from `from` up to before `to` to `out` at `at`. */
export function hash256Range(bytes: Uint8Array, from: number, to: number, out: Uint8Array, at: number): void {
  hash256(rangeOf(bytes, from, to), digest);
  for (let i = 0; i < 32; i++) out[at + i] = digest[i]!;
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
