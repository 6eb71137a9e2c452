import type { ChainEntry } from '../../chain/chain-entry.ts';
import type { ParsedBlock, ParsedTransaction } from '../../primitives/block.ts';
import { hashToHex } from '../../primitives/hash.ts';
import { unixSeconds } from '../../util/clock.ts';
import { compactBlockOf } from '../compact-block.ts';
import { encodeMessage } from '../messages/messages.ts';
import type { PeerContext } from '../peer/context.ts';
import { random64 } from '../random-source.ts';

/** Blocks that are this many spacings old at most are news. */
const DIRECT_FETCH_SPACINGS = 20;

/** Whether our tip is as new as that of others, so that what they announce can be fetched at once. */
export function canDirectFetch({ chain, params, clock }: Pick<PeerContext, 'chain' | 'params' | 'clock'>): boolean {
  return chain.tip.time > unixSeconds(clock) - params.consensus.powTargetSpacing * DIRECT_FETCH_SPACINGS;
}

interface Kept {
  readonly entry: ChainEntry;
  block: ParsedBlock | null;
  compact: Uint8Array | null;
}

/** The newest block, which everybody asks for: read, encoded and looked through once. */
export class RecentBlock {
  readonly #ctx: PeerContext;
  #tip: Kept | null = null;
  /** What would be the tip if it is valid, and may have been passed on already. */
  #next: Kept | null = null;
  #txs: Map<string, ParsedTransaction> | null = null;

  constructor(ctx: PeerContext) {
    this.#ctx = ctx;
  }

  /** The chain has a new tip. */
  set(entry: ChainEntry): void {
    if (entry === this.#tip?.entry) return;
    this.#tip = entry === this.#next?.entry ? this.#next : { entry, block: null, compact: null };
    this.#txs = null;
  }

  /** A block on top of the tip that is not judged yet. */
  setNext(entry: ChainEntry, block: ParsedBlock): void {
    this.#next = { entry, block, compact: null };
  }

  /** Whether the block was the last to be passed on before it was judged, whatever became of it. */
  isNext(entry: ChainEntry): boolean {
    return entry === this.#next?.entry;
  }

  /** The body of a block, kept where it is the newest. */
  block(entry: ChainEntry): ParsedBlock {
    const kept = this.#kept(entry);
    if (kept === null) return this.#ctx.chain.block(entry);
    kept.block ??= this.#ctx.chain.block(entry);
    return kept.block;
  }

  /** Payload of `cmpctblock` (BIP-152). */
  compact(entry: ChainEntry): Uint8Array {
    const kept = this.#kept(entry);
    if (kept?.compact) return kept.compact;
    const compact = compactBlockOf(this.block(entry), random64(this.#ctx.random));
    const payload = encodeMessage('cmpctblock', { ...compact, prefilled: [...compact.prefilled] });
    if (kept) kept.compact = payload;
    return payload;
  }

  /** A transaction of the newest block by txid or wtxid: a peer may still ask for what was announced before. */
  transaction(hash: Uint8Array): ParsedTransaction | null {
    if (this.#tip === null) return null;
    if (this.#txs === null) {
      this.#txs = new Map();
      for (const tx of this.block(this.#tip.entry).txs) {
        this.#txs.set(hashToHex(tx.txid), tx);
        this.#txs.set(hashToHex(tx.wtxid), tx);
      }
    }
    return this.#txs.get(hashToHex(hash as ParsedTransaction['txid'])) ?? null;
  }

  #kept(entry: ChainEntry): Kept | null {
    for (const kept of [this.#tip, this.#next]) if (kept?.entry === entry) return kept;
    return null;
  }
}
