import { eventTypes } from '../feed/event-types.ts';
import { fail } from '../http/errors.ts';
import { invalid } from '../http/input.ts';
import { AllowedNetworks, literalAddress } from '../webhooks/target-address.ts';
import type { WebhookRequest } from '../webhooks/webhook-control.ts';
import { webhookSecretBytes } from '../webhooks/webhook-signature.ts';
import { readJsonBody } from './json-body.ts';

/** Limit of the body of a request about webhooks, bytes. */
export const WEBHOOK_BODY = 64 * 1024;
export const MAX_WEBHOOK_EVENTS = 100;
export const MAX_WEBHOOK_URL = 2000;
export const MAX_WEBHOOK_LABEL = 200;
export const MAX_WEBHOOK_WALLETS = 100;
/** Limit and default of the time for which the previous secret signs as well, seconds. */
export const MAX_OVERLAP = 30 * 86_400;
export const DEFAULT_OVERLAP = 86_400;
const MAX_VALUES = 300;
const MAX_NAME = 200;
const WEBHOOK_ID = /^[a-z2-7]{16}$/;
/** The text type is that of strings in fetch, and the last type is the default of curl. */
const BODY_TYPES: readonly string[] = ['application/json', 'text/plain', 'application/x-www-form-urlencoded'];

type Body = Readonly<Record<string, unknown>>;

/** A new webhook as the body of a request describes it; `after` is not resolved. */
export type WebhookBody = Omit<WebhookRequest, 'from'> & { readonly after: string | undefined };

/** Reads the body of `POST /api/webhooks`. Throws ApiError. */
export async function readWebhook(request: Request, allowedNetworks: readonly string[]): Promise<WebhookBody> {
  const { url, types, wallets, label, maxEvents, secret, after } = await readBody(request);
  if (types !== undefined && (!Array.isArray(types) || types.length === 0))
    invalid('types', 'must be a list of types of events');
  return {
    url: readUrl(url, new AllowedNetworks(allowedNetworks)),
    types: [...eventTypes(types as unknown[] | undefined)],
    wallets: readWallets(wallets),
    label: readLabel(label),
    maxEvents: readWhole('maxEvents', maxEvents, { min: 1, max: MAX_WEBHOOK_EVENTS, fallback: MAX_WEBHOOK_EVENTS }),
    secret: readSecret(secret),
    after: after === undefined ? undefined : readAfter(after),
  };
}

/** Reads the body of `POST /api/webhooks/{id}/replay`: the position behind which events are delivered again. */
export async function readReplay(request: Request): Promise<string> {
  return readAfter((await readBody(request)).after);
}

/** Reads the body of `POST /api/webhooks/{id}/secret`, which may be empty. */
export async function readNewSecret(request: Request): Promise<{ secret: string | null; overlap: number }> {
  const { secret, overlap } = await readBody(request);
  const limits = { min: 0, max: MAX_OVERLAP, fallback: DEFAULT_OVERLAP };
  return { secret: readSecret(secret), overlap: readWhole('overlap', overlap, limits) };
}

/** Returns the id of a path. Throws ApiError `not_found` for a text that no webhook has. */
export function webhookId(text: string): string {
  return WEBHOOK_ID.test(text) ? text : fail('not_found', 'this key has no such webhook');
}

async function readBody(request: Request): Promise<Body> {
  const body = await readJsonBody(request, { types: BODY_TYPES, maxValues: MAX_VALUES, empty: {} });
  return typeof body === 'object' && body !== null && !Array.isArray(body)
    ? (body as Body)
    : fail('invalid_request', 'the body must be an object');
}

/** An address is checked here for an early answer; each delivery checks the addresses that it connects to. */
function readUrl(value: unknown, allowed: AllowedNetworks): string {
  if (typeof value !== 'string' || value.length > MAX_WEBHOOK_URL || !URL.canParse(value))
    return invalid('url', `must be an absolute URL of at most ${MAX_WEBHOOK_URL} characters`);
  const url = new URL(value);
  const secure = url.protocol === 'https:';
  if (!secure && url.protocol !== 'http:') invalid('url', 'must begin with https:// or http://');
  if (url.username !== '' || url.password !== '') invalid('url', 'must not contain a user or a password');
  if (url.hash !== '') invalid('url', 'must not contain a fragment');
  if (url.port === '0') invalid('url', 'must not name port 0');
  const address = literalAddress(url.hostname);
  const refusal = address && allowed.refusal(address, { secure });
  if (refusal) invalid('url', refusal);
  // Characters that are not ASCII are longer in the form that is stored and sent.
  if (url.href.length > MAX_WEBHOOK_URL)
    invalid('url', `must have at most ${MAX_WEBHOOK_URL} characters, percent-encoded`);
  return url.href;
}

function readWallets(value: unknown): readonly string[] | null {
  if (value === undefined || value === null) return null;
  const isList =
    Array.isArray(value) &&
    value.length <= MAX_WEBHOOK_WALLETS &&
    value.every((name) => typeof name === 'string' && name.length <= MAX_NAME);
  return isList ? (value as string[]) : invalid('wallets', `must be a list of up to ${MAX_WEBHOOK_WALLETS} names`);
}

function readLabel(value: unknown): string | null {
  if (value === undefined || value === null) return null;
  return typeof value === 'string' && value.length <= MAX_WEBHOOK_LABEL && value.isWellFormed()
    ? value
    : invalid('label', `must be a text of at most ${MAX_WEBHOOK_LABEL} characters, or null`);
}

function readSecret(value: unknown): string | null {
  if (value === undefined || value === null) return null;
  return typeof value === 'string' && webhookSecretBytes(value)
    ? value
    : invalid('secret', 'must be whsec_ and the base64 of 24 to 64 bytes');
}

function readAfter(value: unknown): string {
  if (typeof value === 'string') return value;
  return typeof value === 'number' ? String(value) : invalid('after', 'must be the cursor or the seq of an event');
}

function readWhole(
  name: string,
  value: unknown,
  { min, max, fallback }: { min: number; max: number; fallback: number },
): number {
  if (value === undefined || value === null) return fallback;
  return Number.isInteger(value) && min <= (value as number) && (value as number) <= max
    ? (value as number)
    : invalid(name, `must be a whole number from ${min} to ${max}`);
}
