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

/** How often sealing begins again because rows changed meanwhile. */
const MAX_ATTEMPTS = 3;
const LOCKED = 'Error: Please enter the wallet passphrase with walletpassphrase first.';

/** Keys of a vault, each of which is opened when it is asked for first: to open thousands takes a while. */
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
    // Not the one that was opened: a row may stand under the id of another key.
    return super.privateKey(id);
  }
}

/** The private keys of a wallet: in its file, sealed where there is a passphrase. */
export class KeyVault {
  readonly #store: WalletStore;
  readonly #signal: AbortSignal;
  /** Of passphrases that are set from now on. */
  readonly #cost: ScryptCost;
  readonly #lanes: PassphraseLanes;
  /** Of signatures that wait for others; wiped whenever the keys are. */
  readonly musigNonces = new MusigNonces();
  #masterKey: Uint8Array | null = null;
  /** Keys that were used; null while the vault is locked or was not used yet. */
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

  /** The rows of the wallet have a MAC of the master key: one without it was tampered with. */
  get hasIntegrity(): boolean {
    return this.#store.meta('encryption')?.integrity === true;
  }

  get locked(): boolean {
    return this.encrypted && this.#masterKey === null;
  }

  /** All private keys. Throws WalletError while they are locked. */
  provider(): SigningProvider {
    if (this.locked) walletFail('unlockNeeded', LOCKED);
    return this.#opened();
  }

  /** All private keys, or none while they are locked. */
  available(): SigningProvider {
    return this.locked ? new SigningData() : this.#opened();
  }

  /** Stores keys. Throws WalletError while the vault is locked. */
  addKeys(keys: Iterable<PrivateKey>): void {
    if (this.locked) walletFail('unlockNeeded', LOCKED);
    for (const key of keys) {
      const { id, compressed } = key;
      const data = this.#masterKey ? sealSecret(this.#masterKey, id, key.reveal()) : key.reveal();
      this.#store.keys.putKey({ id, compressed, data });
    }
  }

  hasKey(id: Uint8Array): boolean {
    return this.#store.keys.hasKey(id);
  }

  /** Seals all keys; they are locked then. `onSealed` is called in the same turn as they are written. */
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
   * Seals the keys in slices beside the file, and writes them at once. False where rows that the master key covers have
   * changed meanwhile; after some attempts all is done in one piece.
   */
  async #writeSealed(masterKey: Uint8Array, encryption: SealedMasterKey, attempt: number): Promise<boolean> {
    const { keys, seals } = this.#store;
    const revision = keys.sealedRevision;
    const isLast = attempt > MAX_ATTEMPTS;
    const signal = this.#signal;
    try {
      keys.clearStaged();
      const sum = isLast ? null : await this.#stageSealed(masterKey, signal);
      return this.#store.write(() => {
        if (this.encrypted) walletFail('wrongEncryptionState', 'Error: running with an encrypted wallet.');
        if (sum && keys.sealedRevision !== revision) return false;
        if (!sum) runSteps(this.#stageKeys(masterKey));
        keys.putStaged();
        this.#store.setMeta('encryption', encryption);
        if (sum) seals.sealStaged(masterKey, sum);
        else seals.sealWith(masterKey);
        return true;
      });
    } finally {
      keys.clearStaged();
    }
  }

  async #stageSealed(masterKey: Uint8Array, signal: AbortSignal): Promise<RowSum> {
    await runInSlices(this.#stageKeys(masterKey), { signal });
    return this.#store.seals.sumStaged(masterKey, signal);
  }

  /** False with a wrong passphrase, which takes longer each time, for the same caller. */
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

  /** False with a wrong old passphrase. The new one has the cost of today, whatever the old one had. */
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
          this.#store.setMeta('encryption', encryption);
          return true;
        });
        if (isWritten) return true;
        // It was sealed again meanwhile: the old passphrase is wrong only if that was with another one.
        this.#signal.throwIfAborted();
      }
    });
    return changed === true;
  }

  /** Gives the rows of a wallet of an earlier version their MAC, once they are checked; the vault must be open. */
  async addIntegrity(passphrase: Uint8Array, caller = ''): Promise<void> {
    await this.#lanes.run(caller, async () => {
      if (!this.#masterKey || this.hasIntegrity) return true;
      const masterKey = secretCopy(this.#masterKey);
      try {
        const sealed = this.#store.meta('encryption')!.sealed;
        const encryption = await sealMasterKey(masterKey, passphrase, { cost: this.#cost, caller, integrity: true });
        this.#store.write(() => {
          // Locked or given another passphrase meanwhile: the next unlock does it.
          if (!this.#masterKey || this.#store.meta('encryption')!.sealed !== sealed) return;
          this.#store.setMeta('encryption', encryption);
          this.#store.seals.sealWith(masterKey);
        });
        return true;
      } finally {
        masterKey.fill(0);
      }
    });
  }

  /** Opens all keys of an unlocked vault, some a step. Throws WalletDamage where one cannot be read. */
  *openKeys(): Steps<void> {
    const opened = this.#opened();
    for (const page of this.#store.keys.keysInOrder()) {
      for (const { id } of page) opened.privateKey(id);
      yield;
      if (this.#provider !== opened) return;
    }
  }

  /** Forgets keys that were written and rolled back; `ids` are hex. */
  forgetRolledBack(ids: readonly string[]): void {
    for (const id of ids) if (!this.hasKey(Uint8Array.fromHex(id))) this.#provider?.removePrivateKey(id);
  }

  /** Forgets the keys in memory, and the nonces of signatures that were begun with them. */
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

  /** Null where the wallet has no such key. */
  #open(id: Uint8Array): PrivateKey | null {
    const stored = this.#store.keys.key(id);
    if (!stored) return null;
    const secret = this.#masterKey ? openSecret(this.#masterKey, id, stored.data) : stored.data;
    if (!secret || !isValidSecret(secret)) throw new WalletDamage('a private key cannot be read');
    return PrivateKey.take(secret, stored.compressed);
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
