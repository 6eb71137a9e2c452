import type { ParsedTransaction } from '../primitives/block.ts';
import { encodeOutpoint, type Outpoint } from '../primitives/outpoint.ts';
import { readOperations } from '../script/script-reader.ts';
import { scriptType } from '../script/templates.ts';
import { ByteWriter } from '../util/bytes.ts';
import { murmur3 } from '../util/murmur3.ts';
import type { FilterLoadMessage } from './messages/bloom.ts';

/** BIP-37: which matching outputs are added to the filter, so that transactions spending them match as well. */
export const BLOOM_UPDATE = { none: 0, all: 1, pubkeyOnly: 2 } as const;
const UPDATE_MASK = 3;
const HASH_STEP = 0xfba4_c795;

/** The bloom filter of a light client (BIP-37). */
export class BloomFilter {
  readonly #bits: Uint8Array;
  readonly #hashFunctions: number;
  readonly #tweak: number;
  readonly #update: number;

  /** The codec has checked the size limits. */
  constructor({ filter, hashFunctions, tweak, flags }: FilterLoadMessage) {
    this.#bits = filter.slice();
    this.#hashFunctions = hashFunctions;
    this.#tweak = tweak;
    this.#update = flags & UPDATE_MASK;
  }

  insert(element: Uint8Array): void {
    // CVE-2013-5700: an empty filter would cause a division by zero.
    if (this.#bits.length === 0) return;
    for (let n = 0; n < this.#hashFunctions; n++) {
      const bit = this.#bitOf(n, element);
      this.#bits[bit >>> 3]! |= 1 << (bit & 7);
    }
  }

  contains(element: Uint8Array): boolean {
    if (this.#bits.length === 0) return true;
    for (let n = 0; n < this.#hashFunctions; n++) {
      const bit = this.#bitOf(n, element);
      if ((this.#bits[bit >>> 3]! & (1 << (bit & 7))) === 0) return false;
    }
    return true;
  }

  /**
   * Returns whether a transaction matches (BIP-37), and adds matching outputs to the filter as its update mode demands.
   * An empty filter matches everything.
   */
  matchAndUpdate({ tx, txid }: Pick<ParsedTransaction, 'tx' | 'txid'>): boolean {
    if (this.#bits.length === 0) return true;
    let found = this.contains(txid);
    // All outputs are checked, since each match may have to be added.
    for (const [vout, { scriptPubKey }] of tx.outputs.entries()) {
      if (!this.#containsPush(scriptPubKey)) continue;
      found = true;
      if (this.#isUpdatedBy(scriptPubKey)) this.insert(outpointBytes({ txid, vout }));
    }
    return (
      found ||
      tx.inputs.some(({ prevout, scriptSig }) => this.contains(outpointBytes(prevout)) || this.#containsPush(scriptSig))
    );
  }

  #containsPush(script: Uint8Array): boolean {
    for (const operation of readOperations(script))
      if (operation !== null && operation.data.length > 0 && this.contains(operation.data)) return true;
    return false;
  }

  #isUpdatedBy(scriptPubKey: Uint8Array): boolean {
    if (this.#update === BLOOM_UPDATE.all) return true;
    if (this.#update !== BLOOM_UPDATE.pubkeyOnly) return false;
    const { type } = scriptType(scriptPubKey);
    return type === 'pubkey' || type === 'multisig';
  }

  #bitOf(n: number, element: Uint8Array): number {
    return murmur3((Math.imul(n, HASH_STEP) + this.#tweak) >>> 0, element) % (this.#bits.length * 8);
  }
}

/** Scratch space of one call. */
const writer = new ByteWriter(36);

function outpointBytes(outpoint: Outpoint): Uint8Array {
  writer.reset();
  encodeOutpoint(writer, outpoint);
  return writer.finish();
}
