import { lookup } from 'node:dns/promises';
import { networkInterfaces } from 'node:os';
import { systemRandomBelow } from '../../util/random.ts';
import type { AddrManager } from '../address/addr-manager.ts';
import { parseNetAddress } from '../address/address-text.ts';
import type { NetAddress } from '../address/net-address.ts';
import { NetGroups } from '../address/net-groups.ts';
import { isBindAny } from '../address/ranges.ts';
import { hasServices, SEED_SERVICES } from '../services.ts';
import { BanList, Discouragement } from './ban-list.ts';
import { ConnectionTable } from './connection-table.ts';
import { type DialTarget, tcpDial } from './dial.ts';
import { LOCAL_SCORES, LocalAddresses } from './local-addresses.ts';
import { AddedNodes } from './manual-connections.ts';
import { connectionSlots, type NetDependencies, type NetOptions, type Slots } from './net-options.ts';
import { NetTotals } from './net-totals.ts';
import { Routes } from './network-routes.ts';
import { loadAddresses } from './saved-peers.ts';
import { systemTiming } from './timing.ts';

/** State that all parts of the connection layer share. */
export class NetState {
  readonly options: NetOptions;
  readonly deps: Required<NetDependencies>;
  /** Network magic, 4 bytes in wire order. */
  readonly magic: Uint8Array;
  readonly table = new ConnectionTable();
  readonly discouragement = new Discouragement();
  readonly addresses: AddrManager;
  /** Groups of addresses, over which connections are spread. */
  readonly groups: NetGroups;
  readonly bans: BanList;
  readonly totals: NetTotals;
  readonly routes: Routes;
  readonly slots: Slots;
  readonly added: AddedNodes;
  readonly local: LocalAddresses;
  /** Whether network activity is enabled. */
  active: boolean;
  /** Whether an onion service was connected to, and has answered. */
  hasReachedOnion = false;

  constructor(options: NetOptions, deps: NetDependencies) {
    const { timing = systemTiming, random = systemRandomBelow, log } = deps;
    const { params, listen, discover } = options;
    this.options = options;
    this.active = options.networkActive;
    this.deps = {
      ...deps,
      timing,
      random,
      dial: deps.dial ?? tcpDial(timing),
      lookup: deps.lookup ?? lookupAll,
      interfaces: deps.interfaces ?? systemInterfaces,
      isDesirable: deps.isDesirable ?? isFullNode,
    };
    this.magic = new Uint8Array(Uint32Array.of(params.magic).buffer);
    this.groups = new NetGroups(options.asmap);
    const { clock } = timing;
    const { groups } = this;
    this.addresses = loadAddresses(deps.peerStore, { clock, random, log, groups, checkOneIn: options.checkAddresses });
    this.bans = new BanList(deps.banStore, clock, options.banTime);
    this.totals = new NetTotals(clock, options.maxUpload);
    this.routes = new Routes(options);
    this.slots = connectionSlots(options.maxConnections);
    this.added = new AddedNodes(params.ports.p2p, options.v2, this.routes);
    const port = listen.find(({ isOnion }) => !isOnion)?.port ?? params.ports.p2p;
    this.local = new LocalAddresses(
      { listening: listen.length > 0 || options.i2pKeyFile !== null, port, discover },
      this.routes,
      random,
    );
    for (const service of options.externalAddresses)
      this.local.add(this.routes.resolveCjdnsOf(service), LOCAL_SCORES.manual);
  }

  isBannedOrDiscouraged(address: NetAddress): boolean {
    return this.bans.isBanned(address) || this.discouragement.isDiscouraged(address);
  }

  /** Adds the addresses of this machine as candidates for local addresses, once we listen. */
  findLocalAddresses({ host, port }: DialTarget): void {
    this.local.port = port;
    const bound = parseNetAddress(host);
    const isAny = bound === null || isBindAny(bound);
    for (const text of isAny ? this.deps.interfaces() : [host]) {
      const parsed = parseNetAddress(text);
      const address = parsed && this.routes.resolveCjdns(parsed);
      if (address === null || (bound?.network === 'ipv4' && address.network !== 'ipv4')) continue;
      this.local.add({ address, port }, isAny ? LOCAL_SCORES.interface : LOCAL_SCORES.bound);
    }
  }
}

async function lookupAll(host: string): Promise<string[]> {
  return (await lookup(host, { all: true })).map(({ address }) => address);
}

function systemInterfaces(): string[] {
  return Object.values(networkInterfaces()).flatMap((list) => list?.map(({ address }) => address) ?? []);
}

function isFullNode(services: bigint): boolean {
  return hasServices(services, SEED_SERVICES);
}
