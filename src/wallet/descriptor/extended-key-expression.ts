import { hash160 } from '../../crypto/hash-functions.ts';
import { bytesToHex } from '../../util/bytes.ts';
import {
  derivePublicChild,
  derivePublicPath,
  ExtendedPrivateKey,
  type ExtendedPublicKey,
  fingerprintOf,
  formatExtendedPublicKey,
} from '../keys/extended-key.ts';
import { formatKeyPath, HARDENED, hasHardenedStep, type KeyPath } from '../keys/key-path.ts';
import type { PrivateKey } from '../keys/private-key.ts';
import type { SigningProvider } from '../keys/signing-data.ts';
import type { KeyEncoding, PrivateText } from './descriptor.ts';
import type { DescriptorCache } from './descriptor-cache.ts';
import type { KeyExpression, KeySource, KeyTextStyle, ResolvedKey } from './key-expression.ts';

/** Kind of the last step: none, `*`, or `*h`. */
export type Wildcard = 'none' | 'unhardened' | 'hardened';

export interface ExtendedKeyParts {
  readonly position: number;
  /** The key in the text, or its public half. */
  readonly root: ExtendedPublicKey;
  /** Text of the root if it was parsed from one, since encoding takes as long as deriving a child. */
  readonly rootText?: string | null;
  readonly path: KeyPath;
  readonly wildcard: Wildcard;
  /** Whether hardened steps are written with `'`. */
  readonly apostrophe: boolean;
  readonly encoding: Pick<KeyEncoding, 'bip32'>;
}

/** `xpub…/0/*`: an extended key, steps, and perhaps a range. */
export class ExtendedKey implements KeyExpression {
  readonly isExtended = true;
  readonly size = 33;
  readonly keyCount = 1;
  readonly rootPublicKey = null;
  readonly position: number;
  readonly isRange: boolean;
  readonly canSelfExpand: boolean;
  readonly #parts: ExtendedKeyParts;
  readonly #fingerprint: Uint8Array;
  /** Key before the range; derived once, if that needs no private key. */
  #parent: ExtendedPublicKey | null = null;
  #rootText: string | null;
  /** Last derived child, since several expansions of one index follow each other. */
  #lastChild: { readonly parent: ExtendedPublicKey; readonly index: number; readonly key: ExtendedPublicKey } | null =
    null;

  constructor(parts: ExtendedKeyParts) {
    this.#parts = parts;
    this.#rootText = parts.rootText ?? null;
    this.position = parts.position;
    this.isRange = parts.wildcard !== 'none';
    this.canSelfExpand = parts.wildcard !== 'hardened' && !hasHardenedStep(parts.path);
    this.#fingerprint = fingerprintOf(parts.root.publicKey);
  }

  get rootExtendedKey(): ExtendedPublicKey {
    return this.#parts.root;
  }

  resolve(index: number, source: KeySource): ResolvedKey | null {
    const key = source.readCache ? this.#fromCache(index, source.readCache) : this.#derive(index, source);
    if (key === null) return null;
    const { path, wildcard } = this.#parts;
    const last = wildcard === 'none' ? [] : [wildcard === 'hardened' ? index + HARDENED : index];
    return { publicKey: key.publicKey, origin: { fingerprint: this.#fingerprint, path: [...path, ...last] } };
  }

  #fromCache(index: number, cache: DescriptorCache): ExtendedPublicKey | null {
    const { wildcard } = this.#parts;
    const derived = cache.derived(this.position, index);
    if (derived !== null) return derived;
    const parent = wildcard === 'hardened' ? null : cache.parent(this.position);
    return parent && wildcard === 'unhardened' ? this.#child(parent, index) : parent;
  }

  #child(parent: ExtendedPublicKey, index: number): ExtendedPublicKey | null {
    if (this.#lastChild?.parent === parent && this.#lastChild.index === index) return this.#lastChild.key;
    const key = derivePublicChild(parent, index);
    this.#lastChild = key && { parent, index, key };
    return key;
  }

  #derive(index: number, { provider, writeCache }: KeySource): ExtendedPublicKey | null {
    if (!this.canSelfExpand) return this.#deriveWithPrivateKey(index, provider, writeCache);
    this.#parent ??= derivePublicPath(this.#parts.root, this.#parts.path);
    if (this.#parent === null) return null;
    writeCache?.add({ kind: 'parent', expression: this.position, index: null, key: this.#parent });
    return this.isRange ? this.#child(this.#parent, index) : this.#parent;
  }

  #deriveWithPrivateKey(
    index: number,
    provider: SigningProvider,
    writeCache: DescriptorCache | null,
  ): ExtendedPublicKey | null {
    const { position: expression } = this;
    const derived = this.#derivePrivate(provider);
    if (derived === null) return null;
    const { lastHardened } = derived;
    using parent = derived.key;
    if (this.#parts.wildcard === 'hardened') {
      using child = parent.derive(index + HARDENED);
      const key = child?.neuter() ?? null;
      if (key !== null) writeCache?.add({ kind: 'derived', expression, index, key });
      return key;
    }
    const key = parent.neuter();
    writeCache?.add({ kind: 'parent', expression, index: null, key });
    if (lastHardened !== null) writeCache?.add({ kind: 'lastHardened', expression, index: null, key: lastHardened });
    return this.isRange ? derivePublicChild(key, index) : key;
  }

  toText(style: KeyTextStyle): string {
    return this.#publicText(this.#parts.apostrophe || style === 'compat');
  }

  toPrivateText(provider: SigningProvider): PrivateText {
    const { apostrophe, encoding } = this.#parts;
    using key = this.#rootPrivateKey(provider);
    if (key === null) return { text: this.toText('public'), hasPrivateKey: false };
    return { text: key.revealText(encoding.bip32) + this.#stepsText(apostrophe), hasPrivateKey: true };
  }

  toNormalizedText(provider: SigningProvider, cache: DescriptorCache | null): string | null {
    const { path, wildcard, encoding } = this.#parts;
    if (wildcard === 'hardened') return this.#publicText(false);
    const steps = path.findLastIndex((child) => child >= HARDENED) + 1;
    if (steps === 0) return this.toText('public');
    const key = cache?.lastHardened(this.position) ?? this.#lastHardened(provider);
    if (key === null) return null;
    const origin = bytesToHex(this.#fingerprint) + formatKeyPath(path.slice(0, steps));
    const rest = formatKeyPath(path.slice(steps)) + (this.isRange ? '/*' : '');
    return `[${origin}]${formatExtendedPublicKey(key, encoding.bip32)}${rest}`;
  }

  privateKeys(index: number, provider: SigningProvider): readonly PrivateKey[] {
    const { wildcard } = this.#parts;
    const key = this.#derivePrivate(provider)?.key ?? null;
    if (key === null) return [];
    if (wildcard === 'none') return [key.key];
    using parent = key;
    const child = parent.derive(wildcard === 'hardened' ? index + HARDENED : index);
    return child === null ? [] : [child.key];
  }

  hasPrivateKeys(provider: SigningProvider): boolean {
    const keys = this.privateKeys(0, provider);
    for (const key of keys) key.wipe();
    return keys.length > 0;
  }

  /** Returns a copy, which the caller wipes. */
  #rootPrivateKey(provider: SigningProvider): ExtendedPrivateKey | null {
    const { root } = this.#parts;
    const key = provider.privateKey(hash160(root.publicKey));
    return key && new ExtendedPrivateKey(root, key.copy());
  }

  /**
   * Returns the private key before the range, which the caller wipes, and the public key behind the last hardened step.
   */
  #derivePrivate(
    provider: SigningProvider,
  ): { readonly key: ExtendedPrivateKey; readonly lastHardened: ExtendedPublicKey | null } | null {
    const { path } = this.#parts;
    const hardenedSteps = path.findLastIndex((child) => child >= HARDENED) + 1;
    using root = this.#rootPrivateKey(provider);
    using hardened = root?.derivePath(path.slice(0, hardenedSteps)) ?? null;
    const key = hardened?.derivePath(path.slice(hardenedSteps)) ?? null;
    return key && { key, lastHardened: hardenedSteps > 0 ? hardened!.neuter() : null };
  }

  #lastHardened(provider: SigningProvider): ExtendedPublicKey | null {
    const derived = this.#derivePrivate(provider);
    derived?.key.wipe();
    return derived?.lastHardened ?? null;
  }

  #publicText(apostrophe: boolean): string {
    const { root, encoding } = this.#parts;
    this.#rootText ??= formatExtendedPublicKey(root, encoding.bip32);
    return this.#rootText + this.#stepsText(apostrophe);
  }

  #stepsText(apostrophe: boolean): string {
    const { path, wildcard } = this.#parts;
    const last = { none: '', unhardened: '/*', hardened: apostrophe ? "/*'" : '/*h' }[wildcard];
    return formatKeyPath(path, apostrophe) + last;
  }
}
