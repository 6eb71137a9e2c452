import { aggregatePublicKeys } from '../../crypto/musig.ts';
import { assert } from '../../util/assert.ts';
import { compareBytes, equalBytes, hexToBytes } from '../../util/bytes.ts';
import type { ExtendedPublicKey } from '../keys/extended-key.ts';
import { formatKeyPath, type KeyPath } from '../keys/key-path.ts';
import type { PrivateKey } from '../keys/private-key.ts';
import { NO_SIGNING_DATA, type SigningProvider } from '../keys/signing-data.ts';
import type { KeyEncoding, PrivateText } from './descriptor.ts';
import type { DescriptorCache } from './descriptor-cache.ts';
import { ExtendedKey } from './extended-key-expression.ts';
import {
  ConstantKey,
  type KeyExpression,
  type KeySource,
  type KeyTextStyle,
  type ResolvedKey,
} from './key-expression.ts';

/** Chain code of every aggregate key from which children are derived (BIP-328). */
const CHAIN_CODE = hexToBytes('868087ca02a6f974c4598924c36b57762d32cb45717167e300622c7167e38965');

/** Returns the extended key of an aggregate key (BIP-328). */
export function musigExtendedKey(publicKey: Uint8Array): ExtendedPublicKey {
  return { depth: 0, parentFingerprint: new Uint8Array(4), child: 0, chainCode: CHAIN_CODE, publicKey };
}

export interface MusigParts {
  readonly position: number;
  readonly participants: readonly KeyExpression[];
  /** Steps from the aggregate key. */
  readonly path: KeyPath;
  readonly wildcard: 'none' | 'unhardened';
  readonly encoding: KeyEncoding;
}

/** musig(): one key that its participants sign for together, such as `musig(A,B)/0/*` (BIP-390). */
export class MusigKey implements KeyExpression {
  readonly size = 32;
  readonly rootPublicKey = null;
  readonly rootExtendedKey = null;
  readonly position: number;
  readonly isRange: boolean;
  readonly isExtended: boolean;
  readonly canSelfExpand: boolean;
  readonly keyCount: number;
  readonly #parts: MusigParts;
  readonly #rangedParticipants: boolean;
  /** Aggregate key with its extended key, if the participants are the same at every index. */
  #aggregate: { readonly publicKey: Uint8Array; readonly key: KeyExpression } | null = null;

  /** Last computed aggregate, since several expansions of one index follow each other. */
  #lastSum: {
    readonly publicKeys: readonly Uint8Array[];
    readonly aggregate: { readonly publicKey: Uint8Array; readonly key: KeyExpression } | null;
  } | null = null;

  constructor(parts: MusigParts) {
    const { participants } = parts;
    this.#parts = parts;
    this.#rangedParticipants = participants.some((key) => key.isRange);
    this.position = parts.position;
    this.isRange = this.#rangedParticipants || parts.wildcard !== 'none';
    this.isExtended = participants.every((key) => key.isExtended);
    this.canSelfExpand = participants.every((key) => key.canSelfExpand);
    this.keyCount = 1 + participants.length;
  }

  resolve(index: number, source: KeySource): ResolvedKey | null {
    const participants: ResolvedKey[] = [];
    for (const participant of this.#parts.participants) {
      const key = participant.resolve(index, source);
      if (key === null) return null;
      participants.push(key);
    }
    participants.sort((a, b) => compareBytes(a.publicKey, b.publicKey));
    const aggregate = this.#aggregate ?? this.#aggregateOf(participants);
    if (aggregate === null) return null;
    if (!this.#rangedParticipants) this.#aggregate = aggregate;
    // No single party has the private key of an aggregate.
    const key = aggregate.key.resolve(index, { ...source, provider: NO_SIGNING_DATA });
    return key && { ...key, aggregate: { publicKey: aggregate.publicKey, participants } };
  }

  #aggregateOf(participants: readonly ResolvedKey[]): { publicKey: Uint8Array; key: KeyExpression } | null {
    const publicKeys = participants.map((key) => key.publicKey);
    const last = this.#lastSum;
    if (last && publicKeys.every((key, i) => equalBytes(key, last.publicKeys[i]!))) return last.aggregate;
    const aggregate = this.#sum(publicKeys);
    this.#lastSum = { publicKeys, aggregate };
    return aggregate;
  }

  #sum(publicKeys: readonly Uint8Array[]): { publicKey: Uint8Array; key: KeyExpression } | null {
    const publicKey = aggregatePublicKeys(publicKeys);
    if (publicKey === null) return null;
    const { position, path, wildcard, encoding } = this.#parts;
    if (path.length === 0 && wildcard === 'none')
      return { publicKey, key: new ConstantKey(position, publicKey, false, encoding) };
    assert(!this.#rangedParticipants, 'a ranged participant and derivation from the aggregate exclude each other');
    const root = musigExtendedKey(publicKey);
    return { publicKey, key: new ExtendedKey({ position, root, path, wildcard, apostrophe: false, encoding }) };
  }

  toText(style: KeyTextStyle): string {
    return this.#wrap(this.#parts.participants.map((key) => key.toText(style)));
  }

  toPrivateText(provider: SigningProvider): PrivateText {
    const texts = this.#parts.participants.map((key) => key.toPrivateText(provider));
    return {
      text: this.#wrap(texts.map(({ text }) => text)),
      hasPrivateKey: texts.some(({ hasPrivateKey }) => hasPrivateKey),
    };
  }

  toNormalizedText(provider: SigningProvider, cache: DescriptorCache | null): string | null {
    const texts: string[] = [];
    for (const key of this.#parts.participants) {
      const text = key.toNormalizedText(provider, cache);
      if (text === null) return null;
      texts.push(text);
    }
    return this.#wrap(texts);
  }

  privateKeys(index: number, provider: SigningProvider): readonly PrivateKey[] {
    return this.#parts.participants.flatMap((key) => key.privateKeys(index, provider));
  }

  hasPrivateKeys(provider: SigningProvider): boolean {
    return this.#parts.participants.every((key) => key.hasPrivateKeys(provider));
  }

  #wrap(participants: readonly string[]): string {
    const { path, wildcard } = this.#parts;
    return `musig(${participants.join(',')})${formatKeyPath(path)}${wildcard === 'none' ? '' : '/*'}`;
  }
}
