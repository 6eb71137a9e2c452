import { chmodSync, existsSync } from 'node:fs';
import type { ChainCommit } from '../chain/events.ts';
import { resolveLinks } from '../util/confined-path.ts';
import { OperatorError } from '../util/operator-error.ts';
import { noteProgress } from '../util/progress.ts';
import { runInSlices } from '../util/slices.ts';
import { createSealedWallet, createWallet } from './create-wallet.ts';
import { inUse, restoredExists, restoreFile } from './restore-file.ts';
import { signerDescriptors } from './signer/signer-descriptors.ts';
import { Wallet } from './wallet.ts';
import { WalletBackups } from './wallet-backups.ts';
import { WalletBeyondPruned, WalletError, walletFail } from './wallet-error.ts';
import { DEFAULT_WALLET, removeDatabase, WalletFiles } from './wallet-files.ts';
import { logFollowError, WalletFollower } from './wallet-follower.ts';
import { WalletLocks } from './wallet-lock.ts';
import { checkWalletDirectory, type WalletMemory } from './wallet-memory.ts';
import type { NewWallet, WalletDeps } from './wallet-options.ts';
import { unrecognized, type WalletDirectories, type WalletPlace } from './wallet-places.ts';
import type { WalletState } from './wallet-state.ts';

export interface WalletManagerOptions extends WalletDirectories {
  /** Whether to create a wallet where there is none. */
  readonly autocreate: boolean;
  /** Whether the wallets of the list of startup are loaded. */
  readonly loadAtStart?: boolean;
  /** Maximum number of wallets, loaded or not. */
  readonly max: number;
  /** Passphrase of the wallet that is created where there is none; null leaves its keys unencrypted. */
  readonly passphrase: () => Uint8Array | null;
  /** Storage that survives the loss of the wallet directory. */
  readonly known: WalletMemory;
}

const UNENCRYPTED =
  'The private keys of this wallet are not encrypted: set a passphrase with encryptwallet, or unload the wallet where the node needs none.';

const PLAIN = { disablePrivateKeys: false, blank: false, avoidReuse: false };

/** The wallets of a node: which exist, are loaded, are being opened or are missing. */
export class WalletManager {
  readonly files: WalletFiles;
  readonly backups: WalletBackups;
  readonly follower: WalletFollower;
  readonly #autocreate: boolean;
  readonly #loadAtStart: boolean;
  readonly #max: number;
  readonly #passphrase: () => Uint8Array | null;
  #prepared: Promise<void> = Promise.resolve();
  readonly #known: WalletMemory;
  readonly #deps: WalletDeps;
  readonly #wallets = new Map<string, Wallet>();
  /** Names of wallets that are being created or opened. */
  readonly #opening = new Set<string>();
  readonly #locks: WalletLocks;
  readonly #loads = new WeakMap<Wallet, number>();
  readonly #failed = new Set<string>();
  readonly #missing = new Set<string>();
  /** Wallets that need blocks below a loaded UTXO set, by name, with the first of these blocks. */
  readonly #waiting = new Map<string, number>();
  #lastLoad = 0;

  constructor(
    { autocreate, loadAtStart = true, passphrase, max, known, ...directories }: WalletManagerOptions,
    deps: WalletDeps,
  ) {
    const { log, params } = deps;
    this.files = new WalletFiles({ ...directories, log });
    this.#locks = new WalletLocks(this.files);
    this.backups = new WalletBackups({ files: this.files, params, wallet: (name) => this.wallet(name), log });
    this.follower = new WalletFollower(() => this.#wallets.values(), deps);
    this.#autocreate = autocreate;
    this.#loadAtStart = loadAtStart;
    this.#max = max;
    this.#passphrase = passphrase;
    this.#known = known;
    this.#deps = deps;
  }

  /**
   * Loads the wallets of the start list, and creates a wallet where there is none. Throws OperatorError where there
   * were wallets and their directory is gone: a new wallet in its place would look like an empty one.
   */
  open(): void {
    const { log } = this.#deps;
    const known = this.#known.all();
    checkWalletDirectory(this.files.dir, known);
    this.files.makeDir();
    this.files.removeParts();
    const used = [...known].filter(([, inUse]) => inUse).map(([name]) => name);
    if (this.#autocreate && this.files.names().length === 0 && used.length === 0) this.#makeFirst();
    const startup = this.files.startup();
    for (const name of new Set([...startup, ...used])) {
      if (this.#wallets.has(name) || this.#opening.has(name)) continue;
      const place = this.#placeAtStart(name);
      if (place === null) continue;
      const { path } = place;
      if (!place.exists) {
        // The default wallet is on the list without having been requested.
        if (name === DEFAULT_WALLET && !used.includes(name)) continue;
        // It was unloaded before its file was moved away.
        if (known.get(name) === false) {
          this.files.removeFromStartup(name);
          continue;
        }
        this.#missing.add(name);
        log.error('the file of a wallet is missing', {
          wallet: name,
          file: path,
          advice: `restore it, or accept the loss with: obverse forget-wallet ${name}`,
        });
        continue;
      }
      if (!startup.includes(name) || !this.#loadAtStart) continue;
      noteProgress();
      try {
        this.#locks.acquire(name, place);
        this.#add(Wallet.open(path, name, this.#deps, noteProgress));
      } catch (error) {
        this.#locks.release(name);
        if (error instanceof WalletBeyondPruned && error.loadedHeight !== null) {
          this.#waiting.set(name, error.from);
          log.warn('a wallet opens when the chain behind the loaded UTXO set is validated', {
            wallet: name,
            from: error.from,
            loadedHeight: error.loadedHeight,
          });
          continue;
        }
        this.#failed.add(name);
        log.error('a wallet cannot be opened', { wallet: name, error });
      }
    }
    this.#rememberFiles(known);
    for (const wallet of this.#wallets.values())
      if (this.#isReported(wallet))
        log.warn('the private keys of a wallet are not encrypted', { wallet: wallet.name, advice: UNENCRYPTED });
  }

  /** Returns the place of a wallet that the start finds; null where the settings do not allow its path. */
  #placeAtStart(name: string): WalletPlace | null {
    try {
      return this.files.place(name);
    } catch (error) {
      if (!(error instanceof WalletError)) throw error;
      this.#failed.add(name);
      this.#deps.log.error('a wallet cannot be opened', { wallet: name, error });
      return null;
    }
  }

  /** Resolves when the automatically created wallet exists. Rejects where it cannot be encrypted. */
  prepared(): Promise<void> {
    return this.#prepared;
  }

  #makeFirst(): void {
    const { log } = this.#deps;
    const place = this.files.place(DEFAULT_WALLET);
    const { path } = place;
    const passphrase = this.#passphrase();
    if (passphrase === null) {
      this.#locks.acquire(DEFAULT_WALLET, place);
      void this.#add(createWallet(path, DEFAULT_WALLET, PLAIN, this.#deps));
      log.warn('wallet created; its keys are not encrypted until encryptwallet is called', {
        wallet: DEFAULT_WALLET,
      });
      return;
    }
    this.#prepared = this.#exclusively(DEFAULT_WALLET, place, async () => {
      try {
        await this.#add(await createSealedWallet(path, DEFAULT_WALLET, { ...PLAIN, passphrase }, this.#deps));
        log.info('encrypted wallet created', { wallet: DEFAULT_WALLET });
      } finally {
        passphrase.fill(0);
      }
    });
  }

  /** The automatically created wallet is reported on mainnet until it is encrypted. */
  #isReported(wallet: Wallet): boolean {
    return this.#deps.params.name === 'main' && wallet.name === DEFAULT_WALLET && wallet.unencrypted;
  }

  /** Updates the stored names from the files; missing wallets that were in use stay. */
  #rememberFiles(known: ReadonlyMap<string, boolean>): void {
    const names = this.files.names();
    for (const name of names)
      this.#known.remember(name, this.#wallets.has(name) || this.#failed.has(name) || this.#waiting.has(name));
    // An unloaded wallet may be moved away.
    for (const [name, inUse] of known)
      if (!inUse && !names.includes(name) && !this.#hasFile(name)) this.#known.forget(name);
  }

  /** Whether a wallet outside of the directory of wallets has its file. */
  #hasFile(name: string): boolean {
    try {
      return this.files.place(name).exists;
    } catch {
      return false;
    }
  }

  /** Names of wallets on the start list that failed to load. */
  get failed(): string[] {
    return [...this.#failed];
  }

  /** Names of wallets on the start list whose files are missing. */
  get missing(): string[] {
    return [...this.#missing];
  }

  /** Names of wallets that open when the chain behind a loaded UTXO set is validated. */
  get waiting(): string[] {
    return [...this.#waiting.keys()];
  }

  /** Lowest block that a wallet has yet to process; null if there is none. */
  get lowestNeeded(): number | null {
    const needed = [...this.#waiting.values()];
    for (const { sync, scanner } of this.#wallets.values())
      for (const height of [sync.live ? null : sync.height + 1, scanner.scansFrom])
        if (height !== null) needed.push(height);
    return needed.length === 0 ? null : Math.min(...needed);
  }

  get states(): WalletState[] {
    return Array.from(this.#wallets.values(), (wallet) => ({
      name: wallet.name,
      load: this.#loads.get(wallet)!,
      path: wallet.store.path,
      unlockedUntil: wallet.unlockedUntil,
      unencrypted: wallet.unencrypted,
      scanning: wallet.scanning,
      live: wallet.sync.live,
      settled: wallet.settled,
      height: wallet.sync.height,
      integrity: wallet.integrity.state,
      warnings: [...wallet.integrity.warnings, ...(this.#isReported(wallet) ? [UNENCRYPTED] : [])],
    }));
  }

  /** Returns a loaded wallet. Throws WalletError. */
  wallet(name: string): Wallet {
    return this.#wallets.get(name) ?? walletFail('walletNotFound', 'Requested wallet does not exist or is not loaded');
  }

  async createWallet(name: string, options: NewWallet, loadOnStartup: boolean | null): Promise<void> {
    if (name === '') walletFail('invalidParameter', 'Wallet name cannot be empty');
    if (options.externalSigner && !options.disablePrivateKeys)
      walletFail('wallet', 'Private keys must be disabled when using an external signer');
    if (options.passphrase.length > 0 && options.disablePrivateKeys)
      walletFail(
        'wallet',
        'Passphrase provided but private keys are disabled. A passphrase is only used to encrypt private keys, so cannot be used for wallets with private keys disabled.',
      );
    const place = this.files.place(name);
    const { path, shown } = place;
    if (place.exists || this.#opening.has(name))
      walletFail(
        'wallet',
        `Wallet file verification failed. Failed to create database path '${shown}'. Database already exists.`,
      );
    // A new wallet under this name would pass for the one whose file is missing.
    if (this.#missing.has(name) || this.#known.all().get(name) === true)
      walletFail(
        'wallet',
        `Error: this node has a wallet "${name}" whose file is missing: restore it with restorewallet, or stop the node and accept the loss with: obverse forget-wallet ${name}`,
      );
    this.#ensureRoom();
    await this.#exclusively(name, place, async () => {
      const { signer, params } = this.#deps;
      // Requested first: without them there is no wallet.
      const signers = options.externalSigner ? await signerDescriptors(signer, params) : [];
      await this.#add(
        options.passphrase.length === 0
          ? createWallet(path, name, options, this.#deps, signers)
          : await createSealedWallet(path, name, options, this.#deps),
      );
    });
    this.files.remember(name, loadOnStartup);
  }

  async loadWallet(name: string, loadOnStartup: boolean | null): Promise<void> {
    if (this.#wallets.has(name)) walletFail('walletAlreadyLoaded', `Wallet "${name}" is already loaded.`);
    if (this.#opening.has(name)) walletFail('wallet', 'Wallet already loading.');
    const place = this.files.place(name);
    const { shown, folder } = place;
    if (!place.exists) {
      const isDirectory = folder !== null && existsSync(folder);
      const problem = isDirectory
        ? unrecognized(shown)
        : `Failed to load database path '${shown}'. Path does not exist.`;
      walletFail('walletNotFound', `Wallet file verification failed. ${problem}`);
    }
    await this.#exclusively(name, place, () => this.#load(place, name));
    this.files.remember(name, loadOnStartup);
  }

  async unloadWallet(name: string, loadOnStartup: boolean | null): Promise<void> {
    await this.wallet(name).copiesDone();
    const wallet = this.wallet(name);
    wallet.scanner.ensureNotScanning();
    this.#wallets.delete(name);
    wallet.close();
    this.#locks.release(name);
    this.#known.remember(name, false);
    this.files.remember(name, loadOnStartup);
  }

  /** Restores a wallet from a backup and loads it. */
  async restoreWallet(name: string, file: string, loadOnStartup: boolean | null): Promise<void> {
    if (name === '') walletFail('invalidParameter', 'Wallet name cannot be empty');
    const backup = this.files.places.backup(file);
    if (!existsSync(backup)) walletFail('invalidParameter', 'Backup file does not exist');
    for (const { store } of this.#wallets.values()) if (resolveLinks(store.path) === backup) inUse();
    const place = this.files.place(name);
    if (place.exists || this.#opening.has(name)) restoredExists(place);
    this.#ensureRoom();
    await this.#exclusively(name, place, async () => {
      await restoreFile(backup, place);
      try {
        await this.#load(place, name);
      } catch (error) {
        removeDatabase(place.path);
        throw error;
      }
    });
    this.files.remember(name, loadOnStartup);
  }

  /** Called after a move of the chain is committed. */
  afterChainCommit(commit: ChainCommit): void {
    this.openWaiting();
    this.follower.afterChainCommit(commit);
  }

  close(): void {
    this.follower.close();
    for (const wallet of this.#wallets.values()) wallet.close();
    this.#wallets.clear();
    this.#locks.releaseAll();
  }

  /** Opens the wallets whose blocks were missing below a loaded UTXO set, once that is validated and indexed. */
  openWaiting(): void {
    const { log, signal, chain } = this.#deps;
    if (this.#waiting.size === 0 || chain.loadedHeight !== null || chain.buildingIndexes) return;
    for (const name of this.#waiting.keys()) {
      if (this.#opening.has(name)) continue;
      log.info('a wallet opens, since the chain behind the loaded UTXO set is validated', { wallet: name });
      this.#reopen(name).catch((error) => {
        if (signal.aborted) return;
        // It no longer holds back pruning, and is not tried again with each block.
        this.#waiting.delete(name);
        this.#failed.add(name);
        log.error('a wallet cannot be opened', { wallet: name, error });
      });
    }
  }

  async #reopen(name: string): Promise<void> {
    const place = this.files.place(name);
    await this.#exclusively(name, place, () => this.#load(place, name));
  }

  async #load({ path, folder }: WalletPlace, name: string): Promise<void> {
    let wallet: Wallet;
    try {
      if (folder !== null) protectFile(path);
      wallet = await runInSlices(Wallet.openSteps(path, name, this.#deps), { signal: this.#deps.signal });
    } catch (error) {
      if (error instanceof WalletBeyondPruned) return walletFail('wallet', `Wallet loading failed. ${error.message}`);
      if (!(error instanceof OperatorError)) throw error;
      return walletFail('walletNotFound', `Wallet file verification failed. ${error.message}.`);
    }
    await this.#add(wallet);
  }

  /** Resolves when the wallet has caught up. */
  #add(wallet: Wallet): Promise<void> {
    this.#loaded(wallet);
    return wallet.start().catch((error) => {
      if (!wallet.signal.aborted) logFollowError(this.#deps.log, wallet, error);
    });
  }

  #loaded(wallet: Wallet): void {
    this.#failed.delete(wallet.name);
    this.#missing.delete(wallet.name);
    this.#waiting.delete(wallet.name);
    this.#loads.set(wallet, ++this.#lastLoad);
    this.#wallets.set(wallet.name, wallet);
    this.#known.remember(wallet.name, true);
  }

  /** Throws WalletError where the number of wallets has reached the maximum. */
  #ensureRoom(): void {
    const names = new Set([...this.files.names(), ...this.#wallets.keys(), ...this.#opening]);
    if (names.size >= this.#max)
      walletFail('wallet', `Error: there are ${names.size} wallets already; wallet.max allows ${this.#max}.`);
  }

  /** Holds the name and the directory of a wallet meanwhile, and the directory for as long as the wallet is loaded. */
  async #exclusively(name: string, place: WalletPlace, work: () => Promise<void>): Promise<void> {
    this.#opening.add(name);
    let undo = () => {};
    try {
      undo = this.#locks.acquire(name, place);
      await work();
    } finally {
      if (!this.#wallets.has(name)) undo();
      this.#opening.delete(name);
    }
  }
}

/** The file may have been copied to its place, with a mode that lets other users read it. */
function protectFile(path: string): void {
  try {
    chmodSync(path, 0o600);
  } catch {
    // It belongs to another user; whether it can be opened shows next.
  }
}
