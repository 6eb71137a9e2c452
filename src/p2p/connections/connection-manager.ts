import { assert } from '../../util/assert.ts';
import type { AddrManager } from '../address/addr-manager.ts';
import type { NetAddress, NetService, PeerAddress } from '../address/net-address.ts';
import type { NetworkClass } from '../address/net-group.ts';
import { AddrResponseCache } from './addr-response-cache.ts';
import type { BanList } from './ban-list.ts';
import { type ConnectionCounts, countsOf, OwnNonces } from './connection-table.ts';
import type { OutboundType } from './dialer.ts';
import type { LocalAddress } from './local-addresses.ts';
import type { AddedNodeState } from './manual-connections.ts';
import type { NetDependencies, NetOptions, Slots } from './net-options.ts';
import { NetState } from './net-state.ts';
import type { NetTotals } from './net-totals.ts';
import type { Routes } from './network-routes.ts';
import type { PeerLink, PeerLogic } from './peer-link.ts';
import { RunningNet } from './running-net.ts';
import { isInSubnet, type Subnet } from './subnet.ts';

/**
 * The connections to other nodes: accepts and opens them, keeps their number, and passes messages to the protocol
 * logic.
 */
export class ConnectionManager {
  readonly addresses: AddrManager;
  readonly bans: BanList;
  readonly totals: NetTotals;
  readonly routes: Routes;
  readonly slots: Slots;
  readonly #state: NetState;
  readonly #nonces: OwnNonces;
  readonly #addrResponses: AddrResponseCache;
  #running: RunningNet | null = null;

  constructor(options: NetOptions, deps: NetDependencies) {
    const state = new NetState(options, deps);
    this.#state = state;
    this.addresses = state.addresses;
    this.bans = state.bans;
    this.totals = state.totals;
    this.routes = state.routes;
    this.slots = state.slots;
    this.#nonces = new OwnNonces(state.table);
    const { timing, random } = state.deps;
    this.#addrResponses = new AddrResponseCache(
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

  /** Returns all connections, including those in the handshake. */
  links(): PeerLink[] {
    return this.#state.table.all();
  }

  link(id: number): PeerLink | null {
    return this.#state.table.byId(id);
  }

  counts(): ConnectionCounts {
    return countsOf(this.#state.table);
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
    if (!active) for (const connection of this.#state.table.all()) connection.disconnect('network inactive');
  }

  /** Opens a connection to an address or host name. Returns null if it fails or its type has no free slot. */
  async connectTo(text: string, type: OutboundType, v2: boolean = this.#state.options.v2): Promise<PeerLink | null> {
    const running = this.#running;
    if (running === null) return null;
    if (type !== 'manual' && !this.#hasFreeSlotFor(type, running)) return null;
    try {
      return await running.dialer.open({ type, to: text, v2, countFailure: false }, running.signal);
    } catch (error) {
      if (running.signal.aborted) return null;
      throw error;
    }
  }

  /** Adds a node to be connected to permanently. Returns false if it is known. */
  addNode(text: string, v2: boolean = this.#state.options.v2): boolean {
    return this.#state.added.addNode({ text, v2 });
  }

  /** Removes an added node; an existing connection stays open. Returns false if it was not added. */
  removeNode(text: string): boolean {
    return this.#state.added.removeNode(text);
  }

  addedNodes(): AddedNodeState[] {
    return this.#state.added.states(this.#state.table);
  }

  /** Disconnects a peer by id or by `link.name`. Returns whether it existed. */
  disconnect(which: number | string, reason = 'requested by operator'): boolean {
    const links = this.#state.table.all().filter(({ id, name }) => id === which || name === which);
    links[0]?.disconnect(reason);
    return links.length > 0;
  }

  /** Disconnects all peers of a subnet, as after a ban. Returns their number. */
  disconnectSubnet(subnet: Subnet, reason = 'banned by operator'): number {
    const links = this.#state.table.all().filter(({ service }) => isInSubnet(service.address, subnet));
    for (const link of links) link.disconnect(reason);
    return links.length;
  }

  /** Discourages the address of a misbehaving peer. The caller decides who is exempt, and disconnects. */
  discourage({ service }: PeerLink): void {
    this.#state.discouragement.discourage(service.address);
  }

  isBannedOrDiscouraged(address: NetAddress): boolean {
    return this.#state.isBannedOrDiscouraged(address);
  }

  /** Returns the answer to `getaddr` for a peer. */
  addrResponse(link: PeerLink): readonly PeerAddress[] {
    return this.#addrResponses.responseFor(link);
  }

  localAddresses(): readonly LocalAddress[] {
    return this.#state.local.list();
  }

  /** Returns our address to announce to a peer that sees us at `seenAs`, or null. */
  localAddressFor(link: PeerLink, seenAs: NetService | null): NetService | null {
    return this.#state.local.forPeer(link, seenAs);
  }

  /** Records that a peer sees us at an address. Returns whether the address was known. */
  sawLocal(service: NetService): boolean {
    return this.#state.local.seen(service);
  }

  /** Returns the nonce of our `version` message on a link. */
  nonceOf(link: PeerLink): bigint {
    return this.#nonces.nonceOf(link);
  }

  /** Returns whether a nonce is ours, so that the peer is ourselves. */
  isOwnNonce(nonce: bigint): boolean {
    return this.#nonces.isOwn(nonce);
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

  /** Returns the number of established peers of a type beyond its slots. */
  extraPeers(type: 'outbound-full-relay' | 'block-relay-only'): number {
    const slots = type === 'block-relay-only' ? this.slots.blockRelay : this.slots.fullRelay;
    return Math.max(0, this.#state.table.countIf((link) => link.type === type && link.standing.established) - slots);
  }

  /** Returns the number of manual and full-relay connections on a network; the only one of a network is protected. */
  fullOutboundOn(network: NetworkClass): number {
    return this.#state.table.fullOutboundOn(network);
  }

  /**
   * Called when `standing.relaysTransactions` of an inbound peer is known. Returns false if the slots of such peers are
   * full and none can be evicted.
   */
  makeRoomForTransactionRelay(link: PeerLink): boolean {
    return this.#running?.acceptor.makeRoomForTransactionRelay(link) ?? true;
  }

  /** Returns whether the daily upload target is reached. Historical blocks stop earlier. */
  uploadTargetReached(historical: boolean): boolean {
    return this.totals.upload.isReached(historical);
  }

  #hasFreeSlotFor(type: OutboundType, { dialer, outbound }: RunningNet): boolean {
    const used = this.#state.table.count(type) + dialer.pending(type);
    if (type === 'outbound-full-relay') return used < this.slots.fullRelay;
    if (type === 'block-relay-only') return used < this.slots.blockRelay;
    return outbound?.hasFreeSlot ?? true;
  }
}
