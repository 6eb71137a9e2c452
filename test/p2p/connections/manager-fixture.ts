import { parseService } from '../../../src/p2p/address/address-text.ts';
import type { ByteStream } from '../../../src/p2p/connections/byte-stream.ts';
import { ConnectionManager } from '../../../src/p2p/connections/connection-manager.ts';
import { type Dial, DialError, type DialTarget, tcpDial } from '../../../src/p2p/connections/dial.ts';
import type { NetDependencies, NetOptions } from '../../../src/p2p/connections/net-options.ts';
import type { PeerLink } from '../../../src/p2p/connections/peer-link.ts';
import { systemTiming } from '../../../src/p2p/connections/timing.ts';
import type { NetMessage, Transport } from '../../../src/p2p/transport/transport.ts';
import { V1Transport } from '../../../src/p2p/transport/v1-transport.ts';
import { regtest } from '../../../src/params/regtest.ts';
import { BanStore } from '../../../src/storage/ban-store.ts';
import { PeerStore } from '../../../src/storage/peer-store.ts';
import { Random } from '../../fuzz/random.ts';
import { MAGIC, RawPeer } from '../../lib/raw-peer.ts';
import { NOW, peer as peerAddress } from '../address/addr-fixture.ts';
import { emptyDatabase, listener, ManualTime, memoryLog, RecordingLogic, v2 } from './net-fixture.ts';

export const OPTIONS: NetOptions = {
  params: regtest,
  networkActive: true,
  listen: [],
  autoConnect: true,
  maxConnections: 125,
  connect: [],
  inboundRelayPercent: 50,
  peerTimeout: 60,
  v2: true,
  permissions: [],
  seedNodes: [],
  dnsSeeds: true,
  forceDnsSeeds: false,
  fixedSeeds: true,
  maxUpload: 0,
  externalAddresses: [],
  discover: true,
  privateBroadcast: false,
  capture: null,
  banTime: 86_400,
  asmap: null,
  checkAddresses: 0,
  proxies: {},
  nameProxy: null,
  proxyRandomize: true,
  i2pSam: null,
  cjdns: false,
  onionService: null,
  i2pKeyFile: null,
  onlyNetworks: [],
};

/** Nodes that listen on this machine under public addresses, and the addresses connected to. */
class Internet {
  readonly dialled: string[] = [];
  readonly #ports = new Map<string, number>();
  readonly #servers: { stop(): void }[] = [];
  readonly #tcp = tcpDial(systemTiming);

  /** Starts a node with v1 or the given transport; returns its peers in order. */
  node(name: string, transport: () => Transport = () => new V1Transport(MAGIC)): RawPeer[] {
    const peers: RawPeer[] = [];
    const accepted = (stream: ByteStream) => {
      const peer = new RawPeer(stream, transport());
      peers.push(peer);
      // The node announces itself.
      if (peer.transport.writable) peer.send('ping', new Uint8Array(8));
    };
    this.#add(name, listener(accepted));
    return peers;
  }

  /** A node that disconnects on v2 bytes and supports v1. */
  oldNode(name: string): RawPeer[] {
    const peers: RawPeer[] = [];
    const server = listener((stream) => {
      const peer = new RawPeer(stream, new V1Transport(MAGIC));
      peers.push(peer);
      const { receive } = peer.transport;
      peer.transport.receive = (bytes) => {
        const events = receive.call(peer.transport, bytes);
        if (events.some(({ kind }) => kind === 'failed')) peer.close();
        return events;
      };
    });
    this.#add(name, server);
    return peers;
  }

  /** A SOCKS5 proxy to named nodes; records its requests and the nodes. */
  proxy(name: string, known: readonly string[]) {
    const asked: string[] = [];
    const peers: RawPeer[] = [];
    const accepted = (stream: ByteStream) => {
      let step = 0;
      const data = (bytes: Uint8Array) => {
        step++;
        if (step === 1) stream.write(Uint8Array.of(5, 2));
        if (step === 2) stream.write(Uint8Array.of(1, 0));
        if (step !== 3) return;
        const host = new TextDecoder().decode(bytes.subarray(5, 5 + bytes[4]!));
        const target = `${host}:${(bytes.at(-2)! << 8) | bytes.at(-1)!}`;
        asked.push(target);
        const isKnown = known.includes(target);
        stream.write(Uint8Array.of(5, isKnown ? 0 : 5, 0, 1, 0, 0, 0, 0, 0, 0));
        if (isKnown) peers.push(new RawPeer(stream, new V1Transport(MAGIC)));
      };
      stream.attach({ data, drain: () => {}, closed: () => {} });
    };
    this.#add(name, listener(accepted));
    return { asked, peers };
  }

  readonly dial: Dial = async ({ host, port }: DialTarget, signal) => {
    const name = host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
    this.dialled.push(name);
    const actual = this.#ports.get(name);
    if (actual === undefined) throw new DialError('ECONNREFUSED');
    return await this.#tcp({ host: '127.0.0.1', port: actual }, signal);
  };

  stop(): void {
    for (const server of this.#servers) server.stop();
  }

  #add(name: string, server: ReturnType<typeof listener>): void {
    this.#ports.set(name, server.port);
    this.#servers.push(server);
  }
}

export interface ManagerOptions {
  readonly options?: Partial<NetOptions>;
  readonly deps?: Partial<NetDependencies>;
  readonly handle?: (link: PeerLink, message: NetMessage) => void | Promise<void>;
  readonly stores?: Pick<NetDependencies, 'peerStore' | 'banStore'>;
}

export function stores() {
  const db = emptyDatabase();
  return { peerStore: new PeerStore(db), banStore: new BanStore(db) };
}

function answerPing(link: PeerLink, { type, payload }: NetMessage): void {
  if (type === 'ping') link.sendPayload('pong', payload);
}

const open: { stop(): void | Promise<void> }[] = [];

/** Must be called after each test. */
export async function stopAll(): Promise<void> {
  for (const one of open.splice(0)) await one.stop();
}

/** A connection manager in an isolated environment with a stopped clock. */
export function world({ options = {}, deps = {}, handle, stores: given = stores() }: ManagerOptions = {}) {
  const time = new ManualTime();
  const internet = new Internet();
  const logic = new RecordingLogic(handle ?? answerPing);
  const { log, errors, lines } = memoryLog();
  const random = new Random(1);
  const manager = new ConnectionManager(
    { ...OPTIONS, ...options },
    {
      ...given,
      log,
      timing: time,
      random: (limit) => random.int(limit),
      dial: internet.dial,
      lookup: async (name) => Promise.reject(new Error(`no such name: ${name}`)),
      interfaces: () => [],
      ...deps,
    },
  );
  open.push(manager, internet);
  const start = () => manager.start(logic).port!;
  const inbound = async (port: number, transport?: Transport) => {
    const peer = await RawPeer.dial(port, transport);
    open.push({ stop: () => peer.close() });
    return peer;
  };
  return { manager, time, internet, logic, start, inbound, errors, lines, stores: given };
}

export { NOW, peerAddress, v2 };

/** Returns addresses in this number of different groups. */
export function groups(count: number, first = 20): string[] {
  return Array.from({ length: count }, (_, i) => `${first + i}.1.1.1:18444`);
}

export function service(text: string) {
  const parsed = parseService(text, 18_444);
  if (parsed === null) throw new Error(`not an address: ${text}`);
  return parsed;
}
