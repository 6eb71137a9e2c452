import type { Log } from '../../util/log.ts';
import { type RandomBelow, shuffled } from '../../util/random.ts';
import type { AddrManager } from '../address/addr-manager.ts';
import { parseNetAddress, parseService, printAddress, printService } from '../address/address-text.ts';
import { type NetService, type PeerAddress, UNSPECIFIED } from '../address/net-address.ts';
import { isValid } from '../address/ranges.ts';
import type { I2pNetwork } from '../i2p/i2p-network.ts';
import { V1Transport } from '../transport/v1-transport.ts';
import { V2Transport } from '../transport/v2-transport.ts';
import type { ByteStream } from './byte-stream.ts';
import { Connection, type ConnectionEvents } from './connection.ts';
import type { ConnectionTable } from './connection-table.ts';
import { type Dial, DialError, type DialTarget, type Lookup, lookUp } from './dial.ts';
import type { LocalAddresses } from './local-addresses.ts';
import type { Routes } from './network-routes.ts';
import type { ConnectionType } from './peer-link.ts';
import { type PermissionRule, permissionsOf } from './permissions.ts';
import { isolatingCredentials, socks5Connect } from './socks5.ts';
import type { Timing } from './timing.ts';

export type OutboundType = Exclude<ConnectionType, 'inbound'>;

/** An outbound connection to be opened: to an address, or to the text of an operator. */
export interface DialRequest {
  readonly type: OutboundType;
  readonly to: PeerAddress | string;
  readonly v2: boolean;
  /** Whether a failure counts against the address. */
  readonly countFailure: boolean;
  /** The SOCKS5 proxy in place of that of the network, also for a retry with v1. */
  readonly proxy?: DialTarget | null;
}

export interface DialerParts {
  readonly magic: Uint8Array;
  readonly defaultPort: number;
  readonly permissions: readonly PermissionRule[];
  readonly table: ConnectionTable;
  readonly routes: Routes;
  readonly local: LocalAddresses;
  readonly addresses: AddrManager;
  readonly isBannedOrDiscouraged: (service: NetService) => boolean;
  readonly active: () => boolean;
  readonly events: ConnectionEvents;
  readonly timing: Timing;
  readonly random: RandomBelow;
  readonly dial: Dial;
  /** Null without an I2P router. */
  readonly i2p: I2pNetwork | null;
  readonly lookup: Lookup;
  readonly log: Log;
}

/** Maximum number of resolved addresses to try per name. */
const MAX_RESOLVED = 256;

/** Opens outbound connections. */
export class Dialer {
  readonly #parts: DialerParts;
  /** Requests in progress. */
  readonly #pending = new Set<DialRequest>();
  readonly #requests = new WeakMap<Connection, DialRequest>();

  constructor(parts: DialerParts) {
    this.#parts = parts;
  }

  /** Returns the number of requests in progress of some types. */
  pending(...types: readonly ConnectionType[]): number {
    let count = 0;
    for (const { type } of this.#pending) if (types.includes(type)) count++;
    return count;
  }

  /** Returns the request for which an outbound connection was opened. */
  requestOf(connection: Connection): DialRequest | null {
    return this.#requests.get(connection) ?? null;
  }

  /** Opens a connection and starts its handshake. Returns null on failure. Rejects only with the signal's reason. */
  async open(request: DialRequest, signal: AbortSignal): Promise<Connection | null> {
    if (!this.#parts.active() || this.#isExcluded(request)) return null;
    this.#pending.add(request);
    try {
      const targets = await this.#targets(request.to, signal);
      for (const target of targets) {
        signal.throwIfAborted();
        const stream = await this.#dialTarget(request, target, signal);
        if (stream !== null) return this.#begin(request, target, stream, signal);
      }
      return null;
    } catch (error) {
      signal.throwIfAborted();
      throw error;
    } finally {
      this.#pending.delete(request);
    }
  }

  #isExcluded({ to }: DialRequest): boolean {
    const { table, local, isBannedOrDiscouraged } = this.#parts;
    if (typeof to === 'string') return table.hasName(to);
    return local.isLocal(to.address) || isBannedOrDiscouraged(to) || table.hasAddress(to.address);
  }

  /**
   * Returns the addresses to try in order; null stands for a name that the proxy resolves. Empty if one of them is
   * connected.
   */
  async #targets(to: PeerAddress | string, signal: AbortSignal): Promise<(NetService | null)[]> {
    if (typeof to !== 'string') return [{ address: to.address, port: to.port }];
    const { defaultPort, routes, table } = this.#parts;
    const parsed = parseService(to, defaultPort);
    const numeric = parsed && routes.resolveCjdnsOf(parsed);
    if (numeric === null && routes.nameProxy !== null) return [null];
    const services = numeric === null ? await this.#resolve(to, signal) : [numeric];
    const usable = services.every((service) => isValid(service.address) && !table.hasService(service));
    return usable ? services : [];
  }

  async #resolve(text: string, signal: AbortSignal): Promise<NetService[]> {
    const { random, log, defaultPort, routes } = this.#parts;
    const { host, port } = splitHost(text, defaultPort);
    try {
      const texts = await lookUp(host, this.#parts, signal);
      const services = texts.slice(0, MAX_RESOLVED).flatMap((text) => {
        const address = parseNetAddress(text);
        return address === null ? [] : [{ address: routes.resolveCjdns(address), port }];
      });
      return shuffled(services, random);
    } catch (error) {
      signal.throwIfAborted();
      log.debug('name not resolved', { error: messageOf(error) });
      return [];
    }
  }

  async #dialTarget(request: DialRequest, target: NetService | null, signal: AbortSignal): Promise<ByteStream | null> {
    const { addresses, log } = this.#parts;
    const { type, v2 } = request;
    const to = target === null ? String(request.to) : printService(target);
    log.debug('connection tried', { type, transport: v2 ? 'v2' : 'v1', to });
    try {
      const stream = await this.#dial(request, target, signal);
      if (target !== null) addresses.attempt(target, request.countFailure);
      return stream;
    } catch (error) {
      if (!(error instanceof DialError)) throw error;
      if (target !== null && !error.proxyFailed) addresses.attempt(target, request.countFailure);
      log.debug('connection failed', { type, error: error.message });
      return null;
    }
  }

  async #dial(
    { to, type, proxy: given }: DialRequest,
    target: NetService | null,
    signal: AbortSignal,
  ): Promise<ByteStream> {
    const { routes, dial, timing, defaultPort, i2p } = this.#parts;
    if (target !== null && !routes.canDial(target.address)) throw new DialError('network cannot be reached');
    if (i2p !== null && target?.address.network === 'i2p') return await i2p.connect(target, signal);
    const { host, port } =
      target === null ? splitHost(String(to), defaultPort) : { host: printAddress(target.address), port: target.port };
    const proxy = given ?? (target === null ? routes.nameProxy : routes.proxyFor(target.address));
    if (proxy === null) return await dial({ host, port }, signal);
    const stream = await dial(proxy, signal).catch((error) => {
      throw error instanceof DialError ? new DialError(`proxy: ${error.message}`, true) : error;
    });
    try {
      // A private broadcast must not share a circuit of Tor with another connection, whatever the setting says.
      const isIsolated = type === 'private-broadcast' || routes.randomizesCredentials;
      const credentials = isIsolated ? isolatingCredentials() : null;
      await socks5Connect(stream, host, port, { timing, signal, credentials });
      return stream;
    } catch (error) {
      stream.close();
      throw error;
    }
  }

  #begin(request: DialRequest, target: NetService | null, stream: ByteStream, signal: AbortSignal): Connection | null {
    const { table, permissions, magic, events, timing, active, log } = this.#parts;
    // Meanwhile the network may have been deactivated, or the peer may have connected to us.
    const isThere = target === null ? table.hasName(String(request.to)) : table.hasService(target);
    if (signal.aborted || !active() || isThere) {
      stream.close();
      return null;
    }
    const service = target ?? { address: UNSPECIFIED, port: 0 };
    const connection = new Connection(
      {
        id: table.nextId(),
        type: request.type,
        service,
        name: typeof request.to === 'string' ? request.to : printService(service),
        permissions:
          request.type === 'manual' ? permissionsOf(service.address, 'outbound', permissions) : new Set<never>(),
        transport: request.v2 ? new V2Transport({ initiating: true, magic }) : new V1Transport(magic),
        stream,
        clock: timing.clock,
      },
      events,
    );
    this.#requests.set(connection, request);
    table.add(connection);
    log.debug('connection added', { peer: connection.id, type: connection.type });
    if (request.v2) log.debug('key exchange started', { peer: connection.id });
    connection.start();
    return connection;
  }
}

/** Splits `name` or `name:port` of a text that is not an address. */
function splitHost(text: string, defaultPort: number): { host: string; port: number } {
  const [, host, port] = /^(.*?):(\d{1,5})$/.exec(text) ?? [];
  return host === undefined ? { host: text, port: defaultPort } : { host, port: Math.min(Number(port), 0xffff) };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
