import { ApiError } from '../http/errors.ts';
import type { Log } from '../util/log.ts';
import { NoRoomForThread, startWorker } from '../util/worker.ts';
import { WorkerPort } from '../util/worker-port.ts';
import type { DeliveryOutcome } from './delivery-outcome.ts';
import type { WebhookDeliveryJob, WebhookJob, WebhookWorkerOptions } from './webhook-worker-messages.ts';

/** Time limit for the worker to close, milliseconds. */
const CLOSE_MS = 1000;

type StoreJob = Exclude<WebhookJob, WebhookDeliveryJob>;

/**
 * The thread that writes webhooks.db and sends deliveries. A commit, a handshake or a receiver that floods the node with
 * bytes takes no time of the main thread. The first hook starts it.
 */
export class WebhookSender {
  readonly #log: Log;
  readonly #port: WorkerPort<WebhookWorkerOptions, WebhookJob, DeliveryOutcome | null>;
  #closed = false;

  constructor(options: WebhookWorkerOptions, log: Log) {
    this.#log = log;
    this.#port = new WorkerPort({
      start: () => startWorker(new URL('./webhook-worker.ts', import.meta.url), 'webhooks'),
      options,
      onFailure: (message) => log.error('the webhook thread failed', { message }),
    });
  }

  /** Resolves when the change is stored. Rejects with ApiError if that is unknown. */
  async store(job: StoreJob): Promise<void> {
    const result = await this.#request(job);
    if (result.ok) return;
    if (!result.ended) this.#log.error('webhooks.db cannot be written', { error: result.error });
    throw new ApiError('internal_error', 'the webhook cannot be stored');
  }

  /** Resolves with the outcome of one attempt. */
  async deliver(job: Omit<WebhookDeliveryJob, 'type'>): Promise<DeliveryOutcome> {
    const failed = { ok: false, code: 'internal', message: 'the delivery failed', status: null } as const;
    const result = await this.#request({ type: 'deliver', ...job }).catch((error: unknown) => {
      if (error instanceof ApiError) return null;
      throw error;
    });
    if (result?.ok) return result.answer ?? failed;
    if (result && !result.ended)
      this.#log.error('a webhook could not be sent', { webhook: job.id, error: result.error });
    return failed;
  }

  /** Closes the thread after the submitted changes are written. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#port.close(CLOSE_MS);
  }

  async #request(job: WebhookJob) {
    if (this.#closed) throw new ApiError('shutting_down', 'the node is stopping');
    return this.#port.request(job).catch((error: unknown) => {
      throw error instanceof NoRoomForThread ? new ApiError('overloaded', 'too many connections') : error;
    });
  }
}
