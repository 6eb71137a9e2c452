import { t } from 'elysia';
import { scopeOfTypes } from '../feed/event-types.ts';
import { fail } from '../http/errors.ts';
import { invalid } from '../http/input.ts';
import { json } from '../http/route-description.ts';
import { endpoint } from './endpoint.ts';
import { resumePoint } from './event-query.ts';
import { uncachedJson } from './json-body.ts';
import type { RestContext } from './rest-context.ts';
import {
  REMOVED_WEBHOOK,
  WEBHOOK,
  WEBHOOK_REPLAY,
  WEBHOOK_REQUEST,
  WEBHOOK_SECRET,
  WEBHOOK_TEST,
  WEBHOOK_WITH_SECRET,
  WEBHOOKS,
} from './schemas/webhook-schemas.ts';
import { readNewSecret, readReplay, readWebhook, WEBHOOK_BODY, webhookId } from './webhook-body.ts';

const PATH = '/api/webhooks';
const PARAMS = { id: t.String({ description: 'id of a webhook' }) };
const ON_EACH = { tag: 'events', access: 'webhooks' } as const;

/** Returns the id of the key that a request belongs to. Throws ApiError for callers without one. */
function ownerOf(ctx: RestContext, request: Request): string {
  ctx.reads();
  const { kind, id } = ctx.call(request).principal;
  return kind === 'key' || kind === 'static' ? id : fail('insufficient_scope', 'webhooks belong to a key');
}

export const webhooksEndpoint = endpoint({
  ...ON_EACH,
  name: 'webhooks',
  path: PATH,
  summary: 'Webhooks of this key, oldest first',
  response: json(WEBHOOKS),
  serve:
    (ctx) =>
    async ({ request }) =>
      uncachedJson({ items: await ctx.webhooks.list(ownerOf(ctx, request)) }),
});

export const createWebhookEndpoint = endpoint({
  ...ON_EACH,
  name: 'create-webhook',
  method: 'POST',
  path: PATH,
  summary: 'Deliver events to a URL',
  description:
    'The node posts the events of these types, and of the watches of the key, in their order and at least once. Each ' +
    'delivery is signed as the Standard Webhooks specification says. The key also needs the scope `read`, and ' +
    '`wallet.read` for walletTransaction. Without `secret` the node makes one and shows it this once. Deliveries begin ' +
    'behind `after`, or at the present end of the log.',
  body: [json(WEBHOOK_REQUEST)],
  bodyLimit: WEBHOOK_BODY,
  response: json(WEBHOOK_WITH_SECRET),
  errors: ['invalid_cursor', 'limit_exceeded'],
  serve:
    (ctx) =>
    async ({ request }) => {
      const owner = ownerOf(ctx, request);
      const { after, ...body } = await readWebhook(request, ctx.options.webhooks.allowedNetworks);
      const call = ctx.call(request);
      call.require('read');
      call.require(scopeOfTypes(new Set(body.types)));
      const hidden = body.wallets?.find((name) => call.principal.wallets?.has(name) === false);
      if (hidden !== undefined) invalid('wallets', 'names a wallet that the key may not use');
      const from = after === undefined ? null : resumePoint(after, ctx.events, 'after').from;
      return ctx.webhooks.create(owner, { ...body, from });
    },
});

export const webhookEndpoint = endpoint({
  ...ON_EACH,
  name: 'webhook',
  path: `${PATH}/:id`,
  summary: 'One webhook, with its lag and its last error',
  params: PARAMS,
  response: json(WEBHOOK),
  errors: ['not_found'],
  serve:
    (ctx) =>
    async ({ params, request }) =>
      uncachedJson(await ctx.webhooks.get(ownerOf(ctx, request), webhookId(params.id))),
});

export const removeWebhookEndpoint = endpoint({
  ...ON_EACH,
  name: 'remove-webhook',
  method: 'DELETE',
  path: `${PATH}/:id`,
  summary: 'End a webhook',
  params: PARAMS,
  response: json(REMOVED_WEBHOOK),
  errors: ['not_found'],
  serve:
    (ctx) =>
    async ({ params, request }) => {
      await ctx.webhooks.remove(ownerOf(ctx, request), webhookId(params.id));
      return { deleted: 1 };
    },
});

const statusEndpoint = (name: 'pause' | 'resume', status: 'active' | 'paused', summary: string) =>
  endpoint({
    ...ON_EACH,
    name: `${name}-webhook`,
    method: 'POST',
    path: `${PATH}/:id/${name}`,
    summary,
    params: PARAMS,
    response: json(WEBHOOK),
    errors: ['not_found'],
    serve:
      (ctx) =>
      ({ params, request }) =>
        ctx.webhooks.setStatus(ownerOf(ctx, request), webhookId(params.id), status),
  });

export const pauseWebhookEndpoint = statusEndpoint('pause', 'paused', 'Stop the deliveries of a webhook for a while');
export const resumeWebhookEndpoint = statusEndpoint(
  'resume',
  'active',
  'Continue a webhook that is paused, disabled, or waits after a failure',
);

export const replayWebhookEndpoint = endpoint({
  ...ON_EACH,
  name: 'replay-webhook',
  method: 'POST',
  path: `${PATH}/:id/replay`,
  summary: 'Deliver everything behind a cursor again',
  params: PARAMS,
  body: [json(WEBHOOK_REPLAY)],
  bodyLimit: WEBHOOK_BODY,
  response: json(WEBHOOK),
  errors: ['not_found', 'invalid_cursor'],
  serve:
    (ctx) =>
    async ({ params, request }) => {
      const owner = ownerOf(ctx, request);
      const { from } = resumePoint(await readReplay(request), ctx.events, 'after');
      return ctx.webhooks.replay(owner, webhookId(params.id), from);
    },
});

export const webhookSecretEndpoint = endpoint({
  ...ON_EACH,
  name: 'replace-webhook-secret',
  method: 'POST',
  path: `${PATH}/:id/secret`,
  summary: 'Replace the secret of a webhook; the previous one signs as well for a time',
  params: PARAMS,
  body: [json(WEBHOOK_SECRET)],
  bodyRequired: false,
  bodyLimit: WEBHOOK_BODY,
  response: json(WEBHOOK_WITH_SECRET),
  errors: ['not_found'],
  serve:
    (ctx) =>
    async ({ params, request }) => {
      const owner = ownerOf(ctx, request);
      const { secret, overlap } = await readNewSecret(request);
      return ctx.webhooks.replaceSecret(owner, webhookId(params.id), secret, overlap);
    },
});

export const testWebhookEndpoint = endpoint({
  ...ON_EACH,
  name: 'test-webhook',
  method: 'POST',
  path: `${PATH}/:id/test`,
  summary: 'Send one message of the type test, and report the outcome',
  params: PARAMS,
  response: json(WEBHOOK_TEST),
  errors: ['not_found', 'too_many_connections'],
  unlimitedTime: true,
  serve:
    (ctx) =>
    ({ params, request }) =>
      ctx.webhooks.sendTest(ownerOf(ctx, request), webhookId(params.id)),
});
