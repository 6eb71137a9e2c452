import { type NetAddress, UNSPECIFIED } from '../../../src/p2p/address/net-address.ts';
import type { ConnectionType, PeerLink, PeerLogic, Permission } from '../../../src/p2p/connections/peer-link.ts';
import { decodeMessage, type Message, type MessageType, type ValueOf } from '../../../src/p2p/messages/messages.ts';
import type { Peer } from '../../../src/p2p/peer/peer.ts';
import type { NetMessage } from '../../../src/p2p/transport/transport.ts';
import { type LinkedNode, MemoryLink, OUR_SERVICES, until } from './linked-net.ts';

const SOMEWHERE: NetAddress = { network: 'ipv4', bytes: Uint8Array.of(30, 1, 1, 1) };

export interface Introduction {
  /** Connection type as the node sees it. */
  readonly type?: ConnectionType;
  readonly permissions?: readonly Permission[];
  /** Address of the scripted peer. */
  readonly from?: NetAddress;
  readonly relay?: boolean;
  readonly services?: bigint;
  /** Whether it negotiates relay by wtxid (BIP-339); by default it does. */
  readonly wtxidRelay?: boolean;
  /** Its protocol version. */
  readonly version?: number;
  /** Name of a feature (BIP-434) that it announces before `verack`. */
  readonly feature?: string;
  /** Its offers of reconciliation (BIP-330) before `verack`. */
  readonly reconciliation?: readonly { readonly version: number; readonly salt: bigint }[];
}

/** A peer that only sends what the test demands and records what it receives. */
export class ScriptedEnd implements PeerLogic {
  readonly received: Message[] = [];
  /** Its own end of the connection, and the node's. */
  readonly out: MemoryLink;
  readonly in: MemoryLink;
  readonly #node: LinkedNode;

  private constructor(node: LinkedNode, type: ConnectionType, permissions: readonly Permission[], from: NetAddress) {
    this.#node = node;
    this.out = new MemoryLink(this, type === 'inbound' ? 'outbound-full-relay' : 'inbound', node.service);
    this.in = new MemoryLink(node.peers, type, { address: from, port: 8333 }, permissions);
    this.out.other = this.in;
    this.in.other = this.out;
  }

  /** Connects, and waits until the node has made its first, empty transaction announcement or has disconnected. */
  static async join(node: LinkedNode, introduction: Introduction = {}): Promise<ScriptedEnd> {
    const {
      type = 'inbound',
      permissions = [],
      from = SOMEWHERE,
      relay = true,
      feature,
      reconciliation = [],
    } = introduction;
    const { services = OUR_SERVICES, wtxidRelay = true, version = 70_016 } = introduction;
    const end = new ScriptedEnd(node, type, permissions, from);
    end.in.open();
    end.send('version', {
      version,
      services,
      time: BigInt(Math.floor(node.node.clock.nowMs() / 1000)),
      receiverServices: 0n,
      receiver: { address: UNSPECIFIED, port: 0 },
      nonce: 7n,
      userAgent: '/scripted/',
      startHeight: 0,
      relay,
    });
    if (wtxidRelay) end.send('wtxidrelay', null);
    if (feature !== undefined) end.send('feature', { id: feature, data: new Uint8Array(0) });
    for (const offer of reconciliation) end.send('sendtxrcncl', offer);
    end.send('verack', null);
    await until('the handshake', [node], () => end.in.closed || end.peer?.negotiated.established === true);
    if (relay && type !== 'private-broadcast' && !end.in.closed)
      await until('the first announcement', [node], () => (end.peer?.tx?.nextAnnouncementAt ?? 0) > 0);
    return end;
  }

  /** The node's state of this peer; undefined after disconnection. */
  get peer(): Peer | undefined {
    return this.#node.peer(this.in);
  }

  send<K extends MessageType>(type: K, value: ValueOf<K>): void {
    this.out.send(type, value);
  }

  sendPayload(type: string, payload: Uint8Array): void {
    this.out.sendPayload(type, payload);
  }

  /** Waits until the node has processed everything sent to it. */
  async heard(nonce: bigint): Promise<void> {
    this.send('ping', { nonce });
    const isAnswer = (message: Message) => message.type === 'pong' && message.value.nonce === nonce;
    await until('an answer', [], () => this.in.closed || this.received.some(isAnswer));
  }

  of<K extends MessageType>(type: K): ValueOf<K>[] {
    return this.received.filter((message) => message.type === type).map(({ value }) => value as ValueOf<K>);
  }

  opened(): void {}

  closed(): void {}

  message(_link: PeerLink, { type, payload }: NetMessage): void {
    const message = decodeMessage(type, payload);
    if (message !== null) this.received.push(message);
  }
}
