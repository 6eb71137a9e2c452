import type { TCPSocketListener } from 'bun';
import { type SipHashKey, sipHash, sipHashKeyOf } from '../../crypto/siphash.ts';
import type { Log } from '../../util/log.ts';
import { OperatorError } from '../../util/operator-error.ts';
import { printService } from '../address/address-text.ts';
import type { NetAddress } from '../address/net-address.ts';
import { netGroup } from '../address/net-group.ts';
import { isLocal } from '../address/ranges.ts';
import { V1Transport } from '../transport/v1-transport.ts';
import { V2Transport } from '../transport/v2-transport.ts';
import { type ByteStream, codeOf, type TcpStream, tcpHandlers } from './byte-stream.ts';
import { Connection, type ConnectionEvents } from './connection.ts';
import type { ConnectionTable } from './connection-table.ts';
import type { Endpoint } from './dial.ts';
import { type EvictionCandidate, selectPeerToEvict } from './eviction.ts';
import { type PermissionRule, permissionsOf } from './permissions.ts';
import type { Timing } from './timing.ts';

export interface AcceptorParts {
  readonly magic: Uint8Array;
  readonly v2: boolean;
  readonly maxInbound: number;
  readonly permissions: readonly PermissionRule[];
  readonly table: ConnectionTable;
  readonly isBanned: (address: NetAddress) => boolean;
  readonly isDiscouraged: (address: NetAddress) => boolean;
  readonly active: () => boolean;
  readonly events: ConnectionEvents;
  readonly timing: Timing;
  readonly log: Log;
}

/** Core's share of inbound places for peers that want transactions; they cost the most. */
const TRANSACTION_RELAY_SHARE = 0.5;

/** Evictions that may follow each other at once, and how long one takes to be allowed again. */
const EVICTION_BURST = 100;
const EVICTION_MS = 50;

/** Takes connections, and decides who has to go when there are too many. */
export class Acceptor {
  readonly #parts: AcceptorParts;
  /** Nobody else knows which groups the eviction protects. */
  readonly #groupKey: SipHashKey = sipHashKeyOf(crypto.getRandomValues(new Uint8Array(16)));
  #listener: TCPSocketListener<TcpStream> | null = null;
  #evictionsLeft = EVICTION_BURST;
  #evictionsAtMs = 0;

  constructor(parts: AcceptorParts) {
    this.#parts = parts;
  }

  /** Throws OperatorError where the address cannot be used. Returns what it listens on. */
  listen({ host, port }: Endpoint): Endpoint {
    try {
      const socket = tcpHandlers((stream) => this.accept(stream));
      this.#listener = Bun.listen<TcpStream>({ hostname: host, port, exclusive: true, socket });
      return { host, port: this.#listener.port };
    } catch (error) {
      // Not every host has IPv6.
      if (host === '::') return this.listen({ host: '0.0.0.0', port });
      throw new OperatorError(`cannot listen for peers on ${host} port ${port}: ${codeOf(error)}`);
    }
  }

  /** Takes no more connections; those that are there stay. */
  stop(): void {
    this.#listener?.stop(false);
    this.#listener = null;
  }

  /** Makes a peer of a stream that somebody has opened to us, or closes it. */
  accept(stream: ByteStream): void {
    const { table, magic, v2, events, timing, log, permissions: rules } = this.#parts;
    const service = stream.remote;
    if (service === null) {
      stream.close();
      return;
    }
    const permissions = permissionsOf(service.address, 'inbound', rules);
    const refused = this.#refusal(service.address, permissions.has('noban'));
    if (refused !== null) {
      log.debug('inbound connection refused', { reason: refused });
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
        // It speaks v1 to a peer that does.
        transport: v2 ? new V2Transport({ initiating: false, magic }) : new V1Transport(magic),
        stream,
        clock: timing.clock,
        preferEvict: this.#parts.isDiscouraged(service.address),
      },
      events,
    );
    table.add(connection);
    connection.start();
  }

  /**
   * To be asked when an inbound peer says that it wants transactions: whether there is room for it, if need be after
   * another such peer was disconnected.
   */
  makeRoomForTransactionRelay(newcomer: { readonly id: number }): boolean {
    const { table, maxInbound } = this.#parts;
    const relaying = table.countIf(({ type, standing }) => type === 'inbound' && standing.relaysTransactions);
    if (relaying <= Math.floor(maxInbound * TRANSACTION_RELAY_SHARE)) return true;
    return this.#evict(({ id, standing }) => id !== newcomer.id && standing.relaysTransactions);
  }

  /** Why an address may not come in, or null. May disconnect another to make room. */
  #refusal(address: NetAddress, noban: boolean): string | null {
    const { active, isBanned, isDiscouraged, table, maxInbound } = this.#parts;
    if (!active()) return 'network inactive';
    if (!noban && isBanned(address)) return 'banned';
    const inbound = table.count('inbound');
    if (!noban && inbound + 1 >= maxInbound && isDiscouraged(address)) return 'discouraged';
    return inbound >= maxInbound && !(this.#mayEvict() && this.#evict()) ? 'full' : null;
  }

  /**
   * False while so many have come lately that choosing whom to evict would take the thread's time: connections that come
   * back as fast as they are closed would leave none for blocks.
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
    this.#parts.table.get(id)?.disconnect('evicted');
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
      keyedGroup: sipHash(this.#groupKey, netGroup(address)),
    };
  }
}
