import { isValidSecret } from '../../crypto/keys.ts';
import type { WalletStore } from '../../storage/wallet-store.ts';
import { secretCopy } from '../../util/secret-bytes.ts';
import { MusigNonces } from '../keys/musig-nonces.ts';
import { PrivateKey } from '../keys/private-key.ts';
import { SigningData, type SigningProvider } from '../keys/signing-data.ts';
import { WalletDamage, walletFail } from '../wallet-error.ts';
import type { ScryptCost } from './passphrase-key.ts';
import { PassphraseLanes } from './passphrase-lanes.ts';
import { newMasterKey, open, openMasterKey, seal, sealMasterKey } from './sealing.ts';

const LOCKED = 'Error: Please enter the wallet passphrase with walletpassphrase first.';

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
  #provider: SigningData | null = null;

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
    return this.#unsealed();
  }

  /** All private keys, or none while they are locked. */
  available(): SigningProvider {
    return this.locked ? new SigningData() : this.#unsealed();
  }

  /** Stores keys. Throws WalletError while the vault is locked. */
  add(keys: Iterable<PrivateKey>): void {
    if (this.locked) walletFail('unlockNeeded', LOCKED);
    for (const key of keys) {
      const { id, compressed } = key;
      const data = this.#masterKey ? seal(this.#masterKey, id, key.reveal()) : key.reveal();
      this.#store.keys.putKey({ id, compressed, data });
      // All keys would have to be opened again otherwise, for every one of thousands that are imported.
      if (this.#provider?.privateKey(id) === null) this.#provider.addPrivateKey(key.copy());
    }
  }

  has(id: Uint8Array): boolean {
    return this.#store.keys.hasKey(id);
  }

  /** Seals all keys; they are locked then. `onSealed` is called in the same turn as they are written. */
  async encrypt(passphrase: Uint8Array, caller = '', onSealed = () => {}): Promise<void> {
    const masterKey = newMasterKey();
    try {
      const encryption = await sealMasterKey(masterKey, passphrase, { cost: this.#cost, caller, integrity: true });
      this.#store.write(() => {
        if (this.encrypted) walletFail('wrongEncryptionState', 'Error: running with an encrypted wallet.');
        for (const key of this.#store.keys.keys()) {
          this.#store.keys.putKey({ ...key, data: seal(masterKey, key.id, key.data) });
          key.data.fill(0);
        }
        this.#store.setMeta('encryption', encryption);
        this.#store.seals.sealWith(masterKey);
      });
      onSealed();
    } finally {
      masterKey.fill(0);
    }
    this.lock();
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
      const before = this.#store.meta('encryption')!;
      const masterKey = await openMasterKey(before, old, caller);
      if (!masterKey) return null;
      const sealing = { cost: this.#cost, caller, integrity: this.hasIntegrity };
      const encryption = await sealMasterKey(masterKey, next, sealing).finally(() => masterKey.fill(0));
      return this.#store.write(() => {
        // Another caller may have changed it meanwhile: the old one is wrong then.
        if (this.#store.meta('encryption')!.sealed !== before.sealed) return null;
        this.#store.setMeta('encryption', encryption);
        return true;
      });
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

  /** Takes the keys as the file has them when they are asked for next. */
  reload(): void {
    this.#provider?.wipe();
    this.#provider = null;
  }

  /** Forgets the keys in memory, and the nonces of signatures that were begun with them. */
  lock(): void {
    this.musigNonces.clear();
    this.#forget();
  }

  #forget(): void {
    this.reload();
    this.#store.seals.useMasterKey(null);
    this.#masterKey?.fill(0);
    this.#masterKey = null;
  }

  #unsealed(): SigningData {
    if (this.#provider) return this.#provider;
    const provider = new SigningData();
    for (const { id, compressed, data } of this.#store.keys.keys()) {
      const secret = this.#masterKey ? open(this.#masterKey, id, data) : data;
      if (!secret || !isValidSecret(secret)) throw new WalletDamage('a private key cannot be read');
      provider.addPrivateKey(PrivateKey.take(secret, compressed));
    }
    this.#provider = provider;
    return provider;
  }
}
