import type { AuditLog } from '../../auth/audit/audit-log.ts';
import type { Authenticator } from '../../auth/authenticator.ts';
import type { StoredWatches } from '../../feed/stored-watches.ts';
import type { ApiReload } from '../../http/live-options.ts';
import type { JobPool } from '../../queries/read-service.ts';
import type { WebhookControl } from '../../webhooks/webhook-control.ts';
import type { Hub } from '../../ws/hub.ts';
import type { Visitors } from '../connections/visitors.ts';
import type { ApiMetrics } from '../ops/metrics.ts';
import type { Readiness } from '../ops/readiness.ts';
import type { FrontCalls, OwnerCalls } from './front-calls.ts';
import type { Handlers } from './front-link.ts';
import type { FurtherFronts } from './further-fronts.ts';

/** The parts of the first front that serve the others. */
interface OwnerParts {
  readonly auth: Authenticator;
  readonly audit: AuditLog;
  readonly watches: StoredWatches;
  readonly webhooks: WebhookControl;
  readonly pool: JobPool;
  readonly readiness: Readiness;
  readonly metrics: ApiMetrics;
  readonly further: FurtherFronts;
  readonly shutDown: (() => void) | null;
}

/** Returns the functions that answer the calls of the further fronts, for the front at a place in their list. */
export function ownerHandlers(parts: OwnerParts): (caller: number) => Handlers<OwnerCalls> {
  const { auth, audit, watches, webhooks, pool, readiness, metrics, further, shutDown } = parts;
  return (caller) => ({
    checkPassword: (signal, attempt) => auth.checkPassword(attempt, signal),
    issueTicket: (_, owner) => auth.tickets.issueTicket(owner),
    findTicket: (_, text) => auth.tickets.findTicket(text),
    consumeTicket: (_, text) => auth.tickets.consumeTicket(text),
    createLoginCode: (_, issuer, scopes) => auth.sessions.createLoginCode(issuer, scopes),
    logIn: (_, attempt) => auth.sessions.answerLogIn(attempt),
    useSession: (_, hash) => auth.sessions.useSession(hash),
    sessionOfId: (_, id) => auth.sessions.sessionOfId(id),
    endSession: (_, id) => auth.sessions.endSession(id),
    async keysChanged() {
      auth.reloadKeys();
      await further.announceKeys(caller);
      return null;
    },
    auditBegin: (_, call) => audit.begin(call),
    auditComplete: (_, id, call, outcome) => done(audit.complete(id, call, outcome)),
    auditRecord: (_, call, outcome) => done(audit.record(call, outcome)),
    auditRefused: (_, call) => done(audit.recordRefused(call)),
    auditPage: (_, filter, before, limit) => audit.page(filter, before, limit),
    addWatches: (_, owner, requests) => watches.addWatches(owner, requests),
    removeWatches: (_, owner, ids) => watches.removeWatches(owner, ids),
    removeAllWatches: (_, owner) => watches.removeAll(owner),
    listWebhooks: (_, owner) => webhooks.list(owner),
    getWebhook: (_, owner, id) => webhooks.get(owner, id),
    createWebhook: (_, owner, request) => webhooks.create(owner, request),
    setWebhookStatus: (_, owner, id, status) => webhooks.setStatus(owner, id, status),
    replayWebhook: (_, owner, id, from) => webhooks.replay(owner, id, from),
    replaceWebhookSecret: (_, owner, id, secret, overlap) => webhooks.replaceSecret(owner, id, secret, overlap),
    testWebhook: (_, owner, id) => webhooks.sendTest(owner, id),
    removeWebhook: async (_, owner, id) => done(await webhooks.remove(owner, id)),
    runJob: (signal, job, long, owner) => pool.run(job, { signal, long, owner }),
    readiness: () => readiness.run(),
    metrics: () => metrics.render(),
    shutDown: () => done(shutDown?.()),
  });
}

/** The parts of a further front that the first one reaches. */
interface FrontParts {
  readonly auth: Authenticator;
  readonly watches: StoredWatches;
  readonly hub: Hub;
  readonly metrics: ApiMetrics;
  readonly visitors: Visitors;
  /** Applies changed options. */
  reload(change: ApiReload): void;
  stop(reason: string): Promise<void>;
}

/** Returns the functions that answer the calls of the first front. */
export function frontHandlers({
  auth,
  watches,
  hub,
  metrics,
  visitors,
  reload,
  stop,
}: FrontParts): Handlers<FrontCalls> {
  return {
    reloadKeys: () => done(auth.reloadKeys()),
    reload: (_, change) => done(reload(change)),
    forgetSessions: (_, ids) => done(auth.sessions.forgetSessions(ids)),
    applyWatches: async (_, owner, written) => done(await watches.applyWritten(owner, written)),
    announceDisabledWebhook: (_, { owner, data }) => done(hub.announce('webhookDisabled', data, owner)),
    check: () => hub.seq,
    metrics: () => metrics.ownText(),
    visitors(_, peers, since) {
      visitors.removeClosed(peers, since);
      return visitors.entries();
    },
    stop: async (_, reason) => done(await stop(reason)),
  };
}

function done(_: unknown): null {
  return null;
}
