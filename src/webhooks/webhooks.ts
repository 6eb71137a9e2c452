import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { base32nopad } from '@scure/base';
import type { ResumePoint } from '../feed/event-history.ts';
import type { EventSources } from '../feed/event-pages.ts';
import type { StoredWatches } from '../feed/stored-watches.ts';
import { fail } from '../http/errors.ts';
import type { WebhookOptions } from '../http/options.ts';
import { type Clock, unixSeconds } from '../util/clock.ts';
import type { DeliveryFault, DeliveryOutcome } from './delivery-outcome.ts';
import { ProgressWriter } from './progress-writer.ts';
import { SecretExpiry } from './secret-expiry.ts';
import type { WebhookControl, WebhookRequest, WebhookTest, WebhookView, WebhookWithSecret } from './webhook-control.ts';
import { type KeyRights, WebhookDelivery, type WebhookState } from './webhook-delivery.ts';
import { WebhookSender } from './webhook-sender.ts';
import { newWebhookSecret, webhookSecretBytes } from './webhook-signature.ts';
import { type WebhookRecord, type WebhookStatus, WebhookStore } from './webhook-store.ts';

export interface WebhooksDependencies {
  readonly options: WebhookOptions;
  readonly userAgent: string;
  readonly sources: EventSources;
  readonly watches: StoredWatches;
  /** The clock of the host, never the mock time. */
  readonly clock: Clock;
  /** Whether the key exists and is not revoked. */
  isOwner(id: string): boolean;
  /** Returns the present rights of a key; null if it is not valid. An unchanged key has the same object. */
  rightsOf(id: string): KeyRights | null;
  /** Called when a hook is disabled. */
  onDisabled(notice: DisabledWebhook): void;
  readonly metrics: WebhookCounters;
}

/** Counts the attempts and the hooks that were disabled. */
export interface WebhookCounters {
  webhookAttempt(result: DeliveryFault | 'ok', events: number): void;
  webhookDisabled(): void;
}

/** The notice that a hook is disabled, for its owner. */
export interface DisabledWebhook {
  readonly owner: string;
  /** JSON of the data of the message. */
  readonly data: string;
}

/** The state of a hook for metrics. */
export interface WebhookGauge extends Pick<WebhookState, 'lag'> {
  readonly id: string;
  readonly status: WebhookStatus | 'failing';
}

const ID_BYTES = 10;
const TEST_ID_BYTES = 16;
/** Time that running attempts get at the stop, milliseconds. */
const STOP_MS = 1000;

/**
 * The webhooks of all keys. They exist on the first front only. webhooks.db holds them; each active one reads the event log
 * at its own pace.
 */
export class Webhooks implements WebhookControl {
  readonly #deps: WebhooksDependencies;
  readonly #hooks = new Map<string, WebhookDelivery>();
  readonly #secrets: SecretExpiry;
  readonly #testing = new Set<string>();
  readonly #progress: ProgressWriter;
  #sender: WebhookSender | null = null;
  /** Hooks that are being stored; they count in the limits. */
  #storing: string[] = [];
  #isAttached = false;

  constructor(deps: WebhooksDependencies) {
    this.#deps = deps;
    // An error is logged, and the next start removes the secret.
    this.#secrets = new SecretExpiry(deps.clock, () => {
      this.#sender?.store({ type: 'removeOldSecrets' }).catch(() => {});
    });
    this.#progress = new ProgressWriter((all) => this.#opened.store({ type: 'progress', all }));
  }

  /** Reads the stored hooks. Throws OperatorError for a database of a newer version. */
  open(path: string): void {
    const { options, userAgent, sources } = this.#deps;
    const { allowedNetworks, authorities, connectMs, replyMs } = options;
    this.#sender = new WebhookSender(
      { path, allowedNetworks, authorities, userAgent, connectMs, replyMs },
      sources.log,
    );
    // The first hook creates the file.
    if (!existsSync(path)) return;
    const store = new WebhookStore(path);
    store.removeOldSecrets(unixSeconds(this.#deps.clock));
    for (const record of store.all()) this.#add(record);
    store.close();
  }

  /** Begins to deliver. The event log must be attached. */
  attach(): void {
    this.#isAttached = true;
    for (const hook of this.#hooks.values()) hook.start();
  }

  list(owner: string): Promise<WebhookView[]> {
    const own = [...this.#hooks.values()].filter(({ record }) => record.owner === owner);
    return Promise.resolve(own.map((hook) => this.#view(hook)));
  }

  async get(owner: string, id: string): Promise<WebhookView> {
    return this.#view(this.#find(owner, id));
  }

  async create(owner: string, request: WebhookRequest): Promise<WebhookWithSecret> {
    const { sources, clock, isOwner } = this.#deps;
    const { url, types, wallets, label, maxEvents, secret, from } = request;
    this.#checkLimits(owner);
    const { events } = sources;
    const made = secret === null ? newWebhookSecret() : null;
    const record: WebhookRecord = {
      ...{ id: newId(), owner, url, types, wallets, label, maxEvents, status: 'active' },
      position: events.cursorAt(from ?? events.end),
      ...{ failingFor: null, lastError: null, deliveredAt: null, previousSecretUntil: null },
      createdAt: unixSeconds(clock),
    };
    this.#storing.push(owner);
    try {
      await this.#opened.store({ type: 'insert', record, secret: secretHex(made ?? secret!) });
    } finally {
      this.#storing.splice(this.#storing.indexOf(owner), 1);
    }
    const hook = this.#add(record);
    // The key may have been revoked meanwhile.
    if (!isOwner(owner)) {
      await this.#remove([hook]);
      fail('invalid_credentials', 'the credentials are not valid');
    }
    if (this.#isAttached) hook.start();
    return { ...this.#view(hook), secret: made };
  }

  async setStatus(owner: string, id: string, status: 'active' | 'paused'): Promise<WebhookView> {
    const hook = this.#find(owner, id);
    // At once: the hook could be disabled while the change is stored, and that would be stored behind it.
    if (status === 'active') hook.resume();
    else hook.pause();
    await this.#opened.store({ type: 'status', id, status });
    return this.#view(hook);
  }

  async replay(owner: string, id: string, from: ResumePoint): Promise<WebhookView> {
    const hook = this.#find(owner, id);
    await hook.moveTo(from);
    return this.#view(hook);
  }

  async replaceSecret(
    owner: string,
    id: string,
    secret: string | null,
    overlapSeconds: number,
  ): Promise<WebhookWithSecret> {
    const hook = this.#find(owner, id);
    const made = secret === null ? newWebhookSecret() : null;
    const previousUntil = unixSeconds(this.#deps.clock) + overlapSeconds;
    await this.#opened.store({ type: 'secret', id, secret: secretHex(made ?? secret!), previousUntil });
    this.#secrets.setUntil(id, previousUntil);
    return { ...this.#view(hook), secret: made };
  }

  /** Sends one message outside of the order of the events. It changes no position and is not repeated. */
  async sendTest(owner: string, id: string): Promise<WebhookTest> {
    const { clock } = this.#deps;
    const { record } = this.#find(owner, id);
    if (this.#testing.has(id)) fail('too_many_connections', 'a test of this webhook is running');
    const cursor = `test-${randomBytes(TEST_ID_BYTES).toHex()}`;
    const event = { type: 'test', data: { cursor, time: unixSeconds(clock) } };
    const from = clock.monotonicMs();
    this.#testing.add(id);
    try {
      const body = JSON.stringify({ webhook: record.id, cursor, events: [event] });
      const outcome = await this.#opened.deliver({ id, messageId: cursor, body });
      return testView(outcome, Math.round(clock.monotonicMs() - from));
    } finally {
      this.#testing.delete(id);
    }
  }

  async remove(owner: string, id: string): Promise<void> {
    await this.#remove([this.#find(owner, id)]);
  }

  /** Removes the hooks of revoked keys, and applies changes of the others. It must be called after every change of keys. */
  checkOwners(): void {
    const { isOwner, sources } = this.#deps;
    const orphaned = [...this.#hooks.values()].filter(({ record }) => !isOwner(record.owner));
    for (const hook of this.#hooks.values()) hook.checkRights();
    if (orphaned.length === 0) return;
    this.#remove(orphaned)
      .then(() => sources.log.info('webhooks of a key that is gone were removed', { webhooks: orphaned.length }))
      // The next check repeats the attempt.
      .catch(() => {});
  }

  gauges(): WebhookGauge[] {
    return Array.from(this.#hooks.values(), (hook) => {
      const { lag } = hook.state;
      const status = hook.status === 'active' && hook.isFailing ? 'failing' : hook.status;
      return { id: hook.record.id, status, lag };
    });
  }

  /** Stops delivering. Running attempts get a second to end, so that they need not be repeated. */
  async close(): Promise<void> {
    const ended = Promise.all(Array.from(this.#hooks.values(), (hook) => hook.end()));
    await Promise.race([ended, Bun.sleep(STOP_MS)]);
    this.#secrets.close();
    await this.#sender?.close();
  }

  #add(record: WebhookRecord): WebhookDelivery {
    const { options, sources, watches, clock, rightsOf, metrics } = this.#deps;
    const hook = new WebhookDelivery(record, {
      ...{ sources, clock, rightsOf },
      watchesOf: (owner) => watches.watchesOf(owner),
      watchesLoaded: () => watches.loaded,
      deliver: ({ id }, messageId, body) => this.#opened.deliver({ id, messageId, body }),
      save: (progress) => this.#progress.save(progress),
      onDisabled: (disabled) => this.#disabled(disabled),
      count: (fault, events) => metrics.webhookAttempt(fault ?? 'ok', events),
      onError: (error) => sources.log.error('a webhook failed', { webhook: record.id, error }),
      maxPauseMs: options.maxPauseMs,
      disableAfterMs: options.disableAfterMs,
    });
    this.#hooks.set(record.id, hook);
    if (record.previousSecretUntil !== null) this.#secrets.setUntil(record.id, record.previousSecretUntil);
    return hook;
  }

  #disabled({ record, state }: WebhookDelivery): void {
    const { clock, sources, metrics, onDisabled } = this.#deps;
    const { id, owner, label } = record;
    const { failingSince, lastError } = state;
    this.#opened.store({ type: 'status', id, status: 'disabled' }).catch(() => {});
    metrics.webhookDisabled();
    sources.log.warn('webhook disabled: it failed for too long', { webhook: id, key: owner, failingSince, lastError });
    const data = { time: unixSeconds(clock), webhook: id, label, failingSince, lastError };
    onDisabled({ owner, data: JSON.stringify(data) });
  }

  async #remove(hooks: readonly WebhookDelivery[]): Promise<void> {
    await this.#opened.store({ type: 'remove', ids: hooks.map(({ record }) => record.id) });
    for (const hook of hooks) {
      this.#hooks.delete(hook.record.id);
      this.#secrets.remove(hook.record.id);
      // A running attempt ends by itself within its time limits.
      void hook.end();
    }
  }

  #checkLimits(owner: string): void {
    const { perKey, total } = this.#deps.options;
    const own = [...this.#hooks.values()].filter(({ record }) => record.owner === owner).length;
    if (own + this.#storing.filter((each) => each === owner).length >= perKey)
      fail('limit_exceeded', `a key cannot have more than ${perKey} webhooks`, { limit: perKey });
    if (this.#hooks.size + this.#storing.length >= total)
      fail('limit_exceeded', `all keys together cannot have more than ${total} webhooks`, { limit: total });
  }

  /** Throws ApiError `not_found` for a hook that the key does not have. */
  #find(owner: string, id: string): WebhookDelivery {
    const hook = this.#hooks.get(id);
    return hook?.record.owner === owner ? hook : fail('not_found', 'this key has no such webhook');
  }

  #view({ record, state }: WebhookDelivery): WebhookView {
    const { id, url, types, wallets, label, maxEvents, createdAt } = record;
    const previousSecretUntil = this.#secrets.untilOf(id);
    return { id, url, types, wallets, label, maxEvents, createdAt, previousSecretUntil, ...state };
  }

  get #opened(): WebhookSender {
    return this.#sender ?? fail('warming_up', 'the node is starting');
  }
}

function testView(outcome: DeliveryOutcome, durationMs: number): WebhookTest {
  if (outcome.ok) return { delivered: true, status: outcome.status, durationMs, error: null };
  const { code, message, status } = outcome;
  return { delivered: false, status, durationMs, error: { code, message } };
}

/** Throws ApiError for a text that is not a secret. */
function secretHex(secret: string): string {
  return webhookSecretBytes(secret)?.toHex() ?? fail('invalid_parameter', 'the secret is not valid');
}

function newId(): string {
  return base32nopad.encode(randomBytes(ID_BYTES)).toLowerCase();
}
