import type { ChainEntry } from '../../chain/chain-entry.ts';
import type { ParsedBlock, ParsedTransaction } from '../../primitives/block.ts';
import { hashToHex } from '../../primitives/hash.ts';
import { unixSeconds } from '../../util/clock.ts';
import { random64 } from '../../util/random.ts';
import { compactBlockOf } from '../compact-block.ts';
import { encodeMessage } from '../messages/messages.ts';
import type { PeerContext } from '../peer/peer-context.ts';

/** Maximum age of the tip in block intervals for direct fetching of announced blocks. */
const DIRECT_FETCH_SPACINGS = 20;

/** Core's CanDirectFetch: returns whether our tip is recent, so that announced blocks can be requested at once. */
export function canDirectFetch({ chain, params, clock }: Pick<PeerContext, 'chain' | 'params' | 'clock'>): boolean {
  return chain.tip.time > unixSeconds(clock) - params.consensus.powTargetSpacing * DIRECT_FETCH_SPACINGS;
}

interface CachedBlock {
  readonly entry: ChainEntry;
  block: ParsedBlock | null;
  compact: Uint8Array | null;
}

/** Cache of the newest block, which most peers request: it is read, encoded and indexed once. */
export class RecentBlock {
  readonly #ctx: PeerContext;
  #tip: CachedBlock | null = null;
  /** The block on top of the tip that was last announced before its validation. */
  #unvalidated: CachedBlock | null = null;
  #txs: Map<string, ParsedTransaction> | null = null;

  constructor(ctx: PeerContext) {
    this.#ctx = ctx;
  }

  /** Sets the new tip. */
  setTip(entry: ChainEntry): void {
    if (entry === this.#tip?.entry) return;
    this.#tip = entry === this.#unvalidated?.entry ? this.#unvalidated : { entry, block: null, compact: null };
    this.#txs = null;
  }

  /** Sets a block on top of the tip whose validation is not finished. */
  setUnvalidated(entry: ChainEntry, block: ParsedBlock): void {
    this.#unvalidated = { entry, block, compact: null };
  }

  /** Returns whether this is the block last announced before its validation, whatever the result. */
  isUnvalidated(entry: ChainEntry): boolean {
    return entry === this.#unvalidated?.entry;
  }

  /** Returns a parsed block, from the cache if it is the newest. */
  readBlock(entry: ChainEntry): ParsedBlock {
    const kept = this.#cached(entry);
    if (kept === null) return this.#ctx.chain.readBlock(entry);
    kept.block ??= this.#ctx.chain.readBlock(entry);
    return kept.block;
  }

  /** Returns the payload of `cmpctblock` (BIP-152). */
  compactPayload(entry: ChainEntry): Uint8Array {
    const kept = this.#cached(entry);
    if (kept?.compact) return kept.compact;
    const compact = compactBlockOf(this.readBlock(entry), random64(this.#ctx.random));
    const payload = encodeMessage('cmpctblock', { ...compact, prefilled: [...compact.prefilled] });
    if (kept) kept.compact = payload;
    return payload;
  }

  /**
   * Returns a transaction of the newest block by txid or wtxid, since peers may request what was announced before the
   * block.
   */
  findTransaction(hash: Uint8Array): ParsedTransaction | null {
    if (this.#tip === null) return null;
    if (this.#txs === null) {
      this.#txs = new Map();
      for (const tx of this.readBlock(this.#tip.entry).txs) {
        this.#txs.set(hashToHex(tx.txid), tx);
        this.#txs.set(hashToHex(tx.wtxid), tx);
      }
    }
    return this.#txs.get(hashToHex(hash as ParsedTransaction['txid'])) ?? null;
  }

  #cached(entry: ChainEntry): CachedBlock | null {
    for (const kept of [this.#tip, this.#unvalidated]) if (kept?.entry === entry) return kept;
    return null;
  }
}
