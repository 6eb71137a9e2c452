import { scrypt } from 'node:crypto';
import { ChaCha20Poly1305, TAG_SIZE } from '../../crypto/chacha20-poly1305.ts';
import { randomSecretBytes } from '../../crypto/random-secret.ts';
import type { SealedMasterKey } from '../../storage/wallet-store.ts';
import { hexToBytes } from '../../util/bytes.ts';

const KEY_SIZE = 32;
const NONCE_SIZE = 12;
const MEBIBYTE = 1024 * 1024;
/** Together 64 MiB of memory, and a fifth of a second. */
const SCRYPT = { cost: 65_536, blockSize: 8, parallel: 1 };
const MASTER_KEY_CONTEXT = new TextEncoder().encode('obverse wallet master key');
const INTEGRITY_CONTEXT = new TextEncoder().encode('obverse wallet master key, rows have a MAC');

/** Seals with ChaCha20-Poly1305 under a random nonce, which stands before the sealed text. */
export function seal(key: Uint8Array, context: Uint8Array, plain: Uint8Array): Uint8Array {
  const out = new Uint8Array(NONCE_SIZE + plain.length + TAG_SIZE);
  crypto.getRandomValues(out.subarray(0, NONCE_SIZE));
  const [first, second] = nonceOf(out);
  const cipher = new ChaCha20Poly1305(key);
  cipher.encrypt(first, second, context, plain, new Uint8Array(0), out.subarray(NONCE_SIZE));
  cipher.wipe();
  return out;
}

/** What was sealed; null with another key or context, or where it was damaged. */
export function open(key: Uint8Array, context: Uint8Array, sealed: Uint8Array): Uint8Array | null {
  if (sealed.length < NONCE_SIZE + TAG_SIZE) return null;
  const [first, second] = nonceOf(sealed);
  const cipher = new ChaCha20Poly1305(key);
  const plain = cipher.decrypt(first, second, context, sealed.subarray(NONCE_SIZE));
  cipher.wipe();
  return plain;
}

/** As the cipher takes it: 32 bits, and 53 of the other 64. */
function nonceOf(bytes: Uint8Array): [number, number] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, NONCE_SIZE);
  return [view.getUint32(0, true), (view.getUint32(8, true) & 0x1f_ffff) * 2 ** 32 + view.getUint32(4, true)];
}

/** A new key to seal private keys with. */
export function newMasterKey(): Uint8Array {
  return randomSecretBytes(KEY_SIZE);
}

/** The master key, sealed with a passphrase; `integrity` says that the rows of the wallet have a MAC. */
export async function sealMasterKey(
  masterKey: Uint8Array,
  passphrase: Uint8Array,
  { integrity }: { readonly integrity: boolean },
): Promise<SealedMasterKey> {
  const salt = crypto.getRandomValues(new Uint8Array(KEY_SIZE));
  const outer = await keyOf(passphrase, salt, SCRYPT);
  const sealed = seal(outer, integrity ? INTEGRITY_CONTEXT : MASTER_KEY_CONTEXT, masterKey).toHex();
  outer.fill(0);
  return { kdf: 'scrypt', ...SCRYPT, salt: salt.toHex(), sealed, ...(integrity && { integrity }) };
}

/** Null with another passphrase. */
export async function openMasterKey(sealed: SealedMasterKey, passphrase: Uint8Array): Promise<Uint8Array | null> {
  const outer = await keyOf(passphrase, hexToBytes(sealed.salt), sealed);
  const context = sealed.integrity ? INTEGRITY_CONTEXT : MASTER_KEY_CONTEXT;
  const masterKey = open(outer, context, hexToBytes(sealed.sealed));
  outer.fill(0);
  return masterKey;
}

/** Takes its time, on a thread of the runtime. */
function keyOf(
  passphrase: Uint8Array,
  salt: Uint8Array,
  { cost, blockSize, parallel }: Pick<SealedMasterKey, 'cost' | 'blockSize' | 'parallel'>,
): Promise<Uint8Array> {
  const options = { N: cost, r: blockSize, p: parallel, maxmem: 128 * cost * blockSize + 32 * MEBIBYTE };
  return new Promise((resolve, reject) => {
    scrypt(passphrase, salt, KEY_SIZE, options, (error, key) => {
      if (error) reject(error);
      else resolve(new Uint8Array(key.buffer, key.byteOffset, key.byteLength));
    });
  });
}
