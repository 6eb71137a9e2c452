import { createHmac, randomBytes } from 'node:crypto';

const PREFIX = 'whsec_';
const NEW_BYTES = 32;
/** Lengths of a secret in bytes, as Standard Webhooks allows them. */
const MIN_BYTES = 24;
const MAX_BYTES = 64;

/** The headers of a signed delivery. Their names and values are those of the Standard Webhooks specification. */
export interface SignedHeaders {
  readonly 'webhook-id': string;
  /** Unix seconds. */
  readonly 'webhook-timestamp': string;
  /** `v1,` and base64 for each secret, separated by spaces. */
  readonly 'webhook-signature': string;
}

/** Returns a new secret as text. */
export function newWebhookSecret(): string {
  return PREFIX + randomBytes(NEW_BYTES).toString('base64');
}

/** Returns the bytes of a secret; null for a text that is not one. */
export function webhookSecretBytes(text: string): Uint8Array | null {
  if (!text.startsWith(PREFIX)) return null;
  const encoded = text.slice(PREFIX.length);
  const bytes = Buffer.from(encoded, 'base64');
  // The decoder ignores characters that are not base64.
  if (bytes.toString('base64') !== encoded || bytes.length < MIN_BYTES || bytes.length > MAX_BYTES) return null;
  return new Uint8Array(bytes);
}

/** Signs a delivery with each of the secrets. `id` has no dot, so that no other id, time and body have the same text. */
export function signDelivery(
  { id, timestamp, body }: { readonly id: string; readonly timestamp: number; readonly body: string },
  secrets: readonly Uint8Array[],
): SignedHeaders {
  const signatures = secrets.map(
    (secret) => `v1,${createHmac('sha256', secret).update(`${id}.${timestamp}.`).update(body).digest('base64')}`,
  );
  return { 'webhook-id': id, 'webhook-timestamp': String(timestamp), 'webhook-signature': signatures.join(' ') };
}
