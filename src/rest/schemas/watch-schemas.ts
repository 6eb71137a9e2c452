import { t } from 'elysia';
import { WATCH_KINDS } from '../../feed/watch-values.ts';
import { count, named, namedWords, nullable, page, time, wholeNumberSchema } from '../../http/reply-schema.ts';
import { MAX_BULK } from '../watch-body.ts';

const KIND = namedWords('WatchKind', WATCH_KINDS, 'the kind of the watched value');
const VALUE = t.String({ description: 'an address, hex of a script, a transaction id, or txid:n' });
const CONFIRMATIONS = t.Array(wholeNumberSchema({ minimum: 0, maximum: 1000 }), {
  maxItems: 10,
  description: 'numbers of confirmations that are reported; none for addresses and scripts, else 0 and 1',
});
const LABEL = nullable(t.String({ maxLength: 200 }));
const ID = t.String({ pattern: '^[a-z2-7]{16}$' });

const WATCH_REQUEST = named('WatchRequest', {
  kind: KIND,
  value: VALUE,
  confirmations: t.Optional(CONFIRMATIONS),
  label: t.Optional(LABEL),
});

export const WATCHES_BODY_SCHEMA = t.Union([
  WATCH_REQUEST,
  named('WatchesRequest', { watches: t.Array(WATCH_REQUEST, { minItems: 1, maxItems: MAX_BULK }) }),
]);

export const REMOVAL_BODY = named('RemoveWatchesRequest', {
  ids: t.Optional(t.Array(ID, { minItems: 1, maxItems: MAX_BULK })),
  all: t.Optional(t.Boolean({ description: 'true removes all watches of this key' })),
});

const WATCH_FACTS = {
  id: ID,
  kind: KIND,
  value: VALUE,
  confirmations: t.Array(wholeNumberSchema()),
  label: nullable(t.String()),
  createdAt: time(),
};

export const WATCH = named('Watch', WATCH_FACTS);
const STORED_WATCH = named('StoredWatch', {
  ...WATCH_FACTS,
  created: t.Boolean({ description: 'false where it was there already' }),
});

export const WATCHES_PAGE = page('WatchesPage', WATCH, { total: count('watches of this key') });

/** One watch if one was sent; a list if a list was sent. */
export const STORED_WATCHES = t.Union([
  STORED_WATCH,
  named('StoredWatches', { items: t.Array(STORED_WATCH), createdCount: count(), total: count('watches of this key') }),
]);

export const REMOVED_WATCHES = named('RemovedWatches', {
  deleted: count(),
  missing: t.Array(t.String(), { description: 'ids that name no watch of this key' }),
  total: count('watches that this key has left'),
});
