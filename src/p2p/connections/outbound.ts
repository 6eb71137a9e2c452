import { bytesToHex } from '../../util/bytes.ts';
import type { Log } from '../../util/log.ts';
import { poissonDelay, type RandomBelow, shuffled } from '../../util/random.ts';
import type { AddrManager } from '../address/addr-manager.ts';
import { printService } from '../address/address-text.ts';
import { internalAddress, type NetService, type PeerAddress } from '../address/net-address.ts';
import type { NetGroups } from '../address/net-groups.ts';
import { hasServices, SERVICES } from '../services.ts';
import type { ConnectionTable } from './connection-table.ts';
import type { Dialer, OutboundType } from './dialer.ts';
import type { LocalAddresses } from './local-addresses.ts';
import type { AddedNodes } from './manual-connections.ts';
import type { Slots } from './net-options.ts';
import type { RoutableNetwork, Routes } from './network-routes.ts';
import { chooseAddress } from './outbound-address.ts';
import { ENOUGH_PEERS } from './seeds.ts';
import type { Timing } from './timing.ts';

const ROUND_MS = 500;
const MINUTE_MS = 60_000;
const FEELER_INTERVAL_MS = 2 * MINUTE_MS;
const EXTRA_BLOCK_RELAY_INTERVAL_MS = 5 * MINUTE_MS;
const EXTRA_NETWORK_INTERVAL_MS = 5 * MINUTE_MS;
/** Maximum random delay of feelers, so that nodes are not synchronized, milliseconds. */
const FEELER_DELAY_MS = 1000;
/** Time for other address sources before the fixed seeds are used, milliseconds. */
const FIXED_SEEDS_AFTER_MS = MINUTE_MS;
/** Maximum number of queued addr-fetch names. */
const MAX_ADDR_FETCHES = 64;
const FULL_RELAY = 8;
/** Time for known addresses before the next seed node is connected to, milliseconds. */
const NEXT_SEED_NODE_MS = 10_000;

/** Connection types that use slots of automatic connections. */
const AUTOMATIC = ['outbound-full-relay', 'block-relay-only', 'feeler', 'addr-fetch'] as const;
/** Long-lived connection types, which must be in different network groups. */
const LONG_LIVED: readonly string[] = ['manual', 'outbound-full-relay', 'block-relay-only'];

export interface OutboundParts {
  readonly table: ConnectionTable;
  readonly dialer: Dialer;
  readonly slots: Slots;
  readonly addresses: AddrManager;
  readonly groups: NetGroups;
  readonly added: AddedNodes;
  readonly local: LocalAddresses;
  readonly routes: Routes;
  readonly timing: Timing;
  readonly random: RandomBelow;
  readonly log: Log;
  readonly v2: boolean;
  readonly isDesirable: (services: bigint) => boolean;
  readonly anchors: readonly PeerAddress[];
  /** Returns the fixed seeds, or none. */
  readonly fixedSeeds: () => readonly PeerAddress[];
  /** Nodes that are requested for addresses while there are too few peers. */
  readonly seedNodes: readonly string[];
  /** Whether DNS seeds are queried, which come before the fixed seeds. */
  readonly usesDnsSeeds: boolean;
}

/** The next connection to open. */
interface Plan {
  readonly type: OutboundType;
  readonly anchor: boolean;
  readonly network: RoutableNetwork | null;
}

/** Maintains the automatic outbound connections by Core's rules (ThreadOpenConnections). */
export class Outbound {
  /** Whether one extra full-relay connection is wanted because the tip may be stale. */
  tryExtraFullRelay = false;
  /** Whether extra block-relay-only connections are opened periodically to hear from new peers. */
  tryExtraBlockRelay = false;
  readonly #parts: OutboundParts;
  readonly #anchors: PeerAddress[];
  readonly #fetches: string[] = [];
  readonly #startMs: number;
  #nextFeelerMs: number;
  #nextBlockRelayMs: number;
  #nextNetworkMs: number;
  #fixedSeedsDone = false;
  /** Seed nodes that are not connected to yet, in random order. */
  readonly #seedNodes: string[];
  #nextSeedNodeMs: number;

  constructor(parts: OutboundParts) {
    this.#parts = parts;
    this.#anchors = [...parts.anchors];
    this.#startMs = this.#now();
    this.#seedNodes = shuffled(parts.seedNodes, parts.random);
    // Without known addresses the first one is connected to at once.
    this.#nextSeedNodeMs = parts.addresses.size() === 0 ? Number.NEGATIVE_INFINITY : this.#startMs + NEXT_SEED_NODE_MS;
    this.#nextFeelerMs = this.#after(FEELER_INTERVAL_MS);
    this.#nextBlockRelayMs = this.#after(EXTRA_BLOCK_RELAY_INTERVAL_MS);
    this.#nextNetworkMs = this.#after(EXTRA_NETWORK_INTERVAL_MS);
  }

  /** Queues an addr-fetch connection to a name. */
  addrFetch(name: string): void {
    if (this.#fetches.length < MAX_ADDR_FETCHES) this.#fetches.push(name);
  }

  /** Runs until the signal aborts; rejects with its reason. */
  async run(signal: AbortSignal): Promise<never> {
    for (;;) {
      this.#queueSeedNode();
      await this.#fetchOne(signal);
      await this.#parts.timing.sleep(ROUND_MS, signal);
      if (this.hasFreeSlot) await this.#round(signal);
    }
  }

  get hasFreeSlot(): boolean {
    const { table, dialer, slots } = this.#parts;
    return table.count(...AUTOMATIC) + dialer.pending(...AUTOMATIC) < slots.automatic;
  }

  #now(): number {
    return this.#parts.timing.clock.monotonicMs();
  }

  /** Returns a random time after now; the intervals are exponentially distributed and unpredictable. */
  #after(meanMs: number): number {
    return this.#now() + poissonDelay(meanMs, this.#parts.random);
  }

  /** Queues the next seed node where known addresses do not lead to enough peers in time. */
  #queueSeedNode(): void {
    const { addresses, table, log } = this.#parts;
    if (this.#seedNodes.length === 0 || this.#now() <= this.#nextSeedNodeMs) return;
    if (table.count('outbound-full-relay') >= ENOUGH_PEERS) return;
    this.#nextSeedNodeMs = this.#now() + NEXT_SEED_NODE_MS;
    const node = this.#seedNodes.pop()!;
    this.addrFetch(node);
    log.info('seed node queued', { node, known: addresses.size(), seconds: NEXT_SEED_NODE_MS / 1000 });
  }

  async #fetchOne(signal: AbortSignal): Promise<void> {
    if (this.#fetches.length === 0 || !this.hasFreeSlot) return;
    const { dialer, v2 } = this.#parts;
    await dialer.open({ type: 'addr-fetch', to: this.#fetches.shift()!, v2, countFailure: false }, signal);
  }

  async #round(signal: AbortSignal): Promise<void> {
    const { addresses, dialer, timing, random, slots, v2 } = this.#parts;
    this.#addFixedSeeds();
    const plan = this.#plan();
    if (plan === null) return;
    addresses.resolveCollisions();
    const { groups, privateCount } = this.#longLivedGroups();
    const isGroupConnected = (service: NetService) => groups.has(this.#groupKey(service));
    const peer = plan.anchor ? this.#nextAnchor(isGroupConnected) : await this.#choose(plan, isGroupConnected);
    signal.throwIfAborted();
    if (peer === null) return;
    if (plan.type === 'feeler') await timing.sleep(random(FEELER_DELAY_MS), signal);
    // With less than two groups connected, our own network may be down.
    const countFailure = groups.size + privateCount >= Math.min(slots.maxAutomatic - 1, 2);
    const speaksV2 = v2 && hasServices(peer.services, SERVICES.p2pV2);
    await dialer.open({ type: plan.type, to: peer, v2: speaksV2, countFailure }, signal);
  }

  #addFixedSeeds(): void {
    const { routes, addresses, added, fixedSeeds, seedNodes, usesDnsSeeds, log } = this.#parts;
    if (this.#fixedSeedsDone) return;
    const empty = routes.networks.filter((network) => addresses.size(undefined, network) === 0);
    if (empty.length === 0) return;
    const isTime = this.#now() > this.#startMs + FIXED_SEEDS_AFTER_MS;
    if (!isTime && (usesDnsSeeds || added.size > 0 || seedNodes.length > 0)) return;
    this.#fixedSeedsDone = true;
    const seeds = fixedSeeds().filter(({ address }) => (empty as readonly string[]).includes(address.network));
    if (seeds.length === 0) return;
    addresses.add(seeds, internalAddress('fixedseeds'));
    log.info('fixed seeds added', { count: seeds.length });
  }

  #plan(): Plan | null {
    const { table, slots } = this.#parts;
    const plan = (type: OutboundType, anchor = false, network: RoutableNetwork | null = null) => ({
      type,
      anchor,
      network,
    });
    const fullRelay = table.count('outbound-full-relay');
    const blockRelay = table.count('block-relay-only');
    const now = this.#now();
    if (this.#anchors.length > 0 && blockRelay < slots.blockRelay) return plan('block-relay-only', true);
    if (fullRelay < slots.fullRelay) return plan('outbound-full-relay');
    if (blockRelay < slots.blockRelay) return plan('block-relay-only');
    if (this.tryExtraFullRelay) return plan('outbound-full-relay');
    if (this.tryExtraBlockRelay && now > this.#nextBlockRelayMs) {
      this.#nextBlockRelayMs = this.#after(EXTRA_BLOCK_RELAY_INTERVAL_MS);
      return plan('block-relay-only');
    }
    if (now > this.#nextFeelerMs) {
      this.#nextFeelerMs = this.#after(FEELER_INTERVAL_MS);
      return plan('feeler');
    }
    // With fewer configured slots, an extra connection would evict a wanted one.
    if (fullRelay !== slots.fullRelay || slots.fullRelay !== FULL_RELAY || now <= this.#nextNetworkMs) return null;
    const network = this.#missingNetwork();
    if (network === null) return null;
    this.#nextNetworkMs = this.#after(EXTRA_NETWORK_INTERVAL_MS);
    return plan('outbound-full-relay', false, network);
  }

  /** Returns a reachable network without an outbound connection. */
  #missingNetwork(): RoutableNetwork | null {
    const { routes, random, table, addresses } = this.#parts;
    const isMissing = (network: RoutableNetwork) =>
      table.fullOutboundOn(network) === 0 && addresses.size(undefined, network) > 0;
    return shuffled(routes.networks, random).find(isMissing) ?? null;
  }

  #nextAnchor(isGroupConnected: (service: NetService) => boolean): PeerAddress | null {
    const { local, routes, isDesirable, log } = this.#parts;
    for (let anchor = this.#anchors.pop(); anchor !== undefined; anchor = this.#anchors.pop()) {
      const { address, services } = anchor;
      const isUsable = !local.isLocal(address) && routes.isReachable(address) && isDesirable(services);
      if (!isUsable || isGroupConnected(anchor)) continue;
      log.debug('connecting to an anchor', { to: printService(anchor) });
      return anchor;
    }
    return null;
  }

  #choose({ type, network }: Plan, isGroupConnected: (service: NetService) => boolean): Promise<PeerAddress | null> {
    const { addresses, routes, local, added, table, timing, isDesirable } = this.#parts;
    return chooseAddress({
      addresses,
      networks: network === null ? routes.networks : [network],
      isFeeler: type === 'feeler',
      clock: timing.clock,
      isGroupConnected,
      isReachable: ({ address }) => routes.isReachable(address),
      isLocal: ({ address }) => local.isLocal(address),
      isConnected: ({ address }) => table.hasAddress(address),
      isAdded: (service) => added.has(service),
      isDesirable,
    });
  }

  /**
   * Returns the IPv4 and IPv6 groups of long-lived connections, and the number of such connections on other networks.
   */
  #longLivedGroups(): { groups: Set<string>; privateCount: number } {
    const groups = new Set<string>();
    let privateCount = 0;
    for (const { type, service } of this.#parts.table.all()) {
      if (!LONG_LIVED.includes(type)) continue;
      // Groups of other networks do not identify the operator of a node.
      if (['onion', 'i2p', 'cjdns'].includes(service.address.network)) privateCount++;
      else groups.add(this.#groupKey(service));
    }
    return { groups, privateCount };
  }

  #groupKey({ address }: NetService): string {
    return bytesToHex(this.#parts.groups.groupOf(address));
  }
}
