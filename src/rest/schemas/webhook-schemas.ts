import { t } from 'elysia';
import { WEBHOOK_FAILURE } from '../../feed/event-messages.ts';
import { REPLAYED_TYPES } from '../../feed/event-types.ts';
import { count, named, namedWords, nullable, time, wholeNumberSchema } from '../../http/reply-schema.ts';
import {
  DEFAULT_OVERLAP,
  MAX_OVERLAP,
  MAX_WEBHOOK_EVENTS,
  MAX_WEBHOOK_LABEL,
  MAX_WEBHOOK_URL,
  MAX_WEBHOOK_WALLETS,
} from '../webhook-body.ts';

const ID = t.String({ pattern: '^[a-z2-7]{16}$' });
const URL_TEXT = t.String({ maxLength: MAX_WEBHOOK_URL, description: 'https://, or http:// where the node allows it' });
const TYPES = t.Array(namedWords('KeptEventType', REPLAYED_TYPES, 'a type of event that can be delivered again'), {
  minItems: 1,
  description: 'types of events',
});
const WALLETS = nullable(
  t.Array(t.String(), { maxItems: MAX_WEBHOOK_WALLETS, description: 'wallets of walletTransaction; null for all' }),
);
const LABEL = nullable(t.String({ maxLength: MAX_WEBHOOK_LABEL }));
const MAX_EVENTS = wholeNumberSchema({
  minimum: 1,
  maximum: MAX_WEBHOOK_EVENTS,
  description: 'limit of the events of one delivery',
});
const SECRET = t.String({ description: 'whsec_ and the base64 of 24 to 64 bytes' });
const AFTER = t.Union([t.String(), t.Number()], { description: 'cursor or seq of the event behind which to begin' });

export const WEBHOOK_REQUEST = named('WebhookRequest', {
  url: URL_TEXT,
  types: t.Optional(TYPES),
  wallets: t.Optional(WALLETS),
  label: t.Optional(LABEL),
  maxEvents: t.Optional(MAX_EVENTS),
  secret: t.Optional(SECRET),
  after: t.Optional(AFTER),
});

export const WEBHOOK_REPLAY = named('WebhookReplay', { after: AFTER });

export const WEBHOOK_SECRET = named('WebhookSecretRequest', {
  secret: t.Optional(SECRET),
  overlap: t.Optional(
    wholeNumberSchema({
      minimum: 0,
      maximum: MAX_OVERLAP,
      default: DEFAULT_OVERLAP,
      description: 'seconds for which the previous secret signs as well',
    }),
  ),
});

const FACTS = {
  id: ID,
  url: URL_TEXT,
  types: TYPES,
  wallets: WALLETS,
  label: LABEL,
  maxEvents: MAX_EVENTS,
  createdAt: time(),
  previousSecretUntil: nullable(time('until when the previous secret signs as well')),
  status: namedWords('WebhookStatus', ['active', 'paused', 'disabled'], 'disabled by the node after many failures'),
  cursor: t.String({ description: 'everything up to it is delivered' }),
  lag: named('WebhookLag', {
    events: count('event numbers between the cursor and the end of the log'),
    seconds: count('age of the oldest event whose delivery failed; 0 without one'),
  }),
  failures: count('failed attempts in a row'),
  failingSince: nullable(time('time of the first of them')),
  nextAttemptAt: nullable(time('time of the next attempt after a failure')),
  deliveredAt: nullable(time('time of the last accepted delivery')),
  lastError: WEBHOOK_FAILURE,
};

export const WEBHOOK = named('Webhook', FACTS);
export const WEBHOOK_WITH_SECRET = named('WebhookWithSecret', {
  ...FACTS,
  secret: nullable(t.String({ description: 'the secret that the node has made, shown this once; null if given' })),
});
export const WEBHOOKS = named('Webhooks', { items: t.Array(WEBHOOK) });
export const REMOVED_WEBHOOK = named('RemovedWebhook', { deleted: count() });
export const WEBHOOK_TEST = named('WebhookTest', {
  delivered: t.Boolean(),
  status: nullable(wholeNumberSchema({ description: 'status of the reply' })),
  durationMs: count('milliseconds'),
  error: nullable(named('WebhookTestError', { code: t.String(), message: t.String() })),
});
