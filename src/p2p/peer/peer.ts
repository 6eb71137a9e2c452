import type { ChainEntry } from '../../chain/chain-entry.ts';
import type { BlockHash, Wtxid } from '../../primitives/hash.ts';
import type { RollingBloomFilter } from '../../util/rolling-bloom-filter.ts';
import type { NetService, PeerAddress } from '../address/net-address.ts';
import type { BloomFilter } from '../bloom-filter.ts';
import type { VersionMessage } from '../messages/version.ts';
import type { PeerLink } from '../net/peer-link.ts';
import { servesBlocks, servesWitness } from '../protocol.ts';
import { SERVICES } from '../services.ts';
import type { BlockRequest } from '../sync/block-requests.ts';
import type { HeadersPresync } from '../sync/headers-presync.ts';

/** What both sides said in the handshake. */
export interface Negotiated {
  /** What the peer said of itself; null before. */
  version: VersionMessage | null;
  /** The lower of both protocol versions. */
  protocol: number;
  /** Whether its `verack` has come. */
  established: boolean;
  wtxidRelay: boolean;
  addrV2: boolean;
  /** BIP-130: blocks shall be announced by headers. */
  prefersHeaders: boolean;
  /** BIP-152: it understands compact blocks, and wants them unasked. */
  compactBlocks: boolean;
  wantsCompactBlocks: boolean;
}

/** Milliseconds of the monotonic clock; 0 where there is none. */
export interface PingState {
  nonce: bigint;
  sentAt: number;
  last: number | null;
  /** The operator asked for one. */
  queued: boolean;
}

/** What is known of the peer's chain, and what it is asked for. */
export interface SyncState {
  /** Of its headers, the one with the most work that we know. */
  bestKnown: ChainEntry | null;
  /** The last one it announced that we do not know yet. */
  unknownBlock: BlockHash | null;
  /** The last block both chains share, as far as was looked. */
  lastCommon: ChainEntry | null;
  /** The last header we have sent. */
  bestHeaderSent: ChainEntry | null;
  /** Whether its headers are being fetched from where we are. */
  started: boolean;
  /** Monotonic milliseconds by which headers must have come; infinite for no limit. */
  headersDeadline: number;
  /** When headers were last asked for; answers are waited for a while before it is asked again. */
  headersAskedAt: number;
  invTriggeredHeaders: boolean;
  presync: HeadersPresync | null;
  /** May be asked for blocks before others: outbound, or trusted, and with blocks to give. */
  preferred: boolean;
  readonly inFlight: BlockRequest[];
  /** Since when the first of `inFlight` is waited for. */
  downloadingSince: number;
  /** Since when the window does not move because of this peer; 0 where it does. */
  stallingSince: number;
  /** Unix seconds at which it last announced a block ahead of our tip. */
  lastAnnouncementAt: number;
  sentSendHeaders: boolean;
  /** Outbound peers must keep up with our chain. */
  chain: { deadline: number; work: ChainEntry | null; sentGetHeaders: boolean; protected: boolean };
}

/** What is to be sent of blocks. */
export interface BlockRelayState {
  /** Blocks to be announced, the lowest first. */
  readonly announce: ChainEntry[];
  /** The end of the last `inv` that answered `getblocks`: when it is fetched, there is more. */
  continueAt: BlockHash | null;
}

export interface TxRelayState {
  /** The peer wants transactions. */
  wanted: boolean;
  /** BIP-37: and only those that match. */
  filter: BloomFilter | null;
  /** What it knows already: hashes by which it is announced to it. */
  readonly known: RollingBloomFilter;
  /** By wtxid in hex, what waits to be announced. */
  readonly queue: Map<string, Wtxid>;
  /** Monotonic milliseconds. */
  nextAnnouncementAt: number;
  /** What entered the mempool later than the last announcement is not shown yet. */
  nextSequence: number;
  lastAnnouncedAt: number;
  sendMempool: boolean;
  /** Satoshis per 1,000 virtual bytes: what pays less is not wanted. */
  feeFilter: number;
  sentFeeFilter: number;
  nextFeeFilterAt: number;
  /** Transactions announced and sent, for the operator. */
  announced: number;
}

export interface AddrRelayState {
  readonly known: RollingBloomFilter;
  readonly queue: PeerAddress[];
  nextAt: number;
  nextOwnAt: number;
  askedUs: boolean;
  weAsked: boolean;
  /** How many addresses may be taken from it now, and when that was worked out. */
  tokens: number;
  tokensAt: number;
  processed: number;
  rateLimited: number;
}

/** One connection and all that the protocol knows of it. */
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
  };
  readonly ping: PingState = { nonce: 0n, sentAt: 0, last: null, queued: false };
  readonly sync: SyncState = {
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
  /** Null with peers that relay no transactions. */
  tx: TxRelayState | null = null;
  /** Null with peers that relay no addresses, or have not begun to. */
  addr: AddrRelayState | null = null;
  /** The address under which it sees us. */
  seesUsAt: NetService | null = null;
  /** Seconds its clock is ahead of ours. */
  timeOffset = 0;
  /** We asked it to send compact blocks unasked. */
  sendsCompactBlocks = false;
  /** Monotonic milliseconds at which the connection was there. */
  readonly openedAt: number;
  /** Misbehaved, and is about to be gone. */
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

  /** Bits of what we offer this peer: filters only where the operator allows them (BIP-111). */
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
