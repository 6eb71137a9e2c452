import type { Chain } from '../chain/chain.ts';
import type { ChainEntry } from '../chain/chain-entry.ts';
import { nextWorkRequired } from '../consensus/difficulty.ts';
import { blockSubsidy } from '../consensus/subsidy.ts';
import { computeBlockVersion, VersionBitsCache } from '../consensus/version-bits.ts';
import { witnessCommitment, witnessCommitmentScript } from '../consensus/witness-commitment.ts';
import type { Mempool } from '../mempool/pool.ts';
import type { Amount } from '../primitives/amount.ts';
import { merkleRoot } from '../primitives/merkle.ts';
import { type Clock, unixSeconds } from '../util/clock.ts';
import { minimumTime } from './minimum-time.ts';
import { RESERVED_VALUE } from './reserved-value.ts';
import { type SlotSelection, selectSlots } from './select-transactions.ts';

/** What others put into the next block. Made at one moment of the mempool; `time` and `bits` move on. */
export interface BlockTemplate {
  /** Another one has another number. */
  readonly id: number;
  readonly parent: ChainEntry;
  readonly version: number;
  /** Seconds. */
  readonly time: number;
  readonly minTime: number;
  readonly bits: number;
  /** Changes of the mempool when it was made. */
  readonly changes: number;
  /** Slots that this held then; they may hold others by now. */
  readonly selection: SlotSelection;
  /** Subsidy and fees. */
  readonly coinbaseValue: Amount;
  /** The output script by which a coinbase commits to the witnesses. */
  readonly commitment: Uint8Array;
}

/** How long a template serves although the mempool has changed, milliseconds; as in Core. */
const MAX_AGE_MS = 5000;

/** Makes templates on the tip, and keeps the newest. */
export class TemplateMaker {
  readonly #chain: Chain;
  readonly #mempool: Mempool;
  readonly #clock: Clock;
  readonly #versions = new VersionBitsCache();
  #kept: { readonly template: BlockTemplate; readonly madeAtMs: number } | null = null;
  #made = 0;

  constructor(deps: { readonly chain: Chain; readonly mempool: Mempool; readonly clock: Clock }) {
    this.#chain = deps.chain;
    this.#mempool = deps.mempool;
    this.#clock = deps.clock;
  }

  /**
   * The template on the tip: a new one where the block changed, or the mempool did and the last one is old. To be called
   * with the chain settled. `made` is called for a new one, while the slots still hold what it names.
   */
  current(made: (template: BlockTemplate) => void = () => {}): BlockTemplate {
    const { tip } = this.#chain;
    const now = this.#clock.nowMs();
    const kept = this.#kept;
    const serves =
      kept?.template.parent === tip &&
      (kept.template.changes === this.#mempool.changes || Math.abs(now - kept.madeAtMs) <= MAX_AGE_MS);
    if (serves) return this.#onTime(kept.template);
    const template = this.#onTime(this.#make(tip));
    made(template);
    this.#kept = { template, madeAtMs: now };
    return template;
  }

  #make(parent: ChainEntry): BlockTemplate {
    const { consensus } = this.#chain.params;
    const selection = selectSlots(this.#mempool, this.#chain);
    const subsidy = blockSubsidy(parent.height + 1, consensus.subsidyHalvingInterval);
    return {
      id: ++this.#made,
      parent,
      version: computeBlockVersion(parent, consensus, this.#versions),
      time: 0,
      minTime: minimumTime(parent, consensus),
      bits: 0,
      changes: this.#mempool.changes,
      selection,
      coinbaseValue: subsidy + BigInt(selection.fees),
      commitment: this.#commitment(selection),
    };
  }

  #commitment({ slots }: SlotSelection): Uint8Array {
    // The coinbase stands first with zeros.
    const wtxids = new Uint8Array((slots.length + 1) * 32);
    for (const [i, slot] of slots.entries()) wtxids.set(this.#mempool.entries.wtxid(slot), (i + 1) * 32);
    return witnessCommitmentScript(witnessCommitment(merkleRoot(wtxids).root, RESERVED_VALUE));
  }

  /** With the time of now, on which the difficulty of test networks depends. */
  #onTime(template: BlockTemplate): BlockTemplate {
    const time = Math.max(template.time, template.minTime, unixSeconds(this.#clock));
    return { ...template, time, bits: nextWorkRequired(template.parent, time, this.#chain.params.consensus) };
  }
}
