import { secretTaggedHasher } from '../../crypto/hash-functions.ts';
import { hkdfSha256 } from '../../crypto/hkdf.ts';
import { hexToBytes } from '../../util/bytes.ts';

/** A concealed sum as the file stores it, in hex. */
export interface StoredRowMac {
  readonly nonce: string;
  readonly sum: string;
}

const WORDS = 8;
const HASH_SIZE = 32;
const BLOCK_SIZE = 64;
const FIRST_BUFFER = 1024;
const encoder = new TextEncoder();
const macKey = secretTaggedHasher('obverse row mac');

/** An integer modulo 2^256, least significant word first. */
export class RowSum {
  readonly words = new Uint32Array(WORDS);

  /** Adds or subtracts 32 bytes. */
  add(bytes: Uint8Array, sign: 1 | -1): void {
    const view = new DataView(bytes.buffer, bytes.byteOffset, HASH_SIZE);
    let carry = 0;
    for (let i = 0; i < WORDS; i++) {
      const word = this.words[i]! + sign * view.getUint32(4 * i, true) + carry;
      this.words[i] = word;
      carry = Math.floor(word / 2 ** 32);
    }
  }

  bytes(): Uint8Array {
    const out = new Uint8Array(HASH_SIZE);
    const view = new DataView(out.buffer);
    for (const [i, word] of this.words.entries()) view.setUint32(4 * i, word, true);
    return out;
  }
}

/**
 * A MAC over a multiset of rows that is updated row by row: the sum of HMAC-SHA-256 of the rows modulo 2^256, concealed
 * by a pseudo-random number of a fresh nonce (MSet-Add-Hash, Clarke et al. 2003). Removing, adding, swapping or changing
 * rows changes the sum, and the sum of another state of the file cannot be computed without the key.
 */
export class RowMac {
  /** Public id of the key. */
  readonly id: string;
  readonly #inner: Uint8Array;
  readonly #outer = new Uint8Array(BLOCK_SIZE + HASH_SIZE);
  readonly #hash = new Uint8Array(HASH_SIZE);
  readonly #maskKey: Uint8Array;
  #buffer = new Uint8Array(FIRST_BUFFER);
  #wiped = false;

  /** `context` separates MACs of one secret from each other. */
  constructor(secret: Uint8Array, context: string) {
    // Hashed first: the secret stays out of the runtime's HMAC, which wipes nothing.
    const key = macKey(secret);
    const derive = hkdfSha256(key, encoder.encode(context));
    key.fill(0);
    this.id = derive('id').subarray(0, 8).toHex();
    this.#maskKey = derive('mask');
    const rowKey = derive('rows');
    this.#inner = new Uint8Array(BLOCK_SIZE).fill(0x36);
    this.#outer.fill(0x5c, 0, BLOCK_SIZE);
    for (const [i, byte] of rowKey.entries()) {
      this.#inner[i]! ^= byte;
      this.#outer[i]! ^= byte;
    }
    rowKey.fill(0);
    this.#buffer.set(this.#inner);
  }

  /** Adds a row to a sum, or subtracts it. */
  add(sum: RowSum, row: string, sign: 1 | -1 = 1): void {
    // UTF-8 takes at most three bytes for each UTF-16 unit.
    const room = BLOCK_SIZE + 3 * row.length;
    if (this.#buffer.length < room) {
      this.#buffer.fill(0, 0, BLOCK_SIZE);
      this.#buffer = new Uint8Array(2 * room);
      this.#buffer.set(this.#inner);
    }
    const { written } = encoder.encodeInto(row, this.#buffer.subarray(BLOCK_SIZE));
    Bun.SHA256.hash(this.#buffer.subarray(0, BLOCK_SIZE + written), this.#hash);
    this.#outer.set(this.#hash, BLOCK_SIZE);
    Bun.SHA256.hash(this.#outer, this.#hash);
    sum.add(this.#hash, sign);
  }

  /** Conceals a sum with a fresh nonce. */
  conceal(sum: RowSum): StoredRowMac {
    const nonce = crypto.getRandomValues(new Uint8Array(HASH_SIZE));
    const concealed = new RowSum();
    concealed.add(sum.bytes(), 1);
    concealed.add(this.#mask(nonce), 1);
    return { nonce: nonce.toHex(), sum: concealed.bytes().toHex() };
  }

  /** Returns the sum behind a stored MAC. */
  reveal({ nonce, sum }: StoredRowMac): RowSum {
    const revealed = new RowSum();
    revealed.add(hexToBytes(sum), 1);
    revealed.add(this.#mask(hexToBytes(nonce)), -1);
    return revealed;
  }

  get wiped(): boolean {
    return this.#wiped;
  }

  /** Overwrites the keys; the MAC is unusable afterwards. */
  wipe(): void {
    this.#wiped = true;
    for (const bytes of [this.#inner, this.#outer, this.#maskKey, this.#buffer, this.#hash]) bytes.fill(0);
  }

  #mask(nonce: Uint8Array): Uint8Array {
    return hkdfSha256(this.#maskKey, nonce)('mask');
  }
}
