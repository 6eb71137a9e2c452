import type { AuditOutcome } from '../../auth/audit/audit-log.ts';
import type { AuditCall, AuditEntry, AuditFilter } from '../../auth/audit/audit-store.ts';
import type { IssuedCode, SessionIssuer } from '../../auth/login-codes.ts';
import type { Outcome } from '../../auth/password-gate.ts';
import type { LoginAttempt, LoginResult } from '../../auth/session-keeper.ts';
import type { SessionScope } from '../../auth/session-scopes.ts';
import type { SessionView } from '../../auth/sessions.ts';
import type { PasswordAttempt } from '../../auth/shared-auth.ts';
import type { IssuedTicket, TicketOwner } from '../../auth/tickets.ts';
import type { ResumePoint } from '../../feed/event-history.ts';
import type { WatchDone, WatchRequest, WrittenWatches } from '../../feed/stored-watches.ts';
import type { ApiReload } from '../../http/live-options.ts';
import type { Owner } from '../../http/owner.ts';
import type { Principal } from '../../http/principal.ts';
import type { ReaderJob, ReaderResult } from '../../queries/reader-jobs.ts';
import type { WebhookRequest, WebhookTest, WebhookView, WebhookWithSecret } from '../../webhooks/webhook-control.ts';
import type { DisabledWebhook } from '../../webhooks/webhooks.ts';
import type { ReadinessReport } from '../ops/readiness.ts';

/** The calls of a further front to the first one, which owns what exists once. */
export type OwnerCalls = {
  checkPassword: { args: readonly [attempt: PasswordAttempt]; result: Outcome<Principal> };
  issueTicket: { args: readonly [owner: TicketOwner]; result: IssuedTicket };
  findTicket: { args: readonly [text: string]; result: TicketOwner | null };
  consumeTicket: { args: readonly [text: string]; result: boolean };
  createLoginCode: { args: readonly [issuer: SessionIssuer, scopes: readonly SessionScope[]]; result: IssuedCode };
  logIn: { args: readonly [attempt: LoginAttempt]; result: LoginResult };
  useSession: { args: readonly [hash: string]; result: SessionView | null };
  sessionOfId: { args: readonly [id: string]; result: SessionView | null };
  endSession: { args: readonly [id: string]; result: boolean };
  /** The keys in auth.db have changed. Resolves when all fronts but the caller have reloaded them. */
  keysChanged: { args: readonly []; result: null };
  auditBegin: { args: readonly [call: AuditCall]; result: number };
  auditComplete: { args: readonly [id: number, call: AuditCall, outcome: AuditOutcome]; result: null };
  auditRecord: { args: readonly [call: AuditCall, outcome: AuditOutcome]; result: null };
  auditRefused: { args: readonly [call: AuditCall]; result: null };
  auditPage: {
    args: readonly [filter: AuditFilter, before: number | null, limit: number];
    result: readonly AuditEntry[];
  };
  addWatches: { args: readonly [owner: string, requests: readonly WatchRequest[]]; result: WatchDone[] };
  removeWatches: { args: readonly [owner: string, ids: readonly string[]]; result: string[] };
  removeAllWatches: { args: readonly [owner: string]; result: number };
  listWebhooks: { args: readonly [owner: string]; result: WebhookView[] };
  getWebhook: { args: readonly [owner: string, id: string]; result: WebhookView };
  createWebhook: { args: readonly [owner: string, request: WebhookRequest]; result: WebhookWithSecret };
  setWebhookStatus: {
    args: readonly [owner: string, id: string, status: 'active' | 'paused'];
    result: WebhookView;
  };
  replayWebhook: { args: readonly [owner: string, id: string, from: ResumePoint]; result: WebhookView };
  replaceWebhookSecret: {
    args: readonly [owner: string, id: string, secret: string | null, overlapSeconds: number];
    result: WebhookWithSecret;
  };
  testWebhook: { args: readonly [owner: string, id: string]; result: WebhookTest };
  removeWebhook: { args: readonly [owner: string, id: string]; result: null };
  runJob: { args: readonly [job: ReaderJob, long: boolean, owner: Owner]; result: ReaderResult };
  readiness: { args: readonly []; result: ReadinessReport };
  metrics: { args: readonly []; result: string };
  shutDown: { args: readonly []; result: null };
};

/** A connection that has sent a request, as a front knows it. */
export interface FrontVisitor {
  readonly peer: string;
  readonly keyed: boolean;
  readonly running: number;
  readonly at: number;
}

/** The calls of the first front to a further one. */
export type FrontCalls = {
  reloadKeys: { args: readonly []; result: null };
  /** Applies changed options, and a new certificate. */
  reload: { args: readonly [change: ApiReload]; result: null };
  /** Closes what belongs to sessions that have ended. */
  forgetSessions: { args: readonly [ids: readonly string[]]; result: null };
  applyWatches: { args: readonly [owner: string, written: WrittenWatches]; result: null };
  /** Sends a message of one key to its WebSocket connections. */
  announceDisabledWebhook: { args: readonly [notice: DisabledWebhook]; result: null };
  /** Returns the number of the newest event that was passed to the WebSocket connections. */
  check: { args: readonly []; result: number };
  metrics: { args: readonly []; result: string };
  /** Removes the visitors whose connections are not in `peers`, unless they are newer than `since`, and returns the others. */
  visitors: { args: readonly [peers: ReadonlySet<string>, since: number]; result: readonly FrontVisitor[] };
  /** Resolves when all requests have ended, or their time has. */
  stop: { args: readonly [reason: string]; result: null };
};
