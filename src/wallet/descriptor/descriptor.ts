import type { NetworkParams } from '../../params/network-params.ts';
import type { Steps } from '../../util/slices.ts';
import type { ExtendedPublicKey } from '../keys/extended-key.ts';
import type { PrivateKey } from '../keys/private-key.ts';
import type { SigningData, SigningProvider } from '../keys/signing-data.ts';
import type { DescriptorCache } from './descriptor-cache.ts';

// parseDescriptor and inferDescriptor create descriptors; checksum.ts computes their checksums.

/** Encoding of keys and addresses on a network. */
export type KeyEncoding = Pick<NetworkParams, 'address' | 'wif' | 'bip32'>;

/** Core's names of address types. */
export type OutputType = 'legacy' | 'p2sh-segwit' | 'bech32' | 'bech32m';

/** Scripts and public data of a descriptor at one index. */
export interface Expansion {
  /** The scriptPubKeys: usually one; four or two for combo(), none for unused(). */
  readonly scripts: readonly Uint8Array[];
  /** Public keys with their origins, redeem and witness scripts, taproot trees; no private keys. */
  readonly data: SigningData;
}

/** A descriptor with the private keys that the provider has. */
export interface PrivateText {
  readonly text: string;
  /** Whether there was at least one. */
  readonly hasPrivateKey: boolean;
}

/**
 * A parsed output descriptor (BIP-380 to 386, 389, 390) without private keys. A provider is asked for these by the
 * HASH160 of the public key; for extended keys, of the extended key in the text.
 */
export interface Descriptor {
  /** Whether the scripts depend on the index. */
  readonly isRange: boolean;
  /** False for addr() and raw(), which name no keys. */
  readonly isSolvable: boolean;
  /** False for combo(). */
  readonly isSingleType: boolean;
  /** False for unused(). */
  readonly hasScripts: boolean;
  /** Whether it expands without private keys and without a cache. */
  readonly canSelfExpand: boolean;
  readonly outputType: OutputType | null;
  readonly warnings: readonly string[];
  /** Bytes of the scriptPubKey. */
  readonly scriptSize: number | null;
  /** Number of key expressions. */
  readonly keyCount: number;
  /** Number of key expressions that are participants of a musig(). */
  readonly aggregatedKeyCount: number;

  /** Returns the text with public keys and checksum. */
  toString(): string;
  /**
   * Returns the text with `'` for hardened steps. The id is computed from it, so the notation does not change the id.
   */
  toCompatString(): string;
  /** Returns the SHA-256 of the compatible text, which never changes. */
  id(): Uint8Array;
  toPrivateString(provider: SigningProvider): PrivateText;
  /**
   * Returns the text with the keys behind the last hardened step, and `h` for hardened steps. Returns null if a private
   * key for that is missing.
   */
  toNormalizedString(provider: SigningProvider, cache?: DescriptorCache): string | null;
  /** Whether the provider has all private keys; false for addr() and raw(). */
  hasPrivateKeys(provider: SigningProvider): boolean;

  /**
   * Returns the scripts at an index, which is ignored without a range. Returns null if a hardened step needs a private
   * key that the provider lacks. Keys that make private keys unnecessary next time are added to `writeCache`.
   */
  expand(index: number, provider: SigningProvider, writeCache?: DescriptorCache): Expansion | null;
  /**
   * Derives the keys of an index in steps: an expansion that follows takes them from memory. For descriptors with hundreds
   * of keys, of which each takes some 40 microseconds.
   */
  deriveSteps(index: number, provider: SigningProvider, readCache: DescriptorCache | null): Steps<void>;
  expandFromCache(index: number, cache: DescriptorCache): Expansion | null;
  /** Returns the private keys at an index that the provider has, as copies, which the caller wipes. */
  expandPrivate(index: number, provider: SigningProvider): PrivateKey[];

  /**
   * Returns the weight of scriptSig and witness, beyond those of an unsigned input. `useMaxSignature` assumes
   * signatures of 72 bytes instead of 71.
   */
  maxSatisfactionWeight(useMaxSignature: boolean): number | null;
  maxSatisfactionElements(): number | null;
  /** Returns the keys in the text; a private key counts as its public one. */
  rootKeys(): { readonly publicKeys: readonly Uint8Array[]; readonly extendedKeys: readonly ExtendedPublicKey[] };
}

export type ParsedDescriptors =
  | {
      readonly ok: true;
      /** One descriptor, or one for each value of a multipath step such as `<0;1>`. */
      readonly descriptors: readonly Descriptor[];
      /** Private keys of the text, which the caller wipes. */
      readonly keys: SigningData;
    }
  | { readonly ok: false; readonly error: string };
