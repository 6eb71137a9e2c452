import { addressOf } from '../../script/address.ts';
import type { Steps } from '../../util/slices.ts';
import type { KeyEncoding } from '../descriptor/descriptor.ts';
import { DescriptorCache } from '../descriptor/descriptor-cache.ts';
import { inferDescriptor } from '../descriptor/infer.ts';
import type { SigningData } from '../keys/signing-data.ts';
import { HashFilter } from '../ledger/hash-filter.ts';
import type { ScriptOwner } from '../ledger/ledger.ts';
import type { ScriptRecord } from '../store/wallet-keys-store.ts';
import type { WalletStore } from '../store/wallet-store.ts';
import type { KeyVault } from '../vault/key-vault.ts';
import { WalletDamage, walletFail } from '../wallet-error.ts';
import { type NewDescriptor, widenDescriptor } from './new-descriptor.ts';
import { OwnedDescriptor } from './owned-descriptor.ts';

/** Core's sentence where the wallet has no private keys, so that unlocking it or a refill would not help. */
const NONE_LEFT = 'No addresses available';
const RAN_OUT = 'Error: Keypool ran out, please call keypoolrefill first';
/**
 * Keys that a payment derives at once, and addresses that it adds to the address book: a few milliseconds. The rest is
 * done in steps.
 */
const TOP_UP_KEYS = 200;
const NAMES_AT_ONCE = 100;
const NAMES_A_STEP = 50;
/** Keys that are derived in one step. */
const FILL_STEP_KEYS = 16;

/** The descriptors of a wallet and their scripts. */
export class WalletScripts implements ScriptOwner {
  /** Filter over all scripts. */
  readonly filter = new HashFilter();
  /** Called where work is left for `fillSteps`: scripts to derive, which blocks may pay already, or names of addresses. */
  onDeferred: (work: 'scripts' | 'names') => void = () => {};
  readonly #store: WalletStore;
  readonly #vault: KeyVault;
  readonly #encoding: KeyEncoding;
  readonly #descriptors = new Map<number, OwnedDescriptor>();
  readonly #keypool: number;
  readonly #recorders = new Set<Uint8Array[]>();

  constructor(store: WalletStore, vault: KeyVault, encoding: KeyEncoding, keypool: number) {
    this.#store = store;
    this.#vault = vault;
    this.#encoding = encoding;
    this.#keypool = keypool;
  }

  /** Reads the descriptors and scripts of a file that is opened. Throws WalletDamage where they are inconsistent. */
  *loadSteps(): Steps<void> {
    const { keys } = this.#store;
    const sources = new Set<string>();
    for (const record of keys.descriptorsInOrder()) {
      const source = `${record.active}, ${record.internal ? 'internal' : 'external'}`;
      if (record.active !== null && sources.has(source))
        throw new WalletDamage(`descriptor ${record.id} is a second source of addresses (${source})`);
      sources.add(source);
      this.#descriptors.set(record.id, OwnedDescriptor.load(keys, record, this.#encoding));
      yield;
    }
    for (const page of keys.scriptPages()) {
      for (const { script } of page) this.filter.add(script);
      yield;
    }
  }

  /** Reads descriptors from the file again after a write of them was rolled back. */
  reloadDescriptors(ids: Iterable<number>): void {
    const { keys } = this.#store;
    for (const id of ids) {
      const record = keys.descriptor(id);
      if (record) this.#descriptors.set(id, OwnedDescriptor.load(keys, record, this.#encoding));
      else this.#descriptors.delete(id);
    }
  }

  /** Starts to collect new scripts in the returned list, until `stopRecording`. Several lists may exist at a time. */
  startRecording(): Uint8Array[] {
    const recorded: Uint8Array[] = [];
    this.#recorders.add(recorded);
    return recorded;
  }

  stopRecording(recorded: Uint8Array[]): void {
    this.#recorders.delete(recorded);
  }

  descriptors(): OwnedDescriptor[] {
    return [...this.#descriptors.values()];
  }

  /** Throws WalletError on an unknown id, which damaged script rows may contain. */
  descriptorById(id: number): OwnedDescriptor {
    return (
      this.#descriptors.get(id) ??
      walletFail(
        'wallet',
        `Error: the wallet file has scripts of a descriptor that it does not contain (${id}): restore it from a backup`,
      )
    );
  }

  /** Returns null for an unknown id. */
  findDescriptor(id: number): OwnedDescriptor | null {
    return this.#descriptors.get(id) ?? null;
  }

  descriptorByKey(key: Uint8Array): OwnedDescriptor | null {
    const hex = key.toHex();
    return this.descriptors().find(({ record }) => record.key.toHex() === hex) ?? null;
  }

  /** Returns the active descriptor of an address type, or null. */
  activeDescriptor(type: string, internal: boolean): OwnedDescriptor | null {
    return this.descriptors().find(({ record }) => record.active === type && record.internal === internal) ?? null;
  }

  owns(script: Uint8Array): boolean {
    return this.filter.has(script) && this.#store.keys.scripts(script).length > 0;
  }

  /** Returns the descriptors of a script with its index in each. */
  scriptRecords(script: Uint8Array): ScriptRecord[] {
    return this.filter.has(script) ? this.#store.keys.scripts(script) : [];
  }

  /** Marks all indexes up to a paid script as used, and extends the range by the same number. */
  markPaid(script: Uint8Array): void {
    for (const { descriptor: id, position, solved } of this.#store.keys.scripts(script)) {
      const owned = this.descriptorById(id);
      if (solved === null) this.#solve(owned, script, position);
      const { nextIndex, active, internal } = owned.record;
      if (position < nextIndex) continue;
      if (active !== null && internal === false) this.#nameSkipped(owned, nextIndex, { last: position, script });
      owned.update({ nextIndex: position + 1 });
      this.topUp(owned);
    }
  }

  /** Returns the script of the next address of a type; null where there is none. */
  peekNextScript(type: string, internal: boolean): Uint8Array | null {
    const owned = this.activeDescriptor(type, internal);
    return owned?.expand(owned.record.nextIndex, this.#vault.available())?.scripts[0] ?? null;
  }

  /**
   * Derives the keys of the next address of a type in steps, where it has many keys: `peekNextScript` and `newAddress`
   * then find them in memory.
   */
  *deriveNextSteps(type: string, internal: boolean): Steps<void> {
    const owned = this.activeDescriptor(type, internal);
    if (owned) yield* this.#deriveSteps(owned, owned.record.nextIndex);
  }

  /** Derives the keys of a script in steps, for `solvedText`. */
  *deriveScriptSteps(script: Uint8Array): Steps<void> {
    const [record] = this.scriptRecords(script);
    if (record) yield* this.#deriveSteps(this.descriptorById(record.descriptor), record.position);
  }

  /** Derives the keys of an index in steps, where they are too many for one step. */
  *#deriveSteps(owned: OwnedDescriptor, index: number): Steps<void> {
    if (owned.descriptor.keyCount > FILL_STEP_KEYS) yield* owned.deriveSteps(index, this.#vault.available());
  }

  get #isWatchOnly(): boolean {
    return this.#store.meta('flags')?.includes('disable_private_keys') ?? false;
  }

  /** Returns a new address of a type. Throws WalletError where there is none. */
  newAddress(type: string, internal: boolean): { script: Uint8Array; address: string } {
    const owned = this.activeDescriptor(type, internal);
    if (!owned) return walletFail('keypoolRanOut', `Error: No ${type} addresses available.`);
    const { nextIndex } = owned.record;
    this.topUp(owned);
    if (owned.record.filled <= nextIndex) this.#fill(owned, nextIndex + 1);
    const scripts = owned.record.filled > nextIndex ? owned.expand(nextIndex, this.#vault.available())?.scripts : null;
    const script = scripts?.[0];
    if (!script) return walletFail('keypoolRanOut', this.#isWatchOnly ? NONE_LEFT : RAN_OUT);
    // Stored whatever the file says is filled: scripts that are given out are recognised, and verified before the
    // wallet signs.
    this.#own(owned, scripts, nextIndex);
    this.#solve(owned, script, nextIndex);
    owned.update({ nextIndex: nextIndex + 1 });
    return { script, address: addressOf(script, this.#encoding.address)! };
  }

  /** Reserves `size` indexes ahead of the next one, by default those of the keypool. `fillSteps` derives them. */
  reserve(owned: OwnedDescriptor, size = this.#keypool): void {
    const { nextIndex, rangeEnd } = owned.record;
    if (!owned.descriptor.isRange) return;
    const end = Math.max(nextIndex + (size || this.#keypool), rangeEnd);
    if (end > rangeEnd) owned.update({ rangeEnd: end });
  }

  /** Reserves the indexes of the keypool, and derives them at once where all before them are derived. */
  topUp(owned: OwnedDescriptor): void {
    const { rangeEnd, filled } = owned.record;
    if (!owned.descriptor.isRange) {
      if (filled < 1) this.#fill(owned, 1);
      return;
    }
    this.reserve(owned);
    // A fully derived range stays so; the range of a new wallet is filled step by step.
    if (filled < rangeEnd) return;
    const most = Math.floor(TOP_UP_KEYS / Math.max(owned.descriptor.keyCount, 1));
    this.#fill(owned, Math.min(owned.record.rangeEnd, filled + most));
    if (owned.record.filled < owned.record.rangeEnd) this.onDeferred('scripts');
  }

  /** Derives some reserved indexes; `onFilled` receives the first of them. Returns false when none are left. */
  fillSome(onFilled: (descriptor: number, from: number) => void = () => {}): boolean {
    for (const owned of this.unfilled()) if (this.#fillStep(owned, onFilled)) return true;
    return false;
  }

  /** Derives all reserved indexes, some keys in each step; `onFilled` receives the first new index of each. */
  *fillSteps(onFilled: (descriptor: number, from: number) => void): Steps<void> {
    yield* this.#nameSteps();
    for (const { id } of this.unfilled())
      for (;;) {
        // The rollback of another write may have replaced it.
        const owned = this.#descriptors.get(id);
        if (!owned || owned.record.filled >= owned.record.rangeEnd) break;
        const { filled } = owned.record;
        yield* this.#deriveSteps(owned, filled);
        // Another caller may have filled the index.
        if (this.#descriptors.get(id) !== owned || owned.record.filled !== filled) continue;
        if (!this.#fillStep(owned, onFilled)) break;
        yield;
      }
  }

  /** Returns false where keys are missing. */
  #fillStep(owned: OwnedDescriptor, onFilled: (descriptor: number, from: number) => void): boolean {
    const { filled, rangeEnd } = owned.record;
    const count = Math.max(1, Math.floor(FILL_STEP_KEYS / Math.max(owned.descriptor.keyCount, 1)));
    const more = this.#fill(owned, Math.min(filled + count, rangeEnd));
    if (owned.record.filled > filled) onFilled(owned.id, filled);
    return more;
  }

  /** Returns the descriptors with indexes that are reserved and not derived. */
  unfilled(): OwnedDescriptor[] {
    return this.descriptors().filter(({ record }) => record.filled < record.rangeEnd);
  }

  /** Adds or changes a descriptor, and derives its first index. Throws WalletError where that cannot be derived. */
  addDescriptor(added: NewDescriptor): OwnedDescriptor {
    const { descriptor, createdAt } = added;
    const known = this.descriptorByKey(descriptor.id());
    const { rangeStart, rangeEnd, nextIndex } = known ? widenDescriptor(known, added) : added;
    const provider = this.#vault.available();
    const learned = new DescriptorCache();
    if (!descriptor.expand(rangeStart, provider, learned))
      walletFail(
        'wallet',
        'Cannot expand descriptor. Probably because of hardened derivations without private keys provided',
      );
    const record = {
      key: descriptor.id(),
      text: descriptor.toString(),
      normalized: descriptor.toNormalizedString(provider, learned) ?? descriptor.toString(),
      outputType: descriptor.outputType,
      createdAt: known ? Math.min(createdAt, known.record.createdAt) : createdAt,
      rangeStart,
      rangeEnd,
      nextIndex,
      filled: known ? Math.max(known.record.filled, rangeStart) : rangeStart,
      active: known?.record.active ?? null,
      internal: known?.record.internal ?? null,
    };
    // Indexes before the old range have to be derived as well.
    if (known && rangeStart < known.record.rangeStart) record.filled = rangeStart;
    const id = this.#store.keys.storeDescriptor(record);
    const born = this.#store.meta('birthTime');
    if (born === null || createdAt < born) this.#store.setMeta('birthTime', createdAt);
    const owned = OwnedDescriptor.withText(this.#store.keys, { id, ...record }, descriptor);
    owned.remember(learned);
    // A descriptor that fails the check could not be loaded again.
    owned.check(this.#encoding);
    this.#descriptors.set(id, owned);
    return owned;
  }

  /** Makes the descriptor the active one of its type. */
  activate(owned: OwnedDescriptor, type: string, internal: boolean): void {
    this.activeDescriptor(type, internal)?.update({ active: null, internal: null });
    owned.update({ active: type, internal });
  }

  deactivate(owned: OwnedDescriptor): void {
    if (owned.record.active !== null) owned.update({ active: null, internal: null });
  }

  /** Returns the public data for spending a script; null where it is not the wallet's. */
  solvingData(script: Uint8Array): SigningData | null {
    const [record] = this.scriptRecords(script);
    if (!record) return null;
    return this.descriptorById(record.descriptor).expand(record.position, this.#vault.available())?.data ?? null;
  }

  /** Returns the script's own descriptor with its checksum. */
  solvedText(script: Uint8Array): string | null {
    const [record] = this.scriptRecords(script);
    if (!record) return null;
    return record.solved ?? this.#solve(this.descriptorById(record.descriptor), script, record.position);
  }

  /** Derives up to an index; returns false where keys are missing. */
  #fill(owned: OwnedDescriptor, end: number): boolean {
    const { filled } = owned.record;
    const provider = this.#vault.available();
    let index = filled;
    for (; index < end; index++) {
      const expansion = owned.expand(index, provider);
      if (!expansion) break;
      this.#own(owned, expansion.scripts, index);
      for (const recorded of this.#recorders) recorded.push(...expansion.scripts);
    }
    if (index > filled) owned.update({ filled: index });
    return index >= end;
  }

  #own(owned: OwnedDescriptor, scripts: readonly Uint8Array[], index: number): void {
    for (const script of scripts) {
      this.#store.keys.addScript(script, owned.id, index);
      this.filter.add(script);
    }
  }

  #solve(owned: OwnedDescriptor, script: Uint8Array, index: number): string | null {
    const expansion = owned.expand(index, this.#vault.available());
    if (!expansion) return null;
    const solved = inferDescriptor(script, expansion.data, this.#encoding).toString();
    this.#store.keys.setSolved(script, solved);
    return solved;
  }

  /** Adds skipped addresses to the address book: the first ones and the paid one at once, the others in steps. */
  #nameSkipped(
    owned: OwnedDescriptor,
    first: number,
    paid: { readonly last: number; readonly script: Uint8Array },
  ): void {
    const { last, script } = paid;
    const { keyCount } = owned.descriptor;
    const atOnce = Math.min(NAMES_AT_ONCE, Math.floor(TOP_UP_KEYS / Math.max(keyCount, 1)));
    const now = Math.min(last, first + atOnce - 1);
    for (let index = first; index <= now; index++) this.#name(owned, index);
    if (now === last) return;
    // A descriptor of many keys has one script at an index, which need not be derived again.
    if (atOnce === 0) this.#nameScript(script);
    else this.#name(owned, last);
    if (now + 1 === last) return;
    const unnamed = { ...this.#store.meta('unnamed') };
    const from = unnamed[owned.id]?.from ?? now + 1;
    this.#store.setMeta('unnamed', { ...unnamed, [owned.id]: { from, to: last } });
    this.onDeferred('names');
  }

  /** Adds the remaining skipped addresses to the address book, some in each step. */
  *#nameSteps(): Steps<void> {
    for (;;) {
      const [first] = Object.entries(this.#store.meta('unnamed') ?? {});
      if (!first) return;
      const [id, { from, to }] = first;
      const owned = this.#descriptors.get(Number(id));
      const manyKeys = (owned?.descriptor.keyCount ?? 0) > FILL_STEP_KEYS;
      const end = Math.min(from + (manyKeys ? 1 : NAMES_AT_ONCE), to);
      for (let index = from; owned && index < end; index++) {
        yield* this.#deriveSteps(owned, index);
        this.#name(owned, index);
        if (manyKeys || (index - from) % NAMES_A_STEP === NAMES_A_STEP - 1) yield;
      }
      const unnamed = { ...this.#store.meta('unnamed') };
      // Another payment may have skipped more in between.
      const last = unnamed[Number(id)]?.to ?? to;
      if (owned && end < last) unnamed[Number(id)] = { from: end, to: last };
      else delete unnamed[Number(id)];
      this.#store.setMeta('unnamed', unnamed);
    }
  }

  /** Adds an address that was skipped or paid without having been given out to the address book. */
  #name(owned: OwnedDescriptor, index: number): void {
    const script = owned.expand(index, this.#vault.available())?.scripts[0];
    if (script) this.#nameScript(script);
  }

  #nameScript(script: Uint8Array): void {
    const address = addressOf(script, this.#encoding.address);
    if (!address || this.#store.reads.bookEntry(script) !== null) return;
    this.#store.setLabel(script, address, '', 'receive');
  }
}
