import type { Socket } from 'bun';
import { parseIp } from '../util/ip-address.ts';
import { DeliveryError } from './delivery-outcome.ts';
import { addressText } from './target-address.ts';

/** One request to one address. */
export interface PostTarget {
  /** The only address that is connected to. */
  readonly address: Uint8Array;
  readonly port: number;
  /** Name for SNI and for the certificate; null without TLS. */
  readonly tlsName: string | null;
  /** Trusted certificate authorities, PEM; null for those of the runtime. */
  readonly authorities: readonly string[] | null;
  /** The request. */
  readonly bytes: Uint8Array;
}

export interface PostLimits {
  /** Time limit until the connection is open, with TLS, milliseconds. */
  readonly connectMs: number;
  /** Time limit from then until the header of the reply is complete, milliseconds. */
  readonly replyMs: number;
}

/** Limit of the header of a reply, with those of interim replies, bytes. */
const MAX_REPLY_BYTES = 16 * 1024;
const STATUS_LINE = /^HTTP\/1\.[01] ([1-5][0-9]{2})(?: [^\r\n]*)?$/;
const END_OF_HEADER = '\r\n\r\n';

/**
 * Sends a request and resolves with the status of the reply. Only the header of the reply is read; the connection is
 * closed then. Rejects with DeliveryError.
 */
export function postExchange(target: PostTarget, limits: PostLimits): Promise<number> {
  return new Exchange(target, limits).run();
}

/** A connection with one request. Bun's sockets are used, since its `fetch` follows proxies and resolves names itself. */
class Exchange {
  readonly #target: PostTarget;
  readonly #limits: PostLimits;
  readonly #result = Promise.withResolvers<number>();
  #socket: Socket | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isDone = false;
  #isSending = false;
  #sent = 0;
  #reply = '';
  /** Bytes of interim replies. */
  #interim = 0;

  constructor(target: PostTarget, limits: PostLimits) {
    this.#target = target;
    this.#limits = limits;
  }

  run(): Promise<number> {
    const { address, port, tlsName, authorities } = this.#target;
    this.#expire(this.#limits.connectMs, 'the connection was not open in time');
    const ca = authorities && { ca: [...authorities] };
    Bun.connect({
      hostname: addressText(address),
      port,
      ...(tlsName !== null && { tls: { serverName: tlsName, rejectUnauthorized: true, ...ca } }),
      socket: {
        open: (socket) => this.#opened(socket),
        handshake: (_, isTrusted, error) => this.#shookHands(isTrusted, error),
        data: (_, bytes) => this.#received(bytes),
        drain: () => this.#send(),
        close: () => this.#closed(),
        error: (_, error) => this.#fail('connect', codeOf(error)),
        connectError: (_, error) => this.#fail('connect', codeOf(error)),
      },
    }).catch((error: unknown) => this.#fail('connect', codeOf(error)));
    return this.#result.promise;
  }

  #opened(socket: Socket): void {
    this.#socket = socket;
    // The time limit may have passed.
    if (this.#isDone) {
      socket.terminate();
      return;
    }
    const connected = parseIp(socket.remoteAddress);
    if (connected === null || Buffer.compare(connected, this.#target.address) !== 0)
      this.#fail('forbidden_address', 'the connection is not to the address that was checked');
    else if (this.#target.tlsName === null) this.#begin();
  }

  /** Nothing is sent before the certificate is verified. */
  #shookHands(isTrusted: boolean, error: Error | null): void {
    if (this.#target.tlsName === null || this.#isDone) return;
    if (isTrusted && error === null) this.#begin();
    else if (codeOf(error) === 'ECONNRESET') this.#closed();
    else this.#fail('tls', `the certificate is not valid: ${codeOf(error)}`);
  }

  #begin(): void {
    this.#isSending = true;
    this.#expire(this.#limits.replyMs, 'the receiver did not reply in time');
    this.#send();
  }

  #send(): void {
    const { bytes } = this.#target;
    if (this.#isDone || !this.#isSending || this.#sent >= bytes.length) return;
    const written = this.#socket!.write(bytes.subarray(this.#sent));
    if (written < 0) this.#fail('connect', 'the connection was closed');
    else this.#sent += written;
  }

  #received(bytes: Uint8Array): void {
    if (this.#isDone) return;
    this.#reply += Buffer.from(bytes.subarray(0, MAX_REPLY_BYTES + 1)).toString('latin1');
    for (let end = this.#reply.indexOf(END_OF_HEADER); end >= 0; end = this.#reply.indexOf(END_OF_HEADER)) {
      const [line = ''] = this.#reply.slice(0, end).split('\r\n', 1);
      const status = Number(STATUS_LINE.exec(line)?.[1] ?? Number.NaN);
      if (Number.isNaN(status)) this.#fail('bad_reply', 'the reply is not HTTP/1.1');
      else if (status >= 200) this.#finish(() => this.#result.resolve(status));
      if (this.#isDone) return;
      // An interim reply, such as 103.
      this.#reply = this.#reply.slice(end + END_OF_HEADER.length);
      this.#interim += end + END_OF_HEADER.length;
    }
    if (this.#interim + this.#reply.length > MAX_REPLY_BYTES)
      this.#fail('bad_reply', `the header of the reply is longer than ${MAX_REPLY_BYTES} bytes`);
  }

  #closed(): void {
    if (this.#isSending) this.#fail('bad_reply', 'the connection was closed before the reply');
    else if (this.#target.tlsName === null) this.#fail('connect', 'the connection was closed');
    else this.#fail('tls', 'the connection was closed before the certificate was verified');
  }

  #expire(ms: number, message: string): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#fail('timeout', message), ms);
  }

  #fail(code: DeliveryError['code'], message: string): void {
    // An address with an invalid certificate is not one of several that may be tried.
    const isUnsent = !this.#isSending && (code === 'connect' || code === 'timeout');
    this.#finish(() => this.#result.reject(new DeliveryError(code, message, { isUnsent })));
  }

  #finish(settle: () => void): void {
    if (this.#isDone) return;
    this.#isDone = true;
    clearTimeout(this.#timer);
    settle();
    this.#socket?.terminate();
  }
}

/** Errors of the runtime may contain addresses; their codes do not. */
function codeOf(error: unknown): string {
  const { code } = (error ?? {}) as { readonly code?: unknown };
  return typeof code === 'string' && code !== '' ? code : 'connection failed';
}
