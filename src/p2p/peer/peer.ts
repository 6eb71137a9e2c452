import type { ChainEntry } from '../../chain/chain-entry.ts';
import type { BlockHash, Wtxid } from '../../primitives/hash.ts';
import type { RollingBloomFilter } from '../../util/rolling-bloom-filter.ts';
import type { NetService, PeerAddress } from '../address/net-address.ts';
import type { BloomFilter } from '../bloom-filter.ts';
import type { PartialBlock } from '../compact-block.ts';
import type { PeerLink } from '../connections/peer-link.ts';
import type { VersionMessage } from '../messages/version.ts';
import { servesBlocks, servesWitness } from '../p2p-protocol.ts';
import { SERVICES } from '../services.ts';
import type { HeadersPresync } from '../sync/headers-presync.ts';
import type { ReconciliationState } from './reconciliation-state.ts';

/** A block requested from a peer. */
export interface BlockRequest {
  readonly peer: Peer;
  readonly entry: ChainEntry;
  /** Monotonic milliseconds of the request. */
  readonly since: number;
  /** Partial reconstruction from a compact block, if any. */
  partial: PartialBlock | null;
  /** Whether the transactions of the peer did not complete the block, so that it was requested in full. */
  reconstructionFailed: boolean;
  /** Whether the block was received and is being validated. */
  arrived: boolean;
}

/** Result of the version handshake. */
export interface Negotiated {
  /** The peer's `version` message; null until received. */
  version: VersionMessage | null;
  /** The lower of both protocol versions. */
  protocol: number;
  /** Whether the peer's `verack` was received. */
  established: boolean;
  wtxidRelay: boolean;
  addrV2: boolean;
  /** BIP-130: the peer wants blocks announced by headers. */
  prefersHeaders: boolean;
  /** BIP-152: the peer supports compact blocks, and selected us for high-bandwidth mode. */
  compactBlocks: boolean;
  wantsCompactBlocks: boolean;
  /** BIP-330: null where it was not offered to the peer, or not agreed on. */
  reconciliation: ReconciliationState | null;
}

/**
 * Times are milliseconds of the monotonic clock; `sentAt` is 0 before the first ping and `nonce` is 0 if no pong is
 * awaited.
 */
export interface PingState {
  nonce: bigint;
  sentAt: number;
  last: number | null;
  /** Whether the operator requested a ping. */
  queued: boolean;
}

/** The peer's chain and the requests to the peer (Core's CNodeState). */
export interface PeerSyncState {
  /** The block with the most work that the peer is known to have (Core's pindexBestKnownBlock). */
  bestKnown: ChainEntry | null;
  /** The last announced block whose header we do not have (Core's hashLastUnknownBlock). */
  unknownBlock: BlockHash | null;
  /** The last known block that both chains have in common (Core's pindexLastCommonBlock). */
  lastCommon: ChainEntry | null;
  /** The best header sent to the peer (Core's pindexBestHeaderSent). */
  bestHeaderSent: ChainEntry | null;
  /** Whether header sync from this peer has started. */
  started: boolean;
  /** Monotonic milliseconds by which header sync must have finished; infinite for no limit. */
  headersDeadline: number;
  /** Monotonic milliseconds of the last `getheaders`; another one is sent only after a time limit. */
  headersAskedAt: number;
  invTriggeredHeaders: boolean;
  presync: HeadersPresync | null;
  /** Whether the peer is preferred for block downloads: outbound or with the noban permission, and serving blocks. */
  preferred: boolean;
  readonly inFlight: BlockRequest[];
  /** Monotonic milliseconds since when the first block in `inFlight` is being downloaded. */
  downloadingSince: number;
  /** Monotonic milliseconds since when this peer stalls the download window; 0 if it does not. */
  stallingSince: number;
  /** Unix seconds of the peer's last announcement of a block with more work than our tip. */
  lastAnnouncementAt: number;
  sentSendHeaders: boolean;
  /** State of Core's ChainSyncTimeoutState: outbound peers must keep up with our chain. */
  chain: { deadline: number; work: ChainEntry | null; sentGetHeaders: boolean; protected: boolean };
}

/** Block announcements to the peer. */
export interface BlockRelayState {
  /** Blocks to announce, lowest first. */
  readonly announce: ChainEntry[];
  /**
   * The last block of the `inv` that answered `getblocks`; when the peer requests it, our tip is announced so that it
   * continues.
   */
  continueAt: BlockHash | null;
}

export interface TxRelayState {
  /** Whether the peer wants transactions. */
  wanted: boolean;
  /** BIP-37 filter for announcements; null for all transactions. */
  filter: BloomFilter | null;
  /** Hashes that the peer knows, in the form (txid or wtxid) in which they are announced to it. */
  readonly known: RollingBloomFilter;
  /** Transactions to be announced, by wtxid in hex. */
  readonly queue: Map<string, Wtxid>;
  /** Monotonic milliseconds. */
  nextAnnouncementAt: number;
  /**
   * Mempool sequence of the last announcement. Transactions that entered later are not served, since they were not
   * announced yet.
   */
  nextSequence: number;
  /** Core's sequence number of the mempool at the last announcement; 1 before it. */
  mempoolSequence: number;
  lastAnnouncedAt: number;
  sendMempool: boolean;
  /** BIP-133: minimum feerate of announcements, satoshis per 1,000 virtual bytes. */
  feeFilter: number;
  sentFeeFilter: number;
  nextFeeFilterAt: number;
  /** Number of transactions announced, for `getpeerinfo`. */
  announced: number;
}

export interface AddrRelayState {
  readonly known: RollingBloomFilter;
  readonly queue: PeerAddress[];
  nextAt: number;
  nextOwnAt: number;
  askedUs: boolean;
  weAsked: boolean;
  /** Rate limit: number of addresses that may be accepted now, and the time of that value. */
  tokens: number;
  tokensAt: number;
  processed: number;
  rateLimited: number;
}

/** A connection with its protocol state. */
export class Peer {
  readonly link: PeerLink;
  readonly negotiated: Negotiated = {
    version: null,
    protocol: 0,
    established: false,
    wtxidRelay: false,
    addrV2: false,
    prefersHeaders: false,
    compactBlocks: false,
    wantsCompactBlocks: false,
    reconciliation: null,
  };
  readonly ping: PingState = { nonce: 0n, sentAt: 0, last: null, queued: false };
  readonly sync: PeerSyncState = {
    bestKnown: null,
    unknownBlock: null,
    lastCommon: null,
    bestHeaderSent: null,
    started: false,
    headersDeadline: Number.POSITIVE_INFINITY,
    headersAskedAt: Number.NEGATIVE_INFINITY,
    invTriggeredHeaders: false,
    presync: null,
    preferred: false,
    inFlight: [],
    downloadingSince: 0,
    stallingSince: 0,
    lastAnnouncementAt: 0,
    sentSendHeaders: false,
    chain: { deadline: 0, work: null, sentGetHeaders: false, protected: false },
  };
  readonly blocks: BlockRelayState = { announce: [], continueAt: null };
  /** Null if no transactions are relayed with this peer. */
  tx: TxRelayState | null = null;
  /** Null if no addresses are relayed with this peer, or not yet. */
  addr: AddrRelayState | null = null;
  /** Our address as the peer sees it. */
  seesUsAt: NetService | null = null;
  /** Difference of the peer's clock to ours, seconds; positive if it is ahead. */
  timeOffset = 0;
  /** Whether we selected the peer for high-bandwidth compact blocks (BIP-152). */
  sendsCompactBlocks = false;
  /** Monotonic milliseconds at which the connection was opened. */
  readonly openedAt: number;
  /** Whether the peer misbehaved and is being disconnected. */
  gone = false;

  constructor(link: PeerLink, openedAt: number) {
    this.link = link;
    this.openedAt = openedAt;
  }

  get id(): number {
    return this.link.id;
  }

  get inbound(): boolean {
    return this.link.type === 'inbound';
  }

  /**
   * Returns the service bits offered to this peer. NODE_BLOOM is also offered to peers with the bloomfilter
   * permission (BIP-111).
   */
  offered(services: bigint): bigint {
    return this.link.permissions.has('bloomfilter') ? services | SERVICES.bloom : services;
  }

  get services(): bigint {
    return this.negotiated.version?.services ?? 0n;
  }

  get servesBlocks(): boolean {
    return servesBlocks(this.services);
  }

  get servesWitness(): boolean {
    return servesWitness(this.services);
  }
}
