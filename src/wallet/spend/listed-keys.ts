import { hash160 } from '../../crypto/hash.ts';
import { bytesToHex } from '../../util/bytes.ts';
import { HARDENED, type KeyOrigin } from '../keys/key-path.ts';
import type { PrivateKey } from '../keys/private-key.ts';
import { keyIdsOfXOnly, type SigningData } from '../keys/signing-data.ts';
import type { PsbtInput } from '../psbt/psbt.ts';
import type { OwnedDescriptor } from '../scripts/owned-descriptor.ts';
import type { Wallet } from '../wallet.ts';

type KeysById = ReadonlyMap<string, PrivateKey>;

/**
 * The private keys that inputs list as theirs, though they are of other descriptors of the wallet than the script, which
 * need not be the wallet's at all. What a key's origin ends with tells where to look for it.
 */
export class ListedKeys {
  readonly #wallet: Wallet;
  /** Of a descriptor at an index. */
  readonly #derived = new Map<string, KeysById>();

  constructor(wallet: Wallet) {
    this.#wallet = wallet;
  }

  /** Adds those that are not there yet. Throws WalletError while the keys are locked. */
  addTo(data: SigningData, { derivations, tapDerivations }: PsbtInput): void {
    for (const { publicKey, origin } of derivations.values()) this.#add(data, [hash160(publicKey)], origin);
    for (const { publicKey, origin } of tapDerivations.values()) this.#add(data, keyIdsOfXOnly(publicKey), origin);
  }

  #add(data: SigningData, ids: readonly Uint8Array[], { path }: KeyOrigin): void {
    if (ids.some((id) => data.privateKey(id) !== null)) return;
    const last = (path.at(-1) ?? 0) % HARDENED;
    for (const owned of this.#wallet.scripts.all()) {
      const keys = this.#keysAt(owned, owned.descriptor.isRange ? last : 0);
      for (const id of ids) {
        const key = keys?.get(bytesToHex(id));
        if (key) data.addPrivateKey(key);
      }
    }
  }

  /** Null outside of what the wallet has derived. */
  #keysAt({ id, descriptor, record }: OwnedDescriptor, index: number): KeysById | null {
    if (index < record.rangeStart || index >= record.filled) return null;
    const place = `${id} ${index}`;
    let keys = this.#derived.get(place);
    if (!keys) {
      const all = descriptor.expandPrivate(index, this.#wallet.vault.provider());
      keys = new Map(all.map((key) => [bytesToHex(key.id), key]));
      this.#derived.set(place, keys);
    }
    return keys;
  }
}
