import type { Server } from 'bun';
import type { TlsPair } from '../http/live-options.ts';
import type { ApiOptions, ListenAddress } from '../http/options.ts';
import type { Log } from '../util/log.ts';
import type { Hub } from '../ws/hub.ts';
import type { SocketData } from '../ws/ws-connection.ts';
import type { Gate } from './gate.ts';

const MAX_BODY = 32 * 1024 ** 2;
const SOCKET_IDLE_SECONDS = 120;
/**
 * Cipher suites of TLS 1.2: only those with forward secrecy and authenticated encryption, which all suites of TLS 1.3
 * have.
 */
const TLS_CIPHERS = ['ECDSA', 'RSA']
  .flatMap((key) => ['AES128-GCM-SHA256', 'AES256-GCM-SHA384', 'CHACHA20-POLY1305'].map((c) => `ECDHE-${key}-${c}`))
  .join(':');

interface ListenOptions {
  /** The address; the port of the first front where a further one listens. */
  readonly address: ListenAddress;
  /** Whether other listeners of this process share the port. */
  readonly isShared: boolean;
  /** The certificate in place of the files of the options. */
  readonly tls?: TlsPair;
}

/** Throws the error of Bun if another program listens on an address, which sharing the port would hide. */
export function checkAddressFree({ host, port }: ListenAddress): void {
  if (port !== 0) Bun.serve({ hostname: host, port, reusePort: false, fetch: () => new Response() }).stop(true);
}

/** Opens the listener. Throws the error of Bun if the address is in use. */
export function listen(
  { http, limits }: Pick<ApiOptions, 'http' | 'limits'>,
  { address, isShared, tls }: ListenOptions,
  gate: Gate,
  hub: Hub,
): Server<SocketData> {
  return Bun.serve<SocketData>({
    hostname: address.host,
    port: address.port,
    // With one front, two processes on one port must not share the requests silently.
    reusePort: isShared,
    development: false,
    maxRequestBodySize: MAX_BODY,
    idleTimeout: http.idleTimeout,
    ...(http.tls && {
      tls: { ...(tls ?? { cert: Bun.file(http.tls.cert), key: Bun.file(http.tls.key) }), ciphers: TLS_CIPHERS },
    }),
    fetch: (request, server) => gate.handle(request, server),
    websocket: {
      maxPayloadLength: limits.wsFrameBytes,
      backpressureLimit: limits.wsSendBufferBytes,
      closeOnBackpressureLimit: false,
      idleTimeout: SOCKET_IDLE_SECONDS,
      sendPings: false,
      perMessageDeflate: true,
      open: (socket) => hub.opened(socket),
      message: (socket, message) => hub.received(socket, message),
      drain: (socket) => hub.drained(socket),
      pong: (socket) => hub.heard(socket),
      ping: (socket) => hub.heard(socket),
      close: (socket, code) => hub.closed(socket, code),
    },
  });
}

/** Logs a warning for each address through which clear text leaves this host. */
export function warnAboutExposure({ http }: ApiOptions, log: Log): void {
  if (http.tls) return;
  for (const address of http.listen)
    if (!isLocal(address))
      log.warn('HTTP without TLS listens beyond this host; put a proxy with TLS before it', { ...address });
}

function isLocal({ host }: ListenAddress): boolean {
  return host === 'localhost' || host === '::1' || host.startsWith('127.');
}
