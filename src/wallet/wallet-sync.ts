import { type ChainEntry, forkPoint } from '../chain/chain-entry.ts';
import { type ParsedBlock, type ParsedTransaction, parseTransaction } from '../primitives/block.ts';
import { positionHeight, positionIndex, type TxPosition, txPosition } from '../primitives/coin.ts';
import type { Txid } from '../primitives/hash.ts';
import { headerFromBytes } from '../primitives/header.ts';
import type { Outpoint } from '../primitives/outpoint.ts';
import type { TxOutput } from '../primitives/transaction.ts';
import type { ChainReads } from '../storage/chain-reads.ts';
import type { HistoryRecord } from '../storage/script-store.ts';
import { equalBytes } from '../util/bytes.ts';
import { runInSlices, type Steps } from '../util/slices.ts';
import { BlockPositions } from './ledger/block-positions.ts';
import { HashFilter } from './ledger/hash-filter.ts';
import type { Ledger, TxLocation } from './ledger/ledger.ts';
import type { WalletScripts } from './scripts/wallet-scripts.ts';
import { TxStateCode } from './store/wallet-schema.ts';
import type { WalletStore } from './store/wallet-store.ts';
import type { WalletChain, WalletMove } from './wallet-chain.ts';

/** The longest that catching up holds the thread at a time, but for one step of it. */
const SLICE_MS = 6;
const HISTORY_PAGE = 1000;
/** Twice what the times of blocks may be off. */
const BIRTH_WINDOW_S = 2 * 7200;

export interface WalletSyncDeps {
  readonly store: WalletStore;
  readonly scripts: WalletScripts;
  readonly ledger: Ledger;
  readonly chain: WalletChain;
  readonly signal: AbortSignal;
}

/** How far a scan has come, 0 to 1. */
export type ScanProgress = (share: number) => void;

/** Of the first and the last block. */
interface Heights {
  readonly from: number;
  readonly to: number;
}

/**
 * Keeps a wallet in line with the chain and the mempool: block by block while it is at the tip, else through the address
 * index, which knows of each script what concerned it.
 */
export class WalletSync {
  readonly #deps: WalletSyncDeps;
  /** Transactions of the wallet, and what they spend. */
  readonly #watched = new HashFilter();
  #live = false;
  #catchingUp: Promise<void> | null = null;

  constructor(deps: WalletSyncDeps) {
    this.#deps = deps;
  }

  /** Reads of a file that is opened what is to be noticed. */
  *loadSteps(): Steps<void> {
    for (const page of this.#deps.store.txs.watchedTxids()) {
      for (const txid of page) this.#watched.add(txid);
      yield;
    }
  }

  /** Whether the wallet stands on the tip. */
  get live(): boolean {
    return this.#live;
  }

  /** Of the last block that the wallet has followed; -1 before the first. */
  get height(): number {
    return this.#deps.store.cursor()?.height ?? -1;
  }

  /** Begins with the tip: nothing before it can concern the wallet. */
  startAtTip(): void {
    const { store, chain } = this.#deps;
    store.setCursor(chain.tip);
    this.#live = true;
  }

  /** Follows a move of the chain, or sees to it that the wallet catches up with it. */
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

  /** A transaction has entered the mempool. */
  mempoolAdded(parsed: ParsedTransaction): void {
    if (!this.#concerns(parsed)) return;
    this.#deps.store.writeRelaxed(() => this.#deps.ledger.mempoolAdded(parsed));
    this.watchTransaction(parsed);
  }

  mempoolRemoved(txid: Uint8Array): void {
    if (!this.#watched.has(txid)) return;
    this.#deps.store.writeRelaxed(() => this.#deps.ledger.mempoolRemoved(txid));
  }

  /** Notices from now on what touches a transaction of the wallet. */
  watchTransaction({ txid, tx }: Pick<ParsedTransaction, 'txid' | 'tx'>): void {
    this.#watched.add(txid);
    for (const { prevout } of tx.inputs) this.#watched.add(prevout.txid);
  }

  /** Resolves when the wallet stands on the tip; at once where it does. Rejects when the signal aborts. */
  catchUp(): Promise<void> {
    if (this.#live) return Promise.resolve();
    this.#catchingUp ??= this.#catchUp().finally(() => {
      this.#catchingUp = null;
    });
    // Whoever waits hears of it; nobody has to.
    this.#catchingUp.catch(() => {});
    return this.#catchingUp;
  }

  /** Looks again at what blocks of these heights mean to the wallet. */
  async rescan(from: number, to: number, { signal, progress }: { signal: AbortSignal; progress: ScanProgress }) {
    await this.#apply(
      await this.#collect(null, { from, to }, signal, (share) => progress(share / 2)),
      signal,
      (share) => progress(0.5 + share / 2),
    );
  }

  /** Finds what concerns scripts that are new to the wallet, up to the block it stands on. */
  async lookUpScripts(scripts: readonly Uint8Array[]): Promise<void> {
    const { store, signal } = this.#deps;
    const { height } = store.cursor()!;
    if (scripts.length > 0) await this.#apply(await this.#collect(scripts, { from: 0, to: height }, signal), signal);
  }

  /** Outputs of transactions that the wallet has already may be ours since it has more scripts. */
  async refreshOwnOutputs(): Promise<void> {
    await this.#inSlices(null, this.#deps.signal, this.#gained());
  }

  async #catchUp(): Promise<void> {
    const { store, chain, ledger, signal } = this.#deps;
    for (;;) {
      signal.throwIfAborted();
      const from = this.#rewind();
      const target = chain.tip;
      if (from === target.height) {
        this.#live = true;
        return;
      }
      // In blocks from long before its keys there is nothing.
      const born = store.meta('birthTime');
      if (born === null || target.time >= born - BIRTH_WINDOW_S) {
        await this.#apply(await this.#collect(null, { from: from + 1, to: target.height }, signal), signal);
      }
      store.writeRelaxed(() => {
        const fork = forkPoint(target, chain.tip);
        // Some of what was found may have been in blocks that are gone again.
        if (fork !== target) ledger.disconnectAbove(fork.height);
        store.setCursor(fork);
      });
    }
  }

  /** Leaves blocks that are not in the chain any more; returns the height the wallet stands on then. */
  #rewind(): number {
    const { store, chain, ledger } = this.#deps;
    const cursor = store.cursor();
    const entry = cursor && chain.get(cursor.hash);
    const fork = entry ? forkPoint(entry, chain.tip) : this.#lastKnownBlock();
    if (fork !== null && fork === entry) return fork.height;
    store.writeRelaxed(() => {
      ledger.disconnectAbove(fork?.height ?? -1);
      if (fork) store.setCursor(fork);
    });
    return fork?.height ?? -1;
  }

  /** Where the chain has lost the block that the wallet stood on: the last one with something of ours that it has. */
  #lastKnownBlock(): ChainEntry | null {
    const { store, chain } = this.#deps;
    for (const hash of store.txs.blockHashes()) {
      const entry = chain.get(hash);
      if (entry && chain.tip.ancestor(entry.height) === entry) return entry;
    }
    return null;
  }

  /**
   * Places of all that concerns some scripts, or with null all of the wallet's, in order; marks what was paid as used on
   * the way.
   */
  async #collect(
    among: readonly Uint8Array[] | null,
    within: Heights,
    signal: AbortSignal,
    progress?: ScanProgress,
  ): Promise<BlockPositions> {
    const { scripts, chain } = this.#deps;
    const reads = chain.reads();
    const places = new BlockPositions();
    const recorded = scripts.record();
    try {
      // Read after the recording has begun, so that none is missed that is added between two slices.
      const pending = among ? [...among] : await runInSlices(this.#allScripts(), { signal });
      await this.#inSlices(reads, signal, this.#touching(reads, pending, recorded, { within, places, progress }));
    } finally {
      scripts.stopRecording(recorded);
    }
    await this.#inSlices(reads, signal, this.#contradictions(reads, within, places));
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

  async #apply(places: BlockPositions, signal: AbortSignal, progress?: ScanProgress): Promise<void> {
    const reads = this.#deps.chain.reads();
    await this.#inSlices(reads, signal, this.#applied(reads, places, progress));
  }

  /**
   * Takes the steps of a work a few at a time, those in one write and on one state of what is read of the chain; between
   * them others have the thread, and both may change. Rejects when the signal aborts: what is not done then nobody does.
   */
  async #inSlices(reads: ChainReads | null, signal: AbortSignal, steps: Steps<void>): Promise<void> {
    const { store } = this.#deps;
    const around = (slice: () => void) => store.writeRelaxed(() => (reads ? reads.snapshot(slice) : slice()));
    await runInSlices(steps, { signal, sliceMs: SLICE_MS, around });
    signal.throwIfAborted();
  }

  /** Finds what touches the scripts that are pending, and those that are recorded meanwhile. */
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
      for (const page of history(reads, script, within)) {
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

  /** What spends the same as a loose transaction need not touch a script of ours. */
  *#contradictions(reads: ChainReads, within: Heights, places: BlockPositions): Steps<void> {
    const { txs } = this.#deps.store;
    for (const { txid } of txs.unconfirmed()) {
      // It may be gone since, or in another state.
      const loose = txs.byTxid(txid);
      if (!loose || loose.coinbase || loose.state === TxStateCode.ABANDONED) continue;
      for (const { prevout } of parseTransaction(txs.raw(loose.id)).tx.inputs) {
        yield;
        const output = this.#spentElsewhere(reads, prevout);
        if (!output) continue;
        for (const page of history(reads, output.scriptPubKey, within)) {
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

  /** An output of the chain that is neither ours nor unspent, else null. */
  #spentElsewhere(reads: ChainReads, outpoint: Outpoint): TxOutput | null {
    if (this.#deps.store.txs.coin(outpoint) !== null || reads.coins.get(outpoint) !== null) return null;
    const made = reads.txs.byTxid(outpoint.txid);
    return (made && parseTransaction(reads.rawTx(made).raw).tx.outputs[outpoint.vout]) ?? null;
  }

  *#gained(): Steps<void> {
    const { store, scripts, ledger } = this.#deps;
    for (let known = store.txs.nextTransaction(0); known; known = store.txs.nextTransaction(known.id)) {
      const parsed = parseTransaction(store.txs.raw(known.id));
      if (parsed.tx.outputs.some(({ scriptPubKey }) => scripts.owns(scriptPubKey))) ledger.addCoins(known.id, parsed);
      yield;
    }
  }

  /** Takes notice of what is at these places. */
  *#applied(reads: ChainReads, places: BlockPositions, progress?: ScanProgress): Steps<void> {
    let done = 0;
    for (const position of places.inOrder()) {
      const record = reads.txs.byPosition(position);
      // Another chain may have taken its place meanwhile.
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

  #scan(body: ParsedBlock, { height, hash, time }: ChainEntry): void {
    for (const [index, parsed] of body.txs.entries())
      if (this.#concerns(parsed)) this.#sync(parsed, { in: 'block', block: { height, hash, index, time } });
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

/** Pages of what touched a script, from the oldest on; a page is asked for when the one before it was taken. */
function* history(reads: ChainReads, script: Uint8Array, { from, to }: Heights): Generator<readonly HistoryRecord[]> {
  const below = txPosition(to + 1, 0);
  for (let above = txPosition(from, 0) - 1; ; ) {
    // Each time: the chain may have moved, and the script have another number.
    const totals = reads.scripts.totals(script);
    if (!totals || totals.lastHeight < from) return;
    const page = reads.scripts.history(totals.id, { above, below, order: 'asc', limit: HISTORY_PAGE });
    yield page;
    if (page.length < HISTORY_PAGE) return;
    above = page.at(-1)!.position;
  }
}

function spendsAt(reads: ChainReads, position: TxPosition, { txid, vout }: Outpoint): boolean {
  const record = reads.txs.byPosition(position);
  if (!record) return false;
  const { tx } = parseTransaction(reads.rawTx(record).raw);
  return tx.inputs.some(({ prevout }) => prevout.vout === vout && equalBytes(prevout.txid, txid));
}
