import type { NetworkParams } from '../../params/network-params.ts';
import type { Steps } from '../../util/slices.ts';
import type { ExtendedPublicKey } from '../keys/extended-key.ts';
import type { PrivateKey } from '../keys/private-key.ts';
import type { SigningData, SigningProvider } from '../keys/signing-data.ts';
import type { DescriptorCache } from './descriptor-cache.ts';

// Made by parseDescriptor (parse.ts) and inferDescriptor (infer.ts); checksums are in checksum.ts.

/** How a network writes keys and addresses. */
export type KeyEncoding = Pick<NetworkParams, 'address' | 'wif' | 'bip32'>;

/** Core's names of address types. */
export type OutputType = 'legacy' | 'p2sh-segwit' | 'bech32' | 'bech32m';

/** Scripts and public data of a descriptor at one index. */
export interface Expansion {
  /** The scriptPubKeys: one, but four or two for combo() and none for unused(). */
  readonly scripts: readonly Uint8Array[];
  /** Public keys with their origins, redeem and witness scripts, taproot trees; no private keys. */
  readonly data: SigningData;
}

/** Private text: its keys are private ones where the provider has them. */
export interface PrivateText {
  readonly text: string;
  /** Whether there was at least one. */
  readonly hasPrivateKey: boolean;
}

/**
 * A parsed output descriptor (BIP-380 to 386, 389, 390). Public: private keys are asked for from a provider by the
 * HASH160 of the public key they belong to; for extended keys, that of the extended key in the text.
 */
export interface Descriptor {
  /** Whether the scripts depend on the index. */
  readonly isRange: boolean;
  /** False for addr() and raw(), of which it is not known how to spend them. */
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
  /** Key expressions in it. */
  readonly keyCount: number;
  /** Key expressions that are participants of a musig(). */
  readonly aggregatedKeyCount: number;

  /** With public keys and checksum. */
  toString(): string;
  /** With `'` for hardened steps whatever the text had; what the identity is made from. */
  toCompatString(): string;
  /** SHA-256 of the compatible text: the same descriptor has the same, for ever. */
  id(): Uint8Array;
  toPrivateString(provider: SigningProvider): PrivateText;
  /** With the key behind the last hardened step and `h` for those; null where a private key for that is missing. */
  toNormalizedString(provider: SigningProvider, cache?: DescriptorCache): string | null;
  /** Whether the provider has all private keys; false for addr() and raw(). */
  hasPrivateKeys(provider: SigningProvider): boolean;

  /**
   * `index` is ignored without a range. Null where a hardened step needs a private key that the provider has not. What
   * spares the private keys the next time is put into `writeCache`.
   */
  expand(index: number, provider: SigningProvider, writeCache?: DescriptorCache): Expansion | null;
  /**
   * Derives the keys of an index in steps: an expansion that follows takes them from memory. For descriptors with hundreds
   * of keys, of which each takes some 40 microseconds.
   */
  deriveSteps(index: number, provider: SigningProvider, readCache: DescriptorCache | null): Steps<void>;
  expandFromCache(index: number, cache: DescriptorCache): Expansion | null;
  /** The private keys at an index, as many as the provider has: keys of their own, which the caller wipes. */
  expandPrivate(index: number, provider: SigningProvider): PrivateKey[];

  /** Weight units that an input takes beyond the empty one: scriptSig and witness. `useMaxSignature`: 72 bytes, not 71. */
  maxSatisfactionWeight(useMaxSignature: boolean): number | null;
  maxSatisfactionElements(): number | null;
  /** The keys in the text, private ones not counted apart. */
  rootKeys(): { readonly publicKeys: readonly Uint8Array[]; readonly extendedKeys: readonly ExtendedPublicKey[] };
}

export type ParsedDescriptors =
  | {
      readonly ok: true;
      /** One, or as many as a multipath `<0;1>` has values. */
      readonly descriptors: readonly Descriptor[];
      /** The private keys that were in the text; the caller wipes them. */
      readonly keys: SigningData;
    }
  | { readonly ok: false; readonly error: string };
