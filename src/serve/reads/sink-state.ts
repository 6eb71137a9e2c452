import { ApiError } from '../../http/errors.ts';
import { headerTime } from '../../queries/block-facts.ts';
import type { TipView } from '../../queries/tip-view.ts';
import { SINK_SCHEMA_VERSION } from '../../sink/sink-schema.ts';
import type { ChainState } from '../../storage/chain-reads.ts';
import type { IndexName } from '../../storage/index-store.ts';
import { hostClock } from '../../util/clock.ts';
import { type AnswerRows, ChainRows } from './chain-rows.ts';
import type { Fetch } from './fetch-plan.ts';
import type { RowDatabase } from './row-database.ts';
import { blockOf, type Row } from './row-decoder.ts';
import { positionStatement } from './statements.ts';

/** A state that was read or confirmed within this time is shown without asking the database again, milliseconds. */
const FRESH_MS = 100;
/** Limit of the rows in memory, bytes. */
const ROW_BYTES = 64 << 20;
/** The indexes that the tables contain. */
const LIVE: ReadonlySet<IndexName> = new Set<IndexName>(['positions', 'tx', 'address', 'spender']);
const NO_HEIGHT = -1;

/**
 * The present state of the chain of a sink with its rows. All rows follow from the tip, and each statement names the tip that
 * it has read, so rows of several statements belong together where these are the same.
 */
export class SinkState {
  readonly rows = new ChainRows(ROW_BYTES);
  readonly #database: RowDatabase;
  readonly #network: string;
  #state: ChainState | null = null;
  /** The hash of the tip as the database has it, hex. */
  #hash = '';
  /** Monotonic time at which the database had this tip for the last time. */
  #confirmedAt = Number.NEGATIVE_INFINITY;
  #reading: Promise<ChainState> | null = null;
  /** Number of changes of the database that are known: a reply of before the last one may be older. */
  #changes = 0;

  /** `network` is the chain that the database must hold, as `chainNameOf` names it. */
  constructor(database: RowDatabase, network: string) {
    this.#database = database;
    this.#network = network;
  }

  /** The state that was read last; null before the first. */
  get present(): ChainState | null {
    return this.#state;
  }

  get isFresh(): boolean {
    return hostClock.monotonicMs() - this.#confirmedAt < FRESH_MS;
  }

  /** Must be called when the database is known to have changed: the next answer reads its tip first. */
  expire(): void {
    this.#changes++;
    this.#confirmedAt = Number.NEGATIVE_INFINITY;
  }

  /** The tip of the present state; null before the first. */
  tip(): TipView | null {
    if (this.#state === null) return null;
    const { tip, tipView } = this.#state;
    return { ...tipView, time: headerTime(tip) };
  }

  /**
   * Reads the tip of the database. Calls that come meanwhile share the reply. Rejects with ApiError `warming_up` where the
   * database has no chain for servers.
   */
  async read(): Promise<ChainState> {
    this.#reading ??= this.#readPosition().finally(() => {
      this.#reading = null;
    });
    return this.#reading;
  }

  /**
   * Runs statements at the same time and keeps their rows. Returns false where one of them has read another tip than `state`:
   * that one has been read then, and nothing is kept.
   */
  async fetch(fetches: readonly Fetch[], rows: AnswerRows, state: ChainState): Promise<boolean> {
    const at = hostClock.monotonicMs();
    const changes = this.#changes;
    const found = await Promise.all(fetches.map(({ statement }) => this.#database.run(statement)));
    const isSame = found.every(([row]) => row !== undefined && hexOf(row.at_hash) === this.#hash);
    if (!isSame || this.#state !== state) {
      if (this.#state === state) await this.read();
      return false;
    }
    if (changes === this.#changes) this.#confirmedAt = Math.max(this.#confirmedAt, at);
    for (const [i, each] of fetches.entries())
      each.keep(
        rows,
        found[i]!.filter((row) => row.found === true),
        state.tip.height,
      );
    return true;
  }

  async #readPosition(): Promise<ChainState> {
    const at = hostClock.monotonicMs();
    const before = this.#state;
    const changes = this.#changes;
    const [row] = await this.#database.run(positionStatement(before?.tip.height ?? NO_HEIGHT));
    // Answers that began after the change share this read, and must not show the state of before it.
    if (changes !== this.#changes) return this.#readPosition();
    if (row === undefined) throw new ApiError('warming_up', NOT_FILLED);
    this.#check(row);
    const hash = hexOf(row.at_hash);
    if (before === null || hash !== this.#hash) {
      const { record } = blockOf(row);
      this.#state = { tip: record, tipView: { height: record.height, hash }, live: LIVE };
      this.rows.advance(before !== null && row.earlier_hash !== null && hexOf(row.earlier_hash) === this.#hash);
      this.#hash = hash;
    }
    this.#confirmedAt = at;
    return this.#state!;
  }

  #check({ version, network, phase, at_height: height }: Row): void {
    if (network !== this.#network)
      throw new ApiError('warming_up', `the database holds the chain of network ${network}, not of ${this.#network}`);
    if (Number(version) !== SINK_SCHEMA_VERSION)
      throw new ApiError(
        'warming_up',
        `the tables of the database have version ${version}, and this server reads version ${SINK_SCHEMA_VERSION}`,
      );
    if (phase !== 'live' || Number(height) < 0) throw new ApiError('warming_up', NOT_FILLED);
  }
}

const NOT_FILLED = 'a node is still filling the database: servers answer when it has reached the tip';

function hexOf(value: unknown): string {
  return (value as Uint8Array).toHex();
}
