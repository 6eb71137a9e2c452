import { abortable } from '../../util/abort.ts';
import { type ByteStream, codeOf, type TcpStream, tcpHandlers } from './byte-stream.ts';
import { type Timing, within } from './timing.ts';

/** Resolves a host name to numeric addresses. Rejects if there is none. */
export type Lookup = (host: string) => Promise<readonly string[]>;

/** The system may query several servers for some seconds each. */
const LOOKUP_TIMEOUT_MS = 30_000;

/** Resolves a host name with a time limit. Rejects with DialError after it, or with the signal's reason. */
export function lookUp(
  host: string,
  { lookup, timing }: { readonly lookup: Lookup; readonly timing: Timing },
  signal: AbortSignal,
): Promise<readonly string[]> {
  return within(
    timing,
    LOOKUP_TIMEOUT_MS,
    abortable(lookup(host), signal),
    () => new DialError('name lookup timed out'),
  );
}

/** Thrown if a connection cannot be established for an external reason. */
export class DialError extends Error {
  override readonly name = 'DialError';
  /** Whether the proxy failed, which says nothing about the peer. */
  readonly proxyFailed: boolean;

  constructor(message: string, proxyFailed = false) {
    super(message);
    this.proxyFailed = proxyFailed;
  }
}

export interface DialTarget {
  /** A numeric address, a host name to be resolved by the system, or `unix:` with the path of a socket. */
  readonly host: string;
  readonly port: number;
}

/** Opens a stream. Rejects with DialError, or with the signal's reason. */
export type Dial = (to: DialTarget, signal: AbortSignal) => Promise<ByteStream>;

/** Time limit for establishing a connection, milliseconds. */
const CONNECT_TIMEOUT_MS = 5000;

/** Begins the text of a Unix socket. */
const UNIX_PREFIX = 'unix:';

/** Returns the text of a target, as in settings. */
export function targetText({ host, port }: DialTarget): string {
  if (host.startsWith(UNIX_PREFIX)) return host;
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

/** Returns a function that connects over TCP, or to a Unix socket. A connection established after the time limit is closed. */
export function tcpDial(timing: Timing): Dial {
  return async ({ host, port }, signal) => {
    signal.throwIfAborted();
    let wanted = true;
    const { promise, resolve, reject } = Promise.withResolvers<TcpStream>();
    const handlers = tcpHandlers((stream) => {
      if (wanted) resolve(stream);
      else stream.close();
    });
    const failed = (error: unknown) => reject(new DialError(codeOf(error)));
    const opening = host.startsWith(UNIX_PREFIX)
      ? Bun.connect<TcpStream>({ unix: host.slice(UNIX_PREFIX.length), socket: handlers })
      : Bun.connect<TcpStream>({ hostname: host, port, socket: handlers });
    opening.catch(failed);
    const abort = () => reject(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    try {
      return await within(timing, CONNECT_TIMEOUT_MS, promise, () => new DialError('ETIMEDOUT'));
    } catch (error) {
      wanted = false;
      // The connection may have been established during the cancellation.
      promise.then((stream) => stream.close()).catch(() => {});
      throw error;
    } finally {
      signal.removeEventListener('abort', abort);
    }
  };
}
