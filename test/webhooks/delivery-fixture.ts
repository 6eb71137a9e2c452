import type { EventSources } from '../../src/feed/event-pages.ts';
import { Matcher } from '../../src/feed/matcher.ts';
import { WatchRegistry, WatchSet } from '../../src/feed/watches.ts';
import { systemClock } from '../../src/util/clock.ts';
import type { DeliveryOutcome } from '../../src/webhooks/delivery-outcome.ts';
import { WebhookDelivery, type WebhookDeliveryDependencies } from '../../src/webhooks/webhook-delivery.ts';
import type { WebhookProgress, WebhookRecord } from '../../src/webhooks/webhook-store.ts';
import { silentLog } from '../lib/chain-fixture.ts';
import type { LogFixture } from '../lib/log-fixture.ts';
import { poll } from '../lib/node-process.ts';

const STOPPING = new AbortController().signal;

export const NO_WATCHES = new WatchSet(new WatchRegistry());

/** Where hooks without watches and wallets read their events. */
export function sourcesOf({ log: events }: LogFixture): EventSources {
  const matcher = new Matcher({
    registry: new WatchRegistry(),
    runJob: () => Promise.reject(new Error('nothing is watched')),
    wallets: { states: () => [], knows: () => false, stopping: STOPPING },
  });
  return { events, matcher, log: silentLog };
}

export const FAILED = { ok: false, code: 'status', message: 'the receiver answered 500', status: 500 } as const;

interface Sent {
  readonly id: string;
  readonly types: readonly string[];
  readonly body: string;
}

/** The deliveries of one hook for `newBlock`, to a receiver that answers as the test says. */
export class DeliveryFixture implements AsyncDisposable {
  readonly hook: WebhookDelivery;
  readonly sent: Sent[] = [];
  readonly saved: WebhookProgress[] = [];
  disabled = 0;
  answer: () => DeliveryOutcome | Promise<DeliveryOutcome> = () => ({ ok: true, status: 204 });

  constructor(sources: EventSources, after: number, more: Partial<WebhookDeliveryDependencies & WebhookRecord> = {}) {
    const record: WebhookRecord = {
      ...{ id: 'hook', owner: 'key', url: 'http://127.0.0.1/', types: ['newBlock'], wallets: null, label: null },
      ...{ maxEvents: 100, status: 'active', createdAt: 1, previousSecretUntil: null },
      ...{
        position: sources.events.cursorAt({ seq: after, within: 'z' }),
        failingFor: null,
        lastError: null,
        deliveredAt: null,
      },
      ...more,
    };
    const rights = { scopes: new Set(['admin'] as const), wallets: null };
    this.hook = new WebhookDelivery(record, {
      sources,
      watchesOf: () => NO_WATCHES,
      watchesLoaded: () => Promise.resolve(),
      rightsOf: () => rights,
      deliver: async (_, id, body) => {
        const { events } = JSON.parse(body) as { events: readonly { readonly type: string }[] };
        this.sent.push({ id, types: events.map(({ type }) => type), body });
        return this.answer();
      },
      save: (progress) => Promise.resolve(void this.saved.push(progress)),
      onDisabled: () => this.disabled++,
      count() {},
      onError(error) {
        throw error;
      },
      clock: systemClock,
      maxPauseMs: 1000,
      disableAfterMs: 10_000,
      ...more,
    });
  }

  until<T>(what: string, ask: () => T | null | false): Promise<T> {
    return poll(what, ask, {
      timeoutMs: 10_000,
      everyMs: 1,
      state: () => JSON.stringify([this.hook.state, this.sent]),
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.hook.end();
  }
}
