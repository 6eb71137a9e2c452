import type { MessagePort } from 'node:worker_threads';
import type { AuditTrail } from '../../auth/audit/audit-log.ts';
import type { AuthOwner } from '../../auth/shared-auth.ts';
import type { WatchOwner } from '../../feed/stored-watches.ts';
import { NODE } from '../../http/owner.ts';
import type { JobPool } from '../../queries/read-service.ts';
import { hostClock, unixSeconds } from '../../util/clock.ts';
import type { WebhookControl } from '../../webhooks/webhook-control.ts';
import type { ReadinessReport } from '../ops/readiness.ts';
import type { FrontCalls, OwnerCalls } from './front-calls.ts';
import { FrontLink, type Handlers } from './front-link.ts';

/** Time limit of the readiness of the first front, which limits each of its checks to two seconds, milliseconds. */
const READINESS_MS = 3000;

/** The first front, as a further one reaches it: everything that exists once. */
export class FirstFront {
  readonly #port: MessagePort;
  #opened: FrontLink<FrontCalls, OwnerCalls> | null = null;

  constructor(port: MessagePort) {
    this.#port = port;
  }

  /** Sets the functions that answer the calls of the first front. Call it once, before everything else. */
  serve(handlers: Handlers<FrontCalls>): void {
    this.#opened = new FrontLink(this.#port, handlers);
  }

  readonly auth: AuthOwner = {
    checkPassword: (attempt, signal) => this.#link.call('checkPassword', [attempt], { signal }),
    issueTicket: (owner) => this.#link.call('issueTicket', [owner]),
    findTicket: (text) => this.#link.call('findTicket', [text]),
    consumeTicket: (text) => this.#link.call('consumeTicket', [text]),
    createLoginCode: (issuer, scopes) => this.#link.call('createLoginCode', [issuer, scopes]),
    logIn: (attempt) => this.#link.call('logIn', [attempt]),
    useSession: (hash) => this.#link.call('useSession', [hash]),
    sessionOfId: (id) => this.#link.call('sessionOfId', [id]),
    endSession: (id) => this.#link.call('endSession', [id]),
  };

  readonly audit: AuditTrail = {
    begin: (call) => this.#link.call('auditBegin', [call]),
    complete: (id, call, outcome) => this.#send(this.#link.call('auditComplete', [id, call, outcome])),
    record: (call, outcome) => this.#send(this.#link.call('auditRecord', [call, outcome])),
    recordRefused: (call) => this.#send(this.#link.call('auditRefused', [call])),
    page: (filter, before, limit) => this.#link.call('auditPage', [filter, before, limit]),
  };

  readonly watches: WatchOwner = {
    addWatches: (owner, requests) => this.#link.call('addWatches', [owner, requests]),
    removeWatches: (owner, ids) => this.#link.call('removeWatches', [owner, ids]),
    removeAll: (owner) => this.#link.call('removeAllWatches', [owner]),
  };

  readonly webhooks: WebhookControl = {
    list: (owner) => this.#link.call('listWebhooks', [owner]),
    get: (owner, id) => this.#link.call('getWebhook', [owner, id]),
    create: (owner, request) => this.#link.call('createWebhook', [owner, request]),
    setStatus: (owner, id, status) => this.#link.call('setWebhookStatus', [owner, id, status]),
    replay: (owner, id, from) => this.#link.call('replayWebhook', [owner, id, from]),
    replaceSecret: (owner, id, secret, overlap) =>
      this.#link.call('replaceWebhookSecret', [owner, id, secret, overlap]),
    sendTest: (owner, id) => this.#link.call('testWebhook', [owner, id]),
    remove: async (owner, id) => void (await this.#link.call('removeWebhook', [owner, id])),
  };

  /** The reader workers of the first front, so that their number and the limits of each key are those of one front. */
  readonly pool: JobPool = {
    run: (job, { signal, long = false, owner = NODE }) => this.#link.call('runJob', [job, long, owner], { signal }),
    dispatch: () => {},
    close: () => Promise.resolve(),
  };

  async announceKeys(): Promise<void> {
    await this.#link.call('keysChanged', []);
  }

  metrics(): Promise<string> {
    return this.#link.call('metrics', []);
  }

  shutDown(): void {
    this.#send(this.#link.call('shutDown', []));
  }

  /** Resolves with the readiness of the whole node; with a fault where the first front does not answer. */
  readiness(service: string): Promise<ReadinessReport> {
    const late = Promise.withResolvers<ReadinessReport>();
    const checks = { fronts: { status: 'fail', message: 'the first front does not answer' } } as const;
    const timer = setTimeout(() => {
      late.resolve({ status: 'fail', service, time: unixSeconds(hostClock), durationMs: READINESS_MS, checks });
    }, READINESS_MS);
    return Promise.race([this.#link.call('readiness', []), late.promise]).finally(() => clearTimeout(timer));
  }

  get #link(): FrontLink<FrontCalls, OwnerCalls> {
    return this.#opened!;
  }

  /** A call without an answer fails only when the node stops. */
  #send(call: Promise<unknown>): void {
    call.catch(() => {});
  }
}
