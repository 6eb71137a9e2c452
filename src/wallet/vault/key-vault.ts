import { isValidSecret } from '../../crypto/keys.ts';
import type { WalletStore } from '../../storage/wallet-store.ts';
import { sleep } from '../../util/abort.ts';
import { secretCopy } from '../../util/secret-bytes.ts';
import { MusigNonces } from '../keys/musig-nonces.ts';
import { PrivateKey } from '../keys/private-key.ts';
import { SigningData, type SigningProvider } from '../keys/signing-data.ts';
import { WalletDamage, walletFail } from '../wallet-error.ts';
import { newMasterKey, open, openMasterKey, seal, sealMasterKey } from './sealing.ts';

/** How long a wrong passphrase is waited for: doubled each time, up to a bound. */
const FIRST_DELAY_MS = 250;
const LONGEST_DELAY_MS = 8000;

const LOCKED = 'Error: Please enter the wallet passphrase with walletpassphrase first.';

/** The private keys of a wallet: in its file, sealed where there is a passphrase. */
export class KeyVault {
  readonly #store: WalletStore;
  readonly #signal: AbortSignal;
  /** Of signatures that wait for others; wiped whenever the keys are. */
  readonly musigNonces = new MusigNonces();
  #masterKey: Uint8Array | null = null;
  #provider: SigningData | null = null;
  #wrong = 0;
  /** Passphrases are tried one after another. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(store: WalletStore, signal: AbortSignal) {
    this.#store = store;
    this.#signal = signal;
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

  /** Seals all keys; they are locked then. */
  async encrypt(passphrase: Uint8Array): Promise<void> {
    const masterKey = newMasterKey();
    try {
      const encryption = await sealMasterKey(masterKey, passphrase, { integrity: true });
      this.#store.write(() => {
        if (this.encrypted) walletFail('wrongEncryptionState', 'Error: running with an encrypted wallet.');
        for (const key of this.#store.keys.keys()) {
          this.#store.keys.putKey({ ...key, data: seal(masterKey, key.id, key.data) });
          key.data.fill(0);
        }
        this.#store.setMeta('encryption', encryption);
        this.#store.seals.sealWith(masterKey);
      });
    } finally {
      masterKey.fill(0);
    }
    this.lock();
  }

  /** False with a wrong passphrase, which takes longer each time. */
  unlock(passphrase: Uint8Array): Promise<boolean> {
    return this.#inTurn(async () => {
      const masterKey = await this.#open(passphrase);
      if (!masterKey) return false;
      this.#forget();
      if (this.#signal.aborted) masterKey.fill(0);
      this.#signal.throwIfAborted();
      this.#masterKey = masterKey;
      this.#store.seals.useMasterKey(masterKey);
      return true;
    });
  }

  /** False with a wrong old passphrase. */
  changePassphrase(old: Uint8Array, next: Uint8Array): Promise<boolean> {
    return this.#inTurn(async () => {
      const masterKey = await this.#open(old);
      if (!masterKey) return false;
      const integrity = this.hasIntegrity;
      const encryption = await sealMasterKey(masterKey, next, { integrity }).finally(() => masterKey.fill(0));
      this.#store.write(() => this.#store.setMeta('encryption', encryption));
      return true;
    });
  }

  /** Gives the rows of a wallet of an earlier version their MAC, once they are checked; the vault must be open. */
  addIntegrity(passphrase: Uint8Array): Promise<void> {
    return this.#inTurn(async () => {
      if (!this.#masterKey || this.hasIntegrity) return;
      const masterKey = secretCopy(this.#masterKey);
      try {
        const sealed = this.#store.meta('encryption')!.sealed;
        const encryption = await sealMasterKey(masterKey, passphrase, { integrity: true });
        this.#store.write(() => {
          // Locked or given another passphrase meanwhile: the next unlock does it.
          if (!this.#masterKey || this.#store.meta('encryption')!.sealed !== sealed) return;
          this.#store.setMeta('encryption', encryption);
          this.#store.seals.sealWith(masterKey);
        });
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

  async #open(passphrase: Uint8Array): Promise<Uint8Array | null> {
    const masterKey = await openMasterKey(this.#store.meta('encryption')!, passphrase);
    if (masterKey) {
      this.#wrong = 0;
      return masterKey;
    }
    const delay = Math.min(FIRST_DELAY_MS * 2 ** this.#wrong++, LONGEST_DELAY_MS);
    await sleep(delay, this.#signal);
    return null;
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#turn.then(work);
    this.#turn = result.catch(() => {});
    return result;
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
