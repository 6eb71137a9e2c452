import type { NetService } from '../address/net-address.ts';
import type { NetworkClass } from '../address/net-group.ts';
import type { MessageType, ValueOf } from '../messages/messages.ts';
import type { NetMessage, Protocol } from '../transport/transport.ts';

/** Why a connection is there, in the words of Core's getpeerinfo. */
export type ConnectionType =
  | 'inbound'
  | 'manual'
  | 'outbound-full-relay'
  | 'block-relay-only'
  | 'feeler'
  | 'addr-fetch';

/** What an operator allows peers of some addresses, in Core's words. */
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

/** Bytes on the wire, framing included. Times are unix seconds, 0 for never. */
export interface Traffic {
  sent: number;
  received: number;
  readonly sentByType: Map<string, number>;
  readonly receivedByType: Map<string, number>;
  lastSentAt: number;
  lastReceivedAt: number;
}

/** What the peer has shown of itself: written by the logic, read where it is decided who has to go. */
export interface Standing {
  /** The handshake is over. */
  established: boolean;
  /** Milliseconds; infinite until the first answer. */
  minPing: number;
  /** Unix seconds at which it last brought a block, or a transaction, that was new and good. */
  lastBlockAt: number;
  lastTransactionAt: number;
  /** It wants transactions announced. */
  relaysTransactions: boolean;
  hasBloomFilter: boolean;
  /** It serves what a node needs: witness blocks, all or the last ones. */
  hasRelevantServices: boolean;
}

/** Of a peer that has shown nothing yet. */
export function newStanding(): Standing {
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

/** A connection, as the logic of the protocol sees it. */
export interface PeerLink {
  /** Counts up from 0 and is never used again. */
  readonly id: number;
  readonly type: ConnectionType;
  /** The other end. */
  readonly service: NetService;
  /** How the operator named it, or the printed address and port. */
  readonly name: string;
  readonly localService: NetService | null;
  readonly network: NetworkClass;
  readonly permissions: ReadonlySet<Permission>;
  /** Unix seconds. */
  readonly openedAt: number;
  readonly protocol: Protocol;
  /** BIP-324's session id in hex; empty with v1. */
  readonly sessionId: string;
  readonly traffic: Traffic;
  readonly standing: Standing;
  readonly closed: boolean;
  /** More waits to be sent than should: answers that can wait, wait. */
  readonly sendQueueFull: boolean;
  /** Resolves once there is room in the queue again, at once where there is, and when the link is closed. */
  whenWritable(): Promise<void>;
  /** Sends a message after all that were sent before. Does nothing on a link that is closed. */
  send<K extends MessageType>(type: K, value: ValueOf<K>): void;
  /** Sends a payload that is encoded already. */
  sendPayload(type: string, payload: Uint8Array): void;
  /** Closes the link; what was not sent is lost. The reason is for the log and the metrics, short and stable. */
  disconnect(reason: string): void;
}

/** The logic of the protocol, told by the connections. Never throws. */
export interface PeerLogic {
  /** The connection is there and messages can be sent. */
  opened(link: PeerLink): void;
  /**
   * The next message of a peer. Its following messages wait until what is returned settles, and those of other peers
   * have their turn between.
   */
  message(link: PeerLink, message: NetMessage): void | Promise<void>;
  /** The last call for a link. Only for those that were opened. */
  closed(link: PeerLink, reason: string): void;
}
