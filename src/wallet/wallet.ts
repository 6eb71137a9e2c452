import { randomSecretBytes } from '../crypto/random-secret.ts';
import type { NetworkParams } from '../params/network-params.ts';
import { hashToHex } from '../primitives/hash.ts';
import type { Outpoint } from '../primitives/outpoint.ts';
import { BUSY_TIMEOUT_MS, type ChainDatabaseIdentity } from '../storage/database.ts';
import { unixSeconds } from '../util/clock.ts';
import { Exclusive } from '../util/exclusive.ts';
import { OperatorError } from '../util/operator-error.ts';
import { runInSlices, runSteps, type Steps } from '../util/slices.ts';
import { KeypoolFiller } from './keypool-filler.ts';
import { ExtendedPrivateKey, formatExtendedPublicKey } from './keys/extended-key.ts';
import { Ledger } from './ledger/ledger.ts';
import { completeUnfinished } from './ledger/whole-transaction.ts';
import { overwriteLeftPlainKeys, overwritePlainKeys } from './overwrite-plain-keys.ts';
import { ADDRESS_TYPES, type AddressType, ownDescriptor } from './scripts/own-descriptors.ts';
import { WalletScripts } from './scripts/wallet-scripts.ts';
import { SpentCode, TxStateCode } from './store/wallet-schema.ts';
import { WalletStore } from './store/wallet-store.ts';
import { UnlockTimer } from './unlock-timer.ts';
import { KeyVault } from './vault/key-vault.ts';
import { scryptCostOf } from './vault/passphrase-key.ts';
import { WalletBeyondPruned, WalletDamage, WalletError, walletFail } from './wallet-error.ts';
import { flagsOf, inOrder, type WalletFlag } from './wallet-flags.ts';
import { WalletIntegrity } from './wallet-integrity.ts';
import type { NewWallet, WalletDeps } from './wallet-options.ts';
import { WalletResubmission } from './wallet-resubmission.ts';
import { WalletScanner } from './wallet-scanner.ts';
import { WalletSync } from './wallet-sync.ts';
import { ensureShortText } from './wallet-text.ts';
import { writeCopy } from './write-copy.ts';

export const SEED_SIZE = 32;
/** Addresses of each type that one call may reserve; ten times the usual number of Core's users. */
const MAX_KEYPOOL = 100_000;
/** Keypool up to which a new wallet derives its addresses at its creation, which takes a few milliseconds. */
const FILLED_AT_ONCE = 4;
const PLAIN_KEYS_LEFT =
  'the file of a wallet contains unencrypted keys until it is closed or loaded again: a reader does not end';
/** Calls that may wait for those before them. */
const MAX_WAITING = 200;

/** A loaded wallet, the single writer of its file. */
export class Wallet {
  readonly name: string;
  readonly store: WalletStore;
  readonly vault: KeyVault;
  readonly scripts: WalletScripts;
  readonly ledger: Ledger;
  readonly sync: WalletSync;
  readonly scanner: WalletScanner;
  readonly filler: KeypoolFiller;
  readonly integrity: WalletIntegrity;
  readonly resubmission: WalletResubmission;
  readonly deps: WalletDeps;
  /** Runs calls one at a time that change the wallet in several slices or choose its coins. */
  readonly exclusive = new Exclusive(MAX_WAITING);
  readonly #ending = new AbortController();
  readonly signal: AbortSignal;
  readonly #copies = new Set<Promise<void>>();
  readonly #unlockTimer: UnlockTimer;
  #settled = false;

  private constructor(name: string, store: WalletStore, deps: WalletDeps) {
    this.name = name;
    this.store = store;
    this.deps = deps;
    this.signal = AbortSignal.any([deps.signal, this.#ending.signal]);
    const { params, clock, chain, mempool, keypool, voucher, log } = deps;
    this.vault = new KeyVault(store, this.signal, scryptCostOf(params.name));
    this.#unlockTimer = new UnlockTimer(clock, () => this.lock());
    this.scripts = new WalletScripts(store, this.vault, params, keypool);
    store.onRollback = (descriptors, keyIds) => {
      this.vault.forgetRolledBack(keyIds);
      this.scripts.reloadDescriptors(descriptors);
    };
    const onSpend = (script: Uint8Array) => {
      if (this.hasFlag('avoid_reuse')) store.keys.setUsed(script);
    };
    this.ledger = new Ledger({ store, owner: this.scripts, clock, onSpend });
    const { scripts, ledger, signal } = this;
    const sync = new WalletSync({ store, scripts, ledger, chain, signal });
    const scanner = new WalletScanner({ store, sync, mempool, clock, signal });
    const onError = (error: unknown) => log.error('a wallet cannot derive addresses', { wallet: name, error });
    this.filler = new KeypoolFiller({ store, scripts, sync, scanner, clock, signal, onError });
    this.sync = sync;
    this.scanner = scanner;
    const { vault } = this;
    const watchOnly = () => this.hasFlag('disable_private_keys');
    const enabled = deps.spending.broadcast;
    this.resubmission = new WalletResubmission({ name, store, chain, mempool, clock, log, signal, enabled });
    this.integrity = new WalletIntegrity({ name, store, vault, scripts, voucher, watchOnly, log, signal });
  }

  /** Creates a wallet with unencrypted keys, or without keys. Throws where its file exists. */
  static create(path: string, name: string, options: Omit<NewWallet, 'passphrase'>, deps: WalletDeps): Wallet {
    const store = WalletStore.create(path, identityOf(deps.params));
    try {
      return store.write(() => {
        store.setMeta('flags', flagsOf(options));
        const wallet = new Wallet(name, store, deps);
        wallet.sync.startAtTip();
        wallet.#settled = true;
        deps.voucher.encrypted.set(name, false);
        wallet.integrity.trust();
        return wallet;
      });
    } catch (error) {
      store.close();
      throw error;
    }
  }

  /** Creates the wallet's own descriptors, unless it is blank or has no private keys. */
  createDefaultDescriptors(): void {
    if (this.hasFlag('blank') || this.hasFlag('disable_private_keys')) return;
    this.generateDescriptors();
    if (this.deps.keypool <= FILLED_AT_ONCE) while (this.filler.fillSome(() => false));
    else this.filler.fillLater();
  }

  /**
   * Opens a wallet in one go, and waits for a while where another program reads its file. Throws OperatorError on a file
   * that is not a wallet.
   */
  static open(path: string, name: string, deps: WalletDeps, onStep?: () => void): Wallet {
    return runSteps(Wallet.openSteps(path, name, deps, BUSY_TIMEOUT_MS), onStep);
  }

  /**
   * Opens a wallet in steps; `start` catches up with the chain later. Closes the file where the steps are abandoned.
   * `readerWaitMs` is how long the first step waits where another program reads the file.
   */
  static *openSteps(path: string, name: string, deps: WalletDeps, readerWaitMs?: number): Steps<Wallet> {
    const store = WalletStore.open(path, identityOf(deps.params), readerWaitMs);
    let opened = false;
    try {
      const wallet = new Wallet(name, store, deps);
      if (wallet.vault.encrypted) overwriteLeftPlainKeys(store);
      yield* wallet.scripts.loadSteps();
      yield* wallet.sync.loadSteps();
      wallet.integrity.startChecking();
      store.write(() => store.unlockAll({ persistent: false }));
      wallet.#topUpIssued();
      yield* wallet.ledger.forgetMempool();
      yield* completeUnfinished(wallet);
      const missing = wallet.sync.firstMissing;
      if (missing !== null) throw new WalletBeyondPruned(missing, deps.chain.loadedHeight);
      opened = true;
      return wallet;
    } catch (error) {
      if (!(error instanceof WalletDamage)) throw error;
      throw new OperatorError(
        `wallet "${name}" is not loaded: ${error.message}. Its file ${path} is damaged, or was changed by something other than this program: restore it from a backup`,
      );
    } finally {
      if (!opened) store.close();
    }
  }

  /** Resolves when the wallet has caught up with the chain and has processed the mempool. */
  async start(): Promise<void> {
    const checked = this.integrity.check();
    try {
      await this.sync.catchUp();
      await this.scanner.scanMarked().catch((error) => {
        // A client has aborted the scan.
        if (!(error instanceof WalletError)) throw error;
      });
      await this.scanner.scanMempool();
    } finally {
      // After a failure a later block makes it catch up and go live again.
      this.#settled = true;
    }
    this.filler.continueLater();
    await checked;
    await this.resubmission.submitMissing();
  }

  /** Whether the wallet is at the tip and has processed the mempool that existed when it was opened. */
  get settled(): boolean {
    return this.#settled && this.sync.live;
  }

  /** The running scan of blocks, or the search for payments to addresses that are being derived; null without one. */
  get scanning(): { readonly duration: number; readonly progress: number } | null {
    return this.scanner.scanning ?? this.filler.scanning;
  }

  hasFlag(flag: WalletFlag): boolean {
    return this.store.meta('flags')?.includes(flag) ?? false;
  }

  setFlag(flag: WalletFlag, on: boolean): void {
    const flags = new Set(this.store.meta('flags'));
    if (on) flags.add(flag);
    else flags.delete(flag);
    this.store.write(() => this.store.setMeta('flags', inOrder(flags)));
  }

  /** Unix seconds, 0 while it is locked; null without a passphrase. */
  get unlockedUntil(): number | null {
    return this.vault.encrypted ? this.#unlockTimer.until : null;
  }

  /** Whether it has private keys, or may have, and no passphrase. */
  get unencrypted(): boolean {
    return !this.vault.encrypted && !this.hasFlag('disable_private_keys');
  }

  /** Creates a master key and active descriptors of each address type from it. */
  generateDescriptors(): void {
    const { params, clock, keypool } = this.deps;
    const seed = randomSecretBytes(SEED_SIZE);
    const master = ExtendedPrivateKey.fromSeed(seed);
    seed.fill(0);
    const text = formatExtendedPublicKey(master.neuter(), params.bip32);
    this.store.write(() => {
      this.vault.addKeys([master.key]);
      master.key.wipe();
      const createdAt = unixSeconds(clock);
      for (const internal of [false, true])
        for (const type of ADDRESS_TYPES) {
          const descriptor = ownDescriptor(text, type, internal, params);
          const range = { rangeStart: 0, rangeEnd: keypool, nextIndex: 0 };
          const owned = this.scripts.addDescriptor({ descriptor, createdAt, ...range, internal });
          this.scripts.activate(owned, type, internal);
        }
    });
  }

  newAddress(type: AddressType, label: string): string {
    ensureShortText('label', label);
    this.integrity.ensureSound();
    if (!this.canGetAddresses(false)) walletFail('wallet', 'Error: This wallet has no available keys');
    return this.store.write(() => {
      const { script, address } = this.scripts.newAddress(type, false);
      this.store.setLabel(script, address, label, 'receive');
      return address;
    });
  }

  /** Returns a new change address, which has no entry in the address book. */
  newChangeAddress(type: AddressType): { script: Uint8Array; address: string } {
    this.integrity.ensureSound();
    if (!this.canGetAddresses(true)) walletFail('wallet', 'Error: This wallet has no available keys');
    return this.store.write(() => this.scripts.newAddress(type, true));
  }

  canGetAddresses(internal: boolean): boolean {
    return this.scripts.descriptors().some(({ record }) => record.active !== null && record.internal === internal);
  }

  /** Runs steps in slices; they end with the wallet, and with the signal where one is given. */
  inSlices<T>(steps: Steps<T>, signal: AbortSignal | null = null): Promise<T> {
    return runInSlices(steps, { signal: signal ? AbortSignal.any([this.signal, signal]) : this.signal });
  }

  ensureUnlocked(): void {
    if (this.vault.locked) this.vault.provider();
  }

  /** Throws WalletError unless the keys are unlocked and the rows of the wallet are its own. */
  ensureUnlockedAndSound(): void {
    this.ensureUnlocked();
    this.integrity.ensureSound();
  }

  /**
   * Reserves `size` addresses ahead of each active descriptor, or the default number, and derives them in slices.
   * Resolves when all are derived and their transactions found. When the signal aborts they stay reserved, and the next
   * start derives them.
   */
  async refillKeypool(size: number, signal: AbortSignal): Promise<void> {
    if (size > MAX_KEYPOOL)
      walletFail('invalidParameter', `Invalid parameter, newsize must not exceed ${MAX_KEYPOOL}.`);
    this.ensureUnlockedAndSound();
    this.#reserveActive(size);
    await this.filler.fillReserved(signal);
    await this.filler.lookUpFilled();
  }

  #reserveActive(size?: number): void {
    this.store.write(() => {
      for (const owned of this.scripts.descriptors())
        if (owned.record.active !== null) this.scripts.reserve(owned, size);
    });
  }

  /** Reserves and derives addresses where all of a descriptor have been issued: copies of the wallet know the next ones. */
  #topUpIssued(): void {
    this.store.write(() => {
      for (const owned of this.scripts.descriptors()) {
        const { active, nextIndex, rangeEnd } = owned.record;
        if (active !== null && nextIndex >= rangeEnd) this.scripts.topUp(owned);
      }
    });
  }

  isSpent(outpoint: Outpoint): boolean {
    const { txs } = this.store;
    const coin = txs.coin(outpoint);
    if (coin) return coin.spent !== SpentCode.UNSPENT;
    return txs.spenders(outpoint).some((id) => {
      const { state } = txs.byId(id);
      return state === TxStateCode.CONFIRMED || state === TxStateCode.MEMPOOL || state === TxStateCode.INACTIVE;
    });
  }

  /**
   * Abandons a transaction and its descendants in slices. Throws WalletError where it is unknown, confirmed, conflicted or
   * in the mempool.
   */
  async abandonTransaction(txid: Uint8Array): Promise<void> {
    const { store, ledger, signal } = this;
    if (store.txs.byTxid(txid) === null) walletFail('invalidAddressOrKey', 'Invalid or non-wallet transaction id');
    const abandoned = await runInSlices(ledger.abandonSteps(txid), { signal, around: (slice) => store.write(slice) });
    if (abandoned === null) walletFail('invalidAddressOrKey', 'Transaction not eligible for abandonment');
    this.deps.mempool.abandoned(this.name, abandoned);
  }

  /** Unlocks the keys for a number of seconds. Returns false with a wrong passphrase. */
  async unlock(passphrase: Uint8Array, seconds: number, caller = ''): Promise<boolean> {
    if (!(await this.vault.unlock(passphrase, caller))) return false;
    // Set first: whatever fails later leaves no keys unlocked.
    this.#unlockTimer.start(seconds);
    await this.integrity.checkUnlocked(passphrase, caller);
    if (this.vault.locked || this.integrity.state !== 'sound') return true;
    this.#reserveActive();
    this.filler.fillLater();
    return true;
  }

  lock(): void {
    this.#unlockTimer.stop();
    this.vault.lock();
  }

  /** Seals the keys with a passphrase, and creates new keys, which no unencrypted copy of the file contains. */
  async encrypt(passphrase: Uint8Array, caller = ''): Promise<void> {
    this.integrity.ensureSound();
    // Tracked from then on: the earlier rows contain the unencrypted keys.
    await this.vault.encrypt(passphrase, caller, () => this.integrity.trackChanges());
    // A copy that is still being written contains the unencrypted keys.
    await this.copiesDone();
    await overwritePlainKeys(this.store, () => this.deps.log.warn(PLAIN_KEYS_LEFT, { wallet: this.name }), this.signal);
    try {
      await this.vault.unlock(passphrase, caller);
      if (!this.hasFlag('blank')) this.createDefaultDescriptors();
      await this.integrity.vouch();
    } finally {
      this.lock();
    }
  }

  /** Copies the wallet's file into an empty file, or without private keys into an empty wallet. */
  async copyTo(path: string, { withKeys }: { withKeys: boolean }): Promise<void> {
    const copy = writeCopy({ from: this.store.path, to: path, withKeys });
    this.#copies.add(copy);
    try {
      await copy;
    } finally {
      this.#copies.delete(copy);
    }
  }

  /** Resolves when no copy is being written. */
  async copiesDone(): Promise<void> {
    while (this.#copies.size > 0) await Promise.allSettled(this.#copies);
  }

  close(): void {
    this.#ending.abort(new Error('the wallet is unloaded'));
    this.lock();
    this.store.close();
  }
}

export function identityOf(params: NetworkParams): ChainDatabaseIdentity {
  return { network: params.name, genesisHash: hashToHex(params.consensus.genesisHash) };
}
