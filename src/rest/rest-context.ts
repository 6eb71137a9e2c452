import type { AuditTrail } from '../auth/audit/audit-log.ts';
import type { FrontSessions } from '../auth/front-sessions.ts';
import type { KeyAdmin } from '../auth/key-admin.ts';
import type { IssuedTicket } from '../auth/tickets.ts';
import type { EventLog } from '../feed/event-log.ts';
import type { Matcher } from '../feed/matcher.ts';
import type { StoredWatches } from '../feed/stored-watches.ts';
import type { Call } from '../http/call.ts';
import type { Principal } from '../http/principal.ts';
import type { ApiContext } from '../queries/api-context.ts';
import type { MaybePromise } from '../util/maybe-promise.ts';
import type { WebhookControl } from '../webhooks/webhook-control.ts';
import type { EventWaits } from './event-waits.ts';
import type { NextBlocks } from './next-blocks.ts';

/** Open WebSocket connections and stored watches of a caller. */
interface CallerUse {
  readonly sockets: number;
  readonly storedWatches: number;
}

/** Dependencies of the REST endpoints. */
export interface RestContext extends ApiContext {
  /** All events, of the chain and of the mempool. */
  readonly events: EventLog;
  /** Stored subscriptions of the keys, and the messages that these receive for an event. */
  readonly watches: StoredWatches;
  readonly matcher: Matcher;
  /** Requests that wait for events. */
  readonly eventWaits: EventWaits;
  /** The next blocks, as they would be mined from the mempool. */
  readonly nextBlocks: NextBlocks;
  readonly audit: AuditTrail;
  /** Returns how much of its limits a caller uses. */
  useOf(call: Call): CallerUse;
  /** The webhooks of keys. */
  readonly webhooks: WebhookControl;
  /** Issues a ticket for one WebSocket. Throws ApiError if too many are open. */
  issueTicket(principal: Principal): MaybePromise<IssuedTicket>;
  /** People's sessions. */
  readonly sessions: Pick<FrontSessions, 'logIn' | 'sessionOfId' | 'endSession'>;
  /** The API keys. Throws ApiError before the node is attached. */
  keys(): Pick<KeyAdmin, 'list'>;
}
