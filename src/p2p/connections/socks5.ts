import { ByteWriter, concatBytes } from '../../util/bytes.ts';
import type { ByteStream } from './byte-stream.ts';
import { DialError } from './dial.ts';
import { type Timing, within } from './timing.ts';

const VERSION = 5;
const AUTH_VERSION = 1;
const CONNECT = 1;
const NO_AUTH = 0;
const USER_PASS = 2;
const IPV4 = 1;
const NAME = 3;
const IPV6 = 4;
const MAX_TEXT = 255;
/** Maximum size of a reply: head, length and name of 255 bytes, and port. */
const MAX_REPLY = 4 + 1 + 255 + 2;
/** Time limit of each reply, milliseconds; Tor can be slow. */
const STEP_TIMEOUT_MS = 20_000;

/** Reply codes of RFC 1928, and Tor's extended codes for onion services. */
const REPLIES = new Map([
  [0x01, 'general failure'],
  [0x02, 'connection not allowed'],
  [0x03, 'network unreachable'],
  [0x04, 'host unreachable'],
  [0x05, 'connection refused'],
  [0x06, 'TTL expired'],
  [0x07, 'protocol error'],
  [0x08, 'address type not supported'],
  [0xf0, 'onion service descriptor can not be found'],
  [0xf1, 'onion service descriptor is invalid'],
  [0xf2, 'onion service introduction failed'],
  [0xf3, 'onion service rendezvous failed'],
  [0xf4, 'onion service missing client authorization'],
  [0xf5, 'onion service wrong client authorization'],
  [0xf6, 'onion service invalid address'],
  [0xf7, 'onion service introduction timed out'],
]);

export interface Credentials {
  readonly user: string;
  readonly password: string;
}

/** Returns new random credentials. Tor isolates streams with different credentials; they are not secret. */
export function isolatingCredentials(): Credentials {
  const random = crypto.getRandomValues(new Uint8Array(16)).toHex();
  return { user: random, password: random };
}

export interface Socks5Options {
  readonly timing: Timing;
  readonly signal: AbortSignal;
  /** Null for no authentication; random for this connection if absent. */
  readonly credentials?: Credentials | null;
}

/**
 * SOCKS5 (RFC 1928): asks the proxy to connect the stream to a host, which may be a name that the proxy resolves.
 * Throws DialError or the signal's reason; the stream is unusable afterwards.
 */
export async function socks5Connect(
  stream: ByteStream,
  host: string,
  port: number,
  { timing, signal, credentials = isolatingCredentials() }: Socks5Options,
): Promise<void> {
  const target = bytesOf(host, 'host name');
  signal.throwIfAborted();
  const reader = new StreamReader(stream, timing);
  const abort = () => reader.fail(signal.reason);
  signal.addEventListener('abort', abort, { once: true });
  try {
    reader.send(Uint8Array.from(credentials === null ? [VERSION, 1, NO_AUTH] : [VERSION, 2, NO_AUTH, USER_PASS]));
    const [version, method] = await reader.read(2, 'method');
    if (version !== VERSION) throw new DialError('proxy does not speak SOCKS5', true);
    if (method === USER_PASS && credentials !== null) await authenticate(reader, credentials);
    else if (method !== NO_AUTH) throw new DialError(`proxy wants authentication method ${method}`, true);
    const request = new ByteWriter();
    for (const byte of [VERSION, CONNECT, 0, NAME, target.length]) request.u8(byte);
    request.bytes(target);
    request.u8(port >> 8);
    request.u8(port & 0xff);
    reader.send(request.finish());
    await readReply(reader);
  } finally {
    signal.removeEventListener('abort', abort);
    reader.finish();
  }
}

async function authenticate(reader: StreamReader, { user, password }: Credentials): Promise<void> {
  const [name, word] = [bytesOf(user, 'user'), bytesOf(password, 'password')];
  const lengthOf = ({ length }: Uint8Array) => Uint8Array.of(length);
  reader.send(concatBytes(Uint8Array.of(AUTH_VERSION), lengthOf(name), name, lengthOf(word), word));
  const [version, status] = await reader.read(2, 'authentication');
  if (version !== AUTH_VERSION || status !== 0) throw new DialError('proxy refused our credentials', true);
}

async function readReply(reader: StreamReader): Promise<void> {
  // A timeout here is caused by the peer and not by the proxy.
  const [version, reply = 0, reserved, kind] = await reader.read(4, 'connection', false);
  if (version !== VERSION) throw new DialError('proxy does not speak SOCKS5', true);
  if (reply !== 0) throw new DialError(`proxy: ${REPLIES.get(reply) ?? `unknown reply ${reply}`}`);
  const bound = kind === IPV4 ? 4 : kind === IPV6 ? 16 : kind === NAME ? (await reader.read(1, 'address'))[0]! : -1;
  if (reserved !== 0 || bound < 0) throw new DialError('proxy sent a malformed reply', true);
  // The bound address of the proxy is not used.
  await reader.read(bound + 2, 'address');
}

function bytesOf(text: string, what: string): Uint8Array {
  const bytes = new TextEncoder().encode(text);
  if (bytes.length === 0 || bytes.length > MAX_TEXT)
    throw new DialError(`${what} of ${bytes.length} bytes for a proxy`);
  return bytes;
}

/** Reads a given number of bytes with a time limit for each read; returns unused bytes to the stream. */
class StreamReader {
  readonly #stream: ByteStream;
  readonly #timing: Timing;
  #bytes: Uint8Array = new Uint8Array(0);
  #failure: { readonly reason: unknown } | null = null;
  #wake: () => void = () => {};

  constructor(stream: ByteStream, timing: Timing) {
    this.#stream = stream;
    this.#timing = timing;
    stream.attach({
      data: (bytes) => {
        this.#bytes = concatBytes(this.#bytes, bytes);
        // Bytes of the peer after the reply stay in the socket until they are needed.
        if (this.#bytes.length > MAX_REPLY) stream.pause();
        this.#wake();
      },
      drain: () => {},
      closed: (error) =>
        this.fail(new DialError(`proxy closed the connection${error === null ? '' : `: ${error}`}`, true)),
    });
  }

  /** Rejects the current and all further reads. */
  fail(reason: unknown): void {
    this.#failure ??= { reason };
    this.#wake();
  }

  send(bytes: Uint8Array): void {
    // Nothing was written before, so a few hundred bytes fit into the socket buffer.
    if (this.#failure !== null) throw this.#failure.reason;
    if (this.#stream.write(bytes) < bytes.length) throw new DialError('proxy does not accept data', true);
  }

  async read(count: number, what: string, proxyFailed = true): Promise<Uint8Array> {
    const late = () => new DialError(`proxy timed out: ${what}`, proxyFailed);
    if (this.#bytes.length < count) await within(this.#timing, STEP_TIMEOUT_MS, this.#arrived(count), late);
    const bytes = this.#bytes.subarray(0, count);
    this.#bytes = this.#bytes.subarray(count);
    return bytes;
  }

  finish(): void {
    this.#stream.unread(this.#bytes);
  }

  async #arrived(count: number): Promise<void> {
    while (this.#bytes.length < count) {
      if (this.#failure !== null) throw this.#failure.reason;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}
