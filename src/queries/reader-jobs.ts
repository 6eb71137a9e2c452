import type { ErrorDetails } from '../http/errors.ts';
import type { MirrorPart } from '../mempool/mirror.ts';
import type { WalletState } from '../wallet/wallet-state.ts';
import type { ReadFailure, ReadReply } from './answer.ts';

/**
 * A part of a scan, for a reader worker: short, so that what else takes long has its turn between two of them, and no
 * state of the database is held for as long as the whole scan goes on.
 */
export type ScanStep =
  /** Derives the scripts; `objects` is JSON text. */
  | { readonly step: 'scripts'; readonly objects: string }
  /** Asks filters of blocks from a height on, on the chain of the block at which to stop. */
  | {
      readonly step: 'filters';
      readonly scripts: SharedArrayBuffer;
      readonly from: number;
      readonly stop: Uint8Array;
      /** Blocks that match are looked through as well. */
      readonly exact: boolean;
    }
  /** Puts blocks of the active chain in the order of their heights, each once; hashes one after another. */
  | { readonly step: 'order'; readonly blocks: Uint8Array }
  /** Looks through blocks; hashes one after another. */
  | { readonly step: 'blocks'; readonly scripts: SharedArrayBuffer; readonly blocks: Uint8Array }
  /** Looks through the part of the mempool that comes with it. */
  | { readonly step: 'mempool'; readonly scripts: SharedArrayBuffer };

/** Work for a reader worker, as plain data. */
export type ReaderJob =
  | {
      readonly kind: 'rest';
      readonly name: string;
      readonly input: unknown;
      readonly mempool?: MirrorPart | undefined;
    }
  /** `params` is JSON text: amounts and ids keep the digits they were written with. */
  | {
      readonly kind: 'rpc';
      readonly method: string;
      readonly params: string;
      /** What its arguments spend is asked for, as packed txids, or the scripts they name, packed. */
      readonly asks?: 'spends' | 'scripts';
      /** The wallet it is about. */
      readonly wallet?: WalletState | undefined;
      readonly mempool?: MirrorPart | undefined;
    }
  /** A part of a scan that takes longer than an answer may. */
  | { readonly kind: 'scan'; readonly step: ScanStep; readonly mempool?: MirrorPart | undefined };

export type ReaderResult =
  | JobResult
  /** The chain has moved on from the block that the part of the mempool stands on. */
  | { readonly ok: false; readonly behind: true }
  /** It lacks what spends outputs of these. */
  | { readonly ok: false; readonly spendersOf: readonly Uint8Array[] };

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
