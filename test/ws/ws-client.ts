export interface Message {
  type: string;
  id?: string | number;
  data: Record<string, unknown>;
}

/** A WebSocket client that keeps what it receives, in order. */
export class WsClient implements Disposable {
  readonly socket: WebSocket;
  readonly received: Message[] = [];
  readonly opened: Promise<boolean>;
  readonly closed: Promise<{ code: number; reason: string }>;
  #waiting: (() => void)[] = [];

  /** `url` is that of the HTTP listener. */
  constructor(url: string, options: { headers?: Record<string, string>; protocols?: string[] }) {
    this.socket = new WebSocket(`${url.replace('http', 'ws')}/ws`, options as unknown as string[]);
    const opened = Promise.withResolvers<boolean>();
    const closed = Promise.withResolvers<{ code: number; reason: string }>();
    this.opened = opened.promise;
    this.closed = closed.promise;
    this.socket.onopen = () => opened.resolve(true);
    this.socket.onerror = () => opened.resolve(false);
    this.socket.onclose = ({ code, reason }) => {
      opened.resolve(false);
      closed.resolve({ code, reason });
    };
    this.socket.onmessage = ({ data }) => {
      this.received.push(JSON.parse(String(data)));
      for (const wake of this.#waiting.splice(0)) wake();
    };
  }

  send(message: unknown): void {
    this.socket.send(typeof message === 'string' ? message : JSON.stringify(message));
  }

  /** Everything received so far, once it is this much. */
  async until(count: number): Promise<Message[]> {
    while (this.received.length < count) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    return this.received;
  }

  /** The next message that passes; it is looked for from the beginning of what was not taken yet. */
  async next(passes: (message: Message) => boolean): Promise<Message> {
    for (let at = 0; ; at++) {
      await this.until(at + 1);
      if (passes(this.received[at]!)) return this.received[at]!;
    }
  }

  /** Sends any message and waits for the next one that arrives. */
  async exchange(message: unknown): Promise<Message> {
    const before = this.received.length;
    this.send(message);
    return (await this.until(before + 1))[before]!;
  }

  /** Sends a message and waits for its reply, found by its id. */
  async ask(type: string, data: object = {}): Promise<Message> {
    const id = `ask ${++asked}`;
    this.send({ type, id, data });
    return this.next((message) => message.id === id);
  }

  /** Returns the events that arrived after the replies. A ping returns first, so that no event is in transit. */
  async events(): Promise<Message[]> {
    await this.ask('ping');
    return this.received.filter(({ id }) => id === undefined);
  }

  [Symbol.dispose](): void {
    this.socket.close();
  }
}

let asked = 0;
