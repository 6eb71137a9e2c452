import type { LogFields } from '../../util/log-levels.ts';
import type { NetService } from '../address/net-address.ts';
import type { NetworkClass } from '../address/net-group.ts';
import { isMessageType, type MessageType, type ValueOf } from '../messages/messages.ts';
import type { NetMessage, Protocol } from '../transport/transport.ts';

/** Type under which bytes of unknown message types are counted, so that the list stays bounded. Spelled as in Core. */
export const OTHER_MESSAGES = '*other*';

export function newTraffic(): Traffic {
  return {
    sent: 0,
    received: 0,
    sentByType: new Map(),
    receivedByType: new Map(),
    lastSentAt: 0,
    lastReceivedAt: 0,
  };
}

export function countBytes(counter: Map<string, number>, type: string, bytes: number): void {
  const name = isMessageType(type) ? type : OTHER_MESSAGES;
  counter.set(name, (counter.get(name) ?? 0) + bytes);
}

/** Connection type, named as in Core's getpeerinfo. */
export type ConnectionType =
  | 'inbound'
  | 'manual'
  | 'outbound-full-relay'
  | 'block-relay-only'
  | 'feeler'
  | 'addr-fetch'
  | 'private-broadcast';

/** Permissions of peers, named as in Core. */
const PERMISSIONS = [
  'bloomfilter',
  'noban',
  'forcerelay',
  'relay',
  'mempool',
  'download',
  'addr',
  'in',
  'out',
] as const;
export type Permission = (typeof PERMISSIONS)[number];

/** Bytes on the wire including framing. Times are Unix seconds, 0 for never. */
export interface Traffic {
  sent: number;
  received: number;
  readonly sentByType: Map<string, number>;
  readonly receivedByType: Map<string, number>;
  lastSentAt: number;
  lastReceivedAt: number;
}

/** The behaviour of the peer so far, written by the protocol logic and read by the eviction. */
export interface PeerStanding {
  /** Whether the handshake is complete. */
  established: boolean;
  /** Minimum ping time, milliseconds; infinite before the first pong. */
  minPing: number;
  /** Unix seconds of the last new valid block, and of the last accepted transaction. */
  lastBlockAt: number;
  lastTransactionAt: number;
  /** Whether the peer wants transactions announced. */
  relaysTransactions: boolean;
  hasBloomFilter: boolean;
  /** Whether the peer serves blocks with witnesses, at least the last 288. */
  hasRelevantServices: boolean;
}

/** Returns the standing of a new peer. */
export function newStanding(): PeerStanding {
  return {
    established: false,
    minPing: Number.POSITIVE_INFINITY,
    lastBlockAt: 0,
    lastTransactionAt: 0,
    relaysTransactions: false,
    hasBloomFilter: false,
    hasRelevantServices: false,
  };
}

/** A connection as the protocol logic uses it. */
export interface PeerLink {
  /** Number of the connection, counting up from 0 and never reused. */
  readonly id: number;
  readonly type: ConnectionType;
  /** Address and port of the peer. */
  readonly service: NetService;
  /** The name the operator used, or address and port as text. */
  readonly name: string;
  readonly localService: NetService | null;
  readonly network: NetworkClass;
  readonly permissions: ReadonlySet<Permission>;
  /** Unix seconds. */
  readonly openedAt: number;
  readonly protocol: Protocol;
  /** BIP-324 session id in hex; empty with v1. */
  readonly sessionId: string;
  readonly traffic: Traffic;
  readonly standing: PeerStanding;
  readonly closed: boolean;
  /** Whether the send queue exceeds its limit, so that further answers should wait. */
  readonly sendQueueFull: boolean;
  /** Resolves when the send queue is below its limit or the link is closed. */
  whenWritable(): Promise<void>;
  /** Sends a message after all earlier ones. Does nothing on a closed link. */
  send<K extends MessageType>(type: K, value: ValueOf<K>): void;
  /** Sends an encoded payload. */
  sendPayload(type: string, payload: Uint8Array): void;
  /**
   * Closes the link and discards unsent messages. The reason is used in logs and metrics, so it is short and constant;
   * what belongs to this case is in `facts`, which are logged.
   */
  disconnect(reason: string, facts?: LogFields): void;
}

/** The protocol logic, called by the connection layer. Must not throw. */
export interface PeerLogic {
  /** The connection is open and messages can be sent. */
  opened(link: PeerLink): void;
  /**
   * Processes a message of a peer. The peer's next message is delivered when the returned promise settles; messages of
   * other peers are delivered meanwhile.
   */
  message(link: PeerLink, message: NetMessage): void | Promise<void>;
  /** The last call for a link, only for links that were opened. */
  closed(link: PeerLink, reason: string): void;
}
