import { hashToHex } from '../primitives/hash.ts';
import { sleep } from '../util/abort.ts';
import type { Clock } from '../util/clock.ts';
import type { Log } from '../util/log.ts';
import { runInSlices, type Steps } from '../util/slices.ts';
import { TxStateCode } from './store/wallet-schema.ts';
import type { WalletStore } from './store/wallet-store.ts';
import type { WalletTxRecord } from './store/wallet-tx-reads.ts';
import type { WalletChain, WalletMempool } from './wallet-chain.ts';

/** Time in which transactions are submitted again before other work runs, milliseconds. */
const SLICE_MS = 5;
/** Announcements of a wallet are 12 to 36 hours apart, at random. */
const SHORTEST_INTERVAL_MS = 12 * 60 * 60 * 1000;
const INTERVAL_RANGE_MS = 24 * 60 * 60 * 1000;
/** A transaction that is younger at the last block may have missed it by chance, seconds. */
const MIN_AGE_S = 5 * 60;

type Waiting = Pick<WalletTxRecord, 'id' | 'txid'>;

interface ResubmissionDeps {
  readonly name: string;
  readonly store: WalletStore;
  readonly chain: Pick<WalletChain, 'initialSync'>;
  readonly mempool: Pick<WalletMempool, 'broadcast'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
  /** Whether the operator allows it. */
  readonly enabled: boolean;
}

/** Submits unconfirmed transactions of a wallet to the mempool again, from which they are announced to peers. */
export class WalletResubmission {
  readonly #deps: ResubmissionDeps;
  #dueMs: number;

  constructor(deps: ResubmissionDeps) {
    this.#deps = deps;
    this.#dueMs = this.#nextMs();
  }

  /** Submits the transactions that are neither in a block nor in the mempool. Rejects when the wallet ends. */
  submitMissing(): Promise<void> {
    return this.#submit(({ state }) => state === TxStateCode.INACTIVE);
  }

  /**
   * Submits the unconfirmed transactions that could have been in the last block, where the interval has passed: peers
   * that connected later do not know them. `lastBlockAt` is the time of its arrival, Unix seconds. Core's
   * MaybeResendWalletTxs. Rejects when the wallet ends.
   */
  async announceDue(lastBlockAt: number): Promise<void> {
    const { chain, clock } = this.#deps;
    // Old transactions are unconfirmed until the blocks that contain them are known.
    if (chain.initialSync || clock.nowMs() < this.#dueMs) return;
    this.#dueMs = this.#nextMs();
    const newest = lastBlockAt - MIN_AGE_S;
    await this.#submit(({ state, receivedAt }) => state !== TxStateCode.ABANDONED && receivedAt <= newest);
  }

  /** The random interval hides whose transactions they are. */
  #nextMs(): number {
    return this.#deps.clock.nowMs() + SHORTEST_INTERVAL_MS + Math.random() * INTERVAL_RANGE_MS;
  }

  async #submit(isWanted: (record: WalletTxRecord) => boolean): Promise<void> {
    const { name, store, mempool, log, signal, enabled } = this.#deps;
    if (!enabled) return;
    const { txs } = store;
    const waiting = await runInSlices(this.#wanted(isWanted), { signal });
    let count = 0;
    let until = performance.now() + SLICE_MS;
    for (const { id, txid } of waiting) {
      if (signal.aborted) return;
      // It may have been confirmed, abandoned or removed while another one was submitted.
      const state = txs.byTxid(txid)?.state;
      if (state !== TxStateCode.INACTIVE && state !== TxStateCode.MEMPOOL) continue;
      if (state === TxStateCode.INACTIVE && txs.mempoolConflicts(id).length > 0) continue;
      const { status } = await mempool.broadcast(txs.raw(id));
      if (status === 'accepted' || status === 'in-mempool') count++;
      log.debug('wallet transaction submitted again', { txid: hashToHex(txid), status });
      if (performance.now() < until) continue;
      await sleep(0, signal);
      until = performance.now() + SLICE_MS;
    }
    if (count > 0) log.info('wallet transactions submitted again', { wallet: name, count });
  }

  /** Returns unconfirmed transactions in the order in which the wallet saw them, so that parents come first. */
  *#wanted(isWanted: (record: WalletTxRecord) => boolean): Steps<Waiting[]> {
    const found: Waiting[] = [];
    for (const record of this.#deps.store.txs.unconfirmed()) {
      if (!record.coinbase && isWanted(record)) found.push({ id: record.id, txid: record.txid });
      yield;
    }
    return found;
  }
}
