import type { FeeReport } from '../mempool/fees/fee-estimator.ts';
import type { TipView } from '../queries/tip-view.ts';
import { type Clock, unixSeconds } from '../util/clock.ts';
import { feesView } from '../views/rest/fees-view.ts';
import type { Hub } from '../ws/hub.ts';

/** Sends `feeUpdate` to the clients of the WebSocket. */
export class FeeAnnouncer {
  readonly #hub: Pick<Hub, 'announce'>;
  readonly #clock: Clock;
  #announcedFees = '';

  constructor(hub: Pick<Hub, 'announce'>, clock: Clock) {
    this.#hub = hub;
    this.#clock = clock;
  }

  /** Sends `feeUpdate` if a rate has changed. */
  announceFees(report: FeeReport, { height, hash }: TipView): void {
    const { tip, updatedAt, ...rates } = feesView(report, report.floor, { height, hash }, unixSeconds(this.#clock));
    const text = JSON.stringify(rates);
    if (text !== this.#announcedFees) this.#hub.announce('feeUpdate', JSON.stringify({ ...rates, tip, updatedAt }));
    this.#announcedFees = text;
  }
}
