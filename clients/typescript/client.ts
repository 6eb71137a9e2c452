// REST and JSON-RPC of an Obverse node, with time-outs and retries. Without dependencies, for Bun, and for Node from 22.18 on.
import { type Input, OPERATIONS, type OperationName, type Output, type Schemas, sendOperation } from './api.ts';

export interface ClientOptions {
  /** For example http://127.0.0.1:18443, without a path. */
  readonly url: string;
  /** An API key. */
  readonly key: string;
  /** Time limit of one attempt, milliseconds; 30,000 by default. */
  readonly timeoutMs?: number;
  /** How long a call is repeated while its failure is retryable, milliseconds; 60,000 by default. */
  readonly retryForMs?: number;
}

export interface CallOptions extends Pick<ClientOptions, 'timeoutMs' | 'retryForMs'> {
  readonly signal?: AbortSignal;
}

export interface RpcOptions extends CallOptions {
  /** Name of the wallet; not needed while one wallet is loaded. */
  readonly wallet?: string;
  /** Whether a call without a reply may be sent again. True by default for a call with a `request_id`. */
  readonly repeatable?: boolean;
}

/** Longer than the 30 s after which the node gives up a read, so that its reply arrives. */
const TIMEOUT_MS = 35_000;
const RETRY_FOR_MS = 60_000;
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 15_000;
const LIST_RESTARTS = 10;

/** Codes of refusals that change nothing and end by themselves. */
export const RETRYABLE_CODES: ReadonlySet<string> = new Set([
  'rate_limited',
  'too_many_connections',
  'internal_error',
  'audit_unavailable',
  'warming_up',
  'syncing',
  'index_not_ready',
  'overloaded',
  'shutting_down',
]);
/** Statuses of proxies, whose replies have no code. */
const RETRYABLE_STATUSES: ReadonlySet<number> = new Set([408, 425, 429, 500, 502, 503, 504]);
/**
 * Refusals before a call is carried out, so that any call may be repeated after them. A node that stops can answer
 * `shutting_down` to a call that it has carried out, and `overloaded` to one that takes too long.
 */
const REFUSED_CODES: ReadonlySet<string> = new Set([
  'rate_limited',
  'too_many_connections',
  'audit_unavailable',
  'warming_up',
  'syncing',
  'index_not_ready',
]);
const REFUSED_STATUSES: ReadonlySet<number> = new Set([425, 429]);
/** Errors of JSON-RPC that are retryable: the node starts or stops, is in the initial download, or has no free slot. */
const RETRYABLE_RPC: ReadonlySet<number> = new Set([-28, -10, -37]);
/** Each repetition of these would make or change something again. */
const NOT_REPEATABLE: ReadonlySet<string> = new Set([
  'createWebhook',
  'replayWebhook',
  'replaceWebhookSecret',
  'testWebhook',
  'createWsTicket',
]);

/** A failure of the node, of the way to it, or of a call. */
export class ObverseError extends Error {
  override readonly name = 'ObverseError';
  /** The stable code of REST, `rpc_error` for an error of JSON-RPC without one, or `no_reply`. */
  readonly code: string;
  /** HTTP status; null without a reply. */
  readonly status: number | null;
  /** Code of the JSON-RPC error; null for REST. */
  readonly rpcCode: number | null;
  readonly details: Readonly<Record<string, unknown>> | null;
  /** Names the request in the log of the node. */
  readonly requestId: string | null;
  /** Whether the same request may succeed later. */
  readonly retryable: boolean;
  /** Pause that the node asks for, milliseconds. */
  readonly retryAfterMs: number | null;

  constructor(message: string, fields: Partial<Omit<ObverseError, 'name' | 'message'>> & { readonly code: string }) {
    super(message, { cause: fields.cause });
    this.code = fields.code;
    this.status = fields.status ?? null;
    this.rpcCode = fields.rpcCode ?? null;
    this.details = fields.details ?? null;
    this.requestId = fields.requestId ?? null;
    this.retryable = fields.retryable ?? false;
    this.retryAfterMs = fields.retryAfterMs ?? null;
  }
}

type ListName = {
  [N in OperationName]: Output<N> extends { items: unknown[]; nextCursor: string | null } ? N : never;
}[OperationName];
type Item<N extends OperationName> = Output<N> extends { items: (infer T)[] } ? T : never;

export class ObverseClient {
  readonly url: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #timeoutMs: number;
  readonly #retryForMs: number;

  constructor({ url, key, timeoutMs = TIMEOUT_MS, retryForMs = RETRY_FOR_MS }: ClientOptions) {
    this.url = url.replace(/\/$/, '');
    this.#headers = { authorization: `Bearer ${key}` };
    this.#timeoutMs = timeoutMs;
    this.#retryForMs = retryForMs;
  }

  /** The headers that authenticate a request of another kind, such as a WebSocket. */
  get headers(): Readonly<Record<string, string>> {
    return this.#headers;
  }

  /** Calls an operation of REST, for example `call('getBlock', { hash })`. Throws ObverseError. */
  call<N extends OperationName>(name: N, input: Input<N>, options: CallOptions = {}): Promise<Output<N>> {
    const isRepeatable = !NOT_REPEATABLE.has(name);
    return this.#repeated(isRepeatable, options, async (signal) => {
      const reply = await sendOperation(this.url, name, input, { headers: this.#headers, signal });
      if (!reply.ok) throw errorOfReply(reply, await reply.text(), OPERATIONS[name][1]);
      return (await bodyOf(reply)) as Output<N>;
    });
  }

  /**
   * Returns all items of a list. A reorg between two pages makes the cursor of a list invalid (`cursor_reorged`); the list
   * is then read again from its beginning.
   */
  async list<N extends ListName>(name: N, input: Input<N>, options: CallOptions = {}): Promise<Item<N>[]> {
    for (let restarts = 0; ; restarts++) {
      try {
        const items: Item<N>[] = [];
        for (let cursor: string | null | undefined; cursor !== null; ) {
          const more = cursor === undefined ? input : { ...(input as object), cursor };
          const page = (await this.call(name, more as Input<N>, options)) as unknown as Page<Item<N>>;
          items.push(...page.items);
          cursor = page.nextCursor;
        }
        return items;
      } catch (error) {
        const isReorged = error instanceof ObverseError && error.code === 'cursor_reorged';
        if (!isReorged || restarts >= LIST_RESTARTS) throw error;
      }
    }
  }

  /** Calls a method of JSON-RPC. Throws ObverseError with `rpcCode`. */
  rpc<T>(method: string, params: object = [], options: RpcOptions = {}): Promise<T> {
    const { wallet, repeatable = hasRequestId(params) } = options;
    const url = `${this.url}/${wallet === undefined ? '' : `wallet/${encodeURIComponent(wallet)}`}`;
    return this.#repeated(repeatable, options, async (signal) => {
      const headers = { ...this.#headers, 'content-type': 'application/json' };
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
      const reply = await fetch(url, { method: 'POST', headers, body, signal, redirect: 'manual' });
      const text = await reply.text();
      const answer = (parsed(text) ?? {}) as RpcReply<T>;
      if (answer.error) throw errorOfRpc(reply, answer.error, method);
      // A proxy may answer with any status and text.
      if (!reply.ok || !('result' in answer)) throw errorOfReply(reply, text, method);
      return answer.result as T;
    });
  }

  /** Repeats a call while its failure is retryable and may be repeated. */
  async #repeated<T>(
    isRepeatable: boolean,
    { signal, timeoutMs = this.#timeoutMs, retryForMs = this.#retryForMs }: CallOptions,
    send: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const deadline = Date.now() + retryForMs;
    for (let attempt = 0; ; attempt++) {
      signal?.throwIfAborted();
      const limit = AbortSignal.timeout(timeoutMs);
      try {
        return await send(signal ? AbortSignal.any([signal, limit]) : limit);
      } catch (thrown) {
        signal?.throwIfAborted();
        const error = thrown instanceof ObverseError ? thrown : noReply(thrown);
        const pause = pauseMs(attempt, error.retryAfterMs);
        const mayRepeat = isRepeatable || wasRefused(error);
        if (!error.retryable || !mayRepeat || Date.now() + pause > deadline) throw error;
        await sleep(pause, signal);
      }
    }
  }
}

interface Page<T> {
  readonly items: readonly T[];
  readonly nextCursor: string | null;
}

interface RpcReply<T> {
  readonly result?: T;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: ErrorData } | null;
}

type ErrorData = Partial<Schemas['Error']['error']>;

/** Returns the pause before an attempt: doubled each time, with a random part, and not below that which the node asks for. */
export function pauseMs(attempt: number, retryAfterMs: number | null = null): number {
  const longest = Math.min(FIRST_PAUSE_MS * 2 ** Math.min(attempt, 10), LONGEST_PAUSE_MS);
  return Math.max(longest * (0.5 + Math.random() / 2), retryAfterMs ?? 0);
}

/** Resolves after a time. Rejects when the signal aborts. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', end);
      resolve();
    }, ms);
    if (signal?.aborted) end();
    else signal?.addEventListener('abort', end, { once: true });
  });
}

/** Returns satoshis as the text of coins that JSON-RPC accepts, without rounding. */
export function coinsOf(satoshis: number): string {
  if (!Number.isSafeInteger(satoshis) || satoshis < 0) throw new RangeError(`not an amount in satoshis: ${satoshis}`);
  const digits = String(satoshis).padStart(9, '0');
  return `${digits.slice(0, -8)}.${digits.slice(-8)}`;
}

/** Returns an amount of JSON-RPC in satoshis. It has 8 decimals and fits a double, so rounding finds the exact integer. */
export function satoshisOf(coins: number): number {
  return Math.round(coins * 1e8);
}

/** The connection failed, or the time limit was reached: the request may or may not have been carried out. */
function noReply(cause: unknown): ObverseError {
  return new ObverseError(`no reply: ${cause instanceof Error ? cause.message : cause}`, {
    ...{ code: 'no_reply', retryable: true, cause },
  });
}

function wasRefused({ status, code }: ObverseError): boolean {
  return REFUSED_CODES.has(code) || (status !== null && REFUSED_STATUSES.has(status));
}

/** The node says of a rejected transaction whether the same bytes may be accepted later. */
function isRetryable(code: string, details: ObverseError['details']): boolean {
  return code === 'tx_rejected' ? details?.retryable === true : RETRYABLE_CODES.has(code);
}

function errorOfReply(reply: Response, text: string, what: string): ObverseError {
  const { error } = (parsed(text) ?? {}) as { readonly error?: ErrorData };
  const { status } = reply;
  const code = error?.code ?? `http_${status}`;
  const details = error?.details ?? null;
  return new ObverseError(`${what}: ${code}: ${error?.message ?? text.slice(0, 200)}`, {
    ...{ code, status, details, requestId: error?.requestId ?? null, retryAfterMs: retryAfterOf(reply) },
    retryable: error?.code ? isRetryable(code, details) : RETRYABLE_STATUSES.has(status),
  });
}

function errorOfRpc(reply: Response, error: NonNullable<RpcReply<unknown>['error']>, method: string): ObverseError {
  const { code: rpcCode, message, data } = error;
  const code = data?.code ?? 'rpc_error';
  return new ObverseError(`${method}: ${rpcCode}: ${message}`, {
    ...{ code, rpcCode, status: reply.status, details: data?.details ?? null, requestId: data?.requestId ?? null },
    retryable: RETRYABLE_RPC.has(rpcCode) || isRetryable(code, data?.details ?? null),
    retryAfterMs: retryAfterOf(reply),
  });
}

function retryAfterOf(reply: Response): number | null {
  const seconds = Number(reply.headers.get('retry-after') ?? Number.NaN);
  return Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : null;
}

async function bodyOf(reply: Response): Promise<unknown> {
  const type = reply.headers.get('content-type') ?? '';
  if (type.startsWith('application/json')) return reply.json();
  return type.startsWith('application/octet-stream') ? new Uint8Array(await reply.arrayBuffer()) : reply.text();
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** Whether the node recognizes a repetition of a call: by a `request_id` that JSON keeps. */
function hasRequestId(params: object): boolean {
  const id = Array.isArray(params) ? undefined : (params as { request_id?: unknown }).request_id;
  return typeof id === 'string' && id !== '';
}
