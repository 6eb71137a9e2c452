import { assert } from '../../util/assert.ts';
import type { AddrManager } from '../address/addr-manager.ts';
import type { NetAddress } from '../address/net-address.ts';
import type { NetGroups } from '../address/net-groups.ts';
import { AddrResponseCache } from './addr-response-cache.ts';
import type { BanList, Discouragement } from './ban-list.ts';
import { type ConnectionTable, OwnNonces } from './connection-table.ts';
import type { OutboundType } from './dialer.ts';
import type { LocalAddresses } from './local-addresses.ts';
import type { AddedNodes } from './manual-connections.ts';
import type { NetDependencies, NetOptions, Slots } from './net-options.ts';
import { NetState } from './net-state.ts';
import type { NetTotals } from './net-totals.ts';
import type { Routes } from './network-routes.ts';
import type { PeerLink, PeerLogic } from './peer-link.ts';
import { RunningNet } from './running-net.ts';

/** The connections to other nodes: their parts, and the operations that involve several parts. */
export class ConnectionManager {
  readonly addresses: AddrManager;
  /** Nodes that the operator has added. */
  readonly added: AddedNodes;
  /** Answers to `getaddr`. */
  readonly addrResponses: AddrResponseCache;
  readonly bans: BanList;
  readonly discouragement: Discouragement;
  /** Groups of addresses, and their autonomous systems. */
  readonly groups: NetGroups;
  readonly local: LocalAddresses;
  readonly nonces: OwnNonces;
  readonly routes: Routes;
  readonly slots: Slots;
  /** All connections, including those in the handshake. */
  readonly table: ConnectionTable;
  readonly totals: NetTotals;
  readonly #state: NetState;
  #running: RunningNet | null = null;

  constructor(options: NetOptions, deps: NetDependencies) {
    const state = new NetState(options, deps);
    this.#state = state;
    this.addresses = state.addresses;
    this.added = state.added;
    this.bans = state.bans;
    this.discouragement = state.discouragement;
    this.groups = state.groups;
    this.local = state.local;
    this.routes = state.routes;
    this.slots = state.slots;
    this.table = state.table;
    this.totals = state.totals;
    this.nonces = new OwnNonces(state.table);
    const { timing, random } = state.deps;
    this.addrResponses = new AddrResponseCache(
      state.addresses,
      ({ address }) => state.isBannedOrDiscouraged(address),
      timing.clock,
      random,
    );
  }

  /** Starts to listen and to connect; returns the listening port. Throws OperatorError. */
  start(logic: PeerLogic): { readonly port: number | null } {
    assert(this.#running === null, 'connections are started once');
    this.#running = new RunningNet(this.#state, logic);
    return { port: this.#running.port };
  }

  /** Closes all connections, timers and loops, and saves the persistent state. */
  async stop(): Promise<void> {
    const running = this.#running;
    this.#running = null;
    await running?.stop();
  }

  /** Whether network activity is enabled. */
  get active(): boolean {
    return this.#state.active;
  }

  /** Enables or disables network activity; disabling disconnects all peers. */
  setActive(active: boolean): void {
    if (active === this.#state.active) return;
    this.#state.active = active;
    this.#state.deps.log.info(active ? 'network activated' : 'network deactivated');
    if (!active) for (const connection of this.table.all()) connection.disconnect('network inactive');
  }

  /** Opens a connection to an address or host name. Returns null if it fails or its type has no free slot. */
  async connectTo(text: string, type: OutboundType, v2: boolean = this.#state.options.v2): Promise<PeerLink | null> {
    const running = this.#running;
    if (running === null) return null;
    if (type !== 'manual' && !this.hasFreeSlot(type)) return null;
    try {
      return await running.dialer.open({ type, to: text, v2, countFailure: false }, running.signal);
    } catch (error) {
      if (running.signal.aborted) return null;
      throw error;
    }
  }

  /** Whether connections use the v2 transport by default. */
  get v2(): boolean {
    return this.#state.options.v2;
  }

  isBannedOrDiscouraged(address: NetAddress): boolean {
    return this.#state.isBannedOrDiscouraged(address);
  }

  /**
   * Allows or forbids an extra full-relay connection. Returns false if it has no effect, because only configured peers
   * are connected to or the network is inactive.
   */
  allowExtraFullRelay(allow: boolean): boolean {
    const outbound = this.#running?.outbound;
    if (!outbound) return false;
    outbound.tryExtraFullRelay = allow;
    return this.#state.active;
  }

  allowExtraBlockRelay(allow: boolean): void {
    if (this.#running?.outbound) this.#running.outbound.tryExtraBlockRelay = allow;
  }

  /** Changes the number of connections to open for private broadcasts. */
  openPrivate(count: number): void {
    this.#running?.privateConnections?.add(count);
  }

  /** Returns the number of established peers of a type beyond its slots. */
  extraPeers(type: 'outbound-full-relay' | 'block-relay-only'): number {
    const slots = type === 'block-relay-only' ? this.slots.blockRelay : this.slots.fullRelay;
    return Math.max(0, this.table.countIf((link) => link.type === type && link.standing.established) - slots);
  }

  /**
   * Called when `standing.relaysTransactions` of an inbound peer is known. Returns false if the slots of such peers are
   * full and none can be evicted.
   */
  makeRoomForTransactionRelay(link: PeerLink): boolean {
    return this.#running?.acceptor.makeRoomForTransactionRelay(link) ?? true;
  }

  /** Returns whether another connection of a type may be opened. */
  hasFreeSlot(type: OutboundType): boolean {
    if (this.#running === null) return false;
    const { dialer, outbound } = this.#running;
    const used = this.table.count(type) + dialer.pending(type);
    if (type === 'outbound-full-relay') return used < this.slots.fullRelay;
    if (type === 'block-relay-only') return used < this.slots.blockRelay;
    return outbound?.hasFreeSlot ?? true;
  }
}
