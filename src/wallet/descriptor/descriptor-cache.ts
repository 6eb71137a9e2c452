import { assert } from '../../util/assert.ts';
import { type ExtendedPublicKey, equalExtendedKeys } from '../keys/extended-key.ts';

/** A cached extended key and its purpose. `index` is set only if it was derived for one index. */
export interface CachedKey {
  readonly kind: 'parent' | 'derived' | 'lastHardened';
  /** Position of the key expression in the descriptor. */
  readonly expression: number;
  readonly index: number | null;
  readonly key: ExtendedPublicKey;
}

/** Extended public keys that a descriptor cannot derive without its private keys. */
export class DescriptorCache {
  readonly #entries = new Map<string, CachedKey>();

  get size(): number {
    return this.#entries.size;
  }

  /** Throws where another key is there already. */
  add(entry: CachedKey): void {
    const name = nameOf(entry.kind, entry.expression, entry.index);
    const known = this.#entries.get(name);
    assert(known === undefined || equalExtendedKeys(known.key, entry.key), 'a descriptor derives the same key again');
    this.#entries.set(name, entry);
  }

  parent(expression: number): ExtendedPublicKey | null {
    return this.#get('parent', expression, null);
  }

  derived(expression: number, index: number): ExtendedPublicKey | null {
    return this.#get('derived', expression, index);
  }

  lastHardened(expression: number): ExtendedPublicKey | null {
    return this.#get('lastHardened', expression, null);
  }

  entries(): Iterable<CachedKey> {
    return this.#entries.values();
  }

  /** Adds the entries of another cache and returns those that are new. */
  mergeAndDiff(other: DescriptorCache): DescriptorCache {
    const added = new DescriptorCache();
    for (const entry of other.entries()) {
      const isNew = !this.#entries.has(nameOf(entry.kind, entry.expression, entry.index));
      this.add(entry);
      if (isNew) added.add(entry);
    }
    return added;
  }

  #get(kind: CachedKey['kind'], expression: number, index: number | null): ExtendedPublicKey | null {
    return this.#entries.get(nameOf(kind, expression, index))?.key ?? null;
  }
}

function nameOf(kind: CachedKey['kind'], expression: number, index: number | null): string {
  return `${kind}/${expression}/${index ?? ''}`;
}
