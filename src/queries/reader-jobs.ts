import type { ErrorDetails } from '../http/errors.ts';
import type { MirrorPart } from '../mempool/mirror.ts';
import type { WalletState } from '../wallet/wallet-state.ts';
import type { ReadFailure, ReadReply } from './answer.ts';
import type { UtxoLoad } from './utxo-load.ts';

/**
 * A step of a scan in a reader worker. Steps are short, so that other long jobs run between them, and no snapshot is
 * held for the whole scan.
 */
export type ScanStep =
  /** Derives the scripts; `objects` is JSON text. */
  | { readonly step: 'scripts'; readonly objects: string }
  /** Matches block filters from a height on, up to the block at which to stop. */
  | {
      readonly step: 'filters';
      readonly scripts: SharedArrayBuffer;
      readonly from: number;
      readonly stop: Uint8Array;
      /** Whether matching blocks are scanned as well, which removes false positives. */
      readonly exact: boolean;
    }
  /** Sorts blocks of the active chain by height and removes duplicates; hashes are concatenated. */
  | { readonly step: 'order'; readonly blocks: Uint8Array }
  /** Scans blocks; hashes are concatenated. */
  | { readonly step: 'blocks'; readonly scripts: SharedArrayBuffer; readonly blocks: Uint8Array }
  /** Scans the part of the mempool that is sent with the job. */
  | { readonly step: 'mempool'; readonly scripts: SharedArrayBuffer };

/** A UTXO set that is to be written. */
export interface UtxoDump {
  /** Absolute path. */
  readonly path: string;
  /** Block of the active chain, by height or hash; null for the tip. */
  readonly target: number | Uint8Array | null;
}

/** A job of a reader worker, as plain data. */
export type ReaderJob =
  | {
      readonly kind: 'rest';
      readonly name: string;
      readonly input: unknown;
      readonly mempool?: MirrorPart | undefined;
    }
  /** `params` is JSON text, so that amounts and ids keep their digits. */
  | {
      readonly kind: 'rpc';
      readonly method: string;
      readonly params: string;
      /** Requests the outputs spent by its arguments as packed txids, or the scripts in its arguments, packed. */
      readonly asks?: 'spends' | 'scripts';
      /** The wallet of the call. */
      readonly wallet?: WalletState | undefined;
      readonly mempool?: MirrorPart | undefined;
    }
  /** A step of a scan. */
  | { readonly kind: 'scan'; readonly step: ScanStep; readonly mempool?: MirrorPart | undefined }
  /** Builds a run of the coins of a file. */
  | { readonly kind: 'load'; readonly load: UtxoLoad; readonly mempool?: MirrorPart | undefined }
  /** Writes a UTXO set to a file. It holds no snapshot. */
  | { readonly kind: 'dump'; readonly dump: UtxoDump; readonly mempool?: MirrorPart | undefined };

export type ReaderResult =
  | JobResult
  /** The chain has moved on from the block of the mempool part. */
  | { readonly ok: false; readonly behind: true }
  /** The mempool part lacks the spenders of outputs of these transactions. */
  | { readonly ok: false; readonly spendersOf: readonly Uint8Array[] }
  /** The mempool part lacks transactions of some of these packed scripts. */
  | { readonly ok: false; readonly touching: Uint8Array };

export type JobResult =
  | { readonly ok: true; readonly reply: ReadReply }
  | { readonly ok: false; readonly api: ReadFailure }
  | { readonly ok: false; readonly rpc: RpcFailure };

/** The members of an RpcError. */
interface RpcFailure {
  readonly rpcCode: number;
  readonly message: string;
  readonly data: { readonly code: string; readonly details: ErrorDetails | null } | null;
}
