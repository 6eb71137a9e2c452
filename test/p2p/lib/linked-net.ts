import { join } from 'node:path';
import { signatureEngine } from '../../../src/crypto/secp256k1.ts';
import { MempoolService } from '../../../src/mempool/service.ts';
import { AddrManager } from '../../../src/p2p/address/addr-manager.ts';
import type { NetAddress, NetService, PeerAddress } from '../../../src/p2p/address/net-address.ts';
import {
  type ConnectionType,
  newStanding,
  newTraffic,
  type PeerLink,
  type PeerLogic,
  type Permission,
} from '../../../src/p2p/connections/peer-link.ts';
import { encodeMessage, type MessageType, type ValueOf } from '../../../src/p2p/messages/messages.ts';
import type { Peer } from '../../../src/p2p/peer/peer.ts';
import type { Connections } from '../../../src/p2p/peer/peer-context.ts';
import { PeerManager } from '../../../src/p2p/peer-manager.ts';
import { SERVICES } from '../../../src/p2p/services.ts';
import type { NetMessage } from '../../../src/p2p/transport/transport.ts';
import type { NetworkParams } from '../../../src/params/network-params.ts';
import { hashToHex } from '../../../src/primitives/hash.ts';
import { FeeStore } from '../../../src/storage/fee-store.ts';
import { MempoolStore } from '../../../src/storage/mempool-store.ts';
import { openNodeDatabase } from '../../../src/storage/node-database.ts';
import { unixSeconds } from '../../../src/util/clock.ts';
import { systemRandomBelow } from '../../../src/util/random.ts';
import { type BlockBytes, type NodeOptions, silentLog, TestNode } from '../../lib/chain-fixture.ts';
import { DEFAULT_RELAY_OPTIONS } from '../../lib/default-options.ts';

/** A public address, different for each node. */
function serviceOf(n: number): NetService {
  return { address: { network: 'ipv4', bytes: Uint8Array.of(20, n, 1, 1) }, port: 8333 };
}

let nodes = 0;
let links = 0;

/** Real time between two steps of the mock clock, for work beside the messages. */
const PAUSE_MS = 5;

export const OUR_SERVICES = SERVICES.network | SERVICES.networkLimited | SERVICES.witness;

/**
 * One end of a connection without sockets: what one end sends is delivered to the logic of the other, message by
 * message.
 */
export class MemoryLink implements PeerLink {
  readonly id = links++;
  readonly localService = null;
  readonly network = 'ipv4';
  readonly permissions: ReadonlySet<Permission>;
  readonly protocol = 'v1';
  readonly sessionId = '';
  readonly openedAt = 0;
  readonly traffic = newTraffic();
  readonly standing = newStanding();
  readonly sendQueueFull = false;
  readonly type: ConnectionType;
  readonly service: NetService;
  readonly name: string;
  /** The close reason; null while it is open. */
  reason: string | null = null;
  /** Types of the sent messages, in order. */
  readonly sentTypes: string[] = [];
  other: MemoryLink | null = null;
  readonly #logic: PeerLogic;
  readonly #inbox: NetMessage[] = [];
  #handling = false;
  /** Links with messages in process. */
  static readonly busy = new Set<MemoryLink>();

  constructor(logic: PeerLogic, type: ConnectionType, service: NetService, permissions: readonly Permission[] = []) {
    this.#logic = logic;
    this.type = type;
    this.service = service;
    this.name = `link ${this.id}`;
    this.permissions = new Set(permissions);
  }

  get closed(): boolean {
    return this.reason !== null;
  }

  whenWritable(): Promise<void> {
    return Promise.resolve();
  }

  send<K extends MessageType>(type: K, value: ValueOf<K>): void {
    this.sendPayload(type, encodeMessage(type, value));
  }

  sendPayload(type: string, payload: Uint8Array): void {
    if (this.closed || !this.other) return;
    this.sentTypes.push(type);
    this.other.receive({ type, payload: payload.slice(), wireSize: payload.length + 24 });
  }

  receive(message: NetMessage): void {
    if (this.closed) return;
    this.#inbox.push(message);
    if (!this.#handling) void this.#handle();
  }

  open(): void {
    this.#logic.opened(this);
  }

  disconnect(reason: string): void {
    if (this.closed) return;
    this.reason = reason;
    setImmediate(() => {
      this.#logic.closed(this, reason);
      this.other?.disconnect('the other end has closed');
    });
  }

  async #handle(): Promise<void> {
    this.#handling = true;
    MemoryLink.busy.add(this);
    try {
      await new Promise(setImmediate);
      for (let message = this.#inbox.shift(); message && !this.closed; message = this.#inbox.shift()) {
        await this.#logic.message(this, message);
        await new Promise(setImmediate);
      }
    } finally {
      this.#handling = false;
      MemoryLink.busy.delete(this);
    }
  }
}

export interface LinkedNodeOptions extends Pick<NodeOptions, 'nowMs' | 'filters' | 'from' | 'verifier'> {
  /** Service bits offered to peers. */
  readonly services?: bigint;
  /** Whether only peers with the relay permission may send transactions. */
  readonly blocksOnly?: boolean;
  /** Age of a connection from which on its silence counts. */
  readonly peerTimeoutMs?: number;
  /** Negotiates BIP-330. */
  readonly reconciliation?: boolean;
  /** Announced transactions per second. */
  readonly sendRate?: number;
}

/** A node with a real chain, mempool and protocol logic; only its connections are simulated. */
export class LinkedNode implements AsyncDisposable {
  readonly node: TestNode;
  readonly mempool: MempoolService;
  readonly peers: PeerManager;
  readonly service = serviceOf(nodes++ % 250);
  readonly discouraged: string[] = [];
  readonly addresses: AddrManager;
  /** Whether the upload target is reached: for everything, or for historical blocks. */
  uploadTarget: 'none' | 'historical' | 'all' = 'none';
  /** Connections for private broadcasts that are to be opened. */
  privateWanted = 0;
  /** Whether one more inbound peer may want transactions. */
  hasRelayRoom = true;
  readonly #ending = new AbortController();
  readonly #database;
  #tick = () => {};
  /** Running nodes. */
  static readonly running = new Set<LinkedNode>();

  constructor(
    params: NetworkParams,
    {
      services = OUR_SERVICES,
      blocksOnly = false,
      peerTimeoutMs = 60_000,
      sendRate = 14,
      reconciliation = false,
      ...options
    }: LinkedNodeOptions = {},
  ) {
    this.node = new TestNode({ params, nowMs: Date.now(), ...options });
    const { chain, clock, dir } = this.node;
    this.addresses = AddrManager.create(clock, systemRandomBelow);
    this.#database = openNodeDatabase(join(dir, 'node.db'), {
      network: params.name,
      genesisHash: hashToHex(params.consensus.genesisHash),
    });
    this.mempool = new MempoolService(DEFAULT_RELAY_OPTIONS, {
      chain,
      engine: signatureEngine(),
      store: new MempoolStore(this.#database),
      fees: new FeeStore(this.#database),
      anyTip: true,
      clock,
      log: silentLog,
      emit: () => {},
    });
    chain.setFollower({
      follow: (move) => this.mempool.follow(move),
      has: (txid) => this.mempool.has(txid),
      onCommitted: () => void this.mempool.committed(),
    });
    this.peers = new PeerManager(
      {
        params,
        chain,
        mempool: this.mempool,
        connections: this.#connections(),
        clock,
        random: systemRandomBelow,
        log: silentLog,
        options: { services, userAgent: '/Test/', blocksOnly, peerTimeoutMs, sendRate, reconciliation },
        slots: { extraFullRelay: () => 0, extraBlockRelay: () => 0, isNotOnlyOfNetwork: () => false },
        every: (_, tick) => (this.#tick = tick),
      },
      this.#ending.signal,
    );
    LinkedNode.running.add(this);
  }

  static async with(
    params: NetworkParams,
    blocks: Iterable<BlockBytes> = [],
    options: LinkedNodeOptions = {},
  ): Promise<LinkedNode> {
    const node = new LinkedNode(params, options);
    await node.node.take(blocks);
    await node.mempool.load(node.#ending.signal);
    return node;
  }

  get tip(): string {
    return this.node.tip;
  }

  /** Advances the clock of this node. */
  advance(ms: number): void {
    this.node.clock.advance(ms);
  }

  /** Runs the periodic work of the protocol, as every 100 ms. */
  tick(): void {
    this.#tick();
  }

  peer(link: MemoryLink): Peer | undefined {
    for (const peer of this.peers.peers()) if (peer.link === link) return peer;
    return undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    LinkedNode.running.delete(this);
    this.#ending.abort();
    this.mempool.close();
    this.#database.close();
    await this.node[Symbol.asyncDispose]();
  }

  #connections(): Connections {
    const own: PeerAddress = { ...this.service, time: unixSeconds(this.node.clock), services: OUR_SERVICES };
    return {
      addresses: this.addresses,
      nonceOf: () => 2n,
      isOwnNonce: () => false,
      makeRoomForTransactionRelay: () => this.hasRelayRoom,
      discourage: (link) => this.discouraged.push(link.name),
      addrResponse: () => this.addresses.getAddresses(1000, 23),
      localAddressFor: () => own,
      sawLocal: () => {},
      uploadTargetReached: (historical) => this.uploadTarget === 'all' || (historical && this.uploadTarget !== 'none'),
      allowExtraFullRelay: () => true,
      allowExtraBlockRelay: () => {},
      openPrivate: (count: number) => void (this.privateWanted += count),
      isReachable: (address: NetAddress) => address.network === 'ipv4' || address.network === 'ipv6',
      isBannedOrDiscouraged: () => false,
      listening: true,
    };
  }
}

/** Connects one node to another; returns both ends. */
export function connect(
  from: LinkedNode,
  to: LinkedNode,
  { type = 'outbound-full-relay' as ConnectionType, permissions = [] as readonly Permission[] } = {},
): { out: MemoryLink; in: MemoryLink } {
  const out = new MemoryLink(from.peers, type, to.service);
  const inbound = new MemoryLink(to.peers, 'inbound', from.service, permissions);
  out.other = inbound;
  inbound.other = out;
  inbound.open();
  out.open();
  return { out, in: inbound };
}

/**
 * Advances the clocks of the given nodes in steps of a second until a condition holds; throws after a limit in real
 * time. The clocks stand still while a message is processed, so that no peer times out on a slow machine.
 */
export async function until(
  what: string,
  nodes: readonly LinkedNode[],
  holds: () => boolean,
  { stepMs = 1000, timeoutMs = 60_000 } = {},
): Promise<void> {
  const end = performance.now() + timeoutMs;
  while (!holds()) {
    if (performance.now() > end) throw new Error(`waited in vain for ${what}`);
    if (MemoryLink.busy.size === 0) for (const node of nodes) node.advance(stepMs);
    for (const node of LinkedNode.running) node.tick();
    await Bun.sleep(PAUSE_MS);
  }
}
