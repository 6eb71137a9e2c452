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
import type { MiningDeps } from './mining-deps.ts';
import { DEFAULT_MINING_OPTIONS, type MiningOptions } from './mining-options.ts';
import { RESERVED_VALUE } from './reserved-value.ts';
import { type SlotSelection, selectSlots } from './select-transactions.ts';

/** A template for external miners. Its transactions are those of one moment; `time` and `bits` are updated. */
export interface BlockTemplate {
  /** Number of the template; a new one gets a new number. */
  readonly id: number;
  readonly parent: ChainEntry;
  readonly version: number;
  /** Unix seconds. */
  readonly time: number;
  readonly minTime: number;
  readonly bits: number;
  /** Change counter of the mempool when the template was made. */
  readonly changes: number;
  /** Selected slots at that time; they may hold other transactions since. */
  readonly selection: SlotSelection;
  /** Subsidy and fees, satoshis. */
  readonly coinbaseValue: Amount;
  /** The output script of the witness commitment. */
  readonly commitment: Uint8Array;
}

/** Maximum age of a template after the mempool changed, milliseconds; as in Core. */
const MAX_AGE_MS = 5000;

/** Makes templates on the tip, and caches the newest. */
export class TemplateMaker {
  readonly #chain: Chain;
  readonly #mempool: Mempool;
  readonly #clock: Clock;
  readonly #versions = new VersionBitsCache();
  readonly #limits: MiningOptions;
  readonly #blockVersion: number | null;
  #kept: { readonly template: BlockTemplate; readonly madeAtMs: number } | null = null;
  #made = 0;

  constructor(deps: MiningDeps) {
    this.#chain = deps.chain;
    this.#mempool = deps.mempool;
    this.#clock = deps.clock;
    this.#limits = deps.limits ?? DEFAULT_MINING_OPTIONS;
    this.#blockVersion = deps.blockVersion ?? null;
  }

  /**
   * Returns the template on the tip: a new one if the tip changed, or if the mempool changed and the cached one is too
   * old. The chain must be settled. `made` is called for a new one, while the slots still hold its transactions.
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
    const selection = selectSlots(this.#mempool, this.#chain, { limits: this.#limits });
    const subsidy = blockSubsidy(parent.height + 1, consensus.subsidyHalvingInterval);
    return {
      id: ++this.#made,
      parent,
      version: this.#blockVersion ?? computeBlockVersion(parent, consensus, this.#versions),
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
    // The first entry is the coinbase's, zero.
    const wtxids = new Uint8Array((slots.length + 1) * 32);
    for (const [i, slot] of slots.entries()) wtxids.set(this.#mempool.entries.wtxid(slot), (i + 1) * 32);
    return witnessCommitmentScript(witnessCommitment(merkleRoot(wtxids).root, RESERVED_VALUE));
  }

  /** Returns the template with the current time, on which the difficulty of test networks depends. */
  #onTime(template: BlockTemplate): BlockTemplate {
    const time = Math.max(template.time, template.minTime, unixSeconds(this.#clock));
    return { ...template, time, bits: nextWorkRequired(template.parent, time, this.#chain.params.consensus) };
  }
}
