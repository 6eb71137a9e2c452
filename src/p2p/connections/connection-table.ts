import { equalAddresses, equalServices, type NetAddress, type NetService } from '../address/net-address.ts';
import { type NetworkClass, networkOf } from '../address/net-group.ts';
import type { Connection } from './connection.ts';
import type { ConnectionType, PeerLink } from './peer-link.ts';
import { isInSubnet, type Subnet } from './subnet.ts';

/** Whether the connection is a manual or full-relay outbound connection. */
const isFullOutbound = ({ type }: Connection) => type === 'manual' || type === 'outbound-full-relay';

interface ConnectionCounts {
  readonly inbound: number;
  readonly outbound: number;
  readonly byType: ReadonlyMap<ConnectionType, number>;
  readonly byNetwork: ReadonlyMap<NetworkClass, number>;
}

/** All open connections. Closed ones are excluded at once, even before the protocol logic is notified. */
export class ConnectionTable {
  readonly #byId = new Map<number, Connection>();
  #nextId = 0;

  nextId(): number {
    return this.#nextId++;
  }

  add(connection: Connection): void {
    this.#byId.set(connection.id, connection);
  }

  remove(connection: Connection): void {
    this.#byId.delete(connection.id);
  }

  byId(id: number): Connection | null {
    const connection = this.#byId.get(id);
    return connection === undefined || connection.closed ? null : connection;
  }

  all(): Connection[] {
    return [...this.#byId.values()].filter(({ closed }) => !closed);
  }

  count(...types: readonly ConnectionType[]): number {
    return this.countIf(({ type }) => types.includes(type));
  }

  countIf(test: (connection: Connection) => boolean): number {
    let count = 0;
    for (const connection of this.#byId.values()) if (!connection.closed && test(connection)) count++;
    return count;
  }

  /** Returns whether there is a connection to the address at any port. */
  hasAddress(address: NetAddress): boolean {
    return this.countIf(({ service }) => equalAddresses(service.address, address)) > 0;
  }

  hasService(service: NetService): boolean {
    return this.countIf((connection) => equalServices(connection.service, service)) > 0;
  }

  hasName(name: string): boolean {
    return this.countIf((connection) => connection.name === name) > 0;
  }

  /** Disconnects a peer by id or by `link.name`. Returns whether it existed. */
  disconnect(which: number | string, reason = 'requested by operator'): boolean {
    const links = this.all().filter(({ id, name }) => id === which || name === which);
    links[0]?.disconnect(reason);
    return links.length > 0;
  }

  /** Disconnects all peers of a subnet, as after a ban. Returns their number. */
  disconnectSubnet(subnet: Subnet, reason = 'banned by operator'): number {
    const links = this.all().filter(({ service }) => isInSubnet(service.address, subnet));
    for (const link of links) link.disconnect(reason);
    return links.length;
  }

  counts(): ConnectionCounts {
    const byType = new Map<ConnectionType, number>();
    const byNetwork = new Map<NetworkClass, number>();
    const links = this.all();
    for (const { type, network } of links) {
      byType.set(type, (byType.get(type) ?? 0) + 1);
      byNetwork.set(network, (byNetwork.get(network) ?? 0) + 1);
    }
    const inbound = byType.get('inbound') ?? 0;
    return { inbound, outbound: links.length - inbound, byType, byNetwork };
  }

  /** Returns the number of manual and full-relay connections on a network; the only one of a network is protected. */
  fullOutboundOn(network: NetworkClass): number {
    return this.countIf(
      (connection) => isFullOutbound(connection) && networkOf(connection.service.address) === network,
    );
  }
}

/** The links among which a nonce is searched. */
interface CountedLinks {
  countIf(isCounted: (link: PeerLink) => boolean): number;
}

/** The nonces of our `version` messages per connection, by which a connection to ourselves is detected. */
export class OwnNonces {
  readonly #nonces = new WeakMap<PeerLink, bigint>();
  readonly #table: CountedLinks;

  constructor(table: CountedLinks) {
    this.#table = table;
  }

  /** Returns the nonce of a link, always the same one. */
  nonceOf(link: PeerLink): bigint {
    const old = this.#nonces.get(link);
    if (old !== undefined) return old;
    const nonce = crypto.getRandomValues(new BigUint64Array(1))[0]!;
    this.#nonces.set(link, nonce);
    return nonce;
  }

  /**
   * Returns whether a received nonce belongs to an outbound connection in its handshake. Those of private broadcasts do not
   * count: their peer could send the nonce to other nodes, and learn by the disconnection which of them broadcasts.
   */
  isOwn(nonce: bigint): boolean {
    const isIts = ({ type, standing }: PeerLink) =>
      type !== 'inbound' && type !== 'private-broadcast' && !standing.established;
    return this.#table.countIf((link) => isIts(link) && this.#nonces.get(link) === nonce) > 0;
  }
}
