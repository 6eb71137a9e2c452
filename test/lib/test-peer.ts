import { type NetService, UNSPECIFIED } from '../../src/p2p/address/net-address.ts';
import { type TcpStream, tcpHandlers } from '../../src/p2p/connections/byte-stream.ts';
import {
  type DecodedOf,
  decodeMessage,
  encodeMessage,
  type MessageType,
  type ValueOf,
} from '../../src/p2p/messages/messages.ts';
import type { Transport } from '../../src/p2p/transport/transport.ts';
import { V1Transport } from '../../src/p2p/transport/v1-transport.ts';
import { V2Transport } from '../../src/p2p/transport/v2-transport.ts';
import { MAGIC, RawPeer } from './raw-peer.ts';

export type TestProtocol = 'v1' | 'v2';

/** The members of the peer's version message; by default those of a full node of today. */
export interface Introduction {
  readonly version?: number;
  readonly services?: bigint;
  readonly relay?: boolean;
  readonly agent?: string;
  readonly height?: number;
  readonly nonce?: bigint;
  /** The address it sees the other side at. */
  readonly receiver?: NetService;
  /** Announces and asks for transactions by wtxid (BIP-339). */
  readonly wtxid?: boolean;
  /** Understands compact blocks (BIP-152); `announce` requests them without an announcement. */
  readonly compact?: 'no' | 'yes' | 'announce';
}

/** A script that answers one type of message by itself. */
type Answer = (payload: Uint8Array) => void;

const NOWHERE: NetService = { address: UNSPECIFIED, port: 0 };
/** Network, witness and limited network. */
const FULL_NODE = 1n | (1n << 3n) | (1n << 10n);
const DEADLINE_MS = 20_000;

/** A peer that sends the messages of a test, over a real socket. By itself it only answers pings. */
export class TestPeer {
  /** Resolves with the types of the messages that came before the other side disconnected. */
  readonly closed: Promise<readonly string[]>;
  readonly #wire: RawPeer;
  readonly #waiting = new Set<() => void>();
  readonly #answers = new Map<string, Answer>();
  /** Up to where messages were given out by `until` and `answer`, by type. */
  readonly #seen = new Map<string, number>();
  #answered = 0;

  constructor(wire: RawPeer) {
    const { promise, resolve } = Promise.withResolvers<readonly string[]>();
    this.closed = promise;
    this.#wire = wire;
    this.answer('ping', ({ nonce }) => this.send('pong', { nonce }));
    wire.changed = () => {
      for (; this.#answered < wire.messages.length; this.#answered++) {
        const { type, payload } = wire.messages[this.#answered]!;
        this.#answers.get(type)?.(payload);
      }
      if (wire.closed) resolve(wire.types);
      for (const wake of this.#waiting) wake();
    };
  }

  /** Connects to `host:port`. */
  static async dial(address: string, protocol: TestProtocol = 'v1'): Promise<TestPeer> {
    const [host, port] = address.split(':');
    return new TestPeer(await RawPeer.dial(Number(port), transportOf(protocol, true), host));
  }

  /** Connects and introduces itself. */
  static async join(address: string, introduction?: Introduction, protocol?: TestProtocol): Promise<TestPeer> {
    const peer = await TestPeer.dial(address, protocol);
    return peer.handshake(introduction);
  }

  get types(): readonly string[] {
    return this.#wire.types;
  }

  get isClosed(): boolean {
    return this.#wire.closed;
  }

  /** Bytes that came. */
  get received(): number {
    return this.#wire.received;
  }

  /** Bytes that the other side has not received yet. */
  get unsent(): number {
    return this.#wire.waiting;
  }

  /** From now on only the answers to pings are kept of what comes. */
  forget(): void {
    this.#wire.keeps = ({ type }) => type === 'ping' || type === 'pong';
  }

  /** From now on nothing is read, so that the other side's queue fills. */
  stopReading(): void {
    this.#wire.stream.pause();
  }

  /** Waits until messages can be framed: with v2 when the keys are exchanged. */
  ready(): Promise<void> {
    return this.#when('writable', () => this.#wire.transport.writable);
  }

  async handshake(introduction: Introduction = {}): Promise<this> {
    await this.ready();
    this.introduce(introduction);
    await this.until('version');
    const { wtxid = true, compact = 'yes' } = introduction;
    if (wtxid) this.send('wtxidrelay', null);
    this.send('sendaddrv2', null);
    this.send('verack', null);
    await this.until('verack');
    if (compact !== 'no') this.send('sendcmpct', { announce: compact === 'announce', version: 2n });
    await this.settled();
    return this;
  }

  /** Sends `version`. */
  introduce(introduction: Introduction = {}): void {
    const { version = 70_016, services = FULL_NODE, relay = true, agent = '/test:1/', height = 0 } = introduction;
    const nonce = introduction.nonce ?? crypto.getRandomValues(new BigUint64Array(1))[0]!;
    const time = BigInt(Math.floor(Date.now() / 1000));
    const { receiver = NOWHERE } = introduction;
    const rest = { receiverServices: 0n, receiver, userAgent: agent, startHeight: height };
    this.send('version', { version, services, time, nonce, relay, ...rest });
  }

  send<K extends MessageType>(type: K, value: ValueOf<K>): void {
    this.sendPayload(type, encodeMessage(type, value));
  }

  sendPayload(type: string, payload: Uint8Array = new Uint8Array(0)): void {
    if (!this.isClosed) this.#wire.send(type, payload);
  }

  /** Past the transport: what was framed before, or was never meant to be. */
  sendRaw(bytes: Uint8Array): void {
    if (!this.isClosed) this.#wire.raw(bytes);
  }

  /** The framed bytes of a message, for `sendRaw`; with v2 they count as sent. */
  frame<K extends MessageType>(type: K, value: ValueOf<K>): Uint8Array {
    return this.#wire.transport.encode(type, encodeMessage(type, value));
  }

  /** Sets the function that is called with every later message of a type, after the waiting calls. Null removes it. */
  answer<K extends MessageType>(type: K, with_: ((value: DecodedOf<K>) => void) | null): void {
    if (with_ === null) this.#answers.delete(type);
    else this.#answers.set(type, (payload) => with_(decodeMessage(type, payload)!.value as DecodedOf<K>));
  }

  /** The next message of a type that fits; each is given out once. Throws after the deadline, or when it is over. */
  async until<K extends MessageType>(
    type: K,
    fits: (value: DecodedOf<K>) => boolean = () => true,
    timeoutMs = DEADLINE_MS,
  ): Promise<DecodedOf<K>> {
    let found: DecodedOf<K> | undefined;
    const look = () => {
      const { messages } = this.#wire;
      for (let at = this.#seen.get(type) ?? 0; at < messages.length; at++) {
        this.#seen.set(type, at + 1);
        if (messages[at]!.type !== type) continue;
        const value = decodeMessage(type, messages[at]!.payload)!.value as DecodedOf<K>;
        if (fits(value)) {
          found = value;
          return true;
        }
      }
      return false;
    };
    await this.#when(type, look, timeoutMs);
    return found!;
  }

  /** Milliseconds until a ping is answered: everything that was sent before has been handled then. */
  async settled(timeoutMs = DEADLINE_MS): Promise<number> {
    const nonce = crypto.getRandomValues(new BigUint64Array(1))[0]!;
    const from = performance.now();
    this.send('ping', { nonce });
    await this.until('pong', (pong) => pong.nonce === nonce, timeoutMs);
    return performance.now() - from;
  }

  /** Waits until the other side has received everything that was sent. */
  flushed(timeoutMs = DEADLINE_MS): Promise<void> {
    return this.#when('room to send', () => this.unsent === 0, timeoutMs);
  }

  /** Waits until the other side has disconnected. */
  async end(timeoutMs = DEADLINE_MS): Promise<readonly string[]> {
    const state = { over: false };
    void this.closed.then(() => (state.over = true));
    if (!this.isClosed) await this.#when('the end', () => state.over || this.isClosed, timeoutMs, true);
    return this.closed;
  }

  close(): void {
    this.#wire.close();
  }

  async #when(what: string, holds: () => boolean, timeoutMs = DEADLINE_MS, evenClosed = false): Promise<void> {
    const deadline = performance.now() + timeoutMs;
    while (!holds()) {
      const left = deadline - performance.now();
      if (left <= 0 || (this.isClosed && !evenClosed)) {
        const types = this.types.slice(-20).join(' ');
        throw new Error(`${this.isClosed ? 'closed' : `${timeoutMs} ms passed`} without ${what}; last: ${types}`);
      }
      const { promise, resolve } = Promise.withResolvers<void>();
      const timer = setTimeout(resolve, left);
      this.#waiting.add(resolve);
      await promise;
      this.#waiting.delete(resolve);
      clearTimeout(timer);
    }
  }
}

/** Listens on loopback, to be dialled by a node; `peers` receives every connection, before any handshake. */
export function listenAsPeer(protocol: TestProtocol = 'v1') {
  const peers: TestPeer[] = [];
  const waiting: ((peer: TestPeer) => void)[] = [];
  const server = Bun.listen<TcpStream>({
    hostname: '127.0.0.1',
    port: 0,
    socket: tcpHandlers((stream) => {
      const peer = new TestPeer(new RawPeer(stream, transportOf(protocol, false)));
      const next = waiting.shift();
      if (next) next(peer);
      else peers.push(peer);
    }),
  });
  return {
    address: `127.0.0.1:${server.port}`,
    /** Resolves with the next peer that connects. */
    next: (): Promise<TestPeer> => {
      const peer = peers.shift();
      return peer ? Promise.resolve(peer) : new Promise((resolve) => waiting.push(resolve));
    },
    /** Accepts no further connections. */
    close: () => server.stop(),
    stop: () => server.stop(true),
  };
}

function transportOf(protocol: TestProtocol, initiating: boolean): Transport {
  return protocol === 'v1' ? new V1Transport(MAGIC) : new V2Transport({ initiating, magic: MAGIC });
}
