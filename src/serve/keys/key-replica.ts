import { AuthStore } from '../../auth/auth-store.ts';
import { ApiError } from '../../http/errors.ts';
import { abortable, sleep } from '../../util/abort.ts';
import type { Clock } from '../../util/clock.ts';
import type { Log } from '../../util/log.ts';
import { databaseProblem } from '../database-session.ts';
import { KeyDatabase, type KeySnapshot } from './key-database.ts';

/** Pause between two checks of the version of the keys, milliseconds. */
const REFRESH_MS = 1000;
/** Time limit of a statement, milliseconds. */
const LIMIT_MS = 3000;
/** Time for which known keys remain valid while the database cannot be read, milliseconds. */
const VALID_MS = 300_000;

export interface KeyReplicaOptions {
  /** URL of the database, which may hold a password. */
  readonly url: string;
  /** Name of the session in the database. */
  readonly name: string;
  readonly log: Log;
  readonly clock: Clock;
  /** Called after the keys in `store` have changed. */
  readonly onChanged: () => void;
}

export interface KeyReplicaStatus {
  /**
   * `loading` before the first read; `current` while the database is read; `stale` while it cannot be read and the known
   * keys remain valid; `expired` when they no longer are.
   */
  readonly state: 'loading' | 'current' | 'stale' | 'expired';
  readonly keys: number;
  /** Seconds since the keys were known to be current; null before the first read. */
  readonly ageSeconds: number | null;
  /** The reason why the database cannot be read; null while it can. */
  readonly problem: string | null;
}

/** A store in memory whose times of last use go to the database. */
class ReplicaStore extends AuthStore {
  readonly #onTouched: (lastUsed: ReadonlyMap<string, number>) => void;

  constructor(onTouched: (lastUsed: ReadonlyMap<string, number>) => void) {
    super(null);
    this.#onTouched = onTouched;
  }

  override touch(lastUsed: ReadonlyMap<string, number>): void {
    this.#onTouched(lastUsed);
  }
}

/**
 * The keys of the database in the memory of a server. A change in the database is here within `REFRESH_MS` and two
 * statements. While the database cannot be read, the known keys remain valid for `VALID_MS`, and revocations are not seen.
 */
export class KeyReplica {
  /** For `Authenticator.openWith`, which closes it. */
  readonly store: AuthStore;
  readonly #options: KeyReplicaOptions;
  readonly #database: KeyDatabase;
  readonly #lastUses = new Map<string, number>();
  /** The version in the store; null where all keys must be read again. */
  #version: number | null = null;
  /** Monotonic time at which the keys were last known to be current, milliseconds. */
  #currentAt: number | null = null;
  #isExpired = false;
  #count = 0;
  #problem: string | null = null;

  constructor(options: KeyReplicaOptions) {
    const { url, name } = options;
    this.#options = options;
    this.#database = new KeyDatabase({ url, name, limitMs: LIMIT_MS });
    this.store = new ReplicaStore((lastUsed) => {
      for (const [id, at] of lastUsed) this.#lastUses.set(id, at);
    });
  }

  get status(): KeyReplicaStatus {
    const at = this.#currentAt;
    const ageSeconds = at === null ? null : Math.floor((this.#options.clock.monotonicMs() - at) / 1000);
    return { state: this.#state, keys: this.#count, ageSeconds, problem: this.#problem };
  }

  /** For `Authenticator.openWith`: returns the error for callers while no key can be known. */
  refusal(): ApiError | null {
    const state = this.#state;
    if (state === 'loading') return new ApiError('warming_up', 'the keys have not been read from the database yet');
    return state === 'expired' ? new ApiError('warming_up', 'the keys cannot be read from the database') : null;
  }

  /**
   * Follows the keys until the signal aborts, and resolves within the time limit of one statement. Close the Authenticator
   * before, so that its last uses are written.
   */
  async run(signal: AbortSignal): Promise<void> {
    await this.#follow(signal).catch(() => {});
    // A statement that waits for the database would hold up the last one.
    this.#database.close();
    await this.#writeLastUses();
    this.#database.close();
  }

  /** Rejects when the signal aborts. */
  async #follow(signal: AbortSignal): Promise<never> {
    for (;;) {
      await abortable(this.#refresh(signal), signal);
      await abortable(this.#writeLastUses(), signal);
      await sleep(REFRESH_MS, signal);
    }
  }

  get #state(): KeyReplicaStatus['state'] {
    if (this.#currentAt === null) return 'loading';
    if (this.#isExpired) return 'expired';
    return this.#problem === null ? 'current' : 'stale';
  }

  /** Reads the keys where their version has changed. Errors are reported in the status. */
  async #refresh(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options;
    try {
      const startedAt = clock.monotonicMs();
      if ((await this.#database.version()) !== this.#version) {
        const snapshot = await this.#database.read();
        // The store is closed when the server stops.
        if (signal.aborted) return;
        this.#version = snapshot.version;
        this.#replace(snapshot);
      }
      this.#currentAt = startedAt;
      this.#isExpired = false;
      if (this.#problem !== null) log.info('the keys are read from the database again', { keys: this.#count });
      this.#problem = null;
    } catch (error) {
      if (signal.aborted) return;
      const problem = databaseProblem(error);
      if (this.#problem === null)
        log.warn('the keys cannot be read from the database: known keys remain valid, and revocations are not seen', {
          problem,
          validSeconds: VALID_MS / 1000,
        });
      this.#problem = problem;
      // The database may be another one, or an earlier state of it, when it is back.
      this.#version = null;
      this.#expire();
    }
  }

  #expire(): void {
    const { clock, log } = this.#options;
    if (this.#currentAt === null || this.#isExpired || clock.monotonicMs() - this.#currentAt < VALID_MS) return;
    this.#isExpired = true;
    log.error('the keys have not been read from the database for too long: no key is valid', {
      validSeconds: VALID_MS / 1000,
    });
    this.#replace({ keys: [], secrets: [] });
  }

  #replace({ keys, secrets }: Pick<KeySnapshot, 'keys' | 'secrets'>): void {
    this.#count = keys.length;
    this.store.replaceKeys(keys, secrets);
    this.#options.onChanged();
  }

  /** Keeps those that cannot be written for the next time; there are no more than keys. */
  async #writeLastUses(): Promise<void> {
    if (this.#lastUses.size === 0) return;
    const written = new Map(this.#lastUses);
    try {
      await this.#database.writeLastUses(written);
      for (const [id, at] of written) if (this.#lastUses.get(id) === at) this.#lastUses.delete(id);
    } catch (error) {
      this.#options.log.debug('the times of last use cannot be written', { problem: databaseProblem(error) });
    }
  }
}
