import type { WebhookProgress, WebhookRecord, WebhookStatus } from './webhook-store.ts';

/** A request to the worker: a change of webhooks.db, or a delivery. Secrets are in hex. */
export type WebhookJob =
  | { readonly type: 'insert'; readonly record: WebhookRecord; readonly secret: string }
  | { readonly type: 'status'; readonly id: string; readonly status: WebhookStatus }
  | { readonly type: 'secret'; readonly id: string; readonly secret: string; readonly previousUntil: number }
  /** Removes the previous secrets whose time is over. */
  | { readonly type: 'removeOldSecrets' }
  | { readonly type: 'remove'; readonly ids: readonly string[] }
  | { readonly type: 'progress'; readonly all: readonly WebhookProgress[] }
  | WebhookDeliveryJob;

/** A delivery of one body. The worker looks up the URL and the secrets, so no other thread has them. */
export interface WebhookDeliveryJob {
  readonly type: 'deliver';
  readonly id: string;
  /** Value of the header webhook-id. */
  readonly messageId: string;
  readonly body: string;
}

/** Options of the worker. */
export interface WebhookWorkerOptions {
  readonly path: string;
  readonly allowedNetworks: readonly string[];
  /** Path of a PEM file with further certificate authorities; null without one. */
  readonly authorities: string | null;
  readonly userAgent: string;
  readonly connectMs: number;
  readonly replyMs: number;
}
