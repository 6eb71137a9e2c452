/** One connected peer, as `GET /api/peers` shows it. Times are Unix seconds, 0 for never; unknown heights are -1. */
export interface PeerView {
  readonly id: number;
  /** The address as it was dialled, or IP address and port. */
  readonly address: string;
  readonly network: string;
  readonly inbound: boolean;
  readonly connectionType: string;
  readonly transport: 'detecting' | 'v1' | 'v2';
  /** 16 hex digits. */
  readonly services: string;
  readonly servicesNames: readonly string[];
  readonly version: number;
  readonly userAgent: string;
  readonly connectedAt: number;
  readonly lastSend: number;
  readonly lastRecv: number;
  readonly bytesSent: number;
  readonly bytesRecv: number;
  readonly pingMs: number | null;
  readonly minPingMs: number | null;
  readonly timeOffset: number;
  readonly startingHeight: number;
  readonly syncedHeaders: number;
  readonly syncedBlocks: number;
  readonly relayTxs: boolean;
  /** sat/vB. */
  readonly minFeeFilter: number;
  readonly permissions: readonly string[];
  readonly details: PeerDetails;
}

/** Further details of a peer for operators. */
interface PeerDetails {
  /** Whether the handshake is complete. */
  readonly established: boolean;
  /** Our end of the connection, and the address at which the peer sees us. */
  readonly addressBind: string | null;
  readonly addressLocal: string | null;
  /** The session id of BIP-324, hex; empty with v1. */
  readonly sessionId: string;
  /** Time of the last new transaction, or block, that the peer sent. */
  readonly lastTransaction: number;
  readonly lastBlock: number;
  readonly bytesSentByType: Readonly<Record<string, number>>;
  readonly bytesRecvByType: Readonly<Record<string, number>>;
  /** Milliseconds since the unanswered ping was sent; null where none is pending. */
  readonly pingWaitMs: number | null;
  /** Height of the peer's headers in presync, whose work is not proven. */
  readonly presyncedHeaders: number;
  /** Heights of blocks that are requested from the peer. */
  readonly inFlight: readonly number[];
  readonly lastInvSequence: number;
  readonly invToSend: number;
  /** Whether we selected the peer for high-bandwidth compact blocks, and whether it selected us (BIP-152). */
  readonly compactBlocksTo: boolean;
  readonly compactBlocksFrom: boolean;
  readonly addrRelay: boolean;
  readonly addrProcessed: number;
  readonly addrRateLimited: number;
  /** Number of the autonomous system of its address; 0 where it is unknown. */
  readonly mappedAs: number;
}
