import { workOf } from '../consensus/work.ts';
import type { BlockHash } from '../primitives/hash.ts';
import { type BlockHeader, headerFromBytes } from '../primitives/header.ts';
import { HeaderStatus } from '../storage/chain-schema.ts';
import type { BodyStats, HeaderRecord } from '../storage/header-store.ts';
import type { PrunedKind } from '../storage/record-removal.ts';
import { equalBytes } from '../util/bytes.ts';
import { ChainEntry, forkPoint } from './chain-entry.ts';
import { HeaderTable } from './header-table.ts';

/**
 * All headers with a valid proof of work, linked to their parents, and the candidates for the tip. The best candidate
 * has the most work; with equal work, the one that was complete first.
 */
export class HeaderTree {
  readonly #table = new HeaderTable();
  /** Entries by their rows in the table. */
  readonly #entries: ChainEntry[] = [];
  /** Complete chains that are not known to be invalid. Those with less work than the tip are pruned as it moves. */
  readonly #candidates = new Set<ChainEntry>();
  /** Candidates that were left out because a block of their chain has been pruned. */
  readonly #withoutBody = new Set<ChainEntry>();
  /** Whether any body has been pruned. */
  #lacksBodies = false;
  #nextId = 1;
  #nextSequence = 1;
  /** Counts down, so that blocks preferred by an operator come before those that arrived first. */
  #preferred = 0;
  #best: ChainEntry | null = null;
  #bestWork = -1n;
  #bestInvalid: ChainEntry | null = null;
  /** The block of a loaded UTXO set. */
  #assumed: ChainEntry | null = null;

  get size(): number {
    return this.#entries.length;
  }

  /** The valid header with the most work; its body may be missing. */
  get bestHeader(): ChainEntry {
    return this.#best!;
  }

  /** The header with the most work among those of invalid blocks and of blocks that build on one; null without any. */
  get bestInvalid(): ChainEntry | null {
    return this.#bestInvalid;
  }

  findEntry(hash: Uint8Array): ChainEntry | null {
    return this.#entries[this.#table.findRow(hash)] ?? null;
  }

  insertHeader(hash: BlockHash, header: BlockHeader, parent: ChainEntry | null): ChainEntry {
    const work = workOf(header.bits) + (parent?.chainwork ?? 0n);
    const entry = this.#addEntry(this.#nextId++, hash, header, parent, work);
    if (parent?.failed) entry.status |= HeaderStatus.FAILED_PARENT;
    this.#updateBestHeader(entry, work);
    return entry;
  }

  /** Inserts a stored record at the start. Parents come before their children. */
  loadRecord(record: HeaderRecord, assumed: BlockHash | null = null): ChainEntry {
    const header = headerFromBytes(record.header);
    const parent = this.findEntry(header.previousHash);
    const entry = this.#addEntry(record.id, record.hash, header, parent, record.chainwork);
    entry.status = record.status;
    if (!record.body) entry.status &= ~HeaderStatus.HAVE_BLOCK;
    if (!record.undo) entry.status &= ~HeaderStatus.HAVE_UNDO;
    if (record.body) entry.body = record.body;
    if (record.undo) entry.undo = record.undo;
    if (record.stats) entry.status |= HeaderStatus.HAD_BLOCK;
    if (record.fees !== null) entry.status |= HeaderStatus.HAD_UNDO;
    if (entry.hadBody && !entry.hasBody) this.#lacksBodies = true;
    this.#nextId = Math.max(this.#nextId, record.id + 1);
    this.#updateBestHeader(entry, record.chainwork);
    if (assumed !== null && equalBytes(record.hash, assumed)) this.assumeComplete(entry);
    else if (entry.hadBody) this.onBlockStored(entry);
    return entry;
  }

  /** Prefers the active chain to all others with equal work, whichever arrived first in the last run. */
  preferChain(tip: ChainEntry): void {
    for (let at: ChainEntry | null = tip; at !== null; at = at.parent) at.sequence = 0;
  }

  /** Must be called when the body of an entry is stored: the chains that it completes become candidates. */
  onBlockStored(entry: ChainEntry): void {
    if (entry.complete) {
      // A pruned body was received again.
      for (const candidate of this.#withoutBody) this.#candidates.add(candidate);
      this.#withoutBody.clear();
      return;
    }
    if (entry.parent !== null && !entry.parent.complete) return;
    this.#completeFrom(entry);
  }

  #completeFrom(entry: ChainEntry): void {
    const queue = [entry];
    for (let at = queue.pop(); at !== undefined; at = queue.pop()) {
      if (at.complete) continue;
      at.complete = true;
      at.sequence = this.#nextSequence++;
      if (!at.failed) this.#candidates.add(at);
      for (const child of this.#children(at)) if (child.hadBody) queue.push(child);
    }
  }

  /**
   * Treats a block as complete although blocks before it are missing: its UTXO set was loaded. Until `endAssumption`, only
   * its descendants are candidates, since no undo data leads to other branches.
   */
  assumeComplete(base: ChainEntry): void {
    this.#assumed = base;
    this.#completeFrom(base);
  }

  endAssumption(): void {
    this.#assumed = null;
  }

  /**
   * Returns the tip of the best complete chain that is not known to be invalid, and whose blocks above the fork point
   * are stored. A chain with pruned blocks is a candidate again when one of them is received.
   */
  bestCandidate(tip: ChainEntry): ChainEntry {
    const base = this.#assumed;
    for (;;) {
      let best = tip;
      for (const candidate of this.#candidates)
        if (isBetter(candidate, best) && (base === null || candidate.ancestor(base.height) === base)) best = candidate;
      if (best === tip || !this.#lacksBodies || hasBodiesAbove(best, forkPoint(best, tip))) return best;
      this.#candidates.delete(best);
      this.#withoutBody.add(best);
    }
  }

  /** Marks records as pruned, so that chains that need them are no candidates. */
  markPruned({ bodies, undo }: PrunedRecords): void {
    this.#lacksBodies = true;
    for (const entry of bodies) entry.status &= ~HeaderStatus.HAVE_BLOCK;
    for (const entry of undo) entry.status &= ~HeaderStatus.HAVE_UNDO;
  }

  /** Calls `visit` with each entry whose body, or undo data, is stored, and with the file and the end of that record. */
  visitRecords(kind: PrunedKind, visit: (entry: ChainEntry, file: number, end: number) => void): void {
    const bit = kind === 'blk' ? HeaderStatus.HAVE_BLOCK : HeaderStatus.HAVE_UNDO;
    this.#table.visitRecords(bit, (row, file, end) => visit(this.#entries[row]!, file, end));
  }

  /** Drops candidates that are not better than the tip. */
  pruneCandidates(tip: ChainEntry): void {
    for (const candidate of this.#candidates)
      if (candidate !== tip && !isBetter(candidate, tip)) this.#candidates.delete(candidate);
  }

  /** Marks a block and its descendants invalid. Returns every entry whose status changed. */
  markFailed(entry: ChainEntry, bit: number = HeaderStatus.FAILED): ChainEntry[] {
    entry.status |= bit;
    const changed = [entry];
    for (let i = 0; i < changed.length; i++) {
      this.#candidates.delete(changed[i]!);
      this.#withoutBody.delete(changed[i]!);
      for (const child of this.#children(changed[i]!)) {
        if (child.status & HeaderStatus.FAILED_PARENT) continue;
        child.status |= HeaderStatus.FAILED_PARENT;
        changed.push(child);
      }
    }
    this.#rebuildCandidates();
    return changed;
  }

  /**
   * Clears the invalid marks of a block, its ancestors and its descendants. Returns every entry whose status changed.
   */
  clearFailed(entry: ChainEntry): ChainEntry[] {
    const changed: ChainEntry[] = [];
    const clear = (at: ChainEntry) => {
      if (!at.failed) return;
      at.status &= ~(HeaderStatus.FAILED | HeaderStatus.FAILED_PARENT | HeaderStatus.INVALIDATED);
      changed.push(at);
    };
    for (let at: ChainEntry | null = entry; at !== null; at = at.parent) clear(at);
    const queue = [entry];
    for (let at = queue.pop(); at !== undefined; at = queue.pop())
      for (const child of this.#children(at)) {
        clear(child);
        queue.push(child);
      }
    this.#rebuildCandidates();
    return changed;
  }

  /** Prefers a block to all others with equal work. */
  preferEntry(entry: ChainEntry): void {
    entry.sequence = --this.#preferred;
    if (entry.complete && !entry.failed) this.#candidates.add(entry);
  }

  /** Returns the entries without children. */
  leaves(): ChainEntry[] {
    return this.#entries.filter(({ row }) => !this.#table.hasChildren(row));
  }

  /** Rebuilds the candidates after marks changed: blocks behind the tip may be the best of those that remain. */
  #rebuildCandidates(): void {
    this.#best = null;
    this.#bestWork = -1n;
    this.#bestInvalid = null;
    for (const entry of this.#entries) {
      if (entry.complete && !entry.failed) this.#candidates.add(entry);
      this.#updateBestHeader(entry, entry.chainwork);
    }
  }

  #addEntry(id: number, hash: BlockHash, header: BlockHeader, parent: ChainEntry | null, work: bigint): ChainEntry {
    const entry = new ChainEntry(this.#table, this.#table.addRow(id, hash, header, parent?.row ?? -1, work), parent);
    this.#entries.push(entry);
    return entry;
  }

  *#children({ row }: ChainEntry): Generator<ChainEntry> {
    for (const child of this.#table.children(row)) yield this.#entries[child]!;
  }

  #updateBestHeader(entry: ChainEntry, work: bigint): void {
    if (entry.failed) {
      if (this.#bestInvalid === null || work > this.#bestInvalid.chainwork) this.#bestInvalid = entry;
      return;
    }
    if (work <= this.#bestWork) return;
    this.#best = entry;
    this.#bestWork = work;
  }
}

function isBetter(a: ChainEntry, b: ChainEntry): boolean {
  return a.chainwork > b.chainwork || (a.chainwork === b.chainwork && a.sequence < b.sequence);
}

function hasBodiesAbove(entry: ChainEntry, fork: ChainEntry): boolean {
  for (let at = entry; at !== fork; at = at.parent!) if (!at.hasBody) return false;
  return true;
}

/** Entries whose bodies or undo data have been pruned. */
export interface PrunedRecords {
  readonly bodies: readonly ChainEntry[];
  readonly undo: readonly ChainEntry[];
}

/** A body that was stored since the last commit. */
export interface NewBody {
  readonly entry: ChainEntry;
  readonly stats: BodyStats;
  /** Time of arrival, Unix seconds. */
  readonly receivedAt: number;
}

/** Headers, bodies and statuses that changed since the last commit. */
export interface TreeChange {
  readonly headers: ChainEntry[];
  readonly bodies: NewBody[];
  readonly statuses: Set<ChainEntry>;
}

export function emptyTreeChange(): TreeChange {
  return { headers: [], bodies: [], statuses: new Set() };
}

export function isEmptyTreeChange({ headers, bodies, statuses }: TreeChange): boolean {
  return headers.length + bodies.length + statuses.size === 0;
}

export function mergeTreeChanges(earlier: TreeChange, later: TreeChange): TreeChange {
  return {
    headers: [...earlier.headers, ...later.headers],
    bodies: [...earlier.bodies, ...later.bodies],
    statuses: earlier.statuses.union(later.statuses),
  };
}

/** How far a branch is validated, in Core's words (getchaintips). */
export type ChainTipStatus = 'active' | 'invalid' | 'headers-only' | 'valid-headers' | 'valid-fork';

export interface ChainTip {
  readonly entry: ChainEntry;
  /** Number of blocks between the tip of the branch and the active chain. */
  readonly branchLength: number;
  readonly status: ChainTipStatus;
}

/** Returns the tips of the active chain and of every branch, the highest first. */
export function chainTips(tree: HeaderTree, active: ChainEntry): ChainTip[] {
  const ends = tree.leaves().filter((entry) => active.ancestor(entry.height) !== entry);
  return [active, ...ends]
    .sort((a, b) => b.height - a.height)
    .map((entry) => ({
      entry,
      branchLength: entry.height - forkPoint(entry, active).height,
      status: tipStatus(entry, active),
    }));
}

function tipStatus(entry: ChainEntry, active: ChainEntry): ChainTipStatus {
  if (entry === active) return 'active';
  if (entry.failed) return 'invalid';
  if (!entry.complete) return 'headers-only';
  // The block was connected once and left for a chain with more work.
  return entry.wasConnected ? 'valid-fork' : 'valid-headers';
}
