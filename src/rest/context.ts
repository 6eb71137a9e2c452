import type { AuditLog } from '../auth/audit/audit-log.ts';
import type { IssuedTicket } from '../auth/tickets.ts';
import type { EventLog } from '../feed/event-log.ts';
import type { Matcher } from '../feed/matcher.ts';
import type { StoredWatches } from '../feed/stored-watches.ts';
import type { Principal } from '../http/principal.ts';
import type { ApiContext } from '../queries/api-context.ts';

/** Everything that the REST endpoints answer from. */
export interface RestContext extends ApiContext {
  /** All events, of the chain and of the mempool. */
  readonly events: EventLog;
  /** The subscriptions that keys have stored, and the messages that events mean to them. */
  readonly watches: StoredWatches;
  readonly matcher: Matcher;
  readonly audit: AuditLog;
  /** A ticket for one WebSocket. Throws ApiError where too many are open. */
  issueTicket(principal: Principal): IssuedTicket;
}
