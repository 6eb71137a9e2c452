import type { ChainEntry } from '../../src/chain/chain-entry.ts';
import type { ParsedTransaction } from '../../src/primitives/block.ts';
import { headerBytes } from '../../src/primitives/header.ts';
import type { Outpoint } from '../../src/primitives/outpoint.ts';
import type { ChainReads } from '../../src/storage/chain-reads.ts';
import type { PlainChain } from './wallet-fixture.ts';

const BLOCK_SPAN = 2 ** 20;

interface Touch {
  readonly position: number;
  received: number;
  sent: number;
}

interface Placed {
  readonly position: number;
  readonly parsed: ParsedTransaction;
  readonly entry: ChainEntry;
}

/** The database of a plain chain. Counts the reads. */
export class PlainChainReads {
  /** Outermost ones. */
  snapshots = 0;
  /** Pages of history and transactions that were read in the last snapshot. */
  steps = 0;
  mostSteps = 0;
  coinsAsked = 0;
  #inside = false;
  readonly #chain: PlainChain;
  #tip: ChainEntry | null = null;
  readonly #byTxid = new Map<string, Placed>();
  readonly #byPosition = new Map<number, Placed>();
  readonly #histories = new Map<string, Touch[]>();
  readonly #spent = new Set<string>();

  constructor(chain: PlainChain) {
    this.#chain = chain;
  }

  /** As wallets take it. */
  get reads(): ChainReads {
    const scripts = {
      // The script itself serves as its key.
      keyOf: (script: Uint8Array) => script,
      history: (key: Uint8Array, { above, below, limit }: { above: number; below: number; limit: number }) => {
        this.#step();
        return (this.#indexed().#histories.get(key.toHex()) ?? [])
          .filter(({ position }) => position > above && position < below)
          .slice(0, limit);
      },
    };
    const reads = {
      snapshot: (read: () => unknown) => this.#snapshot(read),
      isCovered: () => true,
      scripts,
      coins: {
        get: (outpoint: Outpoint) => {
          this.coinsAsked++;
          return this.#indexed().#byTxid.has(outpoint.txid.toHex()) && !this.#spent.has(nameOf(outpoint)) ? {} : null;
        },
      },
      txs: {
        byTxid: (txid: Uint8Array) => this.#indexed().#byTxid.get(txid.toHex()) ?? null,
        byPosition: (position: number) => this.#indexed().#byPosition.get(position) ?? null,
      },
      rawTx: ({ parsed, entry }: Placed) => {
        this.#step();
        return { raw: parsed.raw, block: { hash: entry.hash, header: headerBytes(entry.header) } };
      },
    };
    return reads as unknown as ChainReads;
  }

  #snapshot(read: () => unknown): unknown {
    if (this.#inside) return read();
    this.#inside = true;
    this.snapshots++;
    this.steps = 0;
    try {
      return read();
    } finally {
      this.#inside = false;
    }
  }

  #step(): void {
    this.mostSteps = Math.max(this.mostSteps, ++this.steps);
  }

  #indexed(): this {
    const { tip, bodies } = this.#chain;
    if (this.#tip === tip) return this;
    this.#tip = tip;
    for (const each of [this.#byTxid, this.#byPosition, this.#histories, this.#spent]) each.clear();
    for (let height = 1; height <= tip.height; height++) {
      const entry = tip.ancestor(height)!;
      for (const [i, parsed] of bodies.get(entry)!.txs.entries())
        this.#index({ position: height * BLOCK_SPAN + i, parsed, entry });
    }
    return this;
  }

  #index(placed: Placed): void {
    const { position, parsed } = placed;
    this.#byTxid.set(parsed.txid.toHex(), placed);
    this.#byPosition.set(position, placed);
    for (const { prevout } of parsed.tx.inputs) {
      this.#spent.add(nameOf(prevout));
      const output = this.#byTxid.get(prevout.txid.toHex())?.parsed.tx.outputs[prevout.vout];
      if (output) this.#touch(output.scriptPubKey, position).sent += Number(output.value);
    }
    for (const { scriptPubKey, value } of parsed.tx.outputs)
      this.#touch(scriptPubKey, position).received += Number(value);
  }

  #touch(script: Uint8Array, position: number): Touch {
    const key = script.toHex();
    const touches = this.#histories.get(key) ?? [];
    this.#histories.set(key, touches);
    if (touches.at(-1)?.position !== position) touches.push({ position, received: 0, sent: 0 });
    return touches.at(-1)!;
  }
}

function nameOf({ txid, vout }: Outpoint): string {
  return `${txid.toHex()}:${vout}`;
}
