import { inspect } from 'node:util';
import { hash160 } from '../../crypto/hash-functions.ts';
import { bytesToHex } from '../../util/bytes.ts';
import type { KeyOrigin } from './key-path.ts';
import type { MusigNonces } from './musig-nonces.ts';
import type { PrivateKey } from './private-key.ts';

/** A script of a taproot output. */
export interface TaprootLeaf {
  readonly leafVersion: number;
  readonly script: Uint8Array;
  /** 33 bytes, and 32 for each level of the tree. */
  readonly controlBlock: Uint8Array;
}

/** Internal key and scripts of a taproot output key. */
export interface TaprootSpendData {
  readonly outputKey: Uint8Array;
  readonly internalKey: Uint8Array;
  /** Null where the output has no scripts. */
  readonly merkleRoot: Uint8Array | null;
  /** Leaves from left to right; some may be missing if the tree is not completely known. */
  readonly leaves: readonly TaprootLeaf[];
}

/** Keys and scripts for solving and signing. Ids are HASH160s, 20 bytes. */
export interface SigningProvider {
  /** Returns the redeem script or witness script with that HASH160 (for P2WSH, the RIPEMD-160 of its program). */
  script(id: Uint8Array): Uint8Array | null;
  publicKey(id: Uint8Array): Uint8Array | null;
  privateKey(id: Uint8Array): PrivateKey | null;
  keyOrigin(id: Uint8Array): KeyOrigin | null;
  taproot(outputKey32: Uint8Array): TaprootSpendData | null;
  /** Sorted participants of BIP-327 aggregate keys, by the compressed aggregate key in hex. */
  readonly aggregates: ReadonlyMap<string, readonly Uint8Array[]>;
  /** Secret nonces of open sessions; null disables new sessions. */
  readonly musigNonces: MusigNonces | null;
}

/**
 * Keys and scripts in memory, by hex: of the HASH160, or of the output key in `taproots`. It owns its private keys, and
 * wipes them when it is disposed of.
 */
export class SigningData implements SigningProvider, Disposable {
  readonly scripts = new Map<string, Uint8Array>();
  readonly publicKeys = new Map<string, Uint8Array>();
  readonly origins = new Map<string, { readonly publicKey: Uint8Array; readonly origin: KeyOrigin }>();
  readonly taproots = new Map<string, TaprootSpendData>();
  readonly aggregates = new Map<string, readonly Uint8Array[]>();
  musigNonces: MusigNonces | null = null;
  readonly #privateKeys = new Map<string, PrivateKey>();

  /** Private keys by the HASH160 of their public keys. */
  get privateKeys(): ReadonlyMap<string, PrivateKey> {
    return this.#privateKeys;
  }

  addScript(script: Uint8Array): void {
    setOnce(this.scripts, bytesToHex(hash160(script)), script);
  }

  /** Adds a key. `id` is another hash by which a script names it: in tapscript, that of the x-only key. */
  addPublicKey(publicKey: Uint8Array, id = bytesToHex(hash160(publicKey))): void {
    setOnce(this.publicKeys, id, publicKey);
  }

  addOrigin(publicKey: Uint8Array, origin: KeyOrigin): void {
    setOnce(this.origins, bytesToHex(hash160(publicKey)), { publicKey, origin });
  }

  /** Adds a key and becomes its owner. A key that is already present is wiped. */
  addPrivateKey(key: PrivateKey): void {
    const id = bytesToHex(key.id);
    const known = this.#privateKeys.get(id);
    if (known === undefined) this.#privateKeys.set(id, key);
    else if (known !== key) key.wipe();
  }

  /** Wipes a private key and forgets it; `id` is hex. */
  removePrivateKey(id: string): void {
    this.#privateKeys.get(id)?.wipe();
    this.#privateKeys.delete(id);
  }

  /** Wipes the private keys and forgets them. */
  wipe(): void {
    for (const key of this.#privateKeys.values()) key.wipe();
    this.#privateKeys.clear();
  }

  [Symbol.dispose](): void {
    this.wipe();
  }

  addTaproot(data: TaprootSpendData): void {
    this.taproots.set(bytesToHex(data.outputKey), data);
  }

  /** Adds the missing data of `other`; private keys as copies. */
  merge(other: SigningData): this {
    for (const [id, script] of other.scripts) setOnce(this.scripts, id, script);
    for (const [id, publicKey] of other.publicKeys) setOnce(this.publicKeys, id, publicKey);
    for (const [id, origin] of other.origins) setOnce(this.origins, id, origin);
    for (const [key, data] of other.taproots) setOnce(this.taproots, key, data);
    for (const [key, participants] of other.aggregates) setOnce(this.aggregates, key, participants);
    for (const [id, key] of other.#privateKeys) if (!this.#privateKeys.has(id)) this.#privateKeys.set(id, key.copy());
    return this;
  }

  script(id: Uint8Array): Uint8Array | null {
    return this.scripts.get(bytesToHex(id)) ?? null;
  }

  publicKey(id: Uint8Array): Uint8Array | null {
    return this.publicKeys.get(bytesToHex(id)) ?? null;
  }

  privateKey(id: Uint8Array): PrivateKey | null {
    return this.#privateKeys.get(bytesToHex(id)) ?? null;
  }

  keyOrigin(id: Uint8Array): KeyOrigin | null {
    return this.origins.get(bytesToHex(id))?.origin ?? null;
  }

  taproot(outputKey32: Uint8Array): TaprootSpendData | null {
    return this.taproots.get(bytesToHex(outputKey32)) ?? null;
  }

  [inspect.custom](): string {
    return `[signing data: ${this.publicKeys.size} public keys, ${this.scripts.size} scripts]`;
  }
}

/** A provider without any data. */
export const NO_SIGNING_DATA: SigningProvider = new SigningData();

function setOnce<T>(map: Map<string, T>, key: string, value: T): void {
  if (!map.has(key)) map.set(key, value);
}

/** Returns the possible ids of an x-only key: with even Y and with odd Y. */
function keyIdsOfXOnly(xOnlyKey32: Uint8Array): [Uint8Array, Uint8Array] {
  const key = new Uint8Array(33);
  key.set(xOnlyKey32, 1);
  key[0] = 2;
  const even = hash160(key);
  key[0] = 3;
  return [even, hash160(key)];
}

export function privateKeyOfXOnly(provider: SigningProvider, xOnlyKey32: Uint8Array): PrivateKey | null {
  const [even, odd] = keyIdsOfXOnly(xOnlyKey32);
  return provider.privateKey(even) ?? provider.privateKey(odd);
}

export function keyOriginOfXOnly(provider: SigningProvider, xOnlyKey32: Uint8Array): KeyOrigin | null {
  const [even, odd] = keyIdsOfXOnly(xOnlyKey32);
  return provider.keyOrigin(even) ?? provider.keyOrigin(odd);
}
