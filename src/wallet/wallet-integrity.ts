import { sleep } from '../util/abort.ts';
import type { Log } from '../util/log.ts';
import { runInSlices } from '../util/slices.ts';
import type { NodeVoucher } from './node-voucher.ts';
import { deriveAgain } from './scripts/check-descriptor.ts';
import { checkStoredScripts } from './scripts/check-scripts.ts';
import type { OwnedDescriptor } from './scripts/owned-descriptor.ts';
import type { WalletScripts } from './scripts/wallet-scripts.ts';
import type { WalletStore } from './store/wallet-store.ts';
import type { KeyVault } from './vault/key-vault.ts';
import { WalletDamage, WalletError, walletFail } from './wallet-error.ts';

/**
 * `checking`: not checked yet. `unverified`: an encrypted wallet that this node does not vouch for, until it is
 * unlocked. `tampered`: its rows do not match its keys or its MACs; the wallet gives out no addresses and signs
 * nothing.
 */
export type IntegrityState = 'checking' | 'sound' | 'unverified' | 'tampered';

export interface WalletIntegrityDeps {
  readonly name: string;
  readonly store: WalletStore;
  readonly vault: KeyVault;
  readonly scripts: WalletScripts;
  readonly voucher: NodeVoucher;
  readonly watchOnly: () => boolean;
  readonly log: Log;
  readonly signal: AbortSignal;
}

const UNVERIFIED =
  'The rows of this encrypted wallet are not verified on this node: unlock it once with walletpassphrase before it gives addresses.';

/**
 * Verifies that the rows of a wallet's file are those that the wallet wrote. See
 * docs/decisions/001-wallet-integrity.md.
 */
export class WalletIntegrity {
  readonly #deps: WalletIntegrityDeps;
  #state: IntegrityState = 'checking';
  #problem: string | null = null;
  #checked: Promise<void> | null = null;
  #vouching: Promise<void> | null = null;
  /** Whether the MAC of this node is valid. */
  #vouched = false;

  constructor(deps: WalletIntegrityDeps) {
    this.#deps = deps;
  }

  get state(): IntegrityState {
    return this.#state;
  }

  /** Sentences for the operator; none for a sound wallet. */
  get warnings(): string[] {
    if (this.#state === 'unverified') return [UNVERIFIED];
    return this.#state === 'tampered' ? [this.#tamperedText()] : [];
  }

  /** Trusts a wallet that this process has just created. */
  trust(): void {
    this.#state = 'sound';
  }

  /**
   * Runs the immediate checks of a loaded file, and tracks changes to the rows of an encrypted wallet from now on.
   * Throws WalletDamage.
   */
  startChecking(): void {
    const { name, store, vault, voucher, watchOnly } = this.#deps;
    if (watchOnly() && (vault.encrypted || store.keys.hasKeys()))
      throw new WalletDamage('it has private keys though they are disabled');
    if (vault.encrypted) this.trackChanges();
    else if (voucher.encrypted.has(name))
      throw new WalletDamage(
        'it is not encrypted, but the wallet of that name was when this node last loaded it; another wallet must be restored under another name',
      );
  }

  /** Keeps the MACs up to date from now on. */
  trackChanges(): void {
    const { name, store, voucher } = this.#deps;
    store.seals.follow(voucher.key, name);
  }

  /**
   * Checks a loaded wallet as far as possible while it is locked. Never rejects; later calls wait for the first one.
   */
  check(): Promise<void> {
    this.#checked ??= this.#guarded(async () => {
      const { store, vault, signal, watchOnly } = this.#deps;
      if (vault.encrypted) {
        const seal = await store.seals.checkNode(signal);
        if (seal === 'interrupted') return;
        if (seal === 'invalid') throw new WalletDamage('its rows do not match their MAC of this node');
        this.#vouched = seal === 'valid';
        this.#passed(this.#vouched ? 'sound' : 'unverified');
        return;
      }
      await runInSlices(vault.openKeys(), { signal });
      // Active descriptors first: the wallet gives out no addresses until they are checked.
      if (!watchOnly()) await this.#derive(({ record }) => record.active !== null);
      this.#passed('sound');
      if (!watchOnly()) void this.#guarded(() => this.#derive(({ record }) => record.active === null));
    });
    return this.#checked;
  }

  /** Resolves when a running check has ended. */
  get checked(): Promise<void> {
    return this.#checked ?? Promise.resolve();
  }

  /**
   * Checks a wallet whose keys were just opened, and vouches for it where that was not possible before. Never rejects.
   */
  async checkUnlocked(passphrase: Uint8Array, caller: string): Promise<void> {
    await this.checked;
    await this.#guarded(async () => {
      const { name, store, vault, signal, log } = this.#deps;
      if (this.#state === 'tampered') {
        log.error('a wallet that failed its integrity check was unlocked', { wallet: name, problem: this.#problem });
        return;
      }
      const seal = await store.seals.checkMaster(signal);
      // The wallet was locked or unlocked again in between.
      if (seal === 'interrupted') return;
      if (seal !== 'valid' && (seal === 'invalid' || vault.hasIntegrity))
        throw new WalletDamage('its descriptors and keys do not match their MAC of the master key');
      if (!this.#vouched && seal === 'valid' && store.seals.vouchedByThisNode)
        throw new WalletDamage('its MAC of this node was removed');
      const earlierVersion = seal === 'absent';
      await this.#derive(({ record }) => earlierVersion || record.active !== null);
      if (earlierVersion) await vault.addIntegrity(passphrase, caller);
      this.#passed('sound');
      if (!this.#vouched) this.#vouching ??= this.#vouchLater().finally(() => (this.#vouching = null));
    });
  }

  /** Computes the MAC of this node over the current rows; the vault must be open. */
  async vouch(): Promise<void> {
    const { name, store, voucher, signal } = this.#deps;
    this.#vouched = await store.seals.vouch(signal);
    if (this.#vouched) voucher.encrypted.set(name, true);
  }

  /** Throws WalletError unless the wallet may give out addresses and sign. */
  ensureSound(): void {
    if (this.#state === 'sound') return;
    if (this.#state === 'tampered') walletFail('wallet', `Error: ${this.#tamperedText()}`);
    if (this.#deps.vault.encrypted) walletFail('unlockNeeded', `Error: ${UNVERIFIED}`);
    walletFail('wallet', 'Error: The wallet is not checked yet, or it could not be: see the log of the node.');
  }

  /** Reports that the rows do not match the keys. */
  fail(problem: string): void {
    const { name, log } = this.#deps;
    this.#state = 'tampered';
    this.#problem = problem;
    log.error('a wallet fails its integrity check: it gives no addresses and signs nothing; restore it from a backup', {
      wallet: name,
      problem,
    });
  }

  /** A problem that was found in the meantime stays. */
  #passed(state: 'sound' | 'unverified'): void {
    if (this.#state !== 'tampered') this.#state = state;
  }

  #tamperedText(): string {
    return `The wallet fails its integrity check (${this.#problem}): it gives no addresses and signs nothing. Restore it from a backup.`;
  }

  /** Scripts are checked in the background: addresses are derived from descriptors alone. */
  #vouchLater(): Promise<void> {
    return this.#guarded(async () => {
      await this.#steps(checkStoredScripts(this.#deps.scripts, this.#deps.store.keys));
      await this.vouch();
    });
  }

  async #derive(isMeant: (owned: OwnedDescriptor) => boolean): Promise<void> {
    const { scripts, vault } = this.#deps;
    for (const owned of scripts.descriptors()) {
      if (!isMeant(owned)) continue;
      // Its record may change in between, or an import may replace the descriptor.
      await this.#steps(deriveAgain(owned, () => vault.provider()));
    }
  }

  async #steps(steps: Generator<void, void>): Promise<void> {
    for (const _ of steps) await sleep(0, this.#deps.signal);
  }

  /**
   * Runs a check and sets the state by its result. A check that a lock or the end of the node interrupts leaves the
   * state unchanged.
   */
  async #guarded(check: () => Promise<void>): Promise<void> {
    try {
      await check();
    } catch (error) {
      if (this.#deps.signal.aborted) return;
      if (error instanceof WalletError && error.kind === 'unlockNeeded') return;
      if (error instanceof WalletDamage) this.fail(error.message);
      // The state is unchanged: the disk may be full, or a file temporarily unreadable.
      else this.#deps.log.error('a wallet could not be checked', { wallet: this.#deps.name, error });
    }
  }
}
