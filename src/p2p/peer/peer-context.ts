import type { Chain } from '../../chain/chain.ts';
import type { MempoolService } from '../../mempool/service.ts';
import type { NetworkParams } from '../../params/network-params.ts';
import type { Clock } from '../../util/clock.ts';
import type { Log } from '../../util/log.ts';
import type { RandomBelow } from '../../util/random.ts';
import type { AddrManager } from '../address/addr-manager.ts';
import type { NetAddress, NetService, PeerAddress } from '../address/net-address.ts';
import type { PeerLink } from '../connections/peer-link.ts';
import { hasServices, SERVICES } from '../services.ts';
import type { Peer } from './peer.ts';

/** The operations of the connection layer that the protocol logic uses. */
export interface Connections {
  readonly addresses: AddrManager;
  /** Discourages the address of a misbehaving peer. */
  discourage(link: PeerLink): void;
  /**
   * Returns the addresses to answer `getaddr` with: the same ones for about a day for all peers of one network, so that
   * they cannot be polled.
   */
  addrResponse(link: PeerLink): readonly PeerAddress[];
  /** Returns our address as announced to a peer, or null if none is known. */
  localAddressFor(link: PeerLink, seenAt: NetService | null): PeerAddress | null;
  /** Records that an inbound peer reached us at this address. */
  sawLocal(service: NetService): void;
  /** Returns the nonce of our `version` message on a link, by which a connection to ourselves is detected. */
  nonceOf(link: PeerLink): bigint;
  isOwnNonce(nonce: bigint): boolean;
  /**
   * For an inbound peer that wants transactions: returns false if the slots of such peers are full and none can be
   * evicted.
   */
  makeRoomForTransactionRelay(link: PeerLink): boolean;
  /** Returns whether the daily upload target is reached. Historical blocks stop earlier. */
  uploadTargetReached(historical: boolean): boolean;
  /**
   * Allows or forbids one extra full-relay connection while the tip is stale. Returns false if no outbound connections
   * are made.
   */
  allowExtraFullRelay(allowed: boolean): boolean;
  /** Allows or forbids periodic extra block-relay-only connections. */
  allowExtraBlockRelay(allowed: boolean): void;
  /** Returns whether addresses of this network may be connected to. */
  isReachable(address: NetAddress): boolean;
  /** Changes the number of connections to open for private broadcasts. */
  openPrivate(count: number): void;
  /** Returns whether an address is banned or discouraged. */
  isBannedOrDiscouraged(address: NetAddress): boolean;
  /** Whether inbound connections are accepted. */
  readonly listening: boolean;
}

interface PeerOptions {
  /** Service bits that we offer. */
  readonly services: bigint;
  /** Name in `version` (BIP-14). */
  readonly userAgent: string;
  /** Whether only peers with the relay permission may send transactions. Core's -blocksonly. */
  readonly blocksOnly: boolean;
  /** Age of a connection from which on its silence counts, milliseconds. Core's -peertimeout. */
  readonly peerTimeoutMs: number;
  /** Whether the reconciliation of transactions is negotiated (BIP-330). Core's -txreconciliation. */
  readonly reconciliation: boolean;
  /** Transactions per second that are announced to inbound peers. Core's -txsendrate. */
  readonly sendRate: number;
}

/** The dependencies shared by all parts of the protocol logic. */
export interface PeerContext {
  readonly params: NetworkParams;
  readonly chain: Chain;
  readonly mempool: MempoolService;
  readonly connections: Connections;
  readonly clock: Clock;
  readonly random: RandomBelow;
  readonly log: Log;
  readonly options: PeerOptions;
  /** Peers that completed the handshake. */
  readonly peers: ReadonlyMap<number, Peer>;
  /** Reports a protocol violation: the peer is disconnected and its address discouraged. */
  misbehaving(peer: Peer, what: string): void;
}

/**
 * Returns whether a peer that wants transactions may stay. An inbound one needs a free slot, for which another such
 * peer may be evicted; without one it is disconnected. Called when the peer's transaction relay becomes known.
 */
export function claimTxRelaySlot(
  { connections }: Pick<PeerContext, 'connections'>,
  link: PeerLink,
  reason = 'too many transaction relay peers',
): boolean {
  const isCounted = link.type === 'inbound' && link.standing.relaysTransactions;
  if (!isCounted || connections.makeRoomForTransactionRelay(link)) return true;
  link.disconnect(reason);
  return false;
}

/**
 * Returns whether a peer may send transactions (Core's RejectIncomingTxs): not on block-relay-only connections, feelers and
 * those of private broadcasts, and in blocks-only mode with the relay permission alone.
 */
export function maySendTransactions({ options }: Pick<PeerContext, 'options'>, link: PeerLink): boolean {
  if (link.type === 'block-relay-only' || link.type === 'feeler' || link.type === 'private-broadcast') return false;
  return !options.blocksOnly || link.permissions.has('relay');
}

/** Returns whether bloom filters are served to a peer (BIP-111). */
export function offersBloom({ options }: Pick<PeerContext, 'options'>, peer: Peer): boolean {
  return hasServices(peer.offered(options.services), SERVICES.bloom);
}

/** Blocks behind our tip within which a competing chain is accepted. */
const NEAR_BLOCKS = 144n;

/**
 * Core's GetAntiDoSWorkThreshold: chains of headers with less work are not stored, since they cost an attacker too
 * little.
 */
export function antiDosWork({ chain, params }: Pick<PeerContext, 'chain' | 'params'>): bigint {
  const { tip } = chain;
  const lastWork = tip.parent ? tip.chainwork - tip.parent.chainwork : tip.chainwork;
  const near = tip.chainwork - lastWork * NEAR_BLOCKS;
  return near > params.consensus.minimumChainWork ? near : params.consensus.minimumChainWork;
}
