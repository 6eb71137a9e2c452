import { hash160 } from '../../crypto/hash-functions.ts';
import { bytesToHex } from '../../util/bytes.ts';
import { type ExtendedPublicKey, fingerprintOf } from '../keys/extended-key.ts';
import { formatKeyPath, type KeyOrigin } from '../keys/key-path.ts';
import type { PrivateKey } from '../keys/private-key.ts';
import { privateKeyOfXOnly, type SigningData, type SigningProvider } from '../keys/signing-data.ts';
import type { KeyEncoding, PrivateText } from './descriptor.ts';
import type { DescriptorCache } from './descriptor-cache.ts';

/** Source of a derivation. A cache to read from replaces the provider. */
export interface KeySource {
  readonly provider: SigningProvider;
  readonly readCache: DescriptorCache | null;
  readonly writeCache: DescriptorCache | null;
}

/** A key at one index. */
export interface ResolvedKey {
  /** 33 bytes, or 65 if uncompressed; 33 with an even Y for an x-only key. */
  readonly publicKey: Uint8Array;
  readonly origin: KeyOrigin;
  /** Aggregate key that it is or derives from, with its sorted participants. */
  readonly aggregate?: { readonly publicKey: Uint8Array; readonly participants: readonly ResolvedKey[] };
}

/** `compat` writes hardened steps with `'`. */
export type KeyTextStyle = 'public' | 'compat';

/** A key, or keys by index, as a descriptor writes them. Immutable. */
export interface KeyExpression {
  /** Position among the key expressions of the descriptor. */
  readonly position: number;
  readonly isRange: boolean;
  /** Whether the expression is for several indexes. */
  readonly isExtended: boolean;
  readonly canSelfExpand: boolean;
  /** Bytes of the public key in a script other than tapscript. */
  readonly size: number;
  /** Number of named keys: more than one for an aggregate. */
  readonly keyCount: number;
  /** Key of the text; null for an extended one. */
  readonly rootPublicKey: Uint8Array | null;
  readonly rootExtendedKey: ExtendedPublicKey | null;

  resolve(index: number, source: KeySource): ResolvedKey | null;
  toText(style: KeyTextStyle): string;
  toPrivateText(provider: SigningProvider): PrivateText;
  /** Returns null if a private key is missing. */
  toNormalizedText(provider: SigningProvider, cache: DescriptorCache | null): string | null;
  /** Returns copies of the private keys, which the caller wipes. */
  privateKeys(index: number, provider: SigningProvider): readonly PrivateKey[];
  hasPrivateKeys(provider: SigningProvider): boolean;
}

/** Adds a key, its origin, and what it is made of. */
export function addResolvedKey(data: SigningData, key: ResolvedKey): void {
  const { publicKey, origin, aggregate } = key;
  data.addOrigin(publicKey, origin);
  data.addPublicKey(publicKey);
  if (aggregate === undefined) return;
  for (const participant of aggregate.participants) addResolvedKey(data, participant);
  const participants = aggregate.participants.map((participant) => participant.publicKey);
  data.aggregates.set(bytesToHex(aggregate.publicKey), participants);
}

/** One public key. */
export class ConstantKey implements KeyExpression {
  readonly isRange = false;
  readonly isExtended = false;
  readonly canSelfExpand = true;
  readonly keyCount = 1;
  readonly rootExtendedKey = null;
  readonly position: number;
  readonly #publicKey: Uint8Array;
  /** Whether it is written with X alone. */
  readonly #xOnly: boolean;
  readonly #encoding: Pick<KeyEncoding, 'wif'>;

  constructor(position: number, publicKey: Uint8Array, xOnly: boolean, encoding: Pick<KeyEncoding, 'wif'>) {
    this.position = position;
    this.#publicKey = publicKey;
    this.#xOnly = xOnly;
    this.#encoding = encoding;
  }

  get size(): number {
    return this.#publicKey.length;
  }

  get rootPublicKey(): Uint8Array {
    return this.#publicKey;
  }

  resolve(): ResolvedKey {
    return { publicKey: this.#publicKey, origin: { fingerprint: fingerprintOf(this.#publicKey), path: [] } };
  }

  toText(): string {
    return bytesToHex(this.#xOnly ? this.#publicKey.subarray(1) : this.#publicKey);
  }

  toPrivateText(provider: SigningProvider): PrivateText {
    const key = this.#privateKey(provider);
    return { text: key ? key.revealWif(this.#encoding.wif) : this.toText(), hasPrivateKey: key !== null };
  }

  toNormalizedText(): string {
    return this.toText();
  }

  privateKeys(_index: number, provider: SigningProvider): readonly PrivateKey[] {
    const key = this.#privateKey(provider);
    return key === null ? [] : [key.copy()];
  }

  hasPrivateKeys(provider: SigningProvider): boolean {
    return this.#privateKey(provider) !== null;
  }

  /** Returns the provider's own key, which the caller does not wipe. */
  #privateKey(provider: SigningProvider): PrivateKey | null {
    return this.#xOnly
      ? privateKeyOfXOnly(provider, this.#publicKey.subarray(1))
      : provider.privateKey(hash160(this.#publicKey));
  }
}

/** A key with the origin that the text gives it, as `[d34db33f/84h/0h/0h]xpub…`. */
export class OriginKey implements KeyExpression {
  readonly #origin: KeyOrigin;
  readonly #inner: KeyExpression;
  readonly #apostrophe: boolean;

  constructor(origin: KeyOrigin, inner: KeyExpression, apostrophe: boolean) {
    this.#origin = origin;
    this.#inner = inner;
    this.#apostrophe = apostrophe;
  }

  get position(): number {
    return this.#inner.position;
  }

  get isRange(): boolean {
    return this.#inner.isRange;
  }

  get isExtended(): boolean {
    return this.#inner.isExtended;
  }

  get canSelfExpand(): boolean {
    return this.#inner.canSelfExpand;
  }

  get size(): number {
    return this.#inner.size;
  }

  get keyCount(): number {
    return this.#inner.keyCount;
  }

  get rootPublicKey(): Uint8Array | null {
    return this.#inner.rootPublicKey;
  }

  get rootExtendedKey(): ExtendedPublicKey | null {
    return this.#inner.rootExtendedKey;
  }

  resolve(index: number, source: KeySource): ResolvedKey | null {
    const key = this.#inner.resolve(index, source);
    const { fingerprint, path } = this.#origin;
    return key && { ...key, origin: { fingerprint, path: [...path, ...key.origin.path] } };
  }

  toText(style: KeyTextStyle): string {
    return `[${this.#originText(this.#apostrophe || style === 'compat')}]${this.#inner.toText(style)}`;
  }

  toPrivateText(provider: SigningProvider): PrivateText {
    const { text, hasPrivateKey } = this.#inner.toPrivateText(provider);
    return { text: `[${this.#originText(this.#apostrophe)}]${text}`, hasPrivateKey };
  }

  toNormalizedText(provider: SigningProvider, cache: DescriptorCache | null): string | null {
    const text = this.#inner.toNormalizedText(provider, cache);
    if (text === null) return null;
    // The inner key may have an origin of its own: its steps follow ours, and its fingerprint is dropped.
    const rest = text.startsWith('[') ? text.slice('[00000000'.length) : `]${text}`;
    return `[${this.#originText(false)}${rest}`;
  }

  privateKeys(index: number, provider: SigningProvider): readonly PrivateKey[] {
    return this.#inner.privateKeys(index, provider);
  }

  hasPrivateKeys(provider: SigningProvider): boolean {
    return this.#inner.hasPrivateKeys(provider);
  }

  #originText(apostrophe: boolean): string {
    return bytesToHex(this.#origin.fingerprint) + formatKeyPath(this.#origin.path, apostrophe);
  }
}
