import { workOf } from '../consensus/work.ts';
import type { BlockHash } from '../primitives/hash.ts';
import { type BlockHeader, headerFromBytes } from '../primitives/header.ts';
import type { BodyStats, HeaderRecord } from '../storage/header-store.ts';
import { HeaderStatus } from '../storage/schema.ts';
import { ChainEntry, forkPoint } from './chain-entry.ts';
import { HeaderTable } from './header-table.ts';

/**
 * Every header whose proof of work was checked, linked to its parent; and the ends of complete chains among which the
 * best is chosen: by work, and of equal work the one that was complete first.
 */
export class HeaderTree {
  readonly #table = new HeaderTable();
  /** By their rows. */
  readonly #entries: ChainEntry[] = [];
  /** Complete and valid as far as known; those behind the tip are dropped as it moves. */
  readonly #candidates = new Set<ChainEntry>();
  #nextId = 1;
  #nextSequence = 1;
  /** Counts down: an operator's choice comes before what was seen first. */
  #preferred = 0;
  #best: ChainEntry | null = null;
  #bestWork = -1n;
  #bestInvalid: ChainEntry | null = null;

  get size(): number {
    return this.#entries.length;
  }

  /** The valid header with the most work, its body there or not. */
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

  /** Puts back what a commit stored. Records come parents first. */
  loadRecord(record: HeaderRecord): ChainEntry {
    const header = headerFromBytes(record.header);
    const parent = this.findEntry(header.previousHash);
    const entry = this.#addEntry(record.id, record.hash, header, parent, record.chainwork);
    entry.status = record.status;
    if (!record.body) entry.status &= ~HeaderStatus.HAVE_BLOCK;
    if (!record.undo) entry.status &= ~HeaderStatus.HAVE_UNDO;
    if (record.body) entry.body = record.body;
    if (record.undo) entry.undo = record.undo;
    this.#nextId = Math.max(this.#nextId, record.id + 1);
    this.#updateBestHeader(entry, record.chainwork);
    if (entry.hasBody) this.onBlockStored(entry);
    return entry;
  }

  /** Puts the active chain before all others with equal work, whichever of them was first at the last run. */
  preferChain(tip: ChainEntry): void {
    for (let at: ChainEntry | null = tip; at !== null; at = at.parent) at.sequence = 0;
  }

  /** Call when the body of an entry is stored: chains that it completes become candidates. */
  onBlockStored(entry: ChainEntry): void {
    if (entry.parent !== null && !entry.parent.complete) return;
    const queue = [entry];
    for (let at = queue.pop(); at !== undefined; at = queue.pop()) {
      at.complete = true;
      at.sequence = this.#nextSequence++;
      if (!at.failed) this.#candidates.add(at);
      for (const child of this.#children(at)) if (child.hasBody) queue.push(child);
    }
  }

  /** The end of the best complete chain that is not known to be invalid. */
  bestCandidate(tip: ChainEntry): ChainEntry {
    let best = tip;
    for (const candidate of this.#candidates) if (isBetter(candidate, best)) best = candidate;
    return best;
  }

  /** Drops candidates that the tip has passed. */
  pruneCandidates(tip: ChainEntry): void {
    for (const candidate of this.#candidates)
      if (candidate !== tip && !isBetter(candidate, tip)) this.#candidates.delete(candidate);
  }

  /** Marks a block as invalid, and all that builds on it. Returns every entry whose status changed. */
  markFailed(entry: ChainEntry, bit: number = HeaderStatus.FAILED): ChainEntry[] {
    entry.status |= bit;
    const changed = [entry];
    for (let i = 0; i < changed.length; i++) {
      this.#candidates.delete(changed[i]!);
      for (const child of this.#children(changed[i]!)) {
        if (child.status & HeaderStatus.FAILED_PARENT) continue;
        child.status |= HeaderStatus.FAILED_PARENT;
        changed.push(child);
      }
    }
    this.#rebuildCandidates();
    return changed;
  }

  /** Takes the marks of `fail` off a block, its ancestors and all that builds on it. Returns what changed. */
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

  /** Puts a block before all others with equal work. */
  preferEntry(entry: ChainEntry): void {
    entry.sequence = --this.#preferred;
    if (entry.complete && !entry.failed) this.#candidates.add(entry);
  }

  /** Entries that nothing builds on. */
  leaves(): ChainEntry[] {
    return this.#entries.filter(({ row }) => !this.#table.hasChildren(row));
  }

  /** After marks changed: what the tip had passed may be the best of what is left. */
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

/** A body that arrived since the last commit. */
export interface NewBody {
  readonly entry: ChainEntry;
  readonly stats: BodyStats;
  /** Unix seconds. */
  readonly receivedAt: number;
}

/** Headers and bodies that arrived, and statuses that changed, since the last commit. */
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

/** How far a branch was checked, in Core's words. */
export type ChainTipStatus = 'active' | 'invalid' | 'headers-only' | 'valid-headers' | 'valid-fork';

export interface ChainTip {
  readonly entry: ChainEntry;
  /** Blocks between the tip and the active chain. */
  readonly branchLength: number;
  readonly status: ChainTipStatus;
}

/** The active tip and the end of every other branch, the highest first. */
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
  // It was connected once, and left for a chain with more work.
  return entry.hasUndo ? 'valid-fork' : 'valid-headers';
}
