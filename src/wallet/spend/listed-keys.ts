import { hash160 } from '../../crypto/hash-functions.ts';
import { tapTweakPublicKey } from '../../crypto/keys.ts';
import { tapTweakHash } from '../../script/taproot.ts';
import { p2pkh, p2shOf, p2tr, p2wpkh } from '../../script/templates.ts';
import { bytesToHex, concatBytes } from '../../util/bytes.ts';
import { HARDENED, type KeyOrigin } from '../keys/key-path.ts';
import type { PrivateKey } from '../keys/private-key.ts';
import type { SigningData, SigningProvider } from '../keys/signing-data.ts';
import type { PsbtInput } from '../psbt/psbt.ts';
import type { OwnedDescriptor } from '../scripts/owned-descriptor.ts';
import type { Wallet } from '../wallet.ts';

const COMPRESSED_SIZE = 33;
const EVEN = Uint8Array.of(2);
const ODD = Uint8Array.of(3);

/** Descriptors with a single key: the scripts of the wallet show where the key is. */
const ONE_KEY = /^(?:pkh|wpkh|sh\(wpkh|tr)\([^(),]*\)/;

/** Keys of a descriptor at an index. */
interface Place {
  /** HASH160s of its public keys, in hex. */
  readonly ids: ReadonlySet<string>;
  /** Derived on demand: private keys take several derivation steps more. */
  keys: readonly PrivateKey[] | null;
}

const EMPTY: Place = { ids: new Set(), keys: [] };

/**
 * Private keys that inputs list in their derivations although they belong to other descriptors of the wallet than the
 * script, which need not be the wallet's. A descriptor with one key is searched by the public key, since raw keys of a
 * multisig come without a path; any other one at the index that the last step of the key origin gives, and so is one whose
 * reserved addresses are still being derived, as after the creation of the wallet.
 */
export class ListedKeys implements Disposable {
  readonly #wallet: Wallet;
  /** Keyed by descriptor and index. */
  readonly #places = new Map<string, Place>();

  constructor(wallet: Wallet) {
    this.#wallet = wallet;
  }

  /**
   * Adds listed keys that are missing. Descriptors of the script itself have added theirs before. Throws WalletError
   * while the wallet is locked.
   */
  addTo(data: SigningData, { derivations, tapDerivations }: PsbtInput, script: Uint8Array | null): void {
    const makers = new Set(
      script ? this.#wallet.scripts.scriptRecords(script).map(({ descriptor }) => descriptor) : [],
    );
    const others = this.#wallet.scripts.descriptors().filter(({ id }) => !makers.has(id));
    for (const { publicKey, origin } of derivations.values()) this.#add(data, others, [publicKey], origin);
    for (const { publicKey, origin } of tapDerivations.values())
      this.#add(data, others, [concatBytes(EVEN, publicKey), concatBytes(ODD, publicKey)], origin);
  }

  #add(
    data: SigningData,
    descriptors: readonly OwnedDescriptor[],
    publicKeys: readonly Uint8Array[],
    { path }: KeyOrigin,
  ): void {
    const ids = publicKeys.map((key) => hash160(key));
    if (ids.some((id) => data.privateKey(id) !== null)) return;
    const wanted = ids.map(bytesToHex);
    const last = (path.at(-1) ?? 0) % HARDENED;
    const provider = this.#wallet.vault.provider();
    const alone = this.#indexesAlone(publicKeys);
    for (const owned of descriptors) {
      const { descriptor, record } = owned;
      const listed = descriptor.isRange ? last : 0;
      const found = ONE_KEY.test(record.text) ? alone.get(owned.id) : listed;
      const index = found ?? listed;
      // All addresses of one key that are derived have been searched.
      if (found === undefined && index < record.filled) continue;
      const place = this.#placeOf(owned, index, provider);
      if (!wanted.some((id) => place.ids.has(id))) continue;
      place.keys ??= descriptor.expandPrivate(index, provider);
      for (const key of place.keys) if (wanted.includes(bytesToHex(key.id))) data.addPrivateKey(key.copy());
    }
  }

  /** Wipes the derived keys. */
  [Symbol.dispose](): void {
    for (const { keys } of this.#places.values()) for (const key of keys ?? []) key.wipe();
    this.#places.clear();
  }

  /** Returns the indexes at which descriptors have scripts of these keys alone. */
  #indexesAlone(publicKeys: readonly Uint8Array[]): Map<number, number> {
    const records = publicKeys.flatMap(scriptsOf).flatMap((script) => this.#wallet.scripts.scriptRecords(script));
    return new Map(records.map(({ descriptor, position }) => [descriptor, position]));
  }

  /** Returns nothing for indexes that are not reserved. */
  #placeOf(owned: OwnedDescriptor, index: number, provider: SigningProvider): Place {
    const { rangeStart, rangeEnd } = owned.record;
    if (index < rangeStart || index >= rangeEnd) return EMPTY;
    const name = `${owned.id} ${index}`;
    let place = this.#places.get(name);
    if (!place) {
      place = { ids: new Set(owned.expand(index, provider)?.data.publicKeys.keys()), keys: null };
      this.#places.set(name, place);
    }
    return place;
  }
}

function scriptsOf(publicKey: Uint8Array): Uint8Array[] {
  const id = hash160(publicKey);
  if (publicKey.length !== COMPRESSED_SIZE) return [p2pkh(id)];
  const xOnly = publicKey.subarray(1);
  const output = tapTweakPublicKey(xOnly, tapTweakHash(xOnly, null));
  return [p2pkh(id), p2wpkh(id), p2shOf(p2wpkh(id)), ...(output ? [p2tr(output.key)] : [])];
}
