import { t } from 'elysia';
import { EVENT_DESCRIPTIONS, GAP } from '../../feed/event-messages.ts';
import { count, named, nullable, time } from '../../http/reply-schema.ts';

/** Besides the events, gaps with the scope `confirmations`, which stand in their place. */
const ITEMS = t.Union(
  EVENT_DESCRIPTIONS.filter(({ kept, type }) => kept || type === 'gap').map(({ schema }) => schema),
);

export const EVENTS_PAGE = named('EventsPage', {
  items: t.Array(ITEMS),
  lastSeq: count('number of the last event that is on this page to its end'),
  lastCursor: t.String({ description: 'the next page begins behind it' }),
  gap: nullable(GAP),
});

export const TICKET = named('Ticket', {
  ticket: t.String({ pattern: '^obvt_[A-Za-z0-9_-]{43}$' }),
  expiresAt: time(),
});
