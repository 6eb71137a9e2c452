import { requireDescribed } from './async-api.ts';
/** A reply, whatever its status. `body` is parsed where it is JSON. */
export interface Reply<T = unknown> {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly body: T;
}

export interface ErrorBody {
  readonly error: { code: string; message: string; details: Record<string, unknown> | null; requestId: string };
}

export interface Tip {
  readonly height: number;
  readonly hash: string;
}

export interface Page<T> {
  readonly tip: Tip;
  readonly items: readonly T[];
  readonly nextCursor: string | null;
  readonly next: string | null;
}

interface Script {
  readonly hex: string;
  readonly asm: string;
  readonly type: string;
  readonly address: string | null;
}

export interface TxStatus {
  readonly confirmed: boolean;
  readonly blockHash: string | null;
  readonly blockHeight: number | null;
  readonly blockIndex: number | null;
  readonly blockTime: number | null;
  readonly confirmations: number;
}

export interface Info {
  readonly height: number;
  readonly bestBlockHash: string;
  readonly headers: number;
  readonly synced: boolean;
  readonly initialBlockDownload: boolean;
}

export interface BlockBody {
  readonly hash: string;
  readonly height: number;
  readonly confirmations: number;
  readonly inActiveChain: boolean;
  readonly previousHash: string | null;
  readonly nextHash: string | null;
  readonly version: number;
  readonly versionHex: string;
  readonly merkleRoot: string;
  readonly time: number;
  readonly medianTime: number;
  readonly nonce: number;
  readonly bits: string;
  readonly target: string;
  readonly difficulty: number;
  readonly chainwork: string;
  readonly txCount: number;
  readonly size: number;
  readonly strippedSize: number;
  readonly weight: number;
  readonly subsidy: number;
  readonly fees: number;
  readonly reward: number;
  readonly inputs: number;
  readonly outputs: number;
  readonly valueOut: number;
  readonly coinbase: { txid: string; scriptHex: string; text: string };
  readonly txids: readonly string[];
}

export interface TxBody {
  readonly txid: string;
  readonly wtxid: string;
  readonly version: number;
  readonly locktime: number;
  readonly size: number;
  readonly vsize: number;
  readonly weight: number;
  readonly isCoinbase: boolean;
  readonly fee: number | null;
  readonly valueIn: number;
  readonly valueOut: number;
  readonly vin: readonly {
    readonly txid: string | null;
    readonly vout: number | null;
    readonly sequence: number;
    readonly coinbase: string | null;
    readonly scriptSig: { hex: string; asm: string };
    readonly witness: readonly string[];
    readonly prevout: { value: number; height: number; isCoinbase: boolean; script: Script } | null;
  }[];
  readonly vout: readonly { n: number; value: number; spent: boolean | null; script: Script }[];
  readonly status: TxStatus;
  readonly hex: string;
  readonly tip: Tip;
}

export interface Balance {
  readonly address: string;
  readonly script: Script;
  readonly confirmed: number;
  readonly unconfirmed: number;
  readonly total: number;
  readonly immature: number;
  readonly received: number;
  readonly sent: number;
  readonly pendingReceived: number;
  readonly pendingSpent: number;
  readonly mempoolTxCount: number;
  readonly txCount: number;
  readonly utxoCount: number;
  readonly firstSeenHeight: number | null;
  readonly lastSeenHeight: number | null;
  readonly tip: Tip;
}

export interface AddressTx {
  readonly txid: string;
  readonly status: TxStatus;
  readonly received: number;
  readonly sent: number;
  readonly net: number;
  readonly fee: number | null;
  readonly isCoinbase: boolean;
  readonly outputs: readonly { n: number; value: number }[];
  readonly inputs: readonly { n: number; txid: string; vout: number; value: number }[];
}

export interface Utxo {
  readonly txid: string;
  readonly vout: number;
  readonly value: number;
  readonly script: string;
  readonly height: number | null;
  readonly blockHash: string | null;
  readonly confirmations: number;
  readonly isCoinbase: boolean;
  readonly mature: boolean;
}

export interface Proof {
  readonly txid: string;
  readonly blockHash: string;
  readonly blockHeight: number;
  readonly pos: number;
  readonly txCount: number;
  readonly merkle: readonly string[];
  readonly merkleRoot: string;
  readonly header: string;
  readonly merkleBlock: string;
}

export interface Readiness {
  readonly status: 'ok' | 'degraded' | 'fail';
  readonly checks: Readonly<Record<string, { status: string; message?: string }>>;
}

export interface WsMessage {
  readonly type: string;
  readonly id?: string | number;
  readonly data: Record<string, unknown>;
}

const REQUEST_TIMEOUT_MS = 30_000;

/** Asks a node over HTTP and WebSocket. */
export class ApiClient {
  readonly url: string;
  readonly key: string | null;

  constructor(url: string, key: string | null) {
    this.url = url;
    this.key = key;
  }

  /** With the key, unless `init` brings an authorization of its own ('' for none). */
  async request<T = unknown>(path: string, init: RequestInit = {}): Promise<Reply<T>> {
    const headers = new Headers(init.headers);
    if (!headers.has('authorization') && this.key) headers.set('authorization', `Bearer ${this.key}`);
    if (headers.get('authorization') === '') headers.delete('authorization');
    const response = await fetch(`${this.url}${path}`, {
      redirect: 'manual',
      ...init,
      headers,
      signal: init.signal ?? AbortSignal.timeout(REQUEST_TIMEOUT_MS),
    });
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.startsWith('application/json') && text !== '';
    return {
      status: response.status,
      headers: response.headers,
      text,
      body: (isJson ? JSON.parse(text) : text) as T,
    };
  }

  /** The body of a 200; anything else is an error. */
  async json<T>(path: string): Promise<T> {
    const reply = await this.request<T>(path);
    if (reply.status !== 200) throw new Error(`${path}: ${reply.status} ${reply.text.slice(0, 500)}`);
    return reply.body;
  }

  /** Items of all pages, following `next`. */
  async all<T, P extends Page<T> = Page<T>>(path: string): Promise<{ items: T[]; first: P; pages: number }> {
    const first = await this.json<P>(path);
    const items = [...first.items];
    let pages = 1;
    for (let { next } = first as Page<T>; next !== null; pages++) {
      const page: Page<T> = await this.json(next);
      items.push(...page.items);
      next = page.next;
    }
    return { items, first, pages };
  }

  /** A JSON-RPC 2.0 body as it is. */
  rpcBody<T = unknown>(body: unknown, init: RequestInit = {}): Promise<Reply<T>> {
    return this.request<T>('/', {
      method: 'POST',
      body: typeof body === 'string' ? body : JSON.stringify(body),
      ...init,
    });
  }

  /** The result of a method; its error is thrown. */
  async rpc<T>(method: string, params: unknown = []): Promise<T> {
    const { status, text, body } = await this.rpcBody<{ result?: T; error?: { code: number; message: string } }>({
      jsonrpc: '2.0',
      id: 1,
      method,
      params,
    });
    if (status !== 200 || body.error || body.result === undefined)
      throw new Error(`${method} ${JSON.stringify(params)}: ${status} ${text.slice(0, 500)}`);
    return body.result;
  }

  socket(init: { headers?: Record<string, string> } = {}): Promise<EventSocket> {
    const headers = init.headers ?? { authorization: `Bearer ${this.key}` };
    return EventSocket.open(`${this.url.replace(/^http/, 'ws')}/ws`, headers);
  }
}

/** A WebSocket that keeps what it received, in order. */
export class EventSocket {
  readonly messages: WsMessage[] = [];
  readonly closed: Promise<{ code: number; reason: string }>;
  readonly #socket: WebSocket;
  #isClosed = false;
  #changed = Promise.withResolvers<void>();

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.onmessage = ({ data }) => {
      const message = JSON.parse(String(data)) as WsMessage;
      requireDescribed(message);
      this.messages.push(message);
      this.#notify();
    };
    this.closed = new Promise((resolve) => {
      socket.onclose = ({ code, reason }) => {
        this.#isClosed = true;
        this.#notify();
        resolve({ code, reason });
      };
    });
  }

  static open(url: string, headers: Record<string, string>): Promise<EventSocket> {
    // Bun's clients take headers; the type is that of browsers.
    const socket = new WebSocket(url, { headers } as unknown as string[]);
    const opened = new EventSocket(socket);
    return new Promise((resolve, reject) => {
      socket.onopen = () => resolve(opened);
      socket.onerror = () => reject(new Error(`no WebSocket at ${url}`));
    });
  }

  send(message: unknown): void {
    this.#socket.send(JSON.stringify(message));
  }

  close(): void {
    this.#socket.close();
  }

  of(type: string): WsMessage[] {
    return this.messages.filter((message) => message.type === type);
  }

  /** Waits for the first message that fits. */
  async until(what: string, fits: (message: WsMessage) => boolean, timeoutMs = 30_000): Promise<WsMessage> {
    const deadline = performance.now() + timeoutMs;
    for (let at = 0; ; ) {
      for (; at < this.messages.length; at++) if (fits(this.messages[at]!)) return this.messages[at]!;
      const left = deadline - performance.now();
      if (left <= 0 || this.#isClosed) {
        const types = this.messages.map(({ type }) => type).slice(-20);
        throw new Error(
          `${this.#isClosed ? 'closed' : `${timeoutMs} ms passed`} without ${what}; last: ${types.join(' ')}`,
        );
      }
      const id = setTimeout(() => this.#notify(), left);
      await this.#changed.promise;
      clearTimeout(id);
    }
  }

  #notify(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers<void>();
  }
}
