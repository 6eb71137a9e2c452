import { sha256 } from '../../crypto/hash-functions.ts';
import { bytesToHex } from '../../util/bytes.ts';
import type { Steps } from '../../util/slices.ts';
import type { ExtendedPublicKey } from '../keys/extended-key.ts';
import type { PrivateKey } from '../keys/private-key.ts';
import { NO_SIGNING_DATA, SigningData, type SigningProvider } from '../keys/signing-data.ts';
import { addChecksum } from './checksum.ts';
import type { Descriptor, Expansion, OutputType, PrivateText } from './descriptor.ts';
import type { DescriptorCache } from './descriptor-cache.ts';
import { addResolvedKey, type KeyExpression, type KeySource } from './key-expression.ts';

/** Keys that are derived per step, which takes about a millisecond. */
const KEYS_A_STEP = 16;

/** Returns the text of a key; null if it cannot be written. */
export type KeyFormat = (key: KeyExpression) => string | null;

/** One function of a descriptor with the keys and functions in it. Immutable. */
export abstract class DescriptorNode implements Descriptor {
  readonly keys: readonly KeyExpression[];
  readonly nodes: readonly DescriptorNode[];
  readonly isSolvable: boolean = true;
  readonly isSingleType: boolean = true;
  readonly hasScripts: boolean = true;
  readonly isRange: boolean;
  readonly canSelfExpand: boolean;
  #text: string | null = null;
  #id: Uint8Array | null = null;

  constructor(keys: readonly KeyExpression[], nodes: readonly DescriptorNode[] = []) {
    this.keys = keys;
    this.nodes = nodes;
    this.isRange = keys.some((key) => key.isRange) || nodes.some((node) => node.isRange);
    this.canSelfExpand = keys.every((key) => key.canSelfExpand) && nodes.every((node) => node.canSelfExpand);
  }

  /** Returns the text without checksum; null if a key cannot be written. */
  abstract format(formatKey: KeyFormat): string | null;

  /** Builds scripts from the public keys of `keys` and the scripts of `nodes`, and adds solving data to `data`. */
  protected abstract makeScripts(
    publicKeys: readonly Uint8Array[],
    scripts: readonly Uint8Array[],
    data: SigningData,
  ): Uint8Array[];

  get outputType(): OutputType | null {
    return null;
  }

  get scriptSize(): number | null {
    return null;
  }

  /** Returns the bytes of scriptSig or witness, unweighted; for a script inside another one, without that script. */
  maxSatisfactionSize(_useMaxSignature: boolean): number | null {
    return null;
  }

  maxSatisfactionWeight(_useMaxSignature: boolean): number | null {
    return null;
  }

  maxSatisfactionElements(): number | null {
    return null;
  }

  get warnings(): readonly string[] {
    return this.nodes.flatMap((node) => node.warnings);
  }

  get keyCount(): number {
    const own = this.keys.reduce((sum, key) => sum + key.keyCount, 0);
    return this.nodes.reduce((sum, node) => sum + node.keyCount, own);
  }

  get aggregatedKeyCount(): number {
    // An aggregate key counts itself and its participants.
    const own = this.keys.reduce((sum, key) => sum + key.keyCount - 1, 0);
    return this.nodes.reduce((sum, node) => sum + node.aggregatedKeyCount, own);
  }

  toString(): string {
    this.#text ??= addChecksum(this.format((key) => key.toText('public'))!);
    return this.#text;
  }

  toCompatString(): string {
    return addChecksum(this.format((key) => key.toText('compat'))!);
  }

  id(): Uint8Array {
    this.#id ??= sha256(new TextEncoder().encode(this.toCompatString()));
    return this.#id;
  }

  toPrivateString(provider: SigningProvider): PrivateText {
    let hasPrivateKey = false;
    const text = this.format((key) => {
      const written = key.toPrivateText(provider);
      hasPrivateKey ||= written.hasPrivateKey;
      return written.text;
    });
    return { text: addChecksum(text!), hasPrivateKey };
  }

  toNormalizedString(provider: SigningProvider, cache: DescriptorCache | null = null): string | null {
    const text = this.format((key) => key.toNormalizedText(provider, cache));
    if (text === null) return null;
    // Most descriptors are already normalized, and computing the checksum of a long one takes some milliseconds.
    return this.toString().startsWith(`${text}#`) ? this.toString() : addChecksum(text);
  }

  hasPrivateKeys(provider: SigningProvider): boolean {
    if (this.keys.length === 0 && this.nodes.length === 0) return false;
    return (
      this.nodes.every((node) => node.hasPrivateKeys(provider)) &&
      this.keys.every((key) => key.hasPrivateKeys(provider))
    );
  }

  expand(index: number, provider: SigningProvider, writeCache: DescriptorCache | null = null): Expansion | null {
    return this.#expand(index, { provider, readCache: null, writeCache });
  }

  expandFromCache(index: number, readCache: DescriptorCache): Expansion | null {
    return this.#expand(index, { provider: NO_SIGNING_DATA, readCache, writeCache: null });
  }

  *deriveSteps(index: number, provider: SigningProvider, readCache: DescriptorCache | null): Steps<void> {
    let derived = 0;
    for (const key of this.#allKeys()) {
      key.resolve(index, { provider, readCache, writeCache: null });
      if (++derived % KEYS_A_STEP === 0) yield;
    }
  }

  *#allKeys(): Generator<KeyExpression> {
    yield* this.keys;
    for (const node of this.nodes) yield* node.#allKeys();
  }

  #expand(index: number, source: KeySource): Expansion | null {
    const data = new SigningData();
    const scripts = this.#expandInto(index, source, data);
    return scripts && { scripts, data };
  }

  #expandInto(index: number, source: KeySource, data: SigningData): Uint8Array[] | null {
    const publicKeys: Uint8Array[] = [];
    for (const key of this.keys) {
      const resolved = key.resolve(index, source);
      if (resolved === null) return null;
      addResolvedKey(data, resolved);
      publicKeys.push(resolved.publicKey);
    }
    const inner: Uint8Array[] = [];
    for (const node of this.nodes) {
      const scripts = node.#expandInto(index, source, data);
      if (scripts === null) return null;
      inner.push(...scripts);
    }
    return this.makeScripts(publicKeys, inner, data);
  }

  expandPrivate(index: number, provider: SigningProvider): PrivateKey[] {
    const keys = new Map<string, PrivateKey>();
    const add = (found: PrivateKey) => {
      const id = bytesToHex(found.publicKey);
      keys.get(id)?.wipe();
      keys.set(id, found);
    };
    for (const key of this.keys) key.privateKeys(index, provider).forEach(add);
    for (const node of this.nodes) node.expandPrivate(index, provider).forEach(add);
    return [...keys.values()];
  }

  rootKeys(): { publicKeys: Uint8Array[]; extendedKeys: ExtendedPublicKey[] } {
    const publicKeys = this.keys.flatMap(({ rootPublicKey }) => rootPublicKey ?? []);
    const extendedKeys = this.keys.flatMap(({ rootExtendedKey }) => rootExtendedKey ?? []);
    for (const node of this.nodes) {
      const inner = node.rootKeys();
      publicKeys.push(...inner.publicKeys);
      extendedKeys.push(...inner.extendedKeys);
    }
    return { publicKeys, extendedKeys };
  }
}
