import type { ChainEntry } from '../../chain/chain-entry.ts';
import type { ParsedBlock, ParsedTransaction } from '../../primitives/block.ts';
import { hashToHex } from '../../primitives/hash.ts';
import { unixSeconds } from '../../util/clock.ts';
import { compactBlockOf } from '../compact-block.ts';
import { encodeMessage } from '../messages/messages.ts';
import { type PeerContext, random64 } from '../peer/context.ts';

/** Blocks that are this many spacings old at most are news. */
const DIRECT_FETCH_SPACINGS = 20;

/** Whether our tip is as new as that of others, so that what they announce can be fetched at once. */
export function canDirectFetch({ chain, params, clock }: Pick<PeerContext, 'chain' | 'params' | 'clock'>): boolean {
  return chain.tip.time > unixSeconds(clock) - params.consensus.powTargetSpacing * DIRECT_FETCH_SPACINGS;
}

/** The newest block, which everybody asks for: read, encoded and looked through once. */
export class RecentBlock {
  readonly #ctx: PeerContext;
  #entry: ChainEntry | null = null;
  #block: ParsedBlock | null = null;
  #compact: Uint8Array | null = null;
  #txs: Map<string, ParsedTransaction> | null = null;

  constructor(ctx: PeerContext) {
    this.#ctx = ctx;
  }

  /** The chain has a new tip. */
  set(entry: ChainEntry): void {
    this.#entry = entry;
    this.#block = null;
    this.#compact = null;
    this.#txs = null;
  }

  /** The body of a block, kept where it is the newest. */
  block(entry: ChainEntry): ParsedBlock {
    if (entry !== this.#entry) return this.#ctx.chain.block(entry);
    this.#block ??= this.#ctx.chain.block(entry);
    return this.#block;
  }

  /** Payload of `cmpctblock` (BIP-152). */
  compact(entry: ChainEntry): Uint8Array {
    if (entry === this.#entry && this.#compact) return this.#compact;
    const compact = compactBlockOf(this.block(entry), random64(this.#ctx.random));
    const payload = encodeMessage('cmpctblock', { ...compact, prefilled: [...compact.prefilled] });
    if (entry === this.#entry) this.#compact = payload;
    return payload;
  }

  /** A transaction of the newest block by txid or wtxid: a peer may still ask for what was announced before. */
  transaction(hash: Uint8Array): ParsedTransaction | null {
    if (this.#entry === null) return null;
    if (this.#txs === null) {
      this.#txs = new Map();
      for (const tx of this.block(this.#entry).txs) {
        this.#txs.set(hashToHex(tx.txid), tx);
        this.#txs.set(hashToHex(tx.wtxid), tx);
      }
    }
    return this.#txs.get(hashToHex(hash as ParsedTransaction['txid'])) ?? null;
  }
}
