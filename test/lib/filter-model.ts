import { hash256 } from '../../src/crypto/hash-functions.ts';
import { sipHash, sipHashKeyOf } from '../../src/crypto/siphash.ts';
import { parseBlock } from '../../src/primitives/block.ts';

export interface ModelFilter {
  /** Hex of the encoded filter. */
  readonly filter: string;
  /** Display order. */
  readonly hash: string;
  readonly header: string;
}

/** BIP-158 to the letter, on big numbers and a text of bits; what inputs spend is looked up in the blocks before. */
export class FilterModel {
  readonly #scripts = new Map<string, Uint8Array>();
  readonly #filters: (ModelFilter & { readonly headerBytes: Uint8Array })[] = [];

  /** `blocks` of one chain, the genesis block first. */
  constructor(blocks: Iterable<Uint8Array> = []) {
    for (const block of blocks) this.connect(block);
  }

  get filters(): readonly ModelFilter[] {
    return this.#filters.map(({ filter, hash, header }) => ({ filter, hash, header }));
  }

  connect(raw: Uint8Array): ModelFilter {
    const block = parseBlock(raw);
    const elements = new Map<string, Uint8Array>();
    const add = (script: Uint8Array) => void (script.length > 0 && elements.set(script.toHex(), script));
    for (const [i, { tx, txid }] of block.txs.entries()) {
      for (const [vout, { scriptPubKey }] of tx.outputs.entries()) {
        this.#scripts.set(`${txid.toHex()}:${vout}`, scriptPubKey);
        if (scriptPubKey[0] !== 0x6a) add(scriptPubKey);
      }
      if (i > 0)
        for (const { prevout } of tx.inputs) add(this.#scripts.get(`${prevout.txid.toHex()}:${prevout.vout}`)!);
    }
    const encoded = encode([...elements.values()], block.hash);
    const hash = hash256(encoded);
    const previous = this.#filters.at(-1)?.headerBytes ?? new Uint8Array(32);
    const headerBytes = hash256(Uint8Array.from([...hash, ...previous]));
    const made = { filter: encoded.toHex(), hash: display(hash), header: display(headerBytes), headerBytes };
    this.#filters.push(made);
    return made;
  }
}

const display = (hash: Uint8Array): string => hash.toReversed().toHex();

function encode(elements: readonly Uint8Array[], blockHash: Uint8Array): Uint8Array {
  const n = elements.length;
  const key = sipHashKeyOf(blockHash);
  const values = elements.map((script) => (sipHash(key, script) * BigInt(n) * 784_931n) >> 64n);
  values.sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
  let bits = '';
  let last = 0n;
  for (const value of values) {
    const delta = value - last;
    last = value;
    bits += `${'1'.repeat(Number(delta >> 19n))}0${(delta & 0x7ffffn).toString(2).padStart(19, '0')}`;
  }
  const bytes = (bits.match(/.{1,8}/g) ?? []).map((byte) => Number.parseInt(byte.padEnd(8, '0'), 2));
  const count = n < 0xfd ? [n] : [0xfd, n & 0xff, n >> 8];
  return Uint8Array.from([...count, ...bytes]);
}
