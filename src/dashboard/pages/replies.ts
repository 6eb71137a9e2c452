/** The members of replies that the pages show. The whole of them stands in the OpenAPI document. */

interface TipReply {
  readonly height: number;
  readonly hash: string;
}

export interface NodeInfo {
  readonly version: string;
  readonly network: string;
  readonly height: number;
  readonly headers: number;
  readonly bestBlockHash: string;
  readonly difficulty: number;
  readonly time: number;
  readonly verificationProgress: number;
  readonly initialBlockDownload: boolean;
  readonly synced: boolean;
  readonly peers: number;
  readonly peersInbound: number;
  readonly peersOutbound: number;
  readonly mempoolCount: number;
  readonly pruned: boolean;
  readonly uptime: number;
  readonly warnings: readonly string[];
}

export interface Readyz {
  readonly status: string;
  readonly checks: Readonly<Record<string, { readonly status: string; readonly message?: string }>>;
}

export interface BlockReply {
  readonly hash: string;
  readonly height: number;
  readonly confirmations: number;
  readonly inActiveChain: boolean;
  readonly previousHash: string | null;
  readonly nextHash: string | null;
  readonly versionHex: string;
  readonly merkleRoot: string;
  readonly time: number;
  readonly medianTime: number;
  readonly nonce: number;
  readonly bits: string;
  readonly difficulty: number;
  readonly txCount: number | null;
  readonly size: number | null;
  readonly weight: number | null;
  readonly fees: number | null;
  readonly subsidy: number;
  readonly reward: number | null;
}

export interface Page<T> {
  readonly tip: TipReply;
  readonly items: readonly T[];
  readonly nextCursor: string | null;
}

interface Status {
  readonly confirmed: boolean;
  readonly blockHash: string | null;
  readonly blockHeight: number | null;
  readonly blockIndex: number | null;
  readonly blockTime: number | null;
  readonly confirmations: number;
}

interface Script {
  readonly hex: string;
  readonly type: string;
  readonly address: string | null;
}

export interface InputReply {
  readonly txid: string | null;
  readonly vout: number | null;
  readonly coinbase: string | null;
  readonly prevout: { readonly value: number; readonly script: Script } | null;
}

export interface OutputReply {
  readonly n: number;
  readonly value: number;
  readonly spent: boolean | null;
  readonly script: Script;
}

export interface Tx {
  readonly txid: string;
  readonly wtxid: string;
  readonly version: number;
  readonly locktime: number;
  readonly size: number;
  readonly vsize: number;
  readonly weight: number;
  readonly isCoinbase: boolean;
  readonly signalsRbf: boolean;
  readonly fee: number | null;
  readonly feeRate: number | null;
  readonly valueOut: number;
  readonly vin: readonly InputReply[];
  readonly vout: readonly OutputReply[];
  readonly status: Status;
}

export interface AddressInfo {
  readonly address: string;
  readonly type: string;
  readonly confirmed: number;
  readonly unconfirmed: number;
  readonly total: number;
  readonly immature: number;
  readonly received: number;
  readonly sent: number;
  readonly txCount: number;
  readonly mempoolTxCount: number;
  readonly utxoCount: number;
}

export interface AddressTx {
  readonly txid: string;
  readonly status: Status;
  readonly time: number;
  readonly received: number;
  readonly sent: number;
  readonly net: number;
}

export interface MempoolInfo {
  readonly count: number;
  readonly vsize: number;
  readonly usage: number;
  readonly maxUsage: number;
  readonly totalFee: number;
  readonly loaded: boolean;
  readonly minFeeRate: number;
}

export interface ComingBlock {
  readonly txCount: number;
  readonly vsize: number;
  readonly weight: number;
  readonly totalFee: number;
  readonly medianFeeRate: number;
  readonly feeRange: readonly number[];
}

export interface RecentTx {
  readonly txid: string;
  readonly fee: number;
  readonly vsize: number;
  readonly feeRate: number;
  readonly valueOut: number;
  readonly time: number;
}

export interface Fees {
  readonly fastest: number;
  readonly halfHour: number;
  readonly hour: number;
  readonly economy: number;
  readonly minimum: number;
  readonly estimator: string;
}

export interface PeerReply {
  readonly id: number;
  readonly address: string;
  readonly network: string;
  readonly inbound: boolean;
  readonly connectionType: string;
  readonly transport: string;
  readonly userAgent: string;
  readonly connectedAt: number;
  readonly bytesSent: number;
  readonly bytesRecv: number;
  readonly pingMs: number | null;
  readonly startingHeight: number;
  readonly syncedBlocks: number;
}

export interface ChartReply {
  readonly series: string;
  readonly unit: string;
  readonly points: readonly (readonly [number, number])[];
}

export interface KeyInfo {
  readonly id: string;
  readonly label: string;
  readonly scopes: readonly string[];
  readonly createdAt: number;
  readonly expiresAt: number | null;
  readonly lastUsedAt: number | null;
  readonly revokedAt: number | null;
}

export interface AuditReply {
  readonly id: number;
  readonly time: number;
  readonly who: string;
  readonly ip: string;
  readonly method: string;
  readonly wallet: string | null;
  readonly outcome: string;
}
