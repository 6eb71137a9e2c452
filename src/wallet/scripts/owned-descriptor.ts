import { hexToBytes, isHex } from '../../util/bytes.ts';
import type { Steps } from '../../util/slices.ts';
import type { Descriptor, Expansion, KeyEncoding } from '../descriptor/descriptor.ts';
import { type CachedKey, DescriptorCache } from '../descriptor/descriptor-cache.ts';
import { parseDescriptor } from '../descriptor/parse-descriptor.ts';
import { encodeExtendedPublicKey, readExtendedPublicKey } from '../keys/extended-key.ts';
import type { SigningProvider } from '../keys/signing-data.ts';
import type { DescriptorRecord, WalletKeyStore } from '../store/wallet-keys-store.ts';
import { WalletDamage } from '../wallet-error.ts';
import { checkDescriptor } from './check-descriptor.ts';

/** Members that may change while the keys are locked. */
const RANGE_MEMBERS = new Set(['rangeEnd', 'nextIndex', 'filled']);

/** A descriptor of a wallet with its range and its cache. */
export class OwnedDescriptor {
  readonly descriptor: Descriptor;
  /** Derived extended keys; read only. */
  readonly cached: DescriptorCache;
  readonly #store: WalletKeyStore;
  #record: DescriptorRecord;

  constructor(store: WalletKeyStore, record: DescriptorRecord, descriptor: Descriptor, cache: DescriptorCache) {
    this.#store = store;
    this.#record = record;
    this.descriptor = descriptor;
    this.cached = cache;
  }

  /** Loads and checks a descriptor. Throws WalletDamage where its rows are inconsistent. */
  static load(store: WalletKeyStore, record: DescriptorRecord, encoding: KeyEncoding): OwnedDescriptor {
    const owned = OwnedDescriptor.read(store, record, encoding);
    owned.check(encoding);
    return owned;
  }

  /** Reads a descriptor. Throws WalletDamage where it cannot be read. */
  static read(store: WalletKeyStore, record: DescriptorRecord, encoding: KeyEncoding): OwnedDescriptor {
    const parsed = parseDescriptor(record.text, encoding, { requireChecksum: true });
    if (!parsed.ok) throw new WalletDamage(`descriptor ${record.id} cannot be read: ${parsed.error}`);
    return OwnedDescriptor.withText(store, record, parsed.descriptors[0]!);
  }

  /** Reads a descriptor whose text is parsed already. */
  static withText(store: WalletKeyStore, record: DescriptorRecord, descriptor: Descriptor): OwnedDescriptor {
    const cache = new DescriptorCache();
    for (const { kind, expression, position, key } of store.cache(record.id)) {
      const extended = isHex(key) ? readExtendedPublicKey(hexToBytes(key)) : null;
      if (!extended) throw new WalletDamage(`a derived key of descriptor ${record.id} cannot be read`);
      cache.add({ kind: kind as CachedKey['kind'], expression, index: position, key: extended });
    }
    return new OwnedDescriptor(store, record, descriptor, cache);
  }

  /** Throws WalletDamage where its row, its text and its derived keys are inconsistent. */
  check(encoding: KeyEncoding): void {
    checkDescriptor(this.#record, this.descriptor, this.cached, encoding);
  }

  get record(): DescriptorRecord {
    return this.#record;
  }

  get id(): number {
    return this.#record.id;
  }

  /** Writes changes of its row. */
  update(changes: Partial<Omit<DescriptorRecord, 'id' | 'key' | 'text'>>): void {
    this.#record = { ...this.#record, ...changes };
    this.#store.storeDescriptor(this.#record, {
      onlyRange: Object.keys(changes).every((name) => RANGE_MEMBERS.has(name)),
    });
  }

  /** Expands the descriptor at an index; null where the provider lacks a private key. */
  expand(index: number, provider: SigningProvider): Expansion | null {
    const cached = this.descriptor.expandFromCache(index, this.cached);
    if (cached) return cached;
    const learned = new DescriptorCache();
    const expansion = this.descriptor.expand(index, provider, learned);
    if (expansion) this.remember(learned);
    return expansion;
  }

  /** Derives the keys of an index in steps, so that `expand` finds them in memory. */
  deriveSteps(index: number, provider: SigningProvider): Steps<void> {
    return this.descriptor.deriveSteps(index, provider, this.cached);
  }

  remember(learned: DescriptorCache): void {
    const added = this.cached.mergeAndDiff(learned);
    if (added.size === 0) return;
    this.#store.atomically(() => {
      for (const { kind, expression, index, key } of added.entries())
        this.#store.addCache(this.id, { kind, expression, position: index, key: encodeExtendedPublicKey(key).toHex() });
    });
  }

  /** Returns the text with the keys behind the last hardened steps. */
  normalized(provider: SigningProvider): string | null {
    return this.descriptor.toNormalizedString(provider, this.cached);
  }
}
