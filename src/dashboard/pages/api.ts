/** A reply of the node with an error: its stable code and its sentence. */
export class ApiFailure extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

export interface Session {
  readonly expiresAt: number;
  readonly scopes: readonly string[];
  readonly csrfToken: string;
}

const REQUEST_TIMEOUT_MS = 30_000;
const ENDED = 'dashboard:session-ended';

/** Requests a path of the node with the cookie of the session. Throws ApiFailure. */
export async function getJson<T>(path: string, signal?: AbortSignal): Promise<T> {
  return (await request('GET', path, { signal })) as T;
}

/** Starts a session with a one-time code. Throws ApiFailure. */
export async function logIn(code: string): Promise<Session> {
  await request('POST', '/api/session', { body: { code: code.trim() }, isLogin: true });
  return getSession();
}

export async function logOut({ csrfToken }: Session): Promise<void> {
  await request('DELETE', '/api/session', { headers: { 'x-csrf-token': csrfToken } });
}

/** Returns the session of the cookie. Throws ApiFailure with the status 401 where there is none. */
export const getSession = async (): Promise<Session> =>
  (await request('GET', '/api/session', { isLogin: true })) as Session;

/** Calls back when the node no longer accepts the session. Returns a function that ends this. */
export function onSessionEnd(callback: () => void): () => void {
  addEventListener(ENDED, callback);
  return () => removeEventListener(ENDED, callback);
}

export const announceSessionEnd = (): boolean => dispatchEvent(new Event(ENDED));

interface RequestOptions {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
  /** A 401 is then about the login and not about a session that has ended. */
  readonly isLogin?: boolean;
}

async function request(method: string, path: string, options: RequestOptions): Promise<unknown> {
  const { body, headers, signal, isLogin = false } = options;
  const timeout = AbortSignal.timeout(REQUEST_TIMEOUT_MS);
  let reply: Response;
  try {
    reply = await fetch(path, {
      method,
      headers: {
        accept: 'application/json',
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ApiFailure(0, 'unreachable', 'The node does not answer.');
  }
  const text = await reply.text();
  const value = parse(text);
  // The report of readiness has the status 503 when a check fails, and is no error of the request.
  if (reply.ok || (path === '/readyz' && reply.status === 503)) return value;
  const { code = 'unknown', message = `The node answered with the status ${reply.status}.` } = errorOf(value);
  if (reply.status === 401 && !isLogin) announceSessionEnd();
  throw new ApiFailure(reply.status, code, message);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function errorOf(value: unknown): { code?: string; message?: string } {
  const { error } = (value ?? {}) as { error?: unknown };
  return typeof error === 'object' && error !== null ? error : {};
}
