import { type ChainEntry, forkPoint } from '../chain/chain-entry.ts';
import { type ParsedBlock, type ParsedTransaction, parseBlock, parseTransaction } from '../primitives/block.ts';
import { positionHeight, positionIndex } from '../primitives/coin.ts';
import type { Txid } from '../primitives/hash.ts';
import { headerFromBytes } from '../primitives/header.ts';
import type { ChainReads } from '../storage/chain-reads.ts';
import { equalBytes } from '../util/bytes.ts';
import { runInSlices, type Steps } from '../util/slices.ts';
import type { BlockPositions } from './ledger/block-positions.ts';
import { HashFilter } from './ledger/hash-filter.ts';
import type { Ledger } from './ledger/ledger.ts';
import type { TxLocation } from './ledger/tx-location.ts';
import { PositionSearch, type ScanProgress } from './position-search.ts';
import type { Heights } from './script-history.ts';
import type { WalletScripts } from './scripts/wallet-scripts.ts';
import type { WalletStore } from './store/wallet-store.ts';
import type { WalletChain, WalletMove } from './wallet-chain.ts';
import { runInWrites } from './write-slices.ts';

/** Twice the tolerance for block times, seconds. */
const BIRTH_WINDOW_S = 2 * 7200;

export interface WalletSyncDeps {
  readonly store: WalletStore;
  readonly scripts: WalletScripts;
  readonly ledger: Ledger;
  readonly chain: WalletChain;
  readonly signal: AbortSignal;
}

/**
 * Keeps a wallet in step with the chain and the mempool: block by block while it is at the tip, otherwise through the
 * address index, which lists the transactions of each script. Without that index, all blocks in between are read.
 */
export class WalletSync {
  readonly #deps: WalletSyncDeps;
  readonly #search: PositionSearch;
  /** Filter over the txids of the wallet's transactions and of the transactions that they spend. */
  readonly #watched = new HashFilter();
  #live = false;
  #catchingUp: Promise<void> | null = null;

  constructor(deps: WalletSyncDeps) {
    this.#deps = deps;
    this.#search = new PositionSearch(deps);
  }

  /** Fills the filter from a file that is being opened. */
  *loadSteps(): Steps<void> {
    for (const page of this.#deps.store.txs.watchedTxids()) {
      for (const txid of page) this.#watched.add(txid);
      yield;
    }
  }

  /** Whether the last processed block is the tip. */
  get live(): boolean {
    return this.#live;
  }

  /** Height of the last processed block; -1 before the first. */
  get height(): number {
    return this.#deps.store.cursor()?.height ?? -1;
  }

  /** The first block that the wallet has yet to process, if it has been pruned or is missing; else null. */
  get firstMissing(): number | null {
    const { store, chain } = this.#deps;
    const { pruneHeight, tip } = chain;
    if (pruneHeight === null || pruneHeight === 0) return null;
    const cursor = store.cursor();
    const entry = cursor && chain.get(cursor.hash);
    const first = entry ? forkPoint(entry, tip).height + 1 : 0;
    if (first >= pruneHeight) return null;
    const born = store.meta('birthTime');
    return born === null || tip.ancestor(pruneHeight - 1)!.time >= born - BIRTH_WINDOW_S ? first : null;
  }

  /** Starts at the tip: no earlier block can concern the wallet. */
  startAtTip(): void {
    const { store, chain } = this.#deps;
    store.setCursor(chain.tip);
    this.#live = true;
  }

  /** Applies a change of the active chain, or starts to catch up where the wallet is behind. */
  onChainMoved({ disconnected, connected, bodies, tip }: WalletMove): void {
    const { store, ledger } = this.#deps;
    if (!this.#live) {
      void this.catchUp();
      return;
    }
    const parent = connected[0]?.parent ?? tip;
    const before = disconnected[0] ?? parent;
    if (bodies === null || !equalBytes(store.cursor()!.hash, before.hash)) {
      this.#live = false;
      void this.catchUp();
      return;
    }
    store.writeRelaxed(() => {
      if (disconnected.length > 0) ledger.disconnectAbove(parent.height);
      for (const [i, body] of bodies.entries()) this.#scan(body, connected[i]!);
      store.setCursor(tip);
    });
  }

  /** Applies a transaction that entered the mempool. */
  mempoolAdded(parsed: ParsedTransaction): void {
    if (!this.#concerns(parsed)) return;
    this.#deps.store.writeRelaxed(() => this.#deps.ledger.mempoolAdded(parsed));
    this.watchTransaction(parsed);
  }

  mempoolRemoved(txid: Uint8Array): void {
    if (!this.#watched.has(txid)) return;
    this.#deps.store.writeRelaxed(() => this.#deps.ledger.mempoolRemoved(txid));
  }

  /** Adds a transaction to the filter, so that transactions that touch it are noticed. */
  watchTransaction({ txid, tx }: Pick<ParsedTransaction, 'txid' | 'tx'>): void {
    this.#watched.add(txid);
    for (const { prevout } of tx.inputs) this.#watched.add(prevout.txid);
  }

  /** Resolves when the last processed block is the tip, at once where it is. Rejects when the signal aborts. */
  catchUp(): Promise<void> {
    if (this.#live) return Promise.resolve();
    this.#catchingUp ??= this.#catchUp().finally(() => {
      this.#catchingUp = null;
    });
    // Callers that await it receive the rejection; the others ignore it.
    this.#catchingUp.catch(() => {});
    return this.#catchingUp;
  }

  /** Scans blocks of these heights again. */
  async rescan(from: number, to: number, { signal, progress }: { signal: AbortSignal; progress: ScanProgress }) {
    await this.#find(null, { from, to }, signal, progress);
  }

  /** Finds the transactions of new scripts up to the last processed block. */
  async lookUpScripts(scripts: readonly Uint8Array[], progress?: ScanProgress): Promise<void> {
    const { store, signal } = this.#deps;
    const { height } = store.cursor()!;
    if (scripts.length > 0) await this.#find(scripts, { from: 0, to: height }, signal, progress);
  }

  /** Adds outputs of known transactions that pay scripts added since. */
  async refreshOwnOutputs(): Promise<void> {
    const { store, signal } = this.#deps;
    await runInWrites({ store, reads: null, signal }, this.#gained());
  }

  async #catchUp(): Promise<void> {
    const { store, chain, ledger, signal } = this.#deps;
    for (;;) {
      signal.throwIfAborted();
      const from = this.#heightOnChain() ?? (await this.#rewind());
      signal.throwIfAborted();
      const target = chain.tip;
      if (from === target.height) {
        this.#live = true;
        return;
      }
      // Blocks from long before the keys existed contain nothing of the wallet.
      const born = store.meta('birthTime');
      if (born === null || target.time >= born - BIRTH_WINDOW_S) {
        await this.#find(null, { from: from + 1, to: target.height }, signal);
      }
      store.writeRelaxed(() => {
        const fork = forkPoint(target, chain.tip);
        // Some of the transactions may be in blocks that have left the chain in between.
        if (fork !== target) ledger.disconnectAbove(fork.height);
        store.setCursor(fork);
      });
    }
  }

  /** Returns the height of the last processed block, or null where it has left the chain. */
  #heightOnChain(): number | null {
    const { store, chain } = this.#deps;
    const cursor = store.cursor();
    const entry = cursor && chain.get(cursor.hash);
    if (!entry || store.meta('disconnecting') !== null) return null;
    return forkPoint(entry, chain.tip) === entry ? entry.height : null;
  }

  /** Disconnects blocks that have left the chain; returns the height of the last processed block then. */
  async #rewind(): Promise<number> {
    const { store, chain, ledger, signal } = this.#deps;
    for (;;) {
      const cursor = store.cursor();
      const entry = cursor && chain.get(cursor.hash);
      const fork = entry ? forkPoint(entry, chain.tip) : await this.#lastKnownBlock();
      signal.throwIfAborted();
      const interrupted = store.meta('disconnecting') ?? Number.POSITIVE_INFINITY;
      const above = Math.min(fork?.height ?? -1, interrupted);
      // Together: a cursor that moved alone would hide what is still connected above it.
      store.writeRelaxed(() => {
        store.setMeta('disconnecting', above);
        if (fork) store.setCursor(fork);
      });
      await runInWrites({ store, reads: null, signal }, ledger.disconnectSteps(above));
      store.writeRelaxed(() => store.setMeta('disconnecting', null));
      // A chain that knows no block of the wallet is scanned from its first block.
      if (fork === null) return -1;
      const height = this.#heightOnChain();
      if (height !== null) return height;
    }
  }

  /**
   * Returns the last block with a wallet transaction that is still in the chain, where the chain has lost the last
   * processed block.
   */
  #lastKnownBlock(): Promise<ChainEntry | null> {
    const { store, chain, signal } = this.#deps;
    function* find(): Steps<ChainEntry | null> {
      for (const hash of store.txs.blockHashes()) {
        const entry = chain.get(hash);
        if (entry && chain.tip.ancestor(entry.height) === entry) return entry;
        yield;
      }
      return null;
    }
    return runInSlices(find(), { signal });
  }

  /**
   * Finds the transactions of some scripts, with null of all the wallet's scripts, by means of the indexes. Where one of
   * them is off or being built, the blocks are read instead.
   */
  async #find(
    among: readonly Uint8Array[] | null,
    within: Heights,
    signal: AbortSignal,
    progress: ScanProgress = () => {},
  ): Promise<void> {
    const { store, chain } = this.#deps;
    const reads = chain.reads();
    const indexes = ['positions', 'tx', 'address'] as const;
    if (!reads.snapshot(() => indexes.every((index) => reads.isCovered(index))))
      return runInWrites({ store, reads, signal }, this.#scanned(reads, within, progress));
    const places = await this.#search.collectPositions(among, within, signal, (share) => progress(share / 2));
    await this.#apply(places, signal, (share) => progress(0.5 + share / 2));
  }

  /** Applies the wallet's transactions of the stored blocks, in their order. Each makes more of them known. */
  *#scanned(reads: ChainReads, { from, to }: Heights, progress: ScanProgress): Steps<void> {
    for (let height = from; height <= to; height++) {
      // The transactions of pruned blocks cannot be read.
      if (height < (this.#deps.chain.pruneHeight ?? 0)) continue;
      const block = reads.headers.byHeight(height);
      // A reorganization may have made the chain shorter in between.
      const raw = block && reads.rawBlock(block);
      if (block && !raw) throw new Error(`the block at height ${height} is not stored`);
      if (raw)
        this.#scan(parseBlock(raw), { height, hash: block.hash, time: headerFromBytes(block.header).time }, true);
      progress((height - from + 1) / (to - from + 1));
      yield;
    }
  }

  async #apply(places: BlockPositions, signal: AbortSignal, progress?: ScanProgress): Promise<void> {
    const { store, chain } = this.#deps;
    const reads = chain.reads();
    await runInWrites({ store, reads, signal }, this.#applied(reads, places, progress));
  }

  *#gained(): Steps<void> {
    const { store, scripts, ledger } = this.#deps;
    for (let known = store.txs.nextTransaction(0); known; known = store.txs.nextTransaction(known.id)) {
      const parsed = parseTransaction(store.txs.raw(known.id));
      if (parsed.tx.outputs.some(({ scriptPubKey }) => scripts.owns(scriptPubKey))) ledger.addCoins(known.id, parsed);
      yield;
    }
  }

  /** Applies the transactions at these positions. */
  *#applied(reads: ChainReads, places: BlockPositions, progress?: ScanProgress): Steps<void> {
    let done = 0;
    for (const position of places.inOrder()) {
      const record = reads.txs.byPosition(position);
      // A reorganization may have replaced it in between.
      if (record) {
        const { block, raw } = reads.rawTx(record);
        const parsed = parseTransaction(raw.slice());
        const { hash, header } = block;
        const place = {
          height: positionHeight(position),
          hash,
          index: positionIndex(position),
          time: headerFromBytes(header).time,
        };
        this.#sync(parsed, { in: 'block', block: place }, { old: true });
      }
      progress?.(++done / places.size);
      yield;
    }
  }

  #scan(body: ParsedBlock, { height, hash, time }: Pick<ChainEntry, 'height' | 'hash' | 'time'>, old = false): void {
    for (const [index, parsed] of body.txs.entries())
      if (this.#concerns(parsed)) this.#sync(parsed, { in: 'block', block: { height, hash, index, time } }, { old });
  }

  #sync(parsed: ParsedTransaction, state: TxLocation, options?: { old: boolean }): void {
    if (this.#deps.ledger.syncTransaction(parsed, state, options) !== null) this.watchTransaction(parsed);
  }

  #concerns({ tx, txid }: { tx: ParsedTransaction['tx']; txid: Txid }): boolean {
    const { filter } = this.#deps.scripts;
    return (
      this.#watched.has(txid) ||
      tx.outputs.some(({ scriptPubKey }) => filter.has(scriptPubKey)) ||
      tx.inputs.some(({ prevout }) => this.#watched.has(prevout.txid))
    );
  }
}
