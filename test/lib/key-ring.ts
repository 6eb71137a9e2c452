import { hash160, sha256 } from '../../src/crypto/hash-functions.ts';
import { publicKeyOf, tapTweakPublicKey } from '../../src/crypto/keys.ts';
import { TAPROOT_LEAF_TAPSCRIPT, tapLeafHash, tapTweakHash } from '../../src/script/taproot.ts';
import { assert } from '../../src/util/assert.ts';
import { bytesToHex, concatBytes } from '../../src/util/bytes.ts';

export interface KeyPair {
  readonly secret: Uint8Array;
  readonly publicKey: Uint8Array;
}

/** A script that may spend a taproot output, and what proves it. */
interface TaprootLeaf {
  readonly script: Uint8Array;
  readonly hash: Uint8Array;
  readonly controlBlock: Uint8Array;
}

/** Origin of a taproot output key. */
export interface TaprootOutput {
  readonly internalKey: Uint8Array;
  /** Null where the output has no scripts. */
  readonly merkleRoot: Uint8Array | null;
  readonly leaf: TaprootLeaf | null;
}

/** Keys and scripts in memory, found by their scriptPubKeys. */
export class KeyRing {
  readonly #byHash = new Map<string, KeyPair>();
  readonly #byXOnlyKey = new Map<string, KeyPair>();
  readonly #scripts = new Map<string, Uint8Array>();
  readonly #witnessScripts = new Map<string, Uint8Array>();
  readonly #taproot = new Map<string, TaprootOutput>();

  /** Returns the public key, 33 bytes, or 65 uncompressed. Throws on an invalid secret. */
  addKey(secret: Uint8Array, compressed = true): Uint8Array {
    const pair = { secret, publicKey: publicKeyOf(secret, compressed) };
    this.#byHash.set(bytesToHex(hash160(pair.publicKey)), pair);
    this.#byXOnlyKey.set(bytesToHex(pair.publicKey.subarray(1, 33)), pair);
    return pair.publicKey;
  }

  /** A redeem script or witness script. */
  addScript(script: Uint8Array): void {
    this.#scripts.set(bytesToHex(hash160(script)), script);
    this.#witnessScripts.set(bytesToHex(sha256(script)), script);
  }

  /** A taproot output with at most one script; returns its key, 32 bytes. Throws where the internal key is none. */
  addTaproot(internalKey: Uint8Array, leafScript: Uint8Array | null = null): Uint8Array {
    const leafHash = leafScript === null ? null : tapLeafHash(TAPROOT_LEAF_TAPSCRIPT, leafScript);
    const tweaked = tapTweakPublicKey(internalKey, tapTweakHash(internalKey, leafHash));
    assert(tweaked !== null, 'internal key is on the curve');
    const leaf = leafScript && {
      script: leafScript,
      hash: leafHash!,
      controlBlock: concatBytes(Uint8Array.of(TAPROOT_LEAF_TAPSCRIPT | tweaked.parity), internalKey),
    };
    // The root of a tree of one leaf is the leaf.
    this.#taproot.set(bytesToHex(tweaked.key), { internalKey, merkleRoot: leafHash, leaf });
    return tweaked.key;
  }

  keyOfHash(hash: Uint8Array): KeyPair | null {
    return this.#byHash.get(bytesToHex(hash)) ?? null;
  }

  keyOf(publicKey: Uint8Array): KeyPair | null {
    return this.keyOfHash(hash160(publicKey));
  }

  keyOfXOnly(xOnlyKey: Uint8Array): KeyPair | null {
    return this.#byXOnlyKey.get(bytesToHex(xOnlyKey)) ?? null;
  }

  scriptOfHash160(hash: Uint8Array): Uint8Array | null {
    return this.#scripts.get(bytesToHex(hash)) ?? null;
  }

  scriptOfSha256(hash: Uint8Array): Uint8Array | null {
    return this.#witnessScripts.get(bytesToHex(hash)) ?? null;
  }

  taprootOf(outputKey: Uint8Array): TaprootOutput | null {
    return this.#taproot.get(bytesToHex(outputKey)) ?? null;
  }
}
