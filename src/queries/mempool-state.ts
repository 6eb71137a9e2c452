import type { MempoolMirror } from '../mempool/mirror.ts';

/** The mirror of the mempool, which follows the updates of the node. */
export interface MempoolState {
  readonly mirror: MempoolMirror;
  /** Resolves when the mirror is at another block, or after a time limit. Rejects when the signal aborts. */
  moved(signal: AbortSignal): Promise<void>;
  /** Resolves when all received updates are applied. */
  drained(): Promise<void>;
}
