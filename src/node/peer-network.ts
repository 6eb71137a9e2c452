import type { Database } from 'bun:sqlite';
import type { Chain } from '../chain/chain.ts';
import type { Config } from '../config/settings.ts';
import { txRejectClass } from '../http/errors.ts';
import type { MempoolService } from '../mempool/service.ts';
import type { NetService } from '../p2p/address/net-address.ts';
import { ConnectionManager } from '../p2p/connections/connection-manager.ts';
import { targetText } from '../p2p/connections/dial.ts';
import type { NetOptions } from '../p2p/connections/net-options.ts';
import { missingBlocks, servesWhatWeNeed, userAgentOf } from '../p2p/p2p-protocol.ts';
import { Peer } from '../p2p/peer/peer.ts';
import type { Connections } from '../p2p/peer/peer-context.ts';
import { PeerManager } from '../p2p/peer-manager.ts';
import type { PrivateBroadcast } from '../p2p/relay/private-broadcast.ts';
import { SERVICES } from '../p2p/services.ts';
import type { NodeStatus, P2pCounters, PeerChange, SyncState } from '../port/node-port.ts';
import type { PeerView } from '../port/peer-view.ts';
import type { ParsedTransaction } from '../primitives/block.ts';
import { BanStore } from '../storage/ban-store.ts';
import { PeerStore } from '../storage/peer-store.ts';
import { type Clock, unixSeconds } from '../util/clock.ts';
import type { Log } from '../util/log.ts';
import { systemRandomBelow } from '../util/random.ts';
import { loadAsmap } from './asmap-file.ts';
import { peerView } from './build-peer-view.ts';
import { ClockWatch } from './clock-watch.ts';
import { netOptionsOf } from './net-settings.ts';
import { p2pCounters } from './p2p-counters.ts';
import { peersAt, syncState } from './sync-state.ts';

export interface PeerNetworkDeps {
  readonly chain: Chain;
  readonly mempool: MempoolService;
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Log;
  /** Called when a peer has connected or disconnected. */
  readonly onPeerChange: (change: PeerChange) => void;
}

/** The connections to peers, and the protocol on them. */
export class PeerNetwork {
  readonly connections: ConnectionManager;
  readonly #deps: PeerNetworkDeps;
  readonly #options: NetOptions;
  readonly #services: bigint;
  /** NODE_NETWORK, unless blocks are pruned. */
  readonly #network: bigint;
  readonly #userAgent: string;
  /** Whether transactions of peers are not accepted. */
  readonly blocksOnly: boolean;
  /** Age of a connection from which on its silence counts, milliseconds. */
  readonly peerTimeoutMs: number;
  /** Whether the reconciliation of transactions is negotiated (BIP-330). */
  readonly reconciliation: boolean;
  /** Transactions per second that are announced to inbound peers. */
  readonly sendRate: number;
  readonly #ending = new AbortController();
  readonly #clockWatch: ClockWatch;
  /** Number of rejected transactions of peers, by class. */
  readonly #rejected = new Map<string, number>();
  #manager: PeerManager | null = null;

  constructor(config: Config, deps: PeerNetworkDeps) {
    const { database, log, chain } = deps;
    this.#deps = deps;
    this.#clockWatch = new ClockWatch(log);
    const options = netOptionsOf(config, chain.params, loadAsmap(config.p2p.asmap, log));
    this.#options = options;
    this.blocksOnly = config.relay.blocksOnly;
    this.peerTimeoutMs = options.peerTimeout * 1000;
    this.reconciliation = config.p2p.reconciliation;
    this.sendRate = config.relay.sendRate;
    this.#userAgent = userAgentOf(config.p2p.userAgentComments);
    this.#network = config.storage.prune === 0 ? SERVICES.network : 0n;
    this.#services =
      SERVICES.witness |
      SERVICES.networkLimited |
      (options.v2 ? SERVICES.p2pV2 : 0n) |
      (config.p2p.filters ? SERVICES.compactFilters : 0n) |
      (config.p2p.bloomFilters ? SERVICES.bloom : 0n);
    this.connections = new ConnectionManager(options, {
      peerStore: new PeerStore(database),
      banStore: new BanStore(database),
      isDesirable: (services) => {
        const now = unixSeconds(deps.clock);
        return servesWhatWeNeed(services, missingBlocks(chain.tip.time, now, chain.params.consensus.powTargetSpacing));
      },
      log,
    });
  }

  /** The private broadcasts; null unless transactions of clients are broadcast so. */
  get privateBroadcast(): PrivateBroadcast | null {
    return this.#options.privateBroadcast ? (this.#manager?.privateBroadcast ?? null) : null;
  }

  /**
   * The function that schedules a private broadcast, and returns whether the queue has room; null unless transactions of
   * clients are broadcast so. Before the network has started, it has no room: a transaction must not go to the mempool.
   */
  get privateScheduler(): ((parsed: ParsedTransaction) => boolean) | null {
    if (!this.#options.privateBroadcast) return null;
    return (parsed) => this.privateBroadcast?.schedule(parsed) ?? false;
  }

  /** The services that this node offers now. */
  get services(): bigint {
    const { background } = this.#deps.chain;
    // Blocks below the base of a loaded UTXO set are missing until it is validated.
    return background === null || background.validated ? this.#services | this.#network : this.#services;
  }

  /** Name of this node for peers (BIP-14). */
  get userAgent(): string {
    return this.#userAgent;
  }

  /** Whether the node offers the v2 transport (BIP-324). */
  get offersV2(): boolean {
    return (this.#services & SERVICES.p2pV2) !== 0n;
  }

  /** Null until it is started. */
  get manager(): PeerManager | null {
    return this.#manager;
  }

  /** Starts to dial and to listen. Throws OperatorError where the listening address cannot be used. */
  start(): void {
    const { chain, mempool, clock, log } = this.#deps;
    const { connections } = this;
    const manager = new PeerManager(
      {
        params: chain.params,
        chain,
        mempool,
        clock,
        log,
        random: systemRandomBelow,
        connections: this.#connections(),
        options: this,
        slots: {
          extraFullRelay: () => connections.extraPeers('outbound-full-relay'),
          extraBlockRelay: () => connections.extraPeers('block-relay-only'),
          isNotOnlyOfNetwork: ({ link }) => connections.table.fullOutboundOn(link.network) > 1,
        },
        observer: {
          established: (peer) => this.#came(peer, manager),
          closed: (peer, reason) => this.#notify('disconnected', peer, reason),
        },
      },
      this.#ending.signal,
    );
    this.#manager = manager;
    mempool.relay.observeRejections((rejection) => {
      const name = txRejectClass(rejection);
      this.#rejected.set(name, (this.#rejected.get(name) ?? 0) + 1);
    });
    connections.start(manager);
    this.#logStart();
  }

  async stop(): Promise<void> {
    await this.connections.stop();
    this.#ending.abort(new Error('the node stops'));
  }

  /** Number of peers that have completed the handshake. */
  counts(): { inbound: number; outbound: number } {
    let inbound = 0;
    let outbound = 0;
    for (const peer of this.#manager?.peers() ?? []) {
      if (!peer.negotiated.established) continue;
      if (peer.inbound) inbound++;
      else outbound++;
    }
    return { inbound, outbound };
  }

  /** Median offset of the clocks of outbound peers to ours, in seconds; 0 with fewer than five of them. */
  timeOffset(): number {
    return this.#manager?.timeOffsets.median ?? 0;
  }

  status(): NonNullable<NodeStatus['network']> {
    return { active: this.#isActive, timeOffset: this.timeOffset() };
  }

  /** Warnings for the operator. */
  warnings(): readonly string[] {
    return this.#clockWatch.warnings;
  }

  counters(): P2pCounters {
    return p2pCounters(this.connections, this.#manager?.peers() ?? [], this.#rejected);
  }

  /** Returns the state of the sync with the network. */
  sync(): SyncState {
    const { chain, clock } = this.#deps;
    const peers = this.#isActive ? peersAt(this.#manager?.peers() ?? [], chain.tip) : null;
    return syncState(chain, peers, unixSeconds(clock));
  }

  /** Returns all peers, by id: also those that have only connected, whose transport is not known yet. */
  views(): PeerView[] {
    const peers = new Map(Array.from(this.#manager?.peers() ?? [], (peer) => [peer.id, peer]));
    for (const link of this.connections.table.all())
      if (!peers.has(link.id)) peers.set(link.id, new Peer(link, link.startedMs));
    const nowMs = this.#deps.clock.monotonicMs();
    return [...peers.values()]
      .sort((a, b) => a.id - b.id)
      .map((peer) => peerView(peer, nowMs, this.connections.groups));
  }

  #connections(): Connections {
    const { connections } = this;
    const { clock } = this.#deps;
    const withFacts = (service: NetService | null) =>
      service && { ...service, services: this.services, time: unixSeconds(clock) };
    return {
      addresses: connections.addresses,
      nonceOf: (link) => connections.nonces.nonceOf(link),
      isOwnNonce: (nonce) => connections.nonces.isOwn(nonce),
      makeRoomForTransactionRelay: (link) => connections.makeRoomForTransactionRelay(link),
      discourage: (link) => connections.discouragement.discourage(link.service.address),
      addrResponse: (link) => connections.addrResponses.responseFor(link),
      localAddressFor: (link, seenAt) => withFacts(connections.local.forPeer(link, seenAt)),
      sawLocal: (service) => void connections.local.seen(service),
      uploadTargetReached: (historical) => connections.totals.upload.isReached(historical),
      allowExtraFullRelay: (allowed) => connections.allowExtraFullRelay(allowed),
      allowExtraBlockRelay: (allowed) => connections.allowExtraBlockRelay(allowed),
      openPrivate: (count) => connections.openPrivate(count),
      isReachable: (address) => connections.routes.isReachable(address),
      isBannedOrDiscouraged: (address) => connections.isBannedOrDiscouraged(address),
      listening: this.#options.listen.length > 0 || this.#options.i2pKeyFile !== null,
    };
  }

  get #isActive(): boolean {
    return this.#manager !== null && this.connections.active;
  }

  #came(peer: Peer, { timeOffsets }: PeerManager): void {
    this.#clockWatch.check(timeOffsets.median);
    this.#notify('connected', peer, null);
  }

  #notify(kind: PeerChange['kind'], peer: Peer, reason: string | null): void {
    const { clock, onPeerChange } = this.#deps;
    onPeerChange({
      kind,
      time: unixSeconds(clock),
      peer: peerView(peer, clock.monotonicMs(), this.connections.groups),
      reason,
    });
  }

  #logStart(): void {
    const { listen, connect, autoConnect, v2, nameProxy, onlyNetworks, networkActive } = this.#options;
    this.#deps.log.info(
      listen.length === 0 ? 'connecting to peers, not accepting connections' : 'connecting to peers',
      {
        to: connect.length > 0 ? connect.join(' ') : autoConnect ? 'any' : 'none',
        v2,
        networkActive: networkActive ? undefined : false,
        proxy: nameProxy === null ? undefined : targetText(nameProxy),
        onlyNetworks: onlyNetworks.length > 0 ? onlyNetworks.join(' ') : undefined,
      },
    );
  }
}
