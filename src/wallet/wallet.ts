import { randomSecretBytes } from '../crypto/random-secret.ts';
import type { NetworkParams } from '../params/network-params.ts';
import { hashToHex } from '../primitives/hash.ts';
import type { Outpoint } from '../primitives/outpoint.ts';
import type { ChainDatabaseIdentity } from '../storage/database.ts';
import { type Clock, unixSeconds } from '../util/clock.ts';
import { Exclusive } from '../util/exclusive.ts';
import type { Log } from '../util/log.ts';
import { OperatorError } from '../util/operator-error.ts';
import { runInSlices, runSteps, type Steps } from '../util/slices.ts';
import { KeypoolFiller } from './keypool-filler.ts';
import { ExtendedPrivateKey, formatExtendedPublicKey } from './keys/extended-key.ts';
import { Ledger } from './ledger/ledger.ts';
import { completeUnfinished } from './ledger/whole-transaction.ts';
import type { NodeVoucher } from './node-voucher.ts';
import { ADDRESS_TYPES, type AddressType, ownDescriptor } from './scripts/own-descriptors.ts';
import { WalletScripts } from './scripts/wallet-scripts.ts';
import { SpentCode, TxStateCode } from './store/wallet-schema.ts';
import { WalletStore } from './store/wallet-store.ts';
import { KeyVault } from './vault/key-vault.ts';
import { scryptCostOf } from './vault/passphrase-key.ts';
import type { WalletChain, WalletFees, WalletMempool } from './wallet-chain.ts';
import { WalletDamage, WalletError, walletFail } from './wallet-error.ts';
import { flagsOf, inOrder, type WalletFlag } from './wallet-flags.ts';
import { WalletIntegrity } from './wallet-integrity.ts';
import { WalletScanner } from './wallet-scanner.ts';
import { WalletSync } from './wallet-sync.ts';
import { ensureShortText } from './wallet-text.ts';
import { writeCopy } from './write-copy.ts';

export interface WalletDeps {
  readonly params: NetworkParams;
  readonly chain: WalletChain;
  readonly mempool: WalletMempool;
  readonly fees: WalletFees;
  readonly clock: Clock;
  readonly log: Log;
  /** Indexes that are looked ahead of the last used one. */
  readonly keypool: number;
  /** Vouches for encrypted wallets while they are locked. */
  readonly voucher: NodeVoucher;
  /** Ends what goes on for longer. */
  readonly signal: AbortSignal;
}

/** How a wallet is made. */
export interface NewWallet {
  readonly disablePrivateKeys: boolean;
  readonly blank: boolean;
  readonly avoidReuse: boolean;
  /** UTF-8, which the caller overwrites; empty for a wallet whose keys are not sealed. */
  readonly passphrase: Uint8Array;
  /** Who makes it, which decides whose turn the passphrase takes. */
  readonly caller?: string;
}

export const SEED_SIZE = 32;
/** Addresses of each source that a call may reserve ahead; ten times what users of Core commonly ask for. */
const MAX_KEYPOOL = 100_000;
/** Calls that may wait for those before them. */
const MAX_WAITING = 200;

/** A loaded wallet. The single writer of its file. */
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
  readonly deps: WalletDeps;
  /** What changes the wallet in several slices, or chooses of its coins, is done one at a time. */
  readonly exclusive = new Exclusive(MAX_WAITING);
  readonly #ending = new AbortController();
  readonly signal: AbortSignal;
  readonly #copies = new Set<Promise<void>>();
  #unlockedUntil = 0;
  #settled = false;
  #relock: ReturnType<typeof setTimeout> | null = null;

  private constructor(name: string, store: WalletStore, deps: WalletDeps) {
    this.name = name;
    this.store = store;
    this.deps = deps;
    this.signal = AbortSignal.any([deps.signal, this.#ending.signal]);
    const { params, clock, chain, mempool, keypool, voucher, log } = deps;
    this.vault = new KeyVault(store, this.signal, scryptCostOf(params.name));
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
    this.filler = new KeypoolFiller({ store, scripts, sync, scanner, signal, onError });
    this.sync = sync;
    this.scanner = scanner;
    const { vault } = this;
    const watchOnly = () => this.hasFlag('disable_private_keys');
    this.integrity = new WalletIntegrity({ name, store, vault, scripts, voucher, watchOnly, log, signal });
  }

  /** Makes a wallet whose keys are not sealed, or that has none. Throws where its file exists. */
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

  /** Gives the wallet keys of its own, unless it is to have none. */
  createDefaultDescriptors(): void {
    if (this.hasFlag('blank') || this.hasFlag('disable_private_keys')) return;
    this.generateDescriptors();
    this.filler.fillLater();
  }

  /** Opens a wallet at once. Throws OperatorError on a file that is none. */
  static open(path: string, name: string, deps: WalletDeps, onStep?: () => void): Wallet {
    return runSteps(Wallet.openSteps(path, name, deps), onStep);
  }

  /** The same in steps; the wallet catches up with the chain in a while. Closes the file where they are given up. */
  static *openSteps(path: string, name: string, deps: WalletDeps): Steps<Wallet> {
    const store = WalletStore.open(path, identityOf(deps.params));
    let opened = false;
    try {
      const wallet = new Wallet(name, store, deps);
      yield* wallet.scripts.loadSteps();
      yield* wallet.sync.loadSteps();
      wallet.integrity.startChecking();
      store.write(() => store.unlockAll({ persistent: false }));
      yield* wallet.ledger.forgetMempool();
      yield* completeUnfinished(wallet);
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

  /** Catches up with the chain, and learns of what is in the mempool; resolves then. */
  async start(): Promise<void> {
    const checked = this.integrity.check();
    try {
      await this.sync.catchUp();
      await this.scanner.scanMarked().catch((error) => {
        // Somebody has stopped it.
        if (!(error instanceof WalletError)) throw error;
      });
      await this.scanner.scanMempool();
    } finally {
      // Where that fails it catches up with a later block, and is live again.
      this.#settled = true;
    }
    await checked;
    await this.resubmitTransactions();
    this.filler.fillLater();
  }

  /** It stands on the tip, and has seen what was in the mempool when it was opened. */
  get settled(): boolean {
    return this.#settled && this.sync.live;
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
    return this.vault.encrypted ? this.#unlockedUntil : null;
  }

  /** It has private keys, or may have, and no passphrase. */
  get unencrypted(): boolean {
    return !this.vault.encrypted && !this.hasFlag('disable_private_keys');
  }

  /** A new master key, and a source of each type of address from it. */
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

  /** Of change, so that it is in no book. */
  newChangeAddress(type: AddressType): { script: Uint8Array; address: string } {
    this.integrity.ensureSound();
    if (!this.canGetAddresses(true)) walletFail('wallet', 'Error: This wallet has no available keys');
    return this.store.write(() => this.scripts.newAddress(type, true));
  }

  canGetAddresses(internal: boolean): boolean {
    return this.scripts.descriptors().some(({ record }) => record.active !== null && record.internal === internal);
  }

  /** Runs steps in slices; they end with the wallet, and where a signal is given with that. */
  inSlices<T>(steps: Steps<T>, signal: AbortSignal | null = null): Promise<T> {
    return runInSlices(steps, { signal: signal ? AbortSignal.any([this.signal, signal]) : this.signal });
  }

  ensureUnlocked(): void {
    if (this.vault.locked) this.vault.provider();
  }

  /** Throws WalletError unless keys are open and the rows of the wallet are those that it wrote. */
  ensureUnlockedAndSound(): void {
    this.ensureUnlocked();
    this.integrity.ensureSound();
  }

  /**
   * Reserves addresses ahead, `size` of each source or as many as usual, and derives them in slices. Resolves when all
   * are there and what concerns them is found. When the signal aborts they stay reserved, and the next start derives them.
   */
  async refillKeypool(size: number, signal: AbortSignal): Promise<void> {
    if (size > MAX_KEYPOOL)
      walletFail('invalidParameter', `Invalid parameter, newsize must not exceed ${MAX_KEYPOOL}.`);
    this.ensureUnlockedAndSound();
    this.#reserveActive(size);
    await this.filler.fill(signal);
    await this.filler.lookUpFilled();
  }

  #reserveActive(size?: number): void {
    this.store.write(() => {
      for (const owned of this.scripts.descriptors())
        if (owned.record.active !== null) this.scripts.reserve(owned, size);
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

  abandonTransaction(txid: Uint8Array): void {
    if (this.store.txs.byTxid(txid) === null) walletFail('invalidAddressOrKey', 'Invalid or non-wallet transaction id');
    const abandoned: Uint8Array[] = [];
    if (!this.store.write(() => this.ledger.abandonTransaction(txid, (each) => abandoned.push(each))))
      walletFail('invalidAddressOrKey', 'Transaction not eligible for abandonment');
    this.deps.mempool.abandoned(this.name, abandoned);
  }

  /** Opens the keys for so many seconds. False with a wrong passphrase. */
  async unlock(passphrase: Uint8Array, seconds: number, caller = ''): Promise<boolean> {
    if (!(await this.vault.unlock(passphrase, caller))) return false;
    // First of all, so that whatever fails leaves no keys open.
    this.#unlockedUntil = unixSeconds(this.deps.clock) + seconds;
    if (this.#relock) clearTimeout(this.#relock);
    this.#relockIn(seconds * 1000);
    await this.integrity.checkUnlocked(passphrase, caller);
    if (this.vault.locked || this.integrity.state !== 'sound') return true;
    this.#reserveActive();
    this.filler.fillLater();
    return true;
  }

  /** A timer counts no further than 24 days. */
  #relockIn(ms: number): void {
    const step = Math.min(ms, 1_000_000_000);
    this.#relock = setTimeout(() => (ms > step ? this.#relockIn(ms - step) : this.lock()), step);
    this.#relock.unref();
  }

  lock(): void {
    if (this.#relock) clearTimeout(this.#relock);
    this.#relock = null;
    this.#unlockedUntil = 0;
    this.vault.lock();
  }

  /** Seals the keys with a passphrase, and takes new ones, which no unsealed copy of the file has. */
  async encrypt(passphrase: Uint8Array, caller = ''): Promise<void> {
    this.integrity.ensureSound();
    // Followed from then on, as the rows of before hold the open keys.
    await this.vault.encrypt(passphrase, caller, () => this.integrity.trackChanges());
    // Whoever reads the file as it was keeps its open keys there.
    await this.copiesDone();
    this.store.vacuum();
    try {
      await this.vault.unlock(passphrase, caller);
      if (!this.hasFlag('blank')) this.createDefaultDescriptors();
      await this.integrity.vouch();
    } finally {
      this.lock();
    }
  }

  /** Puts transactions of ours that wait for a block back into the mempool. */
  async resubmitTransactions(): Promise<void> {
    const { txs } = this.store;
    for (const { id, txid, coinbase } of txs.unconfirmed()) {
      if (this.signal.aborted) return;
      // It may have been given up or removed while another was handed in.
      if (txs.byTxid(txid)?.state !== TxStateCode.INACTIVE || coinbase || txs.mempoolConflicts(id).length > 0) continue;
      const { status } = await this.deps.mempool.broadcast(txs.raw(id));
      this.deps.log.debug('a transaction of a wallet is handed in again', { txid: hashToHex(txid), status });
    }
  }

  /** Writes a copy of its file, into one that is empty, or without its private keys into a wallet that has nothing yet. */
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
