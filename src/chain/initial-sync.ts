import type { ConsensusParams } from '../consensus/consensus-params.ts';
import { type Clock, unixSeconds } from '../util/clock.ts';
import type { ChainEntry } from './chain-entry.ts';

/** Age of the tip, seconds, below which the initial sync is over. Core's default of -maxtipage. */
const MAX_TIP_AGE_S = 24 * 60 * 60;

/** Core's IsInitialBlockDownload: true until the tip has had the minimum chain work and a recent time once. */
export class InitialSync {
  readonly #params: ConsensusParams;
  readonly #clock: Clock;
  readonly #maxTipAgeS: number;
  #active = true;

  constructor(params: ConsensusParams, clock: Clock, maxTipAgeS = MAX_TIP_AGE_S) {
    this.#maxTipAgeS = maxTipAgeS;
    this.#params = params;
    this.#clock = clock;
  }

  get active(): boolean {
    return this.#active;
  }

  update(tip: ChainEntry): void {
    if (!this.#active) return;
    this.#active =
      tip.chainwork < this.#params.minimumChainWork || tip.time < unixSeconds(this.#clock) - this.#maxTipAgeS;
  }
}
