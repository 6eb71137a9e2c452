import { equalAddresses, equalServices, type NetAddress, type NetService } from '../address/net-address.ts';
import { type NetworkClass, networkOf } from '../address/net-group.ts';
import type { Connection } from './connection.ts';
import type { ConnectionType } from './peer-link.ts';

/** Whether the connection is a manual or full-relay outbound connection. */
const isFullOutbound = ({ type }: Connection) => type === 'manual' || type === 'outbound-full-relay';

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

  get(id: number): Connection | null {
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

  /** Returns the number of manual and full-relay connections on a network. */
  fullOutboundOn(network: NetworkClass): number {
    return this.countIf(
      (connection) => isFullOutbound(connection) && networkOf(connection.service.address) === network,
    );
  }
}
