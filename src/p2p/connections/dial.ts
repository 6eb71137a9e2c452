import { type ByteStream, codeOf, type TcpStream, tcpHandlers } from './byte-stream.ts';
import { type Timing, within } from './timing.ts';

/** A connection could not be made, for a reason that lies outside the program. */
export class DialError extends Error {
  override readonly name = 'DialError';
  /** It was the proxy that could not be used: says nothing of the peer. */
  readonly proxyFailed: boolean;

  constructor(message: string, proxyFailed = false) {
    super(message);
    this.proxyFailed = proxyFailed;
  }
}

export interface Endpoint {
  /** A numeric address, or a name that the system resolves. */
  readonly host: string;
  readonly port: number;
}

/** Opens a stream to an address. Rejects with DialError, or with the signal's reason. */
export type Dial = (to: Endpoint, signal: AbortSignal) => Promise<ByteStream>;

/** How long a connection may take to be made. */
const CONNECT_TIMEOUT_MS = 5000;

/** Dials over TCP. A connection that comes too late is closed. */
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
    Bun.connect<TcpStream>({ hostname: host, port, socket: handlers }).catch(failed);
    const abort = () => reject(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    try {
      return await within(timing, CONNECT_TIMEOUT_MS, promise, () => new DialError('ETIMEDOUT'));
    } catch (error) {
      wanted = false;
      // It may have come while we were giving up.
      promise.then((stream) => stream.close()).catch(() => {});
      throw error;
    } finally {
      signal.removeEventListener('abort', abort);
    }
  };
}
