import { ChaCha20Poly1305, TAG_SIZE } from '../../crypto/chacha20-poly1305.ts';
import { randomSecretBytes } from '../../crypto/random-secret.ts';
import { hexToBytes } from '../../util/bytes.ts';
import type { SealedMasterKey } from '../store/wallet-meta.ts';
import { walletFail } from '../wallet-error.ts';
import { passphraseKey, type ScryptCost } from './passphrase-key.ts';

const KNOWN_KDFS: ReadonlySet<string> = new Set<SealedMasterKey['kdf']>(['scrypt', 'sha256-scrypt']);
const KEY_SIZE = 32;
const NONCE_SIZE = 12;
const MASTER_KEY_CONTEXT = new TextEncoder().encode('obverse wallet master key');
const INTEGRITY_CONTEXT = new TextEncoder().encode('obverse wallet master key, rows have a MAC');

/** Encrypts with ChaCha20-Poly1305 under a random nonce, which precedes the ciphertext. */
export function sealSecret(key: Uint8Array, context: Uint8Array, plain: Uint8Array): Uint8Array {
  const out = new Uint8Array(NONCE_SIZE + plain.length + TAG_SIZE);
  crypto.getRandomValues(out.subarray(0, NONCE_SIZE));
  const [first, second] = nonceOf(out);
  const cipher = new ChaCha20Poly1305(key);
  cipher.encrypt(first, second, context, plain, new Uint8Array(0), out.subarray(NONCE_SIZE));
  cipher.wipe();
  return out;
}

/** Returns the plaintext; null with another key or context, or where the ciphertext is damaged. */
export function openSecret(key: Uint8Array, context: Uint8Array, sealed: Uint8Array): Uint8Array | null {
  if (sealed.length < NONCE_SIZE + TAG_SIZE) return null;
  const [first, second] = nonceOf(sealed);
  const cipher = new ChaCha20Poly1305(key);
  const plain = cipher.decrypt(first, second, context, sealed.subarray(NONCE_SIZE));
  cipher.wipe();
  return plain;
}

/** Splits a nonce for the cipher: 32 bits, and 53 of the other 64. */
function nonceOf(bytes: Uint8Array): [number, number] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, NONCE_SIZE);
  return [view.getUint32(0, true), (view.getUint32(8, true) & 0x1f_ffff) * 2 ** 32 + view.getUint32(4, true)];
}

/** Returns a new master key. */
export function newMasterKey(): Uint8Array {
  return randomSecretBytes(KEY_SIZE);
}

/** Options for sealing a master key with a passphrase. */
export interface Sealing {
  readonly cost: ScryptCost;
  /** The caller, by which attempts are queued. */
  readonly caller: string;
  /** Whether the rows of the wallet have a MAC. */
  readonly integrity: boolean;
}

/** Seals the master key with a passphrase. Throws WalletError where too many attempts of the caller wait. */
export async function sealMasterKey(
  masterKey: Uint8Array,
  passphrase: Uint8Array,
  { cost, caller, integrity }: Sealing,
): Promise<SealedMasterKey> {
  const salt = crypto.getRandomValues(new Uint8Array(KEY_SIZE));
  const { cost: n, blockSize, parallel, hashed } = cost;
  const outer = await passphraseKey(passphrase, salt, cost, caller);
  const sealed = sealSecret(outer, integrity ? INTEGRITY_CONTEXT : MASTER_KEY_CONTEXT, masterKey).toHex();
  outer.fill(0);
  const kdf = hashed ? 'sha256-scrypt' : 'scrypt';
  return { kdf, cost: n, blockSize, parallel, salt: salt.toHex(), sealed, ...(integrity && { integrity }) };
}

/**
 * Opens a sealed master key; null with another passphrase. Throws WalletError where too many attempts of the caller
 * wait, or the function or its cost in the file is not allowed.
 */
export async function openMasterKey(
  sealed: SealedMasterKey,
  passphrase: Uint8Array,
  caller: string,
): Promise<Uint8Array | null> {
  const { kdf, cost, blockSize, parallel } = sealed;
  if (!KNOWN_KDFS.has(kdf))
    walletFail(
      'wallet',
      `Error: the wallet file derives its key with ${JSON.stringify(kdf)}, which this version does not know; it knows ${[...KNOWN_KDFS].join(' and ')}. Run a newer version.`,
    );
  const isHashed = kdf === 'sha256-scrypt' || sealed.hashed === true;
  const scryptCost: ScryptCost = { cost, blockSize, parallel, ...(isHashed && { hashed: true }) };
  const outer = await passphraseKey(passphrase, hexToBytes(sealed.salt), scryptCost, caller);
  const context = sealed.integrity ? INTEGRITY_CONTEXT : MASTER_KEY_CONTEXT;
  const masterKey = openSecret(outer, context, hexToBytes(sealed.sealed));
  outer.fill(0);
  return masterKey;
}
