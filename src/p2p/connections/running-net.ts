import { isCustomSignet } from '../../params/signet.ts';
import type { NetService } from '../address/net-address.ts';
import { I2pNetwork } from '../i2p/i2p-network.ts';
import { keepOnionService } from '../tor/onion-service.ts';
import { Acceptor } from './acceptor.ts';
import { type Connection, inactivityOf } from './connection.ts';
import { LogicEvents } from './connection-events.ts';
import { Dialer } from './dialer.ts';
import { LOCAL_SCORES } from './local-addresses.ts';
import { keepAdded, keepConnected } from './manual-connections.ts';
import { MessageCapture } from './message-capture.ts';
import type { ListenTarget } from './net-options.ts';
import type { NetState } from './net-state.ts';
import { Outbound } from './outbound.ts';
import type { PeerLogic } from './peer-link.ts';
import { PrivateConnections } from './private-connections.ts';
import { loadAnchors, saveAddresses, saveAnchors } from './saved-peers.ts';
import { fixedSeeds, queryDnsSeeds } from './seeds.ts';

const SWEEP_MS = 1000;
const SAVE_MS = 15 * 60_000;
/** Interval of the log line about the map of autonomous systems, milliseconds. */
const ASMAP_REPORT_MS = 24 * 3600_000;
/** Pause after an internal error in a loop, milliseconds. */
const AFTER_FAILURE_MS = 1000;

/** The parts of the connection layer that exist while it runs: listener, loops and timers. */
export class RunningNet {
  /** First port on which peers can connect; null if not listening. */
  readonly port: number | null;
  readonly acceptor: Acceptor;
  readonly dialer: Dialer;
  /** Null if only configured peers are connected to. */
  readonly outbound: Outbound | null;
  /** Null if transactions are not broadcast privately. */
  readonly privateConnections: PrivateConnections | null;
  readonly #state: NetState;
  readonly #events: LogicEvents;
  readonly #abort = new AbortController();
  readonly #loops: Promise<void>[] = [];
  /** Null without an I2P router. */
  readonly #i2p: I2pNetwork | null;
  /** The address to which Tor forwards the peers of an onion service; null for none. */
  readonly #onionTarget: ListenTarget | null;

  /** Throws OperatorError if the listening address cannot be used. */
  constructor(state: NetState, logic: PeerLogic) {
    const { options, deps } = state;
    const { connect, listen, v2 } = options;
    this.#state = state;
    const { clock } = deps.timing;
    const capture = options.capture === null ? null : new MessageCapture(options.capture, { clock, log: deps.log });
    this.#events = new LogicEvents(logic, {
      ...state,
      log: deps.log,
      capture,
      reachedOnion: () => {
        state.hasReachedOnion = true;
      },
      retryV1: (link) => this.#retryV1(link),
    });
    const shared = {
      magic: state.magic,
      table: state.table,
      groups: state.groups,
      permissions: options.permissions,
      active: () => state.active,
      events: this.#events,
    };
    this.acceptor = new Acceptor({
      ...deps,
      ...shared,
      v2,
      maxInbound: state.slots.inbound,
      relayPercent: options.inboundRelayPercent,
      routes: state.routes,
      isBanned: (address) => state.bans.isBanned(address),
      isDiscouraged: (address) => state.discouragement.isDiscouraged(address),
    });
    const listening = this.acceptor.listenAll(listen);
    this.port = listening[0]?.port ?? null;
    this.#onionTarget = listening.find(({ isOnion }) => isOnion) ?? listening[0] ?? null;
    for (const { host, port, isOnion } of listening) {
      // The address to which Tor forwards is not one at which peers reach this node.
      if (!isOnion) state.findLocalAddresses({ host, port });
      deps.log.info('listening for peers', { host, port, onion: isOnion || undefined, v2 });
    }
    const { i2pSam, i2pKeyFile } = options;
    this.#i2p = i2pSam === null ? null : new I2pNetwork({ ...deps, sam: i2pSam, keyFile: i2pKeyFile });
    this.dialer = new Dialer({
      ...deps,
      ...shared,
      i2p: this.#i2p,
      defaultPort: options.params.ports.p2p,
      routes: state.routes,
      local: state.local,
      addresses: state.addresses,
      isBannedOrDiscouraged: ({ address }) => state.isBannedOrDiscouraged(address),
    });
    this.outbound = connect.length > 0 || !options.autoConnect ? null : this.#makeOutbound();
    this.privateConnections = options.privateBroadcast ? this.#makePrivateConnections() : null;
    this.#startLoops();
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Closes all connections, timers and loops, and saves the persistent state. */
  async stop(): Promise<void> {
    const { table, deps } = this.#state;
    const anchors = table.all().flatMap((connection) => {
      const to = this.dialer.requestOf(connection)?.to;
      return connection.type === 'block-relay-only' && typeof to === 'object' ? [to] : [];
    });
    this.acceptor.stop();
    this.#abort.abort(new Error('connections are stopped'));
    for (const connection of table.all()) connection.disconnect('shutdown');
    await Promise.all(this.#loops);
    this.#i2p?.close();
    this.#events.stop();
    if (this.outbound !== null) {
      saveAnchors(deps.peerStore, anchors);
      deps.log.debug('anchors saved', { count: anchors.length });
    }
    this.#save();
  }

  #makeOutbound(): Outbound {
    const { deps, options } = this.#state;
    const { timing, random, peerStore, log } = deps;
    const anchors = loadAnchors(peerStore);
    log.info('anchors loaded', { count: anchors.length });
    return new Outbound({
      ...this.#state,
      ...deps,
      dialer: this.dialer,
      v2: options.v2,
      anchors,
      fixedSeeds: () =>
        options.fixedSeeds && !isCustomSignet(options.params)
          ? fixedSeeds(options.params.name, timing.clock, random)
          : [],
      usesDnsSeeds: this.#usesDnsSeeds,
      seedNodes: options.seedNodes,
    });
  }

  #makePrivateConnections(): PrivateConnections {
    const { deps, options } = this.#state;
    return new PrivateConnections({
      ...this.#state,
      ...deps,
      dialer: this.dialer,
      v2: options.v2,
      active: () => this.#state.active,
      hasReachedOnion: () => this.#state.hasReachedOnion,
    });
  }

  /** DNS seeds only know IPv4 and IPv6 addresses. */
  get #usesDnsSeeds(): boolean {
    const { options, routes } = this.#state;
    const isUseful = routes.networks.some((network) => network === 'ipv4' || network === 'ipv6');
    return options.dnsSeeds && isUseful && options.params.dnsSeeds.length > 0 && options.maxConnections > 0;
  }

  #startLoops(): void {
    const { options, deps } = this.#state;
    const { outbound } = this;
    if (this.#usesDnsSeeds) this.#loop('DNS seeds', (signal) => this.#querySeeds(outbound, signal));
    else deps.log.info('DNS seeds are not used');
    const manual = { ...this.#state, timing: deps.timing, dialer: this.dialer, v2: options.v2 };
    const { privateConnections } = this;
    if (privateConnections !== null) this.#loop('private broadcast', (signal) => privateConnections.run(signal));
    this.#loop('sweep', (signal) => this.#every(SWEEP_MS, () => this.#sweep(), signal));
    this.#loop('save', (signal) => this.#every(SAVE_MS, () => this.#save(), signal));
    if (this.#state.groups.usesAsmap) {
      this.#reportAsmap();
      this.#loop('map of autonomous systems', (signal) =>
        this.#every(ASMAP_REPORT_MS, () => this.#reportAsmap(), signal),
      );
    }
    this.#startPrivateNetworks();
    this.#loop('added nodes', (signal) => keepAdded(manual, signal));
    if (outbound === null) {
      if (options.connect.length > 0) this.#loop('connect', (signal) => keepConnected(options.connect, manual, signal));
      return;
    }
    this.#loop('outbound', (signal) => outbound.run(signal));
  }

  /** Starts to accept peers on Tor and I2P, through the programs beside the node. */
  #startPrivateNetworks(): void {
    const { options, deps, routes } = this.#state;
    const { onionService } = options;
    const target = this.#onionTarget;
    if (onionService !== null && target !== null) {
      const wantsProxy = options.proxies.onion === undefined;
      const service = { ...onionService, target, port: options.params.ports.p2p, wantsProxy };
      const onProxy = routes.setTorProxy.bind(routes);
      const parts = { ...deps, onService: this.#ownAddress(), onProxy };
      this.#loop('onion service', (signal) => keepOnionService(service, parts, signal));
    }
    const i2p = this.#i2p;
    if (i2p === null) return;
    const onPeer = this.acceptor.acceptStream.bind(this.acceptor);
    this.#loop('I2P', (signal) => i2p.acceptPeers((stream) => onPeer(stream), this.#ownAddress(), signal));
  }

  /** Returns a function that makes its argument an address of this node in place of the earlier one. */
  #ownAddress(): (service: NetService | null) => void {
    const { local } = this.#state;
    let own: NetService | null = null;
    return (service) => {
      if (own !== null && own !== service) local.remove(own.address);
      if (service !== null && own !== service) local.add(service, LOCAL_SCORES.manual);
      own = service;
    };
  }

  /** Without automatic connections, the addresses that DNS seeds return are only for peers that request some. */
  #querySeeds(outbound: Outbound | null, signal: AbortSignal): Promise<void> {
    const { options, deps, addresses, table, routes } = this.#state;
    const seeding = {
      ...deps,
      addresses,
      seeds: options.params.dnsSeeds,
      port: options.params.ports.p2p,
      throughProxy: routes.nameProxy !== null,
      peers: () => table.countIf(({ type, standing }) => type === 'outbound-full-relay' && standing.established),
      active: () => this.#state.active,
      hasSeedNodes: outbound !== null && options.seedNodes.length > 0,
      isForced: options.forceDnsSeeds,
      addrFetch: (host: string) => outbound?.addrFetch(host),
    };
    return queryDnsSeeds(seeding, signal);
  }

  #loop(name: string, run: (signal: AbortSignal) => Promise<void>): void {
    this.#loops.push(this.#keepRunning(name, run, this.signal));
  }

  /** Restarts a loop after an internal error. Resolves when it ends or the signal aborts. */
  async #keepRunning(name: string, run: (signal: AbortSignal) => Promise<void>, signal: AbortSignal): Promise<void> {
    const { timing, log } = this.#state.deps;
    while (!signal.aborted) {
      try {
        return await run(signal);
      } catch (error) {
        if (signal.aborted) return;
        log.error('connections: loop failed', { loop: name, error });
        await timing.sleep(AFTER_FAILURE_MS, signal).catch(() => {});
      }
    }
  }

  async #every(ms: number, work: () => void, signal: AbortSignal): Promise<never> {
    for (;;) {
      await this.#state.deps.timing.sleep(ms, signal);
      work();
    }
  }

  #sweep(): void {
    const now = this.#state.deps.timing.clock.monotonicMs();
    for (const connection of this.#state.table.all()) {
      const found = inactivityOf(connection, now, this.#state.options.peerTimeout * 1000);
      if (found !== null) connection.disconnect(found.reason, found.facts);
    }
  }

  #save(): void {
    const { deps, addresses, bans } = this.#state;
    saveAddresses(deps.peerStore, addresses, deps.timing.clock);
    bans.sweep();
  }

  /** Logs how the known addresses spread over autonomous systems: an outdated map leaves many of them unmapped. */
  #reportAsmap(): void {
    const { addresses, groups, deps } = this.#state;
    const known = (['ipv4', 'ipv6'] as const).flatMap((network) => addresses.getAddresses(0, 0, network, false));
    const numbers = known.map(({ address }) => groups.mappedAs(address));
    const unmapped = numbers.filter((asn) => asn === 0).length;
    const systems = new Set(numbers).size - (unmapped > 0 ? 1 : 0);
    deps.log.info('addresses mapped to autonomous systems', { addresses: known.length, systems, unmapped });
  }

  #retryV1(connection: Connection): void {
    const { log } = this.#state.deps;
    const request = this.dialer.requestOf(connection);
    if (request === null || this.signal.aborted) return;
    log.debug('retrying connection with v1', { peer: connection.id });
    this.dialer.open({ ...request, v2: false, countFailure: false }, this.signal).catch((error) => {
      if (!this.signal.aborted) log.error('retrying the connection failed', { error });
    });
  }
}
