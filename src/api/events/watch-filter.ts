/** What a block is matched against, as it goes to a reader worker: 32 bits of each watched item, and what they are of. */
export interface FilterData {
  readonly prints: Uint32Array;
  readonly seed: number;
  /** Whether there are watched transactions, and watched outpoints, among them. */
  readonly txids: boolean;
  readonly outpoints: boolean;
}

/** Finds what may be watched. Two items may have one print, so whoever asks compares the items themselves afterwards. */
export interface WatchFilter {
  readonly seed: number;
  readonly txids: boolean;
  readonly outpoints: boolean;
  has(print: number): boolean;
}

/** The kinds are told apart by their seeds. */
export function scriptPrint(script: Uint8Array, seed: number): number {
  return Bun.hash.xxHash32(script, seed);
}

export function txidPrint(txid: Uint8Array, seed: number): number {
  return Bun.hash.xxHash32(txid, (seed + 1) >>> 0);
}

const outpoint = new Uint8Array(36);
const outpointView = new DataView(outpoint.buffer);

export function outpointPrint(txid: Uint8Array, vout: number, seed: number): number {
  outpoint.set(txid);
  outpointView.setUint32(32, vout, true);
  return Bun.hash.xxHash32(outpoint, (seed + 2) >>> 0);
}

/** An open table of the prints; building it for 10,000 takes a fraction of a millisecond. */
export class PrintTable implements WatchFilter {
  readonly seed: number;
  readonly txids: boolean;
  readonly outpoints: boolean;
  readonly #slots: Uint32Array;
  readonly #mask: number;
  #hasZero = false;

  constructor({ prints, seed, txids, outpoints }: FilterData) {
    this.seed = seed;
    this.txids = txids;
    this.outpoints = outpoints;
    const size = 2 ** Math.ceil(Math.log2(prints.length * 2 + 2));
    this.#slots = new Uint32Array(size);
    this.#mask = size - 1;
    for (const print of prints) this.#add(print);
  }

  has(print: number): boolean {
    // 0 marks a free slot.
    if (print === 0) return this.#hasZero;
    for (let at = print & this.#mask; ; at = (at + 1) & this.#mask) {
      const found = this.#slots[at]!;
      if (found === print) return true;
      if (found === 0) return false;
    }
  }

  #add(print: number): void {
    if (print === 0) this.#hasZero = true;
    if (print === 0 || this.has(print)) return;
    let at = print & this.#mask;
    while (this.#slots[at] !== 0) at = (at + 1) & this.#mask;
    this.#slots[at] = print;
  }
}
