import { isValidSecret } from '../../crypto/keys.ts';
import type { StoredKey } from '../../storage/wallet-keys-store.ts';
import type { WalletStore } from '../../storage/wallet-store.ts';
import { secretCopy } from '../../util/secret-bytes.ts';
import { runInSlices, type Steps } from '../../util/slices.ts';
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
  /** What `openKeys` has opened so far. */
  readonly #opening = new Set<SigningData>();

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
      for (const known of this.#inMemory) if (known.privateKey(id) === null) known.addPrivateKey(key.copy());
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
      const sealed = await runInSlices(this.#sealedKeys(masterKey), { signal: this.#signal });
      this.#store.write(() => {
        if (this.encrypted) walletFail('wrongEncryptionState', 'Error: running with an encrypted wallet.');
        for (const key of this.#store.keys.keys()) {
          // One that was added meanwhile is sealed here.
          const data = sealed.get(key.id.toHex()) ?? seal(masterKey, key.id, key.data);
          this.#store.keys.putKey({ ...key, data });
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

  /** Opens the keys in steps, so that `provider` has them at hand. Ends early where the vault is locked meanwhile. */
  *openKeys(): Steps<void> {
    if (this.locked || this.#provider) return;
    const opened = new SigningData();
    this.#opening.add(opened);
    try {
      for (const page of this.#store.keys.keysInOrder()) {
        this.#addOpened(opened, page);
        yield;
        if (this.#provider || !this.#opening.has(opened)) return;
      }
      this.#provider = opened;
    } finally {
      this.#opening.delete(opened);
      if (this.#provider !== opened) opened.wipe();
    }
  }

  /** Forgets keys that were written and rolled back; `ids` are hex. */
  reload(ids: readonly string[]): void {
    for (const id of ids)
      if (!this.has(Uint8Array.fromHex(id))) for (const known of this.#inMemory) known.removePrivateKey(id);
  }

  /** Forgets the keys in memory, and the nonces of signatures that were begun with them. */
  lock(): void {
    this.musigNonces.clear();
    this.#forget();
  }

  #forget(): void {
    for (const known of this.#inMemory) known.wipe();
    this.#provider = null;
    this.#opening.clear();
    this.#store.seals.useMasterKey(null);
    this.#masterKey?.fill(0);
    this.#masterKey = null;
  }

  #unsealed(): SigningData {
    if (this.#provider) return this.#provider;
    const provider = new SigningData();
    for (const page of this.#store.keys.keysInOrder()) this.#addOpened(provider, page);
    this.#provider = provider;
    return provider;
  }

  get #inMemory(): SigningData[] {
    return [...(this.#provider ? [this.#provider] : []), ...this.#opening];
  }

  #addOpened(provider: SigningData, keys: readonly StoredKey[]): void {
    for (const { id, compressed, data } of keys) {
      const secret = this.#masterKey ? open(this.#masterKey, id, data) : data;
      if (!secret || !isValidSecret(secret)) throw new WalletDamage('a private key cannot be read');
      provider.addPrivateKey(PrivateKey.take(secret, compressed));
    }
  }

  /** The keys of the file, sealed, by the hex of their ids. */
  *#sealedKeys(masterKey: Uint8Array): Steps<Map<string, Uint8Array>> {
    const sealed = new Map<string, Uint8Array>();
    for (const page of this.#store.keys.keysInOrder()) {
      for (const { id, data } of page) {
        sealed.set(id.toHex(), seal(masterKey, id, data));
        data.fill(0);
      }
      yield;
    }
    return sealed;
  }
}
