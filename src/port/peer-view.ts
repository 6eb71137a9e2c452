/** One connected peer, as `GET /api/peers` shows it. Times are Unix seconds, 0 for never; heights -1 where they are not known. */
export interface PeerView {
  readonly id: number;
  /** As it was dialled, or address and port. */
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

/** What an operator may want to know of a peer beyond that. */
interface PeerDetails {
  /** The handshake is over. */
  readonly established: boolean;
  /** Our end of the connection, and the address under which the peer sees us. */
  readonly addressBind: string | null;
  readonly addressLocal: string | null;
  /** BIP-324, hex; empty with v1. */
  readonly sessionId: string;
  /** When it last brought a transaction, or a block, that was new. */
  readonly lastTransaction: number;
  readonly lastBlock: number;
  readonly bytesSentByType: Readonly<Record<string, number>>;
  readonly bytesRecvByType: Readonly<Record<string, number>>;
  /** How long an answer has been waited for. */
  readonly pingWaitMs: number | null;
  /** How far its headers were looked at whose work is not proven. */
  readonly presyncedHeaders: number;
  /** Heights of blocks it was asked for. */
  readonly inFlight: readonly number[];
  readonly lastInvSequence: number;
  readonly invToSend: number;
  /** We chose it to send us compact blocks unasked; and it us. */
  readonly compactBlocksTo: boolean;
  readonly compactBlocksFrom: boolean;
  readonly addrRelay: boolean;
  readonly addrProcessed: number;
  readonly addrRateLimited: number;
}
