import { readFileSync } from 'node:fs';
import { rootCertificates } from 'node:tls';
import { hostClock, unixSeconds } from '../util/clock.ts';
import { serveRequests } from '../util/worker-port.ts';
import { deliverPost, type PostMeans } from './deliver-post.ts';
import type { DeliveryOutcome } from './delivery-outcome.ts';
import { AllowedNetworks } from './target-address.ts';
import { signDelivery } from './webhook-signature.ts';
import { WebhookStore } from './webhook-store.ts';
import type { WebhookDeliveryJob, WebhookJob, WebhookWorkerOptions } from './webhook-worker-messages.ts';

let path = '';
let means: PostMeans | null = null;
let store: WebhookStore | null = null;

serveRequests<WebhookWorkerOptions, WebhookJob, DeliveryOutcome | null>({
  open(options) {
    const { allowedNetworks, authorities, userAgent, connectMs, replyMs } = options;
    path = options.path;
    means = {
      allowed: new AllowedNetworks(allowedNetworks),
      limits: { connectMs, replyMs },
      authorities: authorities === null ? null : [...rootCertificates, readFileSync(authorities, 'utf8')],
      userAgent,
    };
  },
  answer(job) {
    store ??= new WebhookStore(path);
    if (job.type === 'deliver') return deliver(store, job);
    apply(store, job);
    return null;
  },
  close: () => store?.close(),
});

function apply(to: WebhookStore, job: Exclude<WebhookJob, WebhookDeliveryJob>): void {
  if (job.type === 'insert') to.insertWebhook(job.record, Uint8Array.fromHex(job.secret));
  else if (job.type === 'status') to.setStatus(job.id, job.status);
  else if (job.type === 'secret') to.replaceSecret(job.id, Uint8Array.fromHex(job.secret), job.previousUntil);
  else if (job.type === 'removeOldSecrets') to.removeOldSecrets(unixSeconds(hostClock));
  else if (job.type === 'remove') to.removeWebhooks(job.ids);
  else to.saveProgress(job.all);
}

async function deliver(from: WebhookStore, { id, messageId, body }: WebhookDeliveryJob): Promise<DeliveryOutcome> {
  const timestamp = unixSeconds(hostClock);
  const target = from.target(id, timestamp);
  if (!target) return { ok: false, code: 'internal', message: 'the webhook has been removed', status: null };
  const headers = signDelivery({ id: messageId, timestamp, body }, target.secrets);
  return deliverPost({ url: target.url, headers: { ...headers }, body }, means!);
}
