import type { Chain } from '../../chain/chain.ts';
import type { MempoolService } from '../../mempool/service.ts';
import type { NetworkParams } from '../../params/network-params.ts';
import type { Clock } from '../../util/clock.ts';
import type { Log } from '../../util/log.ts';
import type { AddrManager } from '../address/addr-manager.ts';
import type { NetAddress, NetService, PeerAddress } from '../address/net-address.ts';
import type { PeerLink } from '../net/peer-link.ts';
import type { RandomBelow } from '../random-source.ts';
import type { Peer } from './peer.ts';

/** What the logic of the protocol asks of the connections. */
export interface Connections {
  readonly addresses: AddrManager;
  /** Avoids the address of a peer that misbehaved. */
  discourage(link: PeerLink): void;
  /** Addresses to answer `getaddr` with: the same for a day to all peers of a network. */
  answerAddresses(link: PeerLink): readonly PeerAddress[];
  /** The address a peer can reach us under, where there is one. */
  localAddressFor(link: PeerLink, seenAt: NetService | null): PeerAddress | null;
  /** A peer has reached us under this address. */
  sawLocal(service: NetService): void;
  /** Of our `version` on a link, by which we would know ourselves. */
  nonceOf(link: PeerLink): bigint;
  isOwnNonce(nonce: bigint): boolean;
  /** For an inbound peer that wants transactions: false where there are too many of those and none can go. */
  makeRoomForTransactionRelay(link: PeerLink): boolean;
  /** Whether enough was sent today; of historical blocks earlier. */
  uploadTargetReached(historical: boolean): boolean;
  /** One more outbound peer may be looked for, as the chain does not move. False where none are looked for. */
  allowExtraFullRelay(allowed: boolean): boolean;
  /** From time to time a further block-relay-only peer may be looked for. */
  allowExtraBlockRelay(allowed: boolean): void;
  /** Whether addresses of this network may be dialled. */
  isReachable(address: NetAddress): boolean;
  /** Whether an address is banned or discouraged. */
  isAvoided(address: NetAddress): boolean;
  /** Whether inbound connections are listened for. */
  readonly listening: boolean;
}

export interface PeerOptions {
  /** Bits of SERVICES that we offer. */
  readonly services: bigint;
}

/** What every part of the logic works with. */
export interface PeerContext {
  readonly params: NetworkParams;
  readonly chain: Chain;
  readonly mempool: MempoolService;
  readonly connections: Connections;
  readonly clock: Clock;
  readonly random: RandomBelow;
  readonly log: Log;
  readonly options: PeerOptions;
  /** Peers whose handshake is over. */
  readonly peers: ReadonlyMap<number, Peer>;
  /** A peer did what no honest one does: it is let go and avoided. */
  misbehaving(peer: Peer, what: string): void;
}

/**
 * Whether a peer that wants transactions may stay: an inbound one only where there is room for it, if need be after
 * another such peer was disconnected. To be asked when that is known of it; lets go of one that may not.
 */
export function claimRelayRoom({ connections }: Pick<PeerContext, 'connections'>, link: PeerLink): boolean {
  const isCounted = link.type === 'inbound' && link.standing.relaysTransactions;
  if (!isCounted || connections.makeRoomForTransactionRelay(link)) return true;
  link.disconnect('too many peers that want transactions');
  return false;
}

/** Chain work below which a chain of headers is not kept: what proves nothing costs an attacker nothing. */
export function antiDosWork({ chain, params }: Pick<PeerContext, 'chain' | 'params'>): bigint {
  const { tip } = chain;
  const lastWork = tip.parent ? tip.chainwork - tip.parent.chainwork : tip.chainwork;
  const near = tip.chainwork - lastWork * NEAR_BLOCKS;
  return near > params.consensus.minimumChainWork ? near : params.consensus.minimumChainWork;
}

/** Blocks behind our tip that a chain may be and still be of interest. */
const NEAR_BLOCKS = 144n;
