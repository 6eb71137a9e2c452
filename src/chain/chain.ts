import { type CheckBlockOptions, checkBlock } from '../consensus/check-block.ts';
import { checkBlockContext } from '../consensus/check-block-context.ts';
import { type BlockRejection, reject } from '../consensus/rejection.ts';
import { hash256 } from '../crypto/hash.ts';
import { genesisBlock } from '../params/genesis.ts';
import type { NetworkParams } from '../params/network-params.ts';
import { type ParsedBlock, parseBlock } from '../primitives/block.ts';
import type { Coin } from '../primitives/coin.ts';
import { type BlockHash, hashToHex } from '../primitives/hash.ts';
import { type BlockHeader, HEADER_SIZE, headerFromBytes, headerHash } from '../primitives/header.ts';
import type { Outpoint } from '../primitives/outpoint.ts';
import { HeaderStatus } from '../storage/schema.ts';
import { assert } from '../util/assert.ts';
import { DecodeError } from '../util/bytes.ts';
import { type Clock, unixSeconds } from '../util/clock.ts';
import { DurationCounts, type DurationTotals } from '../util/duration-counts.ts';
import type { Log } from '../util/log.ts';
import { acceptHeader } from './accept-header.ts';
import { ActiveChain } from './active-chain.ts';
import { assumedValid } from './assume-valid.ts';
import { bodyStats } from './body-stats.ts';
import { type ChainEntry, forkOf } from './chain-entry.ts';
import { ChainStore } from './chain-store.ts';
import { type ChainTip, chainTips } from './chain-tips.ts';
import { type CommitResult, Commits } from './commits.ts';
import type { ChainCommit, ChainFollower } from './events.ts';
import type { FilterIndex } from './filter-index.ts';
import { HeaderTree } from './header-tree.ts';
import { InitialSync } from './initial-sync.ts';
import type { ScriptVerifier } from './script-verifier.ts';
import { testBlock } from './test-block.ts';

export interface ChainOptions {
  /** The network's directory. */
  readonly dir: string;
  readonly params: NetworkParams;
  /** Of the table of coins in memory. */
  readonly coinsCacheBytes: number;
  /** Of the database's pages in memory. */
  readonly databaseCacheMiB: number;
  /** Keeps the filters of blocks (BIP-158); off without it. */
  readonly filters?: boolean;
}

export interface ChainDeps {
  readonly verifier: ScriptVerifier;
  readonly clock: Clock;
  readonly log: Log;
}

/** What became of a block that was handed in. */
export type BlockOutcome =
  /** Kept: in the active chain, or on a branch with less work. */
  | { readonly status: 'accepted'; readonly entry: ChainEntry }
  | { readonly status: 'known'; readonly entry: ChainEntry }
  | { readonly status: 'rejected'; readonly rejection: BlockRejection };

/** What became of headers that were handed in together. */
export interface HeadersOutcome {
  /** The last one that was taken, new or not. */
  readonly last: ChainEntry | null;
  /** Of the one behind it. */
  readonly rejection: BlockRejection | null;
  readonly added: number;
}

/** Time spent in each stage of taking blocks, since the start. */
export interface ChainTimings<T> {
  readonly parse: T;
  /** Checks without coins: header, body, merkle roots. */
  readonly check: T;
  /** Coins spent and made, rows gathered, script checks handed out. */
  readonly connect: T;
  /** Waiting for verdicts of the verify workers. */
  readonly wait: T;
  readonly commit: T;
}

/** Why a call was given up: no fault of the block it is about. */
class ChainClosing extends Error {}
const CLOSING = 'the chain is being closed';

/** How long nothing must arrive before what was gathered is committed. */
const IDLE_COMMIT_MS = 500;
const REJECTIONS_KEPT = 1_000;

/**
 * The chain of blocks: takes blocks and headers in any order, keeps the valid chain with the most work active, and
 * commits it with all its indexes. The single writer of the chain's storage. Calls are carried out one after another.
 */
export class Chain {
  readonly params: NetworkParams;
  readonly #durations = {
    parse: new DurationCounts(),
    check: new DurationCounts(),
    connect: new DurationCounts(),
    wait: new DurationCounts(),
  };
  readonly #store: ChainStore;
  readonly #tree = new HeaderTree();
  readonly #active: ActiveChain;
  readonly #sync: InitialSync;
  readonly #verifier: ScriptVerifier;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #commits: Commits;
  readonly #rejections = new Map<ChainEntry, BlockRejection>();
  readonly #connectedListeners = new Set<(inputs: number) => void>();
  readonly #invalidListeners = new Set<(entry: ChainEntry, rejection: BlockRejection) => void>();
  readonly #nextListeners = new Set<(entry: ChainEntry, block: ParsedBlock) => void>();
  #queue: Promise<unknown> = Promise.resolve();
  #idleTimer: ReturnType<typeof setTimeout> | null = null;
  #connecting = false;
  #stopped: Error | null = null;
  #closing = false;
  /** Ends the wait for verdicts that is going on. */
  #interrupt: ((reason: Error) => void) | null = null;

  /** Opens the chain's storage, or makes it with the genesis block. Throws OperatorError. */
  constructor({ dir, params, coinsCacheBytes, databaseCacheMiB, filters }: ChainOptions, deps: ChainDeps) {
    this.params = params;
    this.#verifier = deps.verifier;
    this.#clock = deps.clock;
    this.#log = deps.log;
    this.#store = new ChainStore(dir, params, databaseCacheMiB, filters);
    try {
      for (const record of this.#store.headers.all()) this.#tree.load(record);
      const tip = this.#store.headers.tip();
      const genesis = parseBlock(genesisBlock(params));
      const entry = tip ? this.#tree.get(tip.hash)! : this.#tree.insert(genesis.hash, genesis.header, null);
      this.#tree.preferChain(entry);
      this.#store.filters?.open(tip && entry);
      this.#active = new ActiveChain(this.#store, params.consensus, entry, coinsCacheBytes);
      this.#sync = new InitialSync(params.consensus, deps.clock);
      this.#commits = new Commits({
        store: this.#store,
        tree: this.#tree,
        active: this.#active,
        sync: this.#sync,
        params: params.consensus,
        clock: deps.clock,
      });
      if (!tip) this.#begin(entry, genesis);
      this.#sync.update(this.tip);
      // The last run may have ended on the way to a better chain. A failure is kept in `stopped`.
      if (this.#tree.bestCandidate(this.tip) !== this.tip)
        this.#exclusive(() => this.#activate(null, null)).catch(() => {});
    } catch (error) {
      this.#store.close();
      throw error;
    }
  }

  /** The last block whose state readers see. */
  get tip(): ChainEntry {
    return this.#active.committedTip;
  }

  /** Height up to which blocks are connected, those included whose scripts are still being judged. */
  get height(): number {
    return this.#active.tip.height;
  }

  /** The valid header with the most work. */
  get bestHeader(): ChainEntry {
    return this.#tree.best;
  }

  get initialSync(): boolean {
    return this.#sync.active;
  }

  get lastCommit(): CommitResult {
    return this.#commits.last;
  }

  /** Milliseconds. */
  get timings(): ChainTimings<number> {
    const { parse, check, connect, wait, commit } = this.durations();
    const ms = ({ seconds }: DurationTotals) => seconds * 1000;
    return { parse: ms(parse), check: ms(check), connect: ms(connect), wait: ms(wait), commit: ms(commit) };
  }

  /** How long each stage took; a block may pass some more than once, and a commit may hold many blocks. */
  durations(): ChainTimings<DurationTotals> {
    const { parse, check, connect, wait } = this.#durations;
    return {
      parse: parse.totals(),
      check: check.totals(),
      connect: connect.totals(),
      wait: wait.totals(),
      commit: this.#commits.durations.totals(),
    };
  }

  /** Transactions in the committed chain. */
  get transactions(): number {
    return this.#store.headers.totals(this.tip.height)?.txs ?? 0;
  }

  get connecting(): boolean {
    return this.#connecting;
  }

  /** How many events the log holds. */
  get eventRows(): number {
    return this.#store.eventRows;
  }

  /** The newest number in the event log. */
  get lastSeq(): number {
    return this.#store.lastSeq;
  }

  /** Why nothing more is taken, or null. */
  get stopped(): Error | null {
    return this.#stopped;
  }

  get(hash: Uint8Array): ChainEntry | null {
    return this.#tree.get(hash);
  }

  /** The index of block filters; null where it is switched off. */
  get filters(): FilterIndex | null {
    return this.#store.filters;
  }

  /** Listeners are told in order, after each commit. Returns how to leave. */
  onCommit(listener: (commit: ChainCommit) => void): () => void {
    return this.#commits.listen(listener);
  }

  /** From now on `follower` goes along with the chain. */
  followedBy(follower: ChainFollower): void {
    this.#commits.follower = follower;
  }

  /** Told of the inputs of each block that is connected, before its scripts are judged. Returns how to leave. */
  onConnected(listener: (inputs: number) => void): () => void {
    this.#connectedListeners.add(listener);
    return () => this.#connectedListeners.delete(listener);
  }

  /** Told when a block that was taken turns out to be invalid. Returns how to leave. */
  onInvalid(listener: (entry: ChainEntry, rejection: BlockRejection) => void): () => void {
    this.#invalidListeners.add(listener);
    return () => this.#invalidListeners.delete(listener);
  }

  /**
   * Told of each block on top of the tip as soon as all but its inputs and scripts is checked: what may be passed on
   * before it is judged (BIP-152). Not in initial sync. Returns how to leave.
   */
  onNext(listener: (entry: ChainEntry, block: ParsedBlock) => void): () => void {
    this.#nextListeners.add(listener);
    return () => this.#nextListeners.delete(listener);
  }

  /**
   * Takes a block. In initial sync it is connected in memory and its scripts are judged later: `settle` waits for them.
   * Rejects only when storage fails. `parse` reads the bytes, which by default hold the block and nothing else.
   */
  accept(raw: Uint8Array, parse: (raw: Uint8Array) => ParsedBlock = parseBlock): Promise<BlockOutcome> {
    return this.#exclusive(() => this.#accept(raw, parse));
  }

  /** Takes a block, and waits until it is judged and committed. */
  submit(raw: Uint8Array): Promise<BlockOutcome> {
    return this.#exclusive(async () => {
      const outcome = await this.#accept(raw);
      await this.#settle();
      if (outcome.status !== 'accepted' || !outcome.entry.failed) return outcome;
      // Where it has no fault of its own, a block it builds on turned out to have one.
      const parentFailed = reject('invalid-prev', 'bad-prevblk', 'the block it builds on is invalid');
      return { status: 'rejected', rejection: this.#rejections.get(outcome.entry) ?? parentFailed };
    });
  }

  /**
   * What is wrong with a block as the next one on the tip, or null; it is not kept. Resolves to the rejection
   * `inconclusive-not-best-prevblk` where it builds on another block.
   */
  test(block: ParsedBlock, options: CheckBlockOptions): Promise<BlockRejection | null> {
    return this.#exclusive(async () => {
      await this.#settle();
      const tested = testBlock(block, options, {
        active: this.#active,
        params: this.params.consensus,
        verifier: this.#verifier,
        now: unixSeconds(this.#clock),
      });
      if (!tested.ok) return tested;
      let rejection: BlockRejection | null = null;
      await this.#waited(tested.value.then((found) => void (rejection = found)));
      return rejection;
    });
  }

  /** Takes the 80 bytes of a header ahead of its body. */
  acceptHeader(raw: Uint8Array): Promise<BlockOutcome> {
    assert(raw.length === HEADER_SIZE, 'a header has 80 bytes');
    return this.#exclusive(async () => {
      const hash = hash256(raw) as BlockHash;
      const params = this.params.consensus;
      const accepted = acceptHeader(this.#tree, hash, headerFromBytes(raw), params, unixSeconds(this.#clock));
      if (!accepted.ok) return { status: 'rejected', rejection: accepted };
      const { entry, isNew } = accepted.value;
      if (isNew) this.#commits.addHeader(entry);
      this.#armIdleCommit();
      return { status: isNew ? 'accepted' : 'known', entry };
    });
  }

  /** Takes headers, each the parent of the next, ahead of their bodies; up to the first that is refused. */
  acceptHeaders(headers: readonly BlockHeader[]): Promise<HeadersOutcome> {
    return this.#exclusive(async () => {
      const params = this.params.consensus;
      const now = unixSeconds(this.#clock);
      let last: ChainEntry | null = null;
      let rejection: BlockRejection | null = null;
      let added = 0;
      for (const header of headers) {
        const accepted = acceptHeader(this.#tree, headerHash(header), header, params, now);
        if (!accepted.ok) {
          rejection = accepted;
          break;
        }
        last = accepted.value.entry;
        if (!accepted.value.isNew) continue;
        this.#commits.addHeader(last);
        added++;
      }
      if (added > 0) this.#armIdleCommit();
      return { last, rejection, added };
    });
  }

  /** Treats a block as invalid, and all that builds on it, until it is reconsidered. Not the genesis block. */
  invalidate(entry: ChainEntry): Promise<void> {
    assert(entry.parent !== null, 'the genesis block stays valid');
    return this.#exclusive(async () => {
      await this.#settle();
      const active = this.#active;
      while (active.tip.ancestor(entry.height) === entry) active.disconnectTip();
      this.#markChanged(this.#tree.fail(entry, HeaderStatus.INVALIDATED));
      await this.#activate(null, null);
      await this.#settle();
    });
  }

  /** Forgets that a block, its ancestors and what builds on it were found or called invalid. */
  reconsider(entry: ChainEntry): Promise<void> {
    return this.#exclusive(async () => {
      this.#markChanged(this.#tree.reconsider(entry));
      await this.#activate(null, null);
      await this.#settle();
    });
  }

  /** Treats a block as if it had been seen before others with the same work. Lasts until the next start. */
  prefer(entry: ChainEntry): Promise<void> {
    return this.#exclusive(async () => {
      if (entry.chainwork < this.#active.tip.chainwork) return;
      this.#tree.prefer(entry);
      await this.#activate(null, null);
      await this.#settle();
    });
  }

  /**
   * Runs `work` when everything taken so far is judged and committed and nothing is half connected; only then may it
   * read coins. It must not wait for anything. Rejects with what it throws.
   */
  async whenSettled<T>(work: () => T): Promise<T> {
    const outcome = await this.#exclusive(async () => {
      await this.#settle();
      try {
        return { value: work() };
      } catch (error) {
        // The chain has no part in it.
        return { error };
      }
    });
    if ('error' in outcome) throw outcome.error;
    return outcome.value;
  }

  /** An unspent output of the chain, within `whenSettled` or when told of a commit. */
  coin(outpoint: Outpoint): Coin | null {
    return this.#active.coins.get(outpoint);
  }

  /** The bytes of a block of which the chain has the body. Throws DecodeError where they are damaged. */
  rawBlock(entry: ChainEntry): Uint8Array {
    return this.#store.readRawBlock(entry);
  }

  /** The body of a block of which the chain has one. */
  block(entry: ChainEntry): ParsedBlock {
    return this.#store.readBlock(entry);
  }

  /** A number of the one sequence of events, for an event that is not in the log of the chain. */
  nextSeq(): number {
    return this.#store.nextSeq();
  }

  /** The ends of all branches, the highest first. */
  tips(): ChainTip[] {
    return chainTips(this.#tree, this.tip);
  }

  /** Resolves when everything taken so far is judged and committed. */
  settle(): Promise<void> {
    return this.#exclusive(() => this.#settle());
  }

  /**
   * Commits what is judged, and closes the storage. Blocks whose scripts are still being judged are left out; calls that
   * wait for their verdicts reject.
   */
  async close(): Promise<void> {
    this.#closing = true;
    this.#interrupt?.(new ChainClosing(CLOSING));
    try {
      if (this.#stopped === null) await this.#exclusive(() => this.#settleJudged());
    } catch (error) {
      // Another branch would have had to be judged first; the next start does that.
      if (!(error instanceof ChainClosing)) throw error;
    } finally {
      this.#disarmIdleCommit();
      this.#stopped ??= new Error('the chain is closed');
      this.#store.close();
    }
  }

  /** Whatever is thrown here is a failing disk or a fault of ours: what was committed stands, and no more is taken. */
  #exclusive<T>(run: () => Promise<T>): Promise<T> {
    const result = this.#queue.then(async () => {
      if (this.#stopped) throw this.#stopped;
      this.#connecting = true;
      try {
        return await run();
      } catch (error) {
        if (error instanceof ChainClosing) throw error;
        this.#stopped = error instanceof Error ? error : new Error(String(error));
        this.#log.error('no more blocks are taken', { error: this.#stopped });
        throw this.#stopped;
      } finally {
        this.#connecting = false;
      }
    });
    this.#queue = result.catch(() => {});
    return result;
  }

  async #accept(raw: Uint8Array, parse = parseBlock): Promise<BlockOutcome> {
    this.#disarmIdleCommit();
    let block: ParsedBlock;
    try {
      block = this.#timed('parse', () => parse(raw));
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error;
      return { status: 'rejected', rejection: reject('mutated', 'bad-blk-decode', error.message) };
    }
    const known = this.#tree.get(block.hash);
    if (known?.hasBody) return known.failed ? this.#cachedInvalid(known) : { status: 'known', entry: known };
    const consensus = this.params.consensus;
    const bad = this.#timed('check', () => checkBlock(block, consensus));
    if (bad) return { status: 'rejected', rejection: bad };
    const header = acceptHeader(this.#tree, block.hash, block.header, consensus, unixSeconds(this.#clock));
    if (!header.ok) return { status: 'rejected', rejection: header };
    const { entry, isNew } = header.value;
    if (isNew) this.#commits.addHeader(entry);
    const rejection = this.#timed('check', () => checkBlockContext(block, entry.parent!, consensus));
    if (rejection) {
      // Mutated data says nothing about the block that its header names.
      if (rejection.kind !== 'mutated') this.#fail(entry, rejection);
      return { status: 'rejected', rejection };
    }
    this.#storeBody(entry, block);
    this.#commits.recent = { entry, block };
    if (entry.parent === this.tip && !this.#sync.active)
      for (const listener of this.#nextListeners) listener(entry, block);
    await this.#activate(entry, block);
    this.#armIdleCommit();
    const found = this.#rejections.get(entry);
    return found ? { status: 'rejected', rejection: found } : { status: 'accepted', entry };
  }

  #cachedInvalid(entry: ChainEntry): BlockOutcome {
    const debug = this.#rejections.get(entry)?.reason ?? 'found invalid before';
    return { status: 'rejected', rejection: reject('cached-invalid', 'duplicate-invalid', debug) };
  }

  #storeBody(entry: ChainEntry, block: ParsedBlock): void {
    const place = this.#store.appendBlock(block.raw);
    entry.body = place;
    entry.status |= HeaderStatus.HAVE_BLOCK;
    this.#commits.addBody({ entry, stats: bodyStats(block), receivedAt: unixSeconds(this.#clock) });
    this.#tree.bodyArrived(entry);
  }

  /** Moves to the best chain there is, block by block; `block` is the body of `arrived`. */
  async #activate(arrived: ChainEntry | null, block: ParsedBlock | null): Promise<void> {
    const active = this.#active;
    for (;;) {
      this.#dropFailed();
      const best = this.#tree.bestCandidate(active.tip);
      if (best === active.tip) break;
      const fork = forkOf(active.tip, best);
      if (fork !== active.tip) await this.#writeSealed();
      if (active.failure()) continue;
      while (active.tip !== fork) active.disconnectTip();
      while (active.tip !== best) {
        const entry = best.ancestor(active.tip.height + 1)!;
        const body = entry === arrived && block ? block : this.#store.readBlock(entry);
        const verifier = assumedValid(entry, this.#tree, this.params.consensus) ? null : this.#verifier;
        const connected = this.#timed('connect', () => active.connect(entry, body, verifier));
        if (!connected.ok) {
          this.#fail(entry, connected);
          break;
        }
        for (const listener of this.#connectedListeners) listener(connected.value.inputs);
        // Verdicts, peers and commands get their turn between blocks.
        await new Promise(setImmediate);
        await this.#waited(active.room());
        if (active.failure()) break;
        if (active.sealed && active.sealedJudged) this.#commits.write();
        // Readers stay on the old tip until the new branch has as much work.
        const ahead = active.tip.chainwork >= active.committedTip.chainwork;
        if (!active.sealed && ahead && this.#commits.due) this.#commits.seal();
      }
    }
    this.#tree.pruneCandidates(active.tip);
    this.#sync.update(active.tip);
    if (!this.#sync.active) await this.#settleTip();
  }

  /** Leaves a chain in which a block turned out to be invalid. */
  #dropFailed(): void {
    const active = this.#active;
    const failed = active.failure();
    if (!failed) return;
    if (active.sealed?.connected.some(({ entry }) => entry === failed.entry)) {
      // Nothing of it is written. It is rare, so what lies between is simply connected again.
      active.reset();
      this.#commits.unseal();
    } else while (active.tip !== failed.entry.parent) active.disconnectTip();
    this.#fail(failed.entry, failed.rejection);
  }

  /** Waits for every verdict and commits; where one is bad, moves to the best chain that is left first. */
  async #settle(): Promise<void> {
    this.#disarmIdleCommit();
    await this.#settleTip();
  }

  async #settleJudged(): Promise<void> {
    this.#disarmIdleCommit();
    const active = this.#active;
    if (active.allJudged) await this.#settleTip();
    else if (active.sealed && active.sealedJudged && !active.failure()) this.#commits.write();
  }

  async #settleTip(): Promise<void> {
    for (;;) {
      await this.#waited(this.#active.judged());
      if (!this.#active.failure()) break;
      await this.#activate(null, null);
    }
    if (this.#active.sealed) this.#commits.write();
    if (this.#commits.pending) {
      this.#commits.seal();
      this.#commits.write();
    }
  }

  /** Writes what is sealed as soon as it is judged; not where a block of it is invalid. */
  async #writeSealed(): Promise<void> {
    if (!this.#active.sealed) return;
    await this.#waited(this.#active.judged());
    if (!this.#active.failure()) this.#commits.write();
  }

  #timed<T>(stage: 'parse' | 'check' | 'connect', run: () => T): T {
    const startedAt = this.#clock.monotonicMs();
    try {
      return run();
    } finally {
      this.#durations[stage].observe((this.#clock.monotonicMs() - startedAt) / 1000);
    }
  }

  async #waited(verdicts: Promise<void>): Promise<void> {
    const startedAt = this.#clock.monotonicMs();
    if (this.#closing && !this.#active.allJudged) throw new ChainClosing(CLOSING);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#interrupt = reject;
    verdicts.then(resolve, reject);
    await promise.finally(() => (this.#interrupt = null));
    this.#durations.wait.observe((this.#clock.monotonicMs() - startedAt) / 1000);
  }

  #fail(entry: ChainEntry, rejection: BlockRejection): void {
    this.#markChanged(this.#tree.fail(entry));
    if (this.#rejections.size >= REJECTIONS_KEPT) this.#rejections.delete(this.#rejections.keys().next().value!);
    this.#rejections.set(entry, rejection);
    const { reason, debug } = rejection;
    this.#log.warn('invalid block', { hash: hashToHex(entry.hash), height: entry.height, reason, debug });
    for (const listener of this.#invalidListeners) listener(entry, rejection);
  }

  #markChanged(entries: readonly ChainEntry[]): void {
    for (const entry of entries) {
      this.#commits.addStatus(entry);
      if (!entry.failed) this.#rejections.delete(entry);
    }
  }

  #disarmIdleCommit(): void {
    if (this.#idleTimer !== null) clearTimeout(this.#idleTimer);
    this.#idleTimer = null;
  }

  #armIdleCommit(): void {
    if (!this.#commits.pending) return;
    this.#idleTimer = setTimeout(() => {
      this.#idleTimer = null;
      this.settle().catch(() => {});
    }, IDLE_COMMIT_MS);
  }

  /** The first commit: the genesis block. */
  #begin(entry: ChainEntry, genesis: ParsedBlock): void {
    this.#commits.addHeader(entry);
    this.#storeBody(entry, genesis);
    this.#active.stageGenesis(genesis);
    this.#commits.seal();
    this.#commits.write();
  }
}
