import type { Authenticator } from '../../auth/authenticator.ts';
import type { SharedAuth } from '../../auth/shared-auth.ts';
import type { Clock } from '../../util/clock.ts';
import type { Log } from '../../util/log.ts';
import { KeyReplica, type KeyReplicaStatus } from './key-replica.ts';
import { RateExchange, type RateExchangeStatus } from './rate-exchange.ts';

export interface ServerKeysOptions {
  /** URL of the database, which may hold a password. */
  readonly url: string;
  /** Names the sessions in the database, such as the name of the service. */
  readonly name: string;
  readonly log: Log;
  /** The clock of credentials and limits: `hostClock`. */
  readonly clock: Clock;
  /** `limits.authFailuresPerMinute` of the options of the API. */
  readonly authFailuresPerMinute: number;
}

export interface ServerKeysStatus {
  readonly keys: KeyReplicaStatus;
  readonly rates: RateExchangeStatus;
}

/**
 * Keys and limits that the servers of a database share. No request waits for the database. A server is composed like this:
 *
 *     const keys = new ServerKeys(…);
 *     const auth = new Authenticator(options, log, clock, counters, keys.shared);
 *     const requestAuth = new RequestAuth({ …, auth, sharedBuckets: keys.shared.buckets });
 *     keys.attach(auth);
 *     const running = keys.run(signal);
 *     // At the end: auth.close(), then the signal aborts, then `await running`.
 */
export class ServerKeys {
  /** For the constructor of `Authenticator`. */
  readonly shared: SharedAuth;
  readonly #replica: KeyReplica;
  readonly #exchange: RateExchange;
  #auth: Authenticator | null = null;

  /** Connects to nothing yet. */
  constructor(options: ServerKeysOptions) {
    const { url, name, log, clock, authFailuresPerMinute } = options;
    const onChanged = () => this.#auth?.reloadKeys();
    this.#replica = new KeyReplica({ url, log, clock, onChanged, name: `obverse ${name} keys`.slice(0, 63) });
    this.#exchange = new RateExchange({
      url,
      log,
      clock,
      authFailuresPerMinute,
      name: `obverse ${name} rates`.slice(0, 63),
    });
    this.shared = {
      buckets: this.#exchange.rates.buckets,
      failures: this.#exchange.rates.failures,
      owner: null,
      announceKeys: async () => {},
      announceEndedSessions: async () => {},
    };
  }

  /** Opens the authenticator with the keys of the database. Until they are read, a caller with a key receives `warming_up`. */
  attach(auth: Authenticator): void {
    this.#auth = auth;
    auth.openWith(this.#replica.store, () => this.#replica.refusal());
  }

  /**
   * Follows the keys and exchanges the rates until the signal aborts; resolves when the last times of use are written.
   * Failures of the database are reported in the status and the log.
   */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#replica.run(signal), this.#exchange.run(signal)]);
  }

  /** For readiness and metrics: `keys.state` is `current` and `rates.problem` null on a server that has its database. */
  get status(): ServerKeysStatus {
    return { keys: this.#replica.status, rates: this.#exchange.status };
  }
}
