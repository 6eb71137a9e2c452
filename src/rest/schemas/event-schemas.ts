import { t } from 'elysia';
import { count, named, nullable, time, words } from '../../http/reply-schema.ts';

const GAP = named('EventGap', {
  scope: words(['mempool', 'all']),
  fromSeq: count(),
  toSeq: count(),
  lastChainSeq: count('number of the newest event of the chain'),
  cursor: t.String({ description: 'where to continue behind the gap' }),
});

/** docs/events.md describes the data of each type. */
const EVENT = named('Event', {
  type: t.String(),
  data: t.Object(
    { seq: count(), time: time(), cursor: t.String({ description: 'identifies the event' }) },
    { additionalProperties: true },
  ),
});

export const EVENTS_PAGE = named('EventsPage', {
  items: t.Array(EVENT),
  lastSeq: count('number of the last event that is on this page to its end'),
  lastCursor: t.String({ description: 'the next page begins behind it' }),
  gap: nullable(GAP),
});

export const TICKET = named('Ticket', {
  ticket: t.String({ pattern: '^obvt_[A-Za-z0-9_-]{43}$' }),
  expiresAt: time(),
});
