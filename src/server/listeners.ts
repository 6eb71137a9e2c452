import type { ClientAddresses } from '../auth/client-address.ts';
import type { ApiOptions, ListenAddress } from '../http/options.ts';
import type { Log } from '../util/log.ts';
import type { Hub } from '../ws/hub.ts';
import { startGuard } from './connections/connection-guard.ts';
import type { Visitors } from './connections/visitors.ts';
import type { FurtherFronts } from './fronts/further-fronts.ts';
import type { Gate } from './gate.ts';
import { checkAddressFree, listen, warnAboutExposure } from './listen.ts';
import { startOpsListener } from './ops/listener.ts';
import type { ApiMetrics } from './ops/metrics.ts';
import type { Readiness } from './ops/readiness.ts';

/** The parts that a server with listeners of its own needs besides the gate. */
interface GuardedParts {
  readonly metrics: ApiMetrics;
  readonly readiness: Readiness;
  readonly visitors: Visitors;
  readonly clients: ClientAddresses;
  /** Null with one front. */
  readonly further: FurtherFronts | null;
  readonly log: Log;
}

/** The listeners of one front: that of the clients, and on the first front that of probes, with the guard of both. */
export class Listeners {
  readonly #options: ApiOptions;
  readonly #gate: Gate;
  readonly #hub: Hub;
  #server: ReturnType<typeof listen> | null = null;
  #opsServer: ReturnType<typeof startOpsListener> | null = null;
  #guard: ReturnType<typeof startGuard> = null;

  constructor(options: ApiOptions, gate: Gate, hub: Hub) {
    this.#options = options;
    this.#gate = gate;
    this.#hub = hub;
  }

  /** Opens the listeners of the first front. Throws the error of Bun if an address is in use. */
  openFirst({ metrics, readiness, visitors, clients, further, log }: GuardedParts): void {
    const options = this.#options;
    // The guard takes long to start, so it does before the listener opens: the first clients would wait for it.
    const ports = new Set<number>();
    this.#guard = startGuard(options, { ports, visitors, clients, fronts: further, log });
    const { listen: address } = options.http;
    try {
      if (further) checkAddressFree(address);
      this.#server = listen(options, { address, isShared: further !== null }, this.#gate, this.#hub);
      this.#opsServer = options.opsListen && startOpsListener(options.opsListen, { options, metrics, readiness });
    } catch (error) {
      this.#guard?.stop();
      throw error;
    }
    ports.add(this.port);
    if (this.#opsServer) ports.add(this.#opsServer.port!);
    warnAboutExposure(options, log);
  }

  /** Opens the listener of a further front, on the port of the first one. */
  openFurther(address: ListenAddress): void {
    this.#server = listen(this.#options, { address, isShared: true }, this.#gate, this.#hub);
  }

  get port(): number {
    return this.#server!.port!;
  }

  get url(): string {
    return this.#server!.url.href.replace(/\/$/, '');
  }

  get opsUrl(): string | null {
    return this.#opsServer?.url.href.replace(/\/$/, '') ?? null;
  }

  /** Refuses new connections at once. Resolves when the open ones have ended or their time has. */
  async drain(ms: number): Promise<void> {
    await Promise.race([this.#server?.stop(), Bun.sleep(ms)]);
    await this.#server?.stop(true);
  }

  /** Closes the rest. */
  async close(): Promise<void> {
    await this.#opsServer?.stop(true);
    this.#guard?.stop();
  }
}
