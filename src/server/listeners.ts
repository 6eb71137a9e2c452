import type { ClientAddresses } from '../auth/client-address.ts';
import type { TlsPair } from '../http/live-options.ts';
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

/** Listeners with earlier certificates; beyond that the connections of the oldest are closed. */
const MAX_EARLIER = 4;

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
  /** Listeners with an earlier certificate that still have connections, the oldest first. */
  readonly #earlier = new Set<ReturnType<typeof listen>>();
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
      // A listener with TLS shares its port with the one of the next certificate.
      const isShared = further !== null || options.http.tls !== null;
      if (isShared) checkAddressFree(address);
      this.#server = listen(options, { address, isShared }, this.#gate, this.#hub);
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

  /**
   * Opens a listener with another certificate on the same port, and closes the present one: its requests and WebSockets
   * continue, and its idle connections end. Bun cannot change the certificate of a listener. Throws the error of Bun if the
   * certificate cannot be used, and the present listener stays.
   */
  replaceCertificate(tls: TlsPair): void {
    const former = this.#server!;
    const address = { host: this.#options.http.listen.host, port: this.port };
    this.#server = listen(this.#options, { address, isShared: true, tls }, this.#gate, this.#hub);
    this.#earlier.add(former);
    void former.stop().finally(() => this.#earlier.delete(former));
    const [oldest] = this.#earlier;
    if (this.#earlier.size > MAX_EARLIER) void oldest!.stop(true);
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
    const all = [...this.#earlier, ...(this.#server ? [this.#server] : [])];
    await Promise.race([Promise.all(all.map((server) => server.stop())), Bun.sleep(ms)]);
    await Promise.all(all.map((server) => server.stop(true)));
  }

  /** Closes the rest. */
  async close(): Promise<void> {
    await this.#opsServer?.stop(true);
    this.#guard?.stop();
  }
}
