import { inspect } from 'node:util';
import { hash160 } from '../../crypto/hash-functions.ts';
import { hmacSha512 } from '../../crypto/hmac-sha512.ts';
import { isValidSecret } from '../../crypto/keys.ts';
import { signatureEngine } from '../../crypto/secp256k1.ts';
import { tweakAddPublicKey, tweakAddSecret } from '../../crypto/tweak.ts';
import { decodeBase58Check, encodeBase58Check } from '../../script/base58.ts';
import { assert } from '../../util/assert.ts';
import { equalBytes } from '../../util/bytes.ts';
import { secretBytes } from '../../util/secret-bytes.ts';
import { HARDENED, type KeyPath } from './key-path.ts';
import { PrivateKey } from './private-key.ts';

/** Four bytes of version and the key. */
const TEXT_SIZE = 78;
/** Depth, fingerprint of the parent, number of the child, chain code, key. */
const KEY_SIZE = 74;
const MAX_DEPTH = 255;
const MASTER_KEY = new TextEncoder().encode('Bitcoin seed');
const NO_PARENT = new Uint8Array(4);

/** Members of an extended key besides the key itself (BIP-32). */
interface Lineage {
  readonly depth: number;
  /** First four bytes of the HASH160 of the parent's public key; zeros for a master key. */
  readonly parentFingerprint: Uint8Array;
  /** Index among the parent's children, with the HARDENED bit. */
  readonly child: number;
  readonly chainCode: Uint8Array;
}

/** A public key with the chain code for its unhardened children. */
export interface ExtendedPublicKey extends Lineage {
  /** 33 bytes, compressed. */
  readonly publicKey: Uint8Array;
}

/** Version bytes of a network's extended keys, big-endian. */
export interface ExtendedKeyVersions {
  readonly public: number;
  readonly private: number;
}

/** A private key with its chain code. It is never in a log, error or JSON, and its owner wipes it. */
export class ExtendedPrivateKey implements Lineage, Disposable {
  readonly depth: number;
  readonly parentFingerprint: Uint8Array;
  readonly child: number;
  readonly chainCode: Uint8Array;
  readonly key: PrivateKey;

  constructor({ depth, parentFingerprint, child, chainCode }: Lineage, key: PrivateKey) {
    this.depth = depth;
    this.parentFingerprint = parentFingerprint;
    this.child = child;
    this.chainCode = chainCode;
    this.key = key;
  }

  /** Returns the master key of a seed (BIP-32). Throws for a seed without one, with a probability of 2^-127. */
  static fromSeed(seed: Uint8Array): ExtendedPrivateKey {
    const hash = hmacSha512(MASTER_KEY, seed);
    const lineage = { depth: 0, parentFingerprint: NO_PARENT, child: 0, chainCode: hash.slice(32) };
    return new ExtendedPrivateKey(lineage, PrivateKey.fromOwnedSecret(hash.subarray(0, 32)));
  }

  /** Returns null for anything but a valid extended private key of that version. */
  static parse(text: string, versions: ExtendedKeyVersions): ExtendedPrivateKey | null {
    const payload = decodePayload(text, versions.private);
    if (payload === null) return null;
    const lineage = payload[41] === 0 ? readLineage(payload) : null;
    const secret = payload.subarray(42, KEY_SIZE);
    const key = lineage && isValidSecret(secret) ? new PrivateKey(secret) : null;
    payload.fill(0);
    return lineage && key && new ExtendedPrivateKey(lineage, key);
  }

  /** Returns null beyond depth 255, and for an index without a key, with a probability of 2^-127. */
  derive(child: number): ExtendedPrivateKey | null {
    if (this.depth >= MAX_DEPTH) return null;
    const { publicKey } = this.key;
    const hash = childHash(this.chainCode, child, child >= HARDENED ? this.key.reveal() : publicKey);
    const secret = tweakAddSecret(this.key.reveal(), hash.subarray(0, 32));
    const lineage = childLineage(this, publicKey, child, hash);
    // The hash and the parent's public key together reveal the child's offset.
    hash.fill(0);
    return secret && new ExtendedPrivateKey(lineage, PrivateKey.fromOwnedSecret(secret));
  }

  /** Returns a copy, which the caller wipes. The intermediate keys are wiped here. */
  derivePath(path: KeyPath): ExtendedPrivateKey | null {
    let key: ExtendedPrivateKey | null = this.copy();
    for (const child of path) {
      using parent: ExtendedPrivateKey | null = key;
      key = parent?.derive(child) ?? null;
    }
    return key;
  }

  copy(): ExtendedPrivateKey {
    return new ExtendedPrivateKey(this, this.key.copy());
  }

  wipe(): void {
    this.key.wipe();
  }

  [Symbol.dispose](): void {
    this.wipe();
  }

  neuter(): ExtendedPublicKey {
    const { depth, parentFingerprint, child, chainCode } = this;
    return { depth, parentFingerprint, child, chainCode, publicKey: this.key.publicKey };
  }

  /** Returns the `xprv…` text, for storage and private descriptors. */
  revealText(versions: ExtendedKeyVersions): string {
    const key = secretBytes(33);
    key.set(this.key.reveal(), 1);
    const text = encodePayload(versions.private, this, key);
    key.fill(0);
    return text;
  }

  toString(): string {
    return '[extended private key]';
  }

  toJSON(): string {
    return this.toString();
  }

  [inspect.custom](): string {
    return this.toString();
  }
}

/** Returns null for anything but a valid extended public key of that version. */
export function parseExtendedPublicKey(text: string, versions: ExtendedKeyVersions): ExtendedPublicKey | null {
  const payload = decodePayload(text, versions.public);
  return payload && readExtendedPublicKey(payload);
}

export function formatExtendedPublicKey(key: ExtendedPublicKey, versions: ExtendedKeyVersions): string {
  return encodePayload(versions.public, key, key.publicKey);
}

/** Returns the 74 bytes without version and checksum, for storage and PSBT. */
export function encodeExtendedPublicKey(key: ExtendedPublicKey): Uint8Array {
  return encodeKey(key, key.publicKey);
}

/** Reads 74 bytes; null where they are no valid extended public key. */
export function readExtendedPublicKey(bytes: Uint8Array): ExtendedPublicKey | null {
  const lineage = bytes.length === KEY_SIZE ? readLineage(bytes) : null;
  const publicKey = bytes.slice(41, KEY_SIZE);
  return lineage && signatureEngine().isValidPublicKey(publicKey) ? { ...lineage, publicKey } : null;
}

/**
 * Returns null beyond depth 255, and for an index without a key, with a probability of 2^-127. Throws for a hardened
 * index.
 */
export function derivePublicChild(key: ExtendedPublicKey, child: number): ExtendedPublicKey | null {
  assert(child < HARDENED, 'hardened children need the private key');
  if (key.depth >= MAX_DEPTH) return null;
  const hash = childHash(key.chainCode, child, key.publicKey);
  const publicKey = tweakAddPublicKey(key.publicKey, hash.subarray(0, 32));
  return publicKey && { ...childLineage(key, key.publicKey, child, hash), publicKey };
}

/** Returns the tweak of a child that is not hardened (BIP-32). */
export function publicChildTweak(key: ExtendedPublicKey, child: number): Uint8Array {
  return childHash(key.chainCode, child, key.publicKey).slice(0, 32);
}

export function derivePublicPath(key: ExtendedPublicKey, path: KeyPath): ExtendedPublicKey | null {
  let derived: ExtendedPublicKey | null = key;
  for (const child of path) derived = derived && derivePublicChild(derived, child);
  return derived;
}

/** Returns the first four bytes of a public key's HASH160. */
export function fingerprintOf(publicKey: Uint8Array): Uint8Array {
  return hash160(publicKey).slice(0, 4);
}

export function equalExtendedKeys(a: ExtendedPublicKey, b: ExtendedPublicKey): boolean {
  return equalBytes(encodeExtendedPublicKey(a), encodeExtendedPublicKey(b));
}

/** Hashes a compressed public key or a secret, which differ in length. */
function childHash(chainCode: Uint8Array, child: number, key: Uint8Array): Uint8Array {
  const data = secretBytes(37);
  data.set(key, 33 - key.length);
  new DataView(data.buffer).setUint32(33, child);
  const hash = hmacSha512(chainCode, data);
  data.fill(0);
  return hash;
}

function childLineage(parent: Lineage, parentKey: Uint8Array, child: number, hash: Uint8Array): Lineage {
  const parentFingerprint = fingerprintOf(parentKey);
  return { depth: parent.depth + 1, parentFingerprint, child, chainCode: hash.slice(32) };
}

/** Returns null for a master key with a parent fingerprint or child index. */
function readLineage(bytes: Uint8Array): Lineage | null {
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  const depth = bytes[0]!;
  const child = view.getUint32(5);
  if (depth === 0 && (child !== 0 || view.getUint32(1) !== 0)) return null;
  return { depth, parentFingerprint: bytes.slice(1, 5), child, chainCode: bytes.slice(9, 41) };
}

function encodeKey({ depth, parentFingerprint, child, chainCode }: Lineage, key: Uint8Array): Uint8Array {
  const bytes = secretBytes(KEY_SIZE);
  bytes[0] = depth;
  bytes.set(parentFingerprint, 1);
  new DataView(bytes.buffer).setUint32(5, child);
  bytes.set(chainCode, 9);
  bytes.set(key, 41);
  return bytes;
}

function encodePayload(version: number, lineage: Lineage, key: Uint8Array): string {
  const payload = secretBytes(TEXT_SIZE);
  new DataView(payload.buffer).setUint32(0, version);
  const encoded = encodeKey(lineage, key);
  payload.set(encoded, 4);
  const text = encodeBase58Check(payload);
  encoded.fill(0);
  payload.fill(0);
  return text;
}

function decodePayload(text: string, version: number): Uint8Array | null {
  const payload = decodeBase58Check(text, TEXT_SIZE);
  if (payload?.length === TEXT_SIZE && new DataView(payload.buffer, payload.byteOffset).getUint32(0) === version)
    return payload.subarray(4);
  // The payload may be a key of the other kind.
  payload?.fill(0);
  return null;
}
