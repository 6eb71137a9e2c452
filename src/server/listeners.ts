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
import { listenProblem } from './listen-problem.ts';
import { startOpsListener } from './ops/listener.ts';
import type { ApiMetrics } from './ops/metrics.ts';
import type { ReadinessView } from './ops/readiness.ts';

type ClientListener = ReturnType<typeof listen>;

/** Earlier certificates whose listeners stay; beyond that the connections of the oldest are closed. */
const MAX_EARLIER = 4;

/** The parts that a server with listeners of its own needs besides the gate. */
interface GuardedParts {
  readonly metrics: ApiMetrics;
  readonly readiness: ReadinessView;
  readonly visitors: Visitors;
  readonly clients: ClientAddresses;
  /** Null with one front. */
  readonly further: FurtherFronts | null;
  readonly log: Log;
}

/** The listeners of one front: those of the clients, and on the first front that of probes, with the guard of all. */
export class Listeners {
  readonly #options: ApiOptions;
  readonly #gate: Gate;
  readonly #hub: Hub;
  /** One listener for each address of the options, in their order. */
  #servers: readonly ClientListener[] = [];
  /** Listeners with an earlier certificate that still have connections, the oldest first. */
  readonly #earlier = new Set<readonly ClientListener[]>();
  #opsServer: ReturnType<typeof startOpsListener> | null = null;
  #guard: ReturnType<typeof startGuard> = null;

  constructor(options: ApiOptions, gate: Gate, hub: Hub) {
    this.#options = options;
    this.#gate = gate;
    this.#hub = hub;
  }

  /** Opens the listeners of the first front. Throws OperatorError if an address cannot be used. */
  openFirst({ metrics, readiness, visitors, clients, further, log }: GuardedParts): void {
    const options = this.#options;
    // The guard takes long to start, so it does before the listeners open: the first clients would wait for it.
    const ports = new Set<number>();
    this.#guard = startGuard(options, { ports, visitors, clients, fronts: further, log });
    try {
      // A listener with TLS shares its port with the one of the next certificate.
      const isShared = further !== null || options.http.tls !== null;
      this.#servers = this.#openAll(options.http.listen, { isShared, isFirst: true });
      this.#opsServer = options.opsListen && startOpsListener(options.opsListen, { options, metrics, readiness });
    } catch (error) {
      for (const server of this.#servers) void server.stop(true);
      this.#guard?.stop();
      throw error;
    }
    for (const { port } of this.addresses) ports.add(port);
    if (this.#opsServer) ports.add(this.#opsServer.port!);
    warnAboutExposure(options, log);
  }

  /** Opens the listeners of a further front, on the ports of the first one. */
  openFurther(addresses: readonly ListenAddress[]): void {
    this.#servers = this.#openAll(addresses, { isShared: true });
  }

  /**
   * Opens listeners with another certificate on the same ports, and closes the present ones: their requests and WebSockets
   * continue, and their idle connections end. Bun cannot change the certificate of a listener. Throws OperatorError or the
   * error of Bun if the certificate cannot be used, and the present listeners stay.
   */
  replaceCertificate(tls: TlsPair): void {
    const former = this.#servers;
    this.#servers = this.#openAll(this.addresses, { isShared: true, tls });
    this.#earlier.add(former);
    void Promise.all(former.map((server) => server.stop())).finally(() => this.#earlier.delete(former));
    const [oldest] = this.#earlier;
    if (this.#earlier.size > MAX_EARLIER) for (const server of oldest!) void server.stop(true);
  }

  /** The addresses of the clients' listeners, with the ports that the system has chosen. */
  get addresses(): readonly ListenAddress[] {
    const { listen } = this.#options.http;
    return this.#servers.map(({ port }, i) => ({ host: listen[i]!.host, port: port! }));
  }

  get urls(): readonly string[] {
    return this.#servers.map(({ url }) => url.href.replace(/\/$/, ''));
  }

  get opsUrl(): string | null {
    return this.#opsServer?.url.href.replace(/\/$/, '') ?? null;
  }

  /** Refuses new connections at once. Resolves when the open ones have ended or their time has. */
  async drain(ms: number): Promise<void> {
    const all = [...[...this.#earlier].flat(), ...this.#servers];
    await Promise.race([Promise.all(all.map((server) => server.stop())), Bun.sleep(ms)]);
    await Promise.all(all.map((server) => server.stop(true)));
  }

  /** Closes the rest. */
  async close(): Promise<void> {
    await this.#opsServer?.stop(true);
    this.#guard?.stop();
  }

  /** Opens a listener on each address, or on none: throws OperatorError or the error of Bun if one cannot be opened. */
  #openAll(
    addresses: readonly ListenAddress[],
    { isShared, isFirst = false, tls }: { isShared: boolean; isFirst?: boolean; tls?: TlsPair },
  ): readonly ClientListener[] {
    const opened: ClientListener[] = [];
    for (const address of addresses)
      try {
        if (isFirst && isShared) checkAddressFree(address);
        opened.push(listen(this.#options, { address, isShared, ...(tls && { tls }) }, this.#gate, this.#hub));
      } catch (error) {
        for (const server of opened) void server.stop(true);
        throw listenProblem('http.listen', address, error);
      }
    return opened;
  }
}
