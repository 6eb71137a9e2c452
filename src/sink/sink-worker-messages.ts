import type { SinkStatus } from '../port/sink-status.ts';

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
}

export type ToSink = SinkOpening | { readonly type: 'synced' } | { readonly type: 'close' };
export type FromSink = { readonly type: 'status'; readonly status: SinkStatus } | { readonly type: 'closed' };
