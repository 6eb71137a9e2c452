import { createHmac } from 'node:crypto';
import { poll } from './node-process.ts';

export interface WebhookMessage {
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>> & { readonly cursor: string; readonly seq?: number };
}

/** A delivery as it arrived. */
export interface Delivery {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  readonly webhook: string;
  readonly cursor: string;
  readonly events: readonly WebhookMessage[];
}

type Answer = (delivery: Delivery) => Response | Promise<Response>;

/** A receiver of webhooks on loopback. It stores each delivery before it answers, as a consumer would. */
export class WebhookReceiver implements Disposable {
  readonly deliveries: Delivery[] = [];
  /** Deliveries that were answered with 2xx. */
  readonly accepted: Delivery[] = [];
  answer: Answer = () => new Response(null, { status: 204 });
  readonly #server;

  constructor(options: { readonly tls?: { readonly cert: string; readonly key: string } } = {}) {
    this.#server = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      ...(options.tls && { tls: options.tls }),
      fetch: (request) => this.#receive(request),
    });
  }

  get port(): number {
    return this.#server.port!;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/hook`;
  }

  /** All accepted messages in the order of their arrival. */
  get messages(): WebhookMessage[] {
    return this.accepted.flatMap(({ events }) => events);
  }

  /** The accepted messages of the types, each once. */
  distinct(...types: readonly string[]): WebhookMessage[] {
    const byCursor = new Map<string, WebhookMessage>();
    for (const message of this.messages)
      if (types.includes(message.type) && !byCursor.has(message.data.cursor))
        byCursor.set(message.data.cursor, message);
    return [...byCursor.values()];
  }

  until<T>(what: string, ask: () => T | null | false, timeoutMs = 60_000): Promise<T> {
    const state = () => JSON.stringify(this.deliveries.slice(-5).map(({ text }) => text.slice(0, 500)));
    return poll(what, ask, { timeoutMs, state });
  }

  [Symbol.dispose](): void {
    void this.#server.stop(true);
  }

  async #receive(request: Request): Promise<Response> {
    const text = await request.text();
    const body = JSON.parse(text) as Pick<Delivery, 'webhook' | 'cursor' | 'events'>;
    const { pathname, search } = new URL(request.url);
    const delivery = { path: pathname + search, headers: Object.fromEntries(request.headers), text, ...body };
    this.deliveries.push(delivery);
    const reply = await this.answer(delivery);
    if (reply.ok) this.accepted.push(delivery);
    return reply;
  }
}

/** Whether a delivery carries the signature of a secret, as docs/events.md describes it. */
export function isSignedBy({ headers, text }: Pick<Delivery, 'headers' | 'text'>, secret: string): boolean {
  const key = Buffer.from(secret.replace('whsec_', ''), 'base64');
  const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${text}`;
  const expected = `v1,${createHmac('sha256', key).update(signed).digest('base64')}`;
  return headers['webhook-signature']!.split(' ').includes(expected);
}
