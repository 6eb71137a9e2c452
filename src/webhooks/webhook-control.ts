import type { ResumePoint } from '../feed/event-history.ts';
import type { WebhookState } from './webhook-delivery.ts';
import type { WebhookRecord } from './webhook-store.ts';

/** A new hook, as its owner requests it. */
export interface WebhookRequest extends Pick<WebhookRecord, 'url' | 'types' | 'wallets' | 'label' | 'maxEvents'> {
  /** `whsec_` and base64; null lets the node make one. */
  readonly secret: string | null;
  /** The point behind which deliveries begin; null for the present end of the log. */
  readonly from: ResumePoint | null;
}

/** A hook, as its owner sees it. The secret is not among its members. */
export interface WebhookView
  extends Pick<WebhookRecord, 'id' | 'url' | 'types' | 'wallets' | 'label' | 'maxEvents' | 'createdAt'>,
    WebhookState {
  /** Time until which deliveries carry the signature of the previous secret as well, Unix seconds; null without one. */
  readonly previousSecretUntil: number | null;
}

/** A hook with a secret that the node has made, which is shown this once; null if the client gave it. */
export type WebhookWithSecret = WebhookView & { readonly secret: string | null };

/** Result of a test delivery. */
export interface WebhookTest {
  readonly delivered: boolean;
  /** Status of the reply; null without one. */
  readonly status: number | null;
  readonly durationMs: number;
  readonly error: { readonly code: string; readonly message: string } | null;
}

/** The calls of owners. Each fails with ApiError `not_found` for a hook that the key does not have. */
export interface WebhookControl {
  list(owner: string): Promise<WebhookView[]>;
  get(owner: string, id: string): Promise<WebhookView>;
  create(owner: string, request: WebhookRequest): Promise<WebhookWithSecret>;
  setStatus(owner: string, id: string, status: 'active' | 'paused'): Promise<WebhookView>;
  /** Delivers everything behind a point, again or not. */
  replay(owner: string, id: string, from: ResumePoint): Promise<WebhookView>;
  /** Replaces the secret; null lets the node make one. The previous one signs as well for a time. */
  replaceSecret(owner: string, id: string, secret: string | null, overlapSeconds: number): Promise<WebhookWithSecret>;
  sendTest(owner: string, id: string): Promise<WebhookTest>;
  remove(owner: string, id: string): Promise<void>;
}
