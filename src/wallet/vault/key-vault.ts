import { isValidSecret } from '../../crypto/keys.ts';
import { secretCopy } from '../../util/secret-bytes.ts';
import { runInSlices, runSteps, type Steps } from '../../util/slices.ts';
import { MusigNonces } from '../keys/musig-nonces.ts';
import { PrivateKey } from '../keys/private-key.ts';
import { SigningData, type SigningProvider } from '../keys/signing-data.ts';
import type { RowSum } from '../store/row-mac.ts';
import type { SealedMasterKey } from '../store/wallet-meta.ts';
import type { WalletStore } from '../store/wallet-store.ts';
import { WalletDamage, walletFail } from '../wallet-error.ts';
import type { ScryptCost } from './passphrase-key.ts';
import { PassphraseLanes } from './passphrase-lanes.ts';
import { newMasterKey, openMasterKey, openSecret, sealMasterKey, sealSecret } from './sealing.ts';

/** Attempts to seal the keys in slices; rows that change in between spoil an attempt. */
const MAX_ATTEMPTS = 3;
const LOCKED = 'Error: Please enter the wallet passphrase with walletpassphrase first.';

/** Private keys that are decrypted on first use: to decrypt thousands takes long. */
class OpenedKeys extends SigningData {
  readonly #open: (keys: OpenedKeys, id: Uint8Array) => PrivateKey | null;

  constructor(open: (keys: OpenedKeys, id: Uint8Array) => PrivateKey | null) {
    super();
    this.#open = open;
  }

  override privateKey(id: Uint8Array): PrivateKey | null {
    const known = super.privateKey(id);
    if (known) return known;
    const opened = this.#open(this, id);
    if (opened) this.addPrivateKey(opened);
    // Read back from the map: a row may be stored under the id of another key.
    return super.privateKey(id);
  }
}

/** The private keys of a wallet, stored in its file, and sealed where it has a passphrase. */
export class KeyVault {
  readonly #store: WalletStore;
  readonly #signal: AbortSignal;
  /** Scrypt cost of new passphrases. */
  readonly #cost: ScryptCost;
  readonly #lanes: PassphraseLanes;
  /** Nonces of unfinished MuSig2 signatures; wiped together with the keys. */
  readonly musigNonces = new MusigNonces();
  #masterKey: Uint8Array | null = null;
  /** Keys that were used; null while the vault is locked or before the first use. */
  #provider: OpenedKeys | null = null;

  constructor(store: WalletStore, signal: AbortSignal, cost: ScryptCost) {
    this.#store = store;
    this.#signal = signal;
    this.#cost = cost;
    this.#lanes = new PassphraseLanes(signal);
  }

  get encrypted(): boolean {
    return this.#store.meta('encryption') !== null;
  }

  /** Whether the rows have a MAC of the master key; without it they were tampered with. */
  get hasIntegrity(): boolean {
    return this.#store.meta('encryption')?.integrity === true;
  }

  get locked(): boolean {
    return this.encrypted && this.#masterKey === null;
  }

  /** Returns all private keys. Throws WalletError while they are locked. */
  provider(): SigningProvider {
    if (this.locked) walletFail('unlockNeeded', LOCKED);
    return this.#opened();
  }

  /** Returns all private keys, or none while they are locked. */
  available(): SigningProvider {
    return this.locked ? new SigningData() : this.#opened();
  }

  /** Stores keys. Throws WalletError while the vault is locked. */
  addKeys(keys: Iterable<PrivateKey>): void {
    if (this.locked) walletFail('unlockNeeded', LOCKED);
    for (const key of keys) {
      const { id, compressed } = key;
      const data = this.#masterKey ? sealSecret(this.#masterKey, id, key.reveal()) : key.reveal();
      this.#store.keys.storeKey({ id, compressed, data });
    }
  }

  hasKey(id: Uint8Array): boolean {
    return this.#store.keys.hasKey(id);
  }

  /** Seals all keys and locks the vault. `onSealed` is called synchronously after the write. */
  async encrypt(passphrase: Uint8Array, caller = '', onSealed = () => {}): Promise<void> {
    const masterKey = newMasterKey();
    try {
      const encryption = await sealMasterKey(masterKey, passphrase, { cost: this.#cost, caller, integrity: true });
      for (let attempt = 1; !(await this.#writeSealed(masterKey, encryption, attempt)); attempt++);
      onSealed();
    } finally {
      masterKey.fill(0);
    }
    this.lock();
  }

  /**
   * Seals the keys in slices outside of the file, and writes them with one statement. Returns false where rows that the
   * master key covers have changed in between; after MAX_ATTEMPTS it seals without yielding.
   */
  async #writeSealed(masterKey: Uint8Array, encryption: SealedMasterKey, attempt: number): Promise<boolean> {
    const { keys, seals } = this.#store;
    const revision = keys.sealedRevision;
    const isLast = attempt > MAX_ATTEMPTS;
    const signal = this.#signal;
    try {
      keys.clearStagedKeys();
      const sum = isLast ? null : await this.#stageSealed(masterKey, signal);
      return this.#store.write(() => {
        if (this.encrypted) walletFail('wrongEncryptionState', 'Error: running with an encrypted wallet.');
        if (sum && keys.sealedRevision !== revision) return false;
        if (!sum) runSteps(this.#stageKeys(masterKey));
        keys.storeStagedKeys();
        this.#store.setEncryption(encryption);
        if (sum) seals.sealStaged(masterKey, sum);
        else seals.sealWith(masterKey);
        return true;
      });
    } finally {
      keys.clearStagedKeys();
    }
  }

  async #stageSealed(masterKey: Uint8Array, signal: AbortSignal): Promise<RowSum> {
    await runInSlices(this.#stageKeys(masterKey), { signal });
    return this.#store.seals.sumStaged(masterKey, signal);
  }

  /** Returns false with a wrong passphrase; each wrong one delays the next attempt of the same caller. */
  async unlock(passphrase: Uint8Array, caller = ''): Promise<boolean> {
    const opened = await this.#lanes.run(caller, async () => {
      const masterKey = await openMasterKey(this.#store.meta('encryption')!, passphrase, caller);
      if (!masterKey) return null;
      this.#forget();
      if (this.#signal.aborted) masterKey.fill(0);
      this.#signal.throwIfAborted();
      this.#masterKey = masterKey;
      this.#store.seals.useMasterKey(masterKey);
      return true;
    });
    return opened === true;
  }

  /** Returns false with a wrong old passphrase. The new one gets the current scrypt cost. */
  async changePassphrase(old: Uint8Array, next: Uint8Array, caller = ''): Promise<boolean> {
    const changed = await this.#lanes.run(caller, async () => {
      for (;;) {
        const before = this.#store.meta('encryption')!;
        const masterKey = await openMasterKey(before, old, caller);
        if (!masterKey) return null;
        const sealing = { cost: this.#cost, caller, integrity: this.hasIntegrity };
        const encryption = await sealMasterKey(masterKey, next, sealing).finally(() => masterKey.fill(0));
        const isWritten = this.#store.write(() => {
          if (this.#store.meta('encryption')!.sealed !== before.sealed) return false;
          this.#store.setEncryption(encryption);
          return true;
        });
        if (isWritten) return true;
        // The key was sealed again in between: the old passphrase is wrong only if the new seal has another one.
        this.#signal.throwIfAborted();
      }
    });
    return changed === true;
  }

  /** Adds the MAC of the master key to the rows of an old wallet, once they are checked; the vault must be open. */
  async addIntegrity(passphrase: Uint8Array, caller = ''): Promise<void> {
    await this.#lanes.run(caller, async () => {
      if (!this.#masterKey || this.hasIntegrity) return true;
      const masterKey = secretCopy(this.#masterKey);
      try {
        const sealed = this.#store.meta('encryption')!.sealed;
        const encryption = await sealMasterKey(masterKey, passphrase, { cost: this.#cost, caller, integrity: true });
        this.#store.write(() => {
          // The wallet was locked or got another passphrase in between; the next unlock adds the MAC.
          if (!this.#masterKey || this.#store.meta('encryption')!.sealed !== sealed) return;
          this.#store.setEncryption(encryption);
          this.#store.seals.sealWith(masterKey);
        });
        return true;
      } finally {
        masterKey.fill(0);
      }
    });
  }

  /** Decrypts all keys of an unlocked vault, some in each step. Throws WalletDamage where one cannot be read. */
  *openKeys(): Steps<void> {
    const opened = this.#opened();
    for (const page of this.#store.keys.keysInOrder()) {
      for (const { id } of page) opened.privateKey(id);
      yield;
      if (this.#provider !== opened) return;
    }
  }

  /** Forgets keys whose write was rolled back; `ids` are hex. */
  forgetRolledBack(ids: readonly string[]): void {
    for (const id of ids) if (!this.hasKey(Uint8Array.fromHex(id))) this.#provider?.removePrivateKey(id);
  }

  /** Wipes the keys in memory, and the nonces of signatures that were begun with them. */
  lock(): void {
    this.musigNonces.clear();
    this.#forget();
  }

  #forget(): void {
    this.#provider?.wipe();
    this.#provider = null;
    this.#store.seals.useMasterKey(null);
    this.#masterKey?.fill(0);
    this.#masterKey = null;
  }

  #opened(): OpenedKeys {
    this.#provider ??= new OpenedKeys((keys, id) => (keys === this.#provider ? this.#open(id) : null));
    return this.#provider;
  }

  /** Returns null where the wallet has no such key. */
  #open(id: Uint8Array): PrivateKey | null {
    const stored = this.#store.keys.key(id);
    if (!stored) return null;
    const secret = this.#masterKey ? openSecret(this.#masterKey, id, stored.data) : stored.data;
    if (!secret || !isValidSecret(secret)) throw new WalletDamage('a private key cannot be read');
    return PrivateKey.fromOwnedSecret(secret, stored.compressed);
  }

  /** Stages all keys of the file, sealed. */
  *#stageKeys(masterKey: Uint8Array): Steps<void> {
    const { keys } = this.#store;
    for (const page of keys.keysInOrder()) {
      for (const { id, compressed, data } of page) {
        keys.stageKey({ id, compressed, data: sealSecret(masterKey, id, data) });
        data.fill(0);
      }
      yield;
    }
  }
}
