import { assert } from '../../util/assert.ts';
import type { AddrManager } from '../address/addr-manager.ts';
import type { NetAddress, NetService, PeerAddress } from '../address/net-address.ts';
import type { NetworkClass } from '../address/net-group.ts';
import type { AddedNodeState } from './added-nodes.ts';
import { AddressAnswers } from './address-answers.ts';
import type { BanList } from './ban-list.ts';
import { type ConnectionCounts, countsOf } from './counts.ts';
import type { LocalAddress } from './local-addresses.ts';
import type { NetDependencies, NetOptions } from './net-options.ts';
import { NetState } from './net-state.ts';
import type { NetTotals } from './net-totals.ts';
import type { OutboundType } from './opener.ts';
import { OwnNonces } from './own-nonces.ts';
import type { PeerLink, PeerLogic } from './peer-link.ts';
import type { Routes } from './routes.ts';
import { RunningNet } from './running-net.ts';
import type { Slots } from './slots.ts';
import { isInSubnet, type Subnet } from './subnet.ts';

/** All connections to other nodes: takes them, opens them, keeps the right number, and hands what comes to the logic. */
export class ConnectionManager {
  readonly addresses: AddrManager;
  readonly bans: BanList;
  readonly totals: NetTotals;
  readonly routes: Routes;
  readonly slots: Slots;
  readonly #state: NetState;
  readonly #nonces: OwnNonces;
  readonly #answers: AddressAnswers;
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
    this.#answers = new AddressAnswers(
      state.addresses,
      ({ address }) => state.isShunned(address),
      timing.clock,
      random,
    );
  }

  /** Begins to listen and to dial; yields the port peers can connect to. Throws OperatorError. */
  start(logic: PeerLogic): { readonly port: number | null } {
    assert(this.#running === null, 'connections are started once');
    this.#running = new RunningNet(this.#state, logic);
    return { port: this.#running.port };
  }

  /** Ends every connection, timer and loop, and saves what is to be remembered. */
  async stop(): Promise<void> {
    const running = this.#running;
    this.#running = null;
    await running?.stop();
  }

  /** Every connection, those included whose handshake goes on. */
  links(): PeerLink[] {
    return this.#state.table.all();
  }

  link(id: number): PeerLink | null {
    return this.#state.table.get(id);
  }

  counts(): ConnectionCounts {
    return countsOf(this.#state.table);
  }

  /** Whether connections are made and taken. */
  get active(): boolean {
    return this.#state.active;
  }

  /** Off, all connections end and none are made or taken. */
  setActive(active: boolean): void {
    if (active === this.#state.active) return;
    this.#state.active = active;
    this.#state.deps.log.info(active ? 'network activated' : 'network deactivated');
    if (!active) for (const connection of this.#state.table.all()) connection.disconnect('network inactive');
  }

  /** Opens one connection now, to an address or a name; null where that fails or there is no place for its type. */
  async connectTo(text: string, type: OutboundType, v2: boolean = this.#state.options.v2): Promise<PeerLink | null> {
    const running = this.#running;
    if (running === null) return null;
    if (type !== 'manual' && !this.#hasPlaceFor(type, running)) return null;
    try {
      return await running.opener.open({ type, to: text, v2, countFailure: false }, running.signal);
    } catch (error) {
      if (running.signal.aborted) return null;
      throw error;
    }
  }

  /** Keeps a connection to a node from now on; false when it is among them already. */
  addNode(text: string, v2: boolean = this.#state.options.v2): boolean {
    return this.#state.added.add({ text, v2 });
  }

  /** Connections that are there stay; false when it was not among them. */
  removeNode(text: string): boolean {
    return this.#state.added.remove(text);
  }

  addedNodes(): AddedNodeState[] {
    return this.#state.added.states(this.#state.table);
  }

  /** By number, or by the name in `link.name`; whether there was such a link. */
  disconnect(which: number | string, reason = 'requested by operator'): boolean {
    const links = this.#state.table.all().filter(({ id, name }) => id === which || name === which);
    links[0]?.disconnect(reason);
    return links.length > 0;
  }

  /** Every connection with a subnet; how many there were. To be called after a ban. */
  disconnectSubnet(subnet: Subnet, reason = 'banned by operator'): number {
    const links = this.#state.table.all().filter(({ service }) => isInSubnet(service.address, subnet));
    for (const link of links) link.disconnect(reason);
    return links.length;
  }

  /** Notes that a peer misbehaved. The logic decides whom that may happen to, and disconnects. */
  discourage({ service }: PeerLink): void {
    this.#state.discouragement.discourage(service.address);
  }

  isBannedOrDiscouraged(address: NetAddress): boolean {
    return this.#state.isShunned(address);
  }

  /** What to answer a peer that asks for addresses. */
  answerAddresses(link: PeerLink): readonly PeerAddress[] {
    return this.#answers.answer(link);
  }

  localAddresses(): readonly LocalAddress[] {
    return this.#state.local.list();
  }

  /** The address of ours to announce to a peer, which sees us at `seenAs`; null for none. */
  localAddressFor(link: PeerLink, seenAs: NetService | null): NetService | null {
    return this.#state.local.forPeer(link, seenAs);
  }

  /** A peer sees us at an address; whether we knew that one. */
  sawLocal(service: NetService): boolean {
    return this.#state.local.seen(service);
  }

  /** The nonce of our `version` message on a link. */
  nonceOf(link: PeerLink): bigint {
    return this.#nonces.of(link);
  }

  /** Whether a nonce is our own, so that the peer is ourselves. */
  isOwnNonce(nonce: bigint): boolean {
    return this.#nonces.isOwn(nonce);
  }

  /** Whether that changes anything: not where an operator has said whom to dial, or switched the network off. */
  allowExtraFullRelay(allow: boolean): boolean {
    const outbound = this.#running?.outbound;
    if (!outbound) return false;
    outbound.tryExtraFullRelay = allow;
    return this.#state.active;
  }

  allowExtraBlockRelay(allow: boolean): void {
    if (this.#running?.outbound) this.#running.outbound.tryExtraBlockRelay = allow;
  }

  /** By how many established peers of a type are more than its slots. */
  extraPeers(type: 'outbound-full-relay' | 'block-relay-only'): number {
    const slots = type === 'block-relay-only' ? this.slots.blockRelay : this.slots.fullRelay;
    return Math.max(0, this.#state.table.countIf((link) => link.type === type && link.standing.established) - slots);
  }

  /** How many manual and full-relay connections go over a network: the only one of its network is not given up. */
  fullOutboundOn(network: NetworkClass): number {
    return this.#state.table.fullOutboundOn(network);
  }

  /**
   * To be asked once `standing.relaysTransactions` of an inbound peer is known: false when there are too many such peers
   * and none of the others can go. May disconnect one.
   */
  makeRoomForTransactionRelay(link: PeerLink): boolean {
    return this.#running?.acceptor.makeRoomForTransactionRelay(link) ?? true;
  }

  /** Whether enough was sent today; of historical blocks earlier. */
  uploadTargetReached(historical: boolean): boolean {
    return this.totals.upload.isReached(historical);
  }

  #hasPlaceFor(type: OutboundType, { opener, outbound }: RunningNet): boolean {
    const taken = this.#state.table.count(type) + opener.pending(type);
    if (type === 'outbound-full-relay') return taken < this.slots.fullRelay;
    if (type === 'block-relay-only') return taken < this.slots.blockRelay;
    return outbound?.hasFreeSlot ?? true;
  }
}
