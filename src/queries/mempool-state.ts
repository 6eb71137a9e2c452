import type { MempoolMirror } from '../mempool/mirror.ts';

/** The mempool, in line with the updates of the node. */
export interface MempoolState {
  readonly mirror: MempoolMirror;
  /** Resolves when the mirror stands on another block, or after a while. Rejects when the signal aborts. */
  moved(signal: AbortSignal): Promise<void>;
  /** Resolves when all updates that have arrived are in the mirror. */
  drained(): Promise<void>;
}
