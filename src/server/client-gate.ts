import type { AuditTrail } from '../auth/audit/audit-log.ts';
import type { Authenticator } from '../auth/authenticator.ts';
import { ClientAddresses } from '../auth/client-address.ts';
import type { RateBuckets } from '../auth/rate-limits.ts';
import type { DirectRoute } from '../http/direct-route.ts';
import type { ApiOptions } from '../http/options.ts';
import type { ReplyLedger } from '../http/reply-ledger.ts';
import type { TipView } from '../queries/tip-view.ts';
import type { Clock } from '../util/clock.ts';
import type { Log } from '../util/log.ts';
import type { Hub } from '../ws/hub.ts';
import { upgradeToWebSocket } from '../ws/upgrade.ts';
import type { AdmissionDependencies, Phase } from './admission.ts';
import { type ComposedRoutes, composeApp } from './app.ts';
import { Visitors } from './connections/visitors.ts';
import type { ServerContext } from './context.ts';
import type { FrontMemory } from './fronts/front-memory.ts';
import type { FurtherFronts } from './fronts/further-fronts.ts';
import { Gate } from './gate.ts';
import { HostPolicy } from './hosts.ts';
import { Listeners } from './listeners.ts';
import type { ApiMetrics } from './ops/metrics.ts';
import type { ReadinessView } from './ops/readiness.ts';
import { ParallelRequests } from './parallel-requests.ts';
import { RefusalPace } from './refusal-pace.ts';

export interface ClientGateOptions {
  readonly options: ApiOptions;
  readonly log: Log;
  readonly clock: Clock;
  readonly metrics: ApiMetrics;
  readonly auth: Authenticator;
  readonly audit: AuditTrail;
  readonly hub: Hub;
  readonly replies: ReplyLedger;
  /** Counts that all fronts share; null with one front. */
  readonly memory: FrontMemory | null;
  /** Buckets of rate limits that others share; those of `memory` by default. */
  readonly sharedBuckets?: RateBuckets;
  /** Holds a request whose client has seen a later state; absent where no other server shows one. */
  readonly awaitState?: AdmissionDependencies['awaitState'];
  phase(): Phase;
  tip(): TipView | null;
  /** Whether the node is in initial block download. */
  syncing(): boolean;
}

const LONG_BODIES_PER_KEY = 4;

/** The parts that a request passes before its route answers it: the listeners, and the gate with its checks and limits. */
export class ClientGate {
  readonly gate: Gate;
  readonly listeners: Listeners;
  readonly visitors: Visitors;
  readonly #clients: ClientAddresses;
  readonly #refusals: RefusalPace;
  readonly #options: ClientGateOptions;

  constructor(deps: ClientGateOptions) {
    this.#options = deps;
    const { options, log, clock, metrics, auth, audit, hub, replies, memory } = deps;
    const { limits } = options;
    this.#clients = new ClientAddresses(options.http);
    this.#refusals = new RefusalPace(clock);
    this.visitors = new Visitors(clock);
    this.gate = new Gate({
      options,
      log,
      clock,
      metrics,
      auth,
      sharedBuckets: deps.sharedBuckets ?? memory?.buckets ?? null,
      ...(deps.awaitState && { awaitState: deps.awaitState }),
      audit,
      clients: this.#clients,
      hosts: new HostPolicy({ ...options.http, bindHosts: options.http.listen.map(({ host }) => host) }),
      visitors: this.visitors,
      replies,
      parallel: new ParallelRequests(() => limits.parallelPerKey, 'requests', memory?.counts),
      longBodies: new ParallelRequests(() => LONG_BODIES_PER_KEY, 'requests with long bodies', memory?.counts),
      refusals: this.#refusals,
      phase: () => deps.phase(),
      tip: () => deps.tip(),
      syncing: () => deps.syncing(),
      upgrade: (request, server, of) => upgradeToWebSocket(request, server, of, { options, auth, hub }),
    });
    this.listeners = new Listeners(options, this.gate, hub);
  }

  /** Composes the routes and answers requests with them from now on. */
  openRoutes(
    context: ServerContext,
    readiness: ReadinessView,
    { direct, ...routes }: ComposedRoutes & { readonly direct: readonly DirectRoute[] },
  ): void {
    const app = composeApp(context, readiness, { gate: this.gate, ...routes });
    this.gate.open(app, direct);
    rehearse(this.gate);
  }

  /** Opens the listeners of a program's first front. Throws OperatorError if an address cannot be used. */
  listen(readiness: ReadinessView, further: FurtherFronts | null): void {
    const { metrics, log } = this.#options;
    this.listeners.openFirst({ metrics, readiness, visitors: this.visitors, clients: this.#clients, further, log });
  }

  /** Sends the refusals that wait for their time. */
  stopPacing(): void {
    this.#refusals.stop();
  }
}

/** Answers a request of the server's own, so that the first request of a client finds compiled code. */
function rehearse(gate: Gate): void {
  void gate.handle(new Request('http://localhost/healthz'), { requestIP: () => null, upgrade: () => false }, true);
}
