import type { TCPSocketListener } from 'bun';
import { type SipHashKey, sipHash, sipHashKeyOf } from '../../crypto/siphash.ts';
import type { Log } from '../../util/log.ts';
import { OperatorError } from '../../util/operator-error.ts';
import { printService } from '../address/address-text.ts';
import type { NetAddress } from '../address/net-address.ts';
import type { NetGroups } from '../address/net-groups.ts';
import { isLocal } from '../address/ranges.ts';
import { V1Transport } from '../transport/v1-transport.ts';
import { V2Transport } from '../transport/v2-transport.ts';
import { type ByteStream, codeOf, type TcpStream, tcpHandlers } from './byte-stream.ts';
import { Connection, type ConnectionEvents } from './connection.ts';
import type { ConnectionTable } from './connection-table.ts';
import { type EvictionCandidate, selectPeerToEvict } from './eviction.ts';
import type { ListenTarget } from './net-options.ts';
import type { Routes } from './network-routes.ts';
import { type PermissionRule, permissionsOf } from './permissions.ts';
import type { Timing } from './timing.ts';

export interface AcceptorParts {
  readonly magic: Uint8Array;
  readonly v2: boolean;
  readonly maxInbound: number;
  /** Share of them for peers that want transactions. */
  readonly relayPercent: number;
  readonly permissions: readonly PermissionRule[];
  readonly table: ConnectionTable;
  readonly groups: NetGroups;
  readonly isBanned: (address: NetAddress) => boolean;
  readonly isDiscouraged: (address: NetAddress) => boolean;
  readonly active: () => boolean;
  readonly routes: Pick<Routes, 'resolveCjdnsOf'>;
  readonly events: ConnectionEvents;
  readonly timing: Timing;
  readonly log: Log;
}

/** Number of evictions allowed in a burst, and milliseconds until one more is allowed. */
const EVICTION_BURST = 100;
const EVICTION_MS = 50;

/** Accepts inbound connections, and evicts peers if the slots are full. */
export class Acceptor {
  readonly #parts: AcceptorParts;
  /** Secret key, so that an attacker cannot predict which groups are protected from eviction. */
  readonly #groupKey: SipHashKey = sipHashKeyOf(crypto.getRandomValues(new Uint8Array(16)));
  #listeners: TCPSocketListener<TcpStream>[] = [];
  #evictionsLeft = EVICTION_BURST;
  #evictionsAtMs = 0;

  constructor(parts: AcceptorParts) {
    this.#parts = parts;
  }

  /**
   * Starts to listen on all addresses and returns the actual endpoints. Throws OperatorError, and listens on none, if an
   * address cannot be used.
   */
  listenAll(targets: readonly ListenTarget[]): ListenTarget[] {
    try {
      return targets.map((target) => (isCovered(target, targets) ? target : this.#listen(target)));
    } catch (error) {
      this.stop();
      throw error;
    }
  }

  #listen({ host, port, isOnion = false }: ListenTarget): ListenTarget {
    try {
      const socket = tcpHandlers((stream) => this.acceptStream(stream, isOnion));
      const listener = Bun.listen<TcpStream>({ hostname: host, port, exclusive: true, socket });
      this.#listeners.push(listener);
      return { host, port: listener.port, isOnion };
    } catch (error) {
      // Falls back to IPv4 on hosts without IPv6.
      if (host === '::') return this.#listen({ host: '0.0.0.0', port, isOnion });
      const code = codeOf(error);
      // A port below 1024 stays closed to this user, while an address or a port may become free.
      const isOfSettings = code === 'EACCES';
      throw new OperatorError(`cannot listen for peers on ${host} port ${port}: ${code}`, { isOfSettings });
    }
  }

  /** Stops listening; existing connections stay open. */
  stop(): void {
    for (const listener of this.#listeners) listener.stop(false);
    this.#listeners = [];
  }

  /** Creates an inbound peer on an accepted stream, or closes the stream. */
  acceptStream(stream: ByteStream, isOnion = false): void {
    const { table, magic, v2, events, timing, log, permissions: rules, routes } = this.#parts;
    if (stream.remote === null) {
      stream.close();
      return;
    }
    const service = routes.resolveCjdnsOf(stream.remote);
    const permissions = permissionsOf(service.address, 'inbound', rules);
    const refusal = this.#refusal(service.address, permissions.has('noban'));
    if (refusal !== null) {
      log.debug('inbound connection refused', { reason: refusal, from: printService(service) });
      stream.close();
      return;
    }
    const connection = new Connection(
      {
        id: table.nextId(),
        type: 'inbound',
        service,
        name: printService(service),
        permissions,
        // The transport falls back to v1 if the peer does not speak v2.
        transport: v2 ? new V2Transport({ initiating: false, magic }) : new V1Transport(magic),
        stream,
        clock: timing.clock,
        preferEvict: this.#parts.isDiscouraged(service.address),
        isOnion,
      },
      events,
    );
    table.add(connection);
    log.debug('connection accepted', { from: connection.name });
    log.debug('connection added', { peer: connection.id, type: 'inbound' });
    connection.start();
  }

  /**
   * Returns whether an inbound peer that wants transactions may stay. If the slots of such peers are full, another one
   * is evicted if possible.
   */
  makeRoomForTransactionRelay(newcomer: { readonly id: number }): boolean {
    const { table, maxInbound, relayPercent } = this.#parts;
    const relaying = table.countIf(({ type, standing }) => type === 'inbound' && standing.relaysTransactions);
    if (relaying <= Math.floor((maxInbound * relayPercent) / 100)) return true;
    return this.#evict(({ id, standing }) => id !== newcomer.id && standing.relaysTransactions);
  }

  /** Returns why an inbound connection is refused, or null. May evict another peer. */
  #refusal(address: NetAddress, noban: boolean): string | null {
    const { active, isBanned, isDiscouraged, table, maxInbound } = this.#parts;
    if (!active()) return 'network inactive';
    if (!noban && isBanned(address)) return 'banned';
    const inbound = table.count('inbound');
    if (!noban && inbound + 1 >= maxInbound && isDiscouraged(address)) return 'discouraged';
    return inbound >= maxInbound && !(this.#mayEvict() && this.#evict()) ? 'full' : null;
  }

  /**
   * Returns whether an eviction is allowed now. The rate is limited, because peers that reconnect as fast as they are
   * evicted would keep the thread busy with evictions.
   */
  #mayEvict(): boolean {
    const now = this.#parts.timing.clock.monotonicMs();
    const regained = (now - this.#evictionsAtMs) / EVICTION_MS;
    this.#evictionsLeft = Math.min(EVICTION_BURST, this.#evictionsLeft + regained);
    this.#evictionsAtMs = now;
    if (this.#evictionsLeft < 1) return false;
    this.#evictionsLeft--;
    return true;
  }

  #evict(mayGo: (connection: Connection) => boolean = () => true): boolean {
    const candidates = this.#parts.table
      .all()
      .filter(mayGo)
      .map((connection) => this.#candidate(connection));
    const id = selectPeerToEvict(candidates);
    if (id === null) return false;
    this.#parts.table.byId(id)?.disconnect('evicted');
    return true;
  }

  #candidate(connection: Connection): EvictionCandidate {
    const { id, type, network, preferEvict, standing, startedMs, permissions } = connection;
    const { address } = connection.service;
    return {
      ...standing,
      id,
      type,
      network,
      preferEvict,
      openedAt: startedMs,
      isLocal: isLocal(address),
      noban: permissions.has('noban'),
      keyedGroup: sipHash(this.#groupKey, this.#parts.groups.groupOf(address)),
    };
  }
}

/** Whether the socket of all IPv6 addresses, which accepts IPv4 as well, is one of the targets. */
function isCovered({ host, port, isOnion = false }: ListenTarget, targets: readonly ListenTarget[]): boolean {
  const isSamePort = (other: ListenTarget) => other.port === port && port !== 0 && (other.isOnion ?? false) === isOnion;
  return host === '0.0.0.0' && targets.some((other) => other.host === '::' && isSamePort(other));
}
