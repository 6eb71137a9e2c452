import type { ChainReads } from '../storage/chain-reads.ts';
import { runInSlices, type Steps } from '../util/slices.ts';
import type { WalletStore } from './store/wallet-store.ts';

/** Time limit of one slice of catching up, milliseconds; one step may exceed it. */
const SLICE_MS = 6;

interface WriteSlices {
  readonly store: WalletStore;
  /** The chain that the steps read; null if they read none. */
  readonly reads: ChainReads | null;
  readonly signal: AbortSignal;
}

/**
 * Runs steps in slices, each slice in one write and one snapshot of the chain. Both may change between two slices.
 * Rejects when the signal aborts; steps that are left then are not run.
 */
export async function runInWrites({ store, reads, signal }: WriteSlices, steps: Steps<void>): Promise<void> {
  const around = (slice: () => void) => store.writeRelaxed(() => (reads ? reads.snapshot(slice) : slice()));
  await runInSlices(steps, { signal, sliceMs: SLICE_MS, around });
  signal.throwIfAborted();
}
