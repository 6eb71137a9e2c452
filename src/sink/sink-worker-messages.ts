import type { SinkStatus } from '../port/sink-status.ts';
import type { MempoolBatch } from './mempool-entries.ts';

/** Sent first, and once. */
export interface SinkOpening {
  readonly type: 'open';
  /** Folder of the chain. */
  readonly chainDir: string;
  /** URL of the database, which may hold a password. */
  readonly url: string;
  /** As `chainNameOf` names the chain. */
  readonly network: string;
  readonly halvingInterval: number;
  /** Names this node in the lease. */
  readonly leader: string;
  /** Number of the newest event numbers whose mempool events are kept; 0 if none is written. */
  readonly mempoolEvents: number;
}

export type ToSink =
  | SinkOpening
  | { readonly type: 'synced' }
  | { readonly type: 'mempool'; readonly batch: MempoolBatch }
  | { readonly type: 'close' };

export type FromSink =
  | { readonly type: 'status'; readonly status: SinkStatus }
  /** Events of the mempool are wanted, or not. */
  | { readonly type: 'mempool'; readonly isOpen: boolean }
  /** Events of the mempool of this many bytes are no longer held. */
  | { readonly type: 'released'; readonly bytes: number }
  | { readonly type: 'closed' };
