import type { DescriptorRecord, WalletKeyStore } from '../../storage/wallet-keys-store.ts';
import { hexToBytes } from '../../util/bytes.ts';
import type { Descriptor, Expansion, KeyEncoding } from '../descriptor/descriptor.ts';
import { type CachedKey, DescriptorCache } from '../descriptor/descriptor-cache.ts';
import { parseDescriptor } from '../descriptor/parse.ts';
import { encodeExtendedPublicKey, readExtendedPublicKey } from '../keys/extended-key.ts';
import type { SigningProvider } from '../keys/signing-data.ts';

/** A descriptor of a wallet: what it stands for, and how far it is used. */
export class OwnedDescriptor {
  readonly descriptor: Descriptor;
  readonly #store: WalletKeyStore;
  readonly #cache: DescriptorCache;
  #record: DescriptorRecord;

  constructor(store: WalletKeyStore, record: DescriptorRecord, descriptor: Descriptor, cache: DescriptorCache) {
    this.#store = store;
    this.#record = record;
    this.descriptor = descriptor;
    this.#cache = cache;
  }

  /** As the file holds it. */
  static load(store: WalletKeyStore, record: DescriptorRecord, encoding: KeyEncoding): OwnedDescriptor {
    const parsed = parseDescriptor(record.text, encoding, { requireChecksum: true });
    if (!parsed.ok) throw new Error(`a descriptor of the wallet cannot be read: ${parsed.error}`);
    const cache = new DescriptorCache();
    for (const { kind, expression, position, key } of store.cache(record.id)) {
      const extended = readExtendedPublicKey(hexToBytes(key));
      if (!extended) throw new Error('a derived key of the wallet cannot be read');
      cache.add({ kind: kind as CachedKey['kind'], expression, index: position, key: extended });
    }
    return new OwnedDescriptor(store, record, parsed.descriptors[0]!, cache);
  }

  get record(): DescriptorRecord {
    return this.#record;
  }

  get id(): number {
    return this.#record.id;
  }

  /** Writes changes of what is known of it. */
  update(changes: Partial<Omit<DescriptorRecord, 'id' | 'key' | 'text'>>): void {
    this.#record = { ...this.#record, ...changes };
    this.#store.put(this.#record);
  }

  /** What it stands for at an index; null where private keys are needed that the provider has not. */
  expand(index: number, provider: SigningProvider): Expansion | null {
    const cached = this.descriptor.expandFromCache(index, this.#cache);
    if (cached) return cached;
    const learned = new DescriptorCache();
    const expansion = this.descriptor.expand(index, provider, learned);
    if (expansion) this.remember(learned);
    return expansion;
  }

  remember(learned: DescriptorCache): void {
    for (const { kind, expression, index, key } of this.#cache.mergeAndDiff(learned).entries())
      this.#store.addCache(this.id, { kind, expression, position: index, key: encodeExtendedPublicKey(key).toHex() });
  }

  /** With the keys behind the last hardened steps. */
  normalized(provider: SigningProvider): string | null {
    return this.descriptor.toNormalizedString(provider, this.#cache);
  }
}
