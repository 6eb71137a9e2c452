import { INITIAL_SINK_STATUS, type SinkStatus } from '../port/sink-status.ts';
import { hashFromHex, hashToHex } from '../primitives/hash.ts';
import type { ChainReads, ChainState } from '../storage/chain-reads.ts';
import { HeaderStatus } from '../storage/chain-schema.ts';
import { sleep } from '../util/abort.ts';
import { equalBytes } from '../util/bytes.ts';
import { type Clock, unixSeconds } from '../util/clock.ts';
import type { BatchReply, BlockBatch, RowsRequest } from './block-batch.ts';
import { LeaseLost, type SinkLease } from './leader-lease.ts';
import type { ChainWrite, MempoolWriter } from './mempool-writer.ts';
import { type PlacedBlock, type SinkDatabase, type SinkPosition, SinkRefused } from './sink-database.ts';
import { disconnectedEvent, type NamedBlock, reorgedEvent, type SinkEvent } from './sink-events.ts';

export interface SinkFollowerOptions {
  readonly reads: ChainReads;
  readonly database: SinkDatabase;
  /** Writes the events of the mempool; null where they are not wanted. */
  readonly mempool: MempoolWriter | null;
  /** Reads the next blocks, one batch at a time. */
  readonly readBatch: (request: RowsRequest) => Promise<BatchReply>;
  readonly halvingInterval: number;
  readonly clock: Clock;
  readonly onStatus: (status: SinkStatus) => void;
}

/** Another node becomes the leader within this time and a few attempts, seconds. */
const LEASE_SECONDS = 6;
const RENEWAL_MS = 1500;
const STANDBY_MS = 1000;
const IDLE_MS = 100;
/** A node that does not write the next block for this time leaves the lease to one that can. */
const STALLED_MS = 60_000;
/** The leader changes the tag of the events within this time after the database lacks some, if it has seen them. */
const UNNOTICED_MS = 30_000;
const RETRY_MS = { first: 500, last: 15_000 };
/** Blocks that one change removes at most; a deeper reorg is several changes. */
const MAX_REMOVED = 100;
/** During the initial sync, the first fill ends when no block has come for this time. */
const SETTLED_MS = 60_000;
/** Bits of a block that this node considers invalid. */
const INVALID = HeaderStatus.FAILED | HeaderStatus.FAILED_PARENT | HeaderStatus.INVALIDATED;

/** The last block of the database that a change keeps. */
interface Fork extends PlacedBlock {
  /** Blocks of the database above it, which are not in the active chain, the highest first. */
  readonly stale: readonly NamedBlock[];
}

/**
 * Follows the active chain into the database of a sink. The position in the database decides what comes next, so a crash
 * on either side continues where the last transaction ended.
 */
export class SinkFollower {
  readonly #options: SinkFollowerOptions;
  #status = INITIAL_SINK_STATUS;
  #isLeader = false;
  #inInitialSync = true;
  /** Monotonic time of the last renewal, milliseconds. */
  #renewedAt = 0;
  /** The reason why this node cannot write the next block; null where it can, as far as it knows. */
  #obstacle: string | null = null;

  constructor(options: SinkFollowerOptions) {
    this.#options = options;
  }

  /** Follows the chain until the signal aborts. Errors of the database are reported in the status, and it tries again. */
  async run(signal: AbortSignal): Promise<void> {
    const { database } = this.#options;
    let pause = RETRY_MS.first;
    while (!signal.aborted)
      try {
        // Also after an error: the operator may have replaced the database.
        await database.migrate();
        await this.#follow(signal);
      } catch (error) {
        if (signal.aborted) break;
        this.#isLeader = false;
        if (error instanceof LeaseLost) {
          pause = RETRY_MS.first;
          continue;
        }
        // A success since the last failure begins with short pauses again.
        if (this.#status.problem === null) pause = RETRY_MS.first;
        this.#report({ problem: problemText(error) });
        await sleep(pause, signal).catch(() => {});
        pause = Math.min(pause * 2, RETRY_MS.last);
      }
    this.#options.mempool?.close();
    if (this.#isLeader) await database.releaseLease().catch(() => {});
  }

  /** Must be called when the initial sync of the node ends. */
  endInitialSync(): void {
    this.#inInitialSync = false;
  }

  async #follow(signal: AbortSignal): Promise<void> {
    const { database, clock } = this.#options;
    const lease = await this.#awaitLease(signal);
    this.#isLeader = true;
    this.#renewedAt = clock.monotonicMs();
    const ended = new AbortController();
    const renewal = this.#renewLease(AbortSignal.any([signal, ended.signal]));
    try {
      await this.#write(lease, signal);
    } catch (error) {
      if (error instanceof SinkRefused) {
        this.#obstacle = error.message;
        // Another node may be able to continue. A renewal would extend the lease again.
        ended.abort(new Error('the sink cannot continue'));
        await renewal;
        await database.releaseLease().catch(() => {});
      }
      throw error;
    } finally {
      ended.abort(new Error('the sink has stopped'));
      await renewal;
    }
  }

  /**
   * Waits until no other node is the leader, or until the leader does not write blocks that this node has, or does not notice
   * that the database lacks events.
   */
  async #awaitLease(signal: AbortSignal): Promise<SinkLease> {
    const { database, reads, mempool, clock } = this.#options;
    let last: SinkPosition | null = null;
    /** When the leader had last written, or had nothing to write that this node has. */
    let currentAt = 0;
    let completeAt = clock.monotonicMs();
    for (;;) {
      const position = await database.position();
      const tip = reads.tip();
      if (this.#obstacle !== null && (this.#isTip(position) || (await this.#hasNext(position)))) this.#obstacle = null;
      const now = clock.monotonicMs();
      const hasNothing = tip.chainwork <= position.chainwork || position.phase === 'fill';
      if (position.hash !== last?.hash || hasNothing) currentAt = now;
      if (!database.lacksEvents) completeAt = now;
      last = position;
      const isStalled = now - currentAt > STALLED_MS && (await this.#hasNext(position));
      const isForced = isStalled || now - completeAt > UNNOTICED_MS;
      // A node that is behind could write nothing, and leaves the lease to others.
      const isBehind = tip.chainwork < position.chainwork && (await this.#findFork(position)) === null;
      const canLead = this.#obstacle === null && !isBehind;
      const lease = canLead ? await database.acquireLease(LEASE_SECONDS, { isForced }) : null;
      if (lease !== null) return lease;
      mempool?.close();
      this.#report({ state: 'standby', height: position.height, tipHeight: tip.height, problem: this.#obstacle });
      await sleep(STANDBY_MS, signal);
    }
  }

  #isTip({ hash }: SinkPosition): boolean {
    return hash === hashToHex(this.#options.reads.tip().hash);
  }

  /** Whether this node could write the next block now. */
  async #hasNext(position: SinkPosition): Promise<boolean> {
    try {
      const fork = await this.#findFork(position);
      return fork !== null && (await this.#readNext(fork, { reorg: false, phase: position.phase })) !== null;
    } catch (error) {
      if (error instanceof SinkRefused) return false;
      throw error;
    }
  }

  /** Renews the lease until the signal aborts or the lease is lost. */
  async #renewLease(signal: AbortSignal): Promise<void> {
    const { database, clock } = this.#options;
    while (!signal.aborted) {
      try {
        await sleep(RENEWAL_MS, signal);
        await database.renewLease(LEASE_SECONDS);
        this.#renewedAt = clock.monotonicMs();
      } catch (error) {
        if (error instanceof LeaseLost) this.#isLeader = false;
        // The connection may come back before the lease ends; each transaction verifies the fence in any case.
      }
      if (clock.monotonicMs() - this.#renewedAt > LEASE_SECONDS * 1000) this.#isLeader = false;
      if (!this.#isLeader) return;
    }
  }

  async #write(lease: SinkLease, signal: AbortSignal): Promise<void> {
    const { database, reads, clock, mempool } = this.#options;
    let position = await database.position();
    if (database.lacksEvents) {
      await database.changeTag();
      this.#report({ rollbacks: this.#status.rollbacks + 1 });
    }
    mempool?.resume(lease, position);
    let prepared: BlockBatch | null = null;
    /** The state of the chain that the database has followed. */
    let followed: ChainState | null = null;
    let followedAt = 0;
    /** Whether the node has a next block, whose rows it cannot make yet. */
    let isHeldUp = false;
    /** Blocks below this height have the totals of the chain; null if all have. */
    let totalsFrom: number | null = 0;
    while (!signal.aborted) {
      if (!this.#isLeader) throw new LeaseLost();
      const { phase } = position;
      const state = reads.state();
      this.#report({ state: phase, height: position.height, tipHeight: state.tip.height, problem: null });
      if (phase === 'live' && !this.#inInitialSync) mempool?.open();
      if (state === followed) {
        const stayedMs = clock.monotonicMs() - followedAt;
        if (isHeldUp && stayedMs > STALLED_MS) throw new SinkRefused(unreadable(position.height + 1));
        const isSettled = !this.#inInitialSync || stayedMs > SETTLED_MS;
        if (phase === 'fill' && isSettled && position.height === state.tip.height) position = await this.#finishFill();
        else {
          await mempool?.writeNext(position, state.tipView);
          this.#report(mempool?.counts ?? {});
          await sleep(IDLE_MS, signal);
        }
        continue;
      }
      const fork = await this.#findFork(position);
      const write: ChainWrite | null = fork && (await this.#readChange(position, fork, prepared));
      prepared = null;
      if (write === null) {
        // A block of tables of version 1 may first leave the chain, and new blocks come between the parts.
        if (totalsFrom !== null) {
          const { nextHeight, hasNext } = await database.completeTotals(reads, totalsFrom);
          totalsFrom = nextHeight;
          if (hasNext) continue;
        }
        const wasHeldUp = isHeldUp;
        isHeldUp = fork !== null && fork.height < state.tip.height;
        // The block that arrives behind such a one changes nothing.
        if (!wasHeldUp || !isHeldUp) followedAt = clock.monotonicMs();
        followed = state;
        continue;
      }
      // The database stores the rows of this batch while those of the next one are made.
      const next: Promise<BlockBatch | null> | null =
        phase === 'fill' ? this.#readNext(write.to, { reorg: false, phase }) : null;
      try {
        if (mempool) await mempool.writeChange(write, phase, signal);
        else await database.commitChange(write, phase);
      } finally {
        // The thread has one job at a time, also for the next attempt.
        await next?.catch(() => {});
      }
      prepared = await next;
      isHeldUp = false;
      position = { ...write.to, phase, nextSeq: position.nextSeq };
      this.#report({
        rows: this.#status.rows + (write.batch?.rows ?? 0),
        removedBlocks: this.#status.removedBlocks + (write.fromHeight - write.keepHeight),
      });
    }
  }

  async #finishFill(): Promise<SinkPosition> {
    const { database } = this.#options;
    this.#report({ state: 'build' });
    await database.finishFill(() => {
      if (!this.#isLeader) throw new LeaseLost();
    });
    return database.position();
  }

  /**
   * Returns the highest block that the database and the active chain share, or one above it where the reorg is deep; null if
   * the node has less to offer than the database has: it is behind, or its chain has not more work.
   */
  async #findFork(position: SinkPosition): Promise<Fork | null> {
    const { reads, database } = this.#options;
    if (position.height < 0 || this.#isActive(position)) return { ...position, stale: [] };
    const tip = reads.tip();
    const known = reads.headers.byHash(hashFromHex(position.hash));
    const isInvalid = known !== null && (known.status & INVALID) !== 0;
    if (!isInvalid && tip.chainwork <= position.chainwork) return null;
    const blocks = await database.blocksDownFrom(position.height, MAX_REMOVED + 1);
    const shared = blocks.findIndex((block) => this.#isActive(block));
    const at = shared < 0 ? blocks.length - 1 : shared;
    const last = blocks[at]!;
    if (shared < 0 && last.height === 0) throw new SinkRefused('the database holds a chain with another genesis block');
    return { ...last, stale: blocks.slice(0, at).map(namedBlock) };
  }

  #isActive({ height, hash }: NamedBlock): boolean {
    const record = this.#options.reads.headers.byHeight(height);
    return record !== null && equalBytes(record.hash, hashFromHex(hash));
  }

  /** Returns the next change of the database; null without one. `prepared` is the batch behind the fork, if it was read before. */
  async #readChange(position: SinkPosition, fork: Fork, prepared: BlockBatch | null): Promise<ChainWrite | null> {
    const { database, clock } = this.#options;
    const { stale } = fork;
    const { phase } = position;
    const isNext = prepared !== null && stale.length === 0 && prepared.blocks[0]!.height === fork.height + 1;
    const batch = isNext ? prepared : await this.#readNext(fork, { reorg: stale.length > 0, phase });
    if (batch === null && stale.length === 0) return null;
    const time = unixSeconds(clock);
    const events: SinkEvent[] = [];
    for (const [i, block] of stale.entries()) {
      const txids = await database.txidsAt(block.height);
      const previousHash = (stale[i + 1] ?? fork).hash;
      events.push(disconnectedEvent(block, { previousHash, txids, depth: i + 1, time }));
    }
    events.push(...(batch?.events ?? []));
    if (stale.length > 0) events.push(reorgedEvent(namedBlock(fork), stale, batch?.blocks ?? [], time));
    return { keepHeight: fork.height, fromHeight: position.height, batch, events, time, to: endOf(fork, batch) };
  }

  /** Returns the blocks behind one of the active chain; null without any, or if a reorg has disconnected that block. */
  async #readNext(
    after: NamedBlock,
    { reorg, phase }: { readonly reorg: boolean; readonly phase: SinkPosition['phase'] },
  ): Promise<BlockBatch | null> {
    const { readBatch, halvingInterval, clock } = this.#options;
    const facts = { halvingInterval, time: unixSeconds(clock), reorg, initialSync: phase === 'fill' };
    const reply = await readBatch({ after: namedBlock(after), ...facts });
    if (reply === null || 'tables' in reply) return reply;
    throw new SinkRefused(
      `the blocks below height ${reply.pruneHeight} have been pruned: a sink is filled by a node that keeps them`,
    );
  }

  #report(change: Partial<SinkStatus>): void {
    const next = { ...this.#status, ...change };
    const isChanged = Object.keys(next).some(
      (key) => next[key as keyof SinkStatus] !== this.#status[key as keyof SinkStatus],
    );
    this.#status = next;
    if (isChanged) this.#options.onStatus(next);
  }
}

/** Returns the position after a change. */
function endOf(fork: Fork, batch: BlockBatch | null): PlacedBlock {
  if (batch !== null) return { ...batch.blocks.at(-1)!, chainwork: batch.chainwork };
  return { ...namedBlock(fork), chainwork: fork.chainwork };
}

const unreadable = (height: number): string =>
  `the block of height ${height} cannot be written yet: blocks behind a loaded UTXO set follow when the ones below it are validated`;

function namedBlock({ height, hash }: NamedBlock): NamedBlock {
  return { height, hash };
}

/** Returns the reason of a failure, without a secret. */
function problemText(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.message;
}
