import { parseTransaction } from '../primitives/block.ts';
import type { Outpoint } from '../primitives/outpoint.ts';
import type { TxOutput } from '../primitives/transaction.ts';
import { BlockPruned, type ChainReads } from '../storage/chain-reads.ts';
import { runInSlices, type Steps } from '../util/slices.ts';
import { BlockPositions } from './ledger/block-positions.ts';
import { type Heights, scriptHistory, spendsAt } from './script-history.ts';
import type { WalletScripts } from './scripts/wallet-scripts.ts';
import { TxStateCode } from './store/wallet-schema.ts';
import type { WalletStore } from './store/wallet-store.ts';
import type { WalletChain } from './wallet-chain.ts';
import { runInWrites } from './write-slices.ts';

/** Called with the share of a scan that is done, 0 to 1. */
export type ScanProgress = (share: number) => void;

interface PositionSearchDeps {
  readonly store: WalletStore;
  readonly scripts: WalletScripts;
  readonly chain: WalletChain;
}

/** Finds the transactions of a wallet through the indexes of the chain. */
export class PositionSearch {
  readonly #deps: PositionSearchDeps;

  constructor(deps: PositionSearchDeps) {
    this.#deps = deps;
  }

  /**
   * Collects the positions of all transactions of some scripts, with null of all the wallet's scripts, as far as blocks
   * are stored; marks paid scripts as used on the way.
   */
  async collectPositions(
    among: readonly Uint8Array[] | null,
    heights: Heights,
    signal: AbortSignal,
    progress?: ScanProgress,
  ): Promise<BlockPositions> {
    const { store, scripts, chain } = this.#deps;
    // The transactions of pruned blocks cannot be read.
    const within = { from: Math.max(heights.from, chain.pruneHeight ?? 0), to: heights.to };
    const reads = chain.reads();
    const places = new BlockPositions();
    const recorded = scripts.startRecording();
    try {
      // Read after the recording has begun, so that scripts added between two slices are included.
      const pending = among ? [...among] : await runInSlices(this.#allScripts(), { signal });
      await runInWrites(
        { store, reads, signal },
        this.#touching(reads, pending, recorded, { within, places, progress }),
      );
    } finally {
      scripts.stopRecording(recorded);
    }
    await runInWrites({ store, reads, signal }, this.#contradictions(reads, within, places));
    return places;
  }

  *#allScripts(): Steps<Uint8Array[]> {
    const scripts: Uint8Array[] = [];
    for (const page of this.#deps.store.keys.scriptPages()) {
      for (const { script } of page) scripts.push(script);
      yield;
    }
    return scripts;
  }

  /** Finds the transactions of pending scripts, and of scripts recorded in between. */
  *#touching(
    reads: ChainReads,
    pending: Uint8Array[],
    recorded: Uint8Array[],
    { within, places, progress }: { within: Heights; places: BlockPositions; progress?: ScanProgress | undefined },
  ): Steps<void> {
    const { scripts } = this.#deps;
    for (let done = 0; done < pending.length; ) {
      const script = pending[done]!;
      let found = false;
      for (const page of scriptHistory(reads, script, within)) {
        found ||= page.length > 0;
        for (const { position } of page) places.add(position);
        yield;
      }
      if (found) scripts.markPaid(script);
      for (const added of recorded.splice(0)) pending.push(added);
      done++;
      progress?.(done / pending.length);
      yield;
    }
  }

  /** A transaction that conflicts with an unconfirmed one need not touch a script of the wallet. */
  *#contradictions(reads: ChainReads, within: Heights, places: BlockPositions): Steps<void> {
    const { txs } = this.#deps.store;
    for (const { txid } of txs.unconfirmed()) {
      // It may have been removed or changed state in between.
      const loose = txs.byTxid(txid);
      if (!loose || loose.coinbase || loose.state === TxStateCode.ABANDONED) continue;
      for (const { prevout } of parseTransaction(txs.raw(loose.id)).tx.inputs) {
        yield;
        const output = this.#spentElsewhere(reads, prevout);
        if (!output) continue;
        for (const page of scriptHistory(reads, output.scriptPubKey, within)) {
          for (const { position, sent } of page) {
            if (sent < Number(output.value)) continue;
            if (spendsAt(reads, position, prevout)) places.add(position);
            yield;
          }
          yield;
        }
      }
    }
  }

  /** Returns an output of a stored block that is neither the wallet's nor unspent, else null. */
  #spentElsewhere(reads: ChainReads, outpoint: Outpoint): TxOutput | null {
    if (this.#deps.store.txs.coin(outpoint) !== null || reads.coins.get(outpoint) !== null) return null;
    const made = reads.txs.byTxid(outpoint.txid);
    if (!made) return null;
    try {
      return parseTransaction(reads.rawTx(made).raw).tx.outputs[outpoint.vout] ?? null;
    } catch (error) {
      if (error instanceof BlockPruned) return null;
      throw error;
    }
  }
}
