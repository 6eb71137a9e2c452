import { sleep } from '../../util/abort.ts';
import { walletFail } from '../wallet-error.ts';
import { tooManyAttemptsMessage } from './passphrase-key.ts';

/** Delay after a wrong passphrase; doubled each time, up to a bound. */
const FIRST_DELAY_MS = 250;
const LONGEST_DELAY_MS = 8000;
/** Attempts of one caller for one wallet. */
const MAX_WAITING = 4;
/** Callers with a delay that are remembered; the oldest is forgotten first. */
const MAX_LANES = 256;

interface Lane {
  turn: Promise<unknown>;
  waiting: number;
  wrong: number;
}

/**
 * Passphrase attempts, one at a time for each caller. A wrong passphrase delays only later attempts of the same caller,
 * so that an API key cannot keep the operator from unlocking.
 */
export class PassphraseLanes {
  readonly #signal: AbortSignal;
  readonly #lanes = new Map<string, Lane>();

  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  /**
   * Runs an attempt after the caller's earlier ones; null means a wrong passphrase, which doubles the delay. Throws
   * WalletError.
   */
  run<T>(caller: string, attempt: () => Promise<T | null>): Promise<T | null> {
    const lane = this.#laneOf(caller);
    if (lane.waiting >= MAX_WAITING) walletFail('wallet', tooManyAttemptsMessage());
    lane.waiting++;
    const result = lane.turn.then(() => this.#attempt(lane, attempt));
    lane.turn = result.then(
      () => lane.waiting--,
      () => lane.waiting--,
    );
    return result;
  }

  async #attempt<T>(lane: Lane, attempt: () => Promise<T | null>): Promise<T | null> {
    const outcome = await attempt();
    if (outcome !== null) {
      lane.wrong = 0;
      return outcome;
    }
    const delay = Math.min(FIRST_DELAY_MS * 2 ** lane.wrong++, LONGEST_DELAY_MS);
    await sleep(delay, this.#signal);
    return null;
  }

  #laneOf(caller: string): Lane {
    const known = this.#lanes.get(caller);
    if (known) return known;
    const lane: Lane = { turn: Promise.resolve(), waiting: 0, wrong: 0 };
    if (this.#lanes.size >= MAX_LANES) this.#lanes.delete(this.#lanes.keys().next().value!);
    this.#lanes.set(caller, lane);
    return lane;
  }
}
