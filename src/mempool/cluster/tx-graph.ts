import { assert } from '../../util/assert.ts';
import { grown, grownRows } from '../../util/column.ts';
import { ChunkHeap } from './chunk-heap.ts';
import { type Cluster, diagramOf, orderedCluster, oversizedCluster, type SlotChunk } from './cluster.ts';
import { Edges } from './edges.ts';
import type { FeeFrac } from './feefrac.ts';
import { BEST_CLASS, FeerateClasses, feerateClass } from './feerate-classes.ts';

/** Changes since `startStaging`. */
interface Staging {
  /** Steps that revert the changes, to be run last to first. */
  readonly undo: (() => void)[];
  /** Clusters that the changes removed, and clusters that they created. */
  readonly replaced: Set<Cluster>;
  readonly created: Set<Cluster>;
  readonly createdAlone: Set<number>;
  readonly added: Set<number>;
  /** Slots that become free when the staging is committed. */
  readonly freed: number[];
}

const INITIAL = 256;
const COMPACT_AT = 4096;
/** Stands for the cluster of a single transaction; the object is created only on request. */
const SINGLETON: Cluster = { slots: [], chunks: [], oversized: false };

/**
 * The dependency graph of the mempool's transactions with their clusters and linearizations (Core's TxGraph). Each
 * transaction has a slot. Changes can be staged, inspected and then committed or reverted.
 */
export class TxGraph {
  readonly #maxCount: number;
  readonly #maxWeight: number;
  #fee = new Float64Array(INITIAL);
  #weight = new Uint32Array(INITIAL);
  readonly #parents = new Edges();
  readonly #children = new Edges();
  /** undefined if the cluster must be recomputed; ALONE if the transaction is a cluster by itself, as most are. */
  readonly #cluster: (Cluster | undefined)[] = [];
  #version = new Uint32Array(INITIAL);
  readonly #classes = new FeerateClasses();
  #free: number[] = [];
  /** Slots of removed transactions in order of removal, from the index `#firstRemoved` on. */
  #removed: number[] = [];
  #firstRemoved = 0;
  readonly #mayReuse: (slot: number) => boolean;
  /** Slots whose cluster must be recomputed. */
  #stale = new Set<number>();
  #oversized = new Set<Cluster>();
  readonly #heap = new ChunkHeap((slot, version) => this.#version[slot] === version);
  #staging: Staging | null = null;

  /**
   * `maxCount` and `maxWeight` are the cluster limits: transactions, and weight units. `mayReuse` returns whether the slot
   * of a removed transaction can be assigned again.
   */
  constructor(maxCount = 64, maxWeight = 404_000, mayReuse: (slot: number) => boolean = () => true) {
    this.#mayReuse = mayReuse;
    this.#maxCount = maxCount;
    this.#maxWeight = maxWeight;
  }

  /** Adds a transaction without dependencies; returns its slot. */
  add(fee: number, weight: number): number {
    const slot = this.#free.pop() ?? this.#reusedSlot() ?? this.#parents.end;
    if (slot === this.#fee.length) this.#grow();
    this.#fee[slot] = fee;
    this.#weight[slot] = weight;
    this.#open(slot);
    this.#cluster[slot] = undefined;
    this.#stale.add(slot);
    this.#staging?.added.add(slot);
    this.#staging?.undo.push(() => {
      this.#drop(slot);
      this.#free.push(slot);
    });
    return slot;
  }

  /** Records that `child` spends an output of `parent`. The dependency must not create a cycle. */
  addDependency(parent: number, child: number): void {
    if (this.#parents.has(child, parent)) return;
    this.#invalidate(parent);
    this.#invalidate(child);
    this.#link(parent, child);
    this.#staging?.undo.push(() => {
      this.#invalidate(parent);
      this.#unlink(parent, child);
    });
  }

  /** Removes a transaction and its dependencies, which may split its cluster. */
  remove(slot: number): void {
    this.#invalidate(slot);
    const parents = this.#parents.neighbours(slot);
    const children = this.#children.neighbours(slot);
    const [fee, weight] = [this.#fee[slot]!, this.#weight[slot]!];
    for (const parent of parents) this.#unlink(parent, slot);
    for (const child of children) this.#unlink(slot, child);
    this.#drop(slot);
    if (!this.#staging) {
      this.#removed.push(slot);
      return;
    }
    this.#staging.freed.push(slot);
    this.#staging.undo.push(() => {
      this.#fee[slot] = fee;
      this.#weight[slot] = weight;
      this.#open(slot);
      this.#stale.add(slot);
      for (const parent of parents) this.#invalidateAndLink(parent, slot);
      for (const child of children) this.#invalidateAndLink(slot, child);
    });
  }

  setFee(slot: number, fee: number): void {
    const before = this.#fee[slot]!;
    this.#invalidate(slot);
    this.#fee[slot] = fee;
    this.#staging?.undo.push(() => {
      this.#invalidate(slot);
      this.#fee[slot] = before;
    });
  }

  /** Returns the ancestors of a slot, including itself. */
  ancestors(slot: number): number[] {
    return this.#parents.reach(slot);
  }

  /** Returns the descendants of a slot, including itself. */
  descendants(slot: number): number[] {
    return this.#children.reach(slot);
  }

  /** Returns the slots of the cluster in linearization order. */
  cluster(slot: number): readonly number[] {
    return this.#clusterOf(slot).slots;
  }

  /** Returns whether the transaction is a cluster by itself. */
  isSingleton(slot: number): boolean {
    this.#updateClusters();
    return this.#cluster[slot] === SINGLETON;
  }

  /** Returns the chunk that contains the slot. */
  chunk(slot: number): SlotChunk {
    return this.#clusterOf(slot).chunks.find(({ slots }) => slots.includes(slot))!;
  }

  distinctClusters(slots: readonly number[]): number {
    return new Set(slots.map((slot) => this.#clusterOf(slot).slots[0]!)).size;
  }

  /**
   * Returns whether a transaction without dependencies could spend outputs of all `parents` within the cluster limits.
   */
  canJoin(slot: number, parents: readonly number[]): boolean {
    let count = 1;
    let weight = this.#weight[slot]!;
    const counted = new Set<number>();
    for (const parent of parents) {
      const { slots } = this.#clusterOf(parent);
      if (counted.has(slots[0]!)) continue;
      counted.add(slots[0]!);
      count += slots.length;
      for (const member of slots) weight += this.#weight[member]!;
      if (count > this.#maxCount || weight > this.#maxWeight) return false;
    }
    return true;
  }

  /** Returns whether any cluster exceeds the limits. */
  isOversized(): boolean {
    this.#updateClusters();
    return this.#oversized.size > 0;
  }

  /** Starts a staging: all following changes can be reverted until `commitStaging`. */
  startStaging(): void {
    assert(this.#staging === null, 'a staging is already open');
    this.#updateClusters();
    this.#staging = {
      undo: [],
      replaced: new Set(),
      created: new Set(),
      createdAlone: new Set(),
      added: new Set(),
      freed: [],
    };
  }

  commitStaging(): void {
    this.#removed.push(...this.#staging!.freed);
    this.#staging = null;
  }

  abortStaging(): void {
    const { undo } = this.#staging!;
    this.#staging = null;
    for (const step of undo.reverse()) step();
  }

  /**
   * Returns the feerate diagrams of the clusters that the staged changes affect, before (`main`) and after (`staging`).
   */
  diagrams(): { main: FeeFrac[]; staging: FeeFrac[] } {
    this.#updateClusters();
    const { replaced, added } = this.#staging!;
    const touched = new Set(added);
    for (const { slots } of replaced) for (const slot of slots) touched.add(slot);
    const after = new Set<Cluster>();
    for (const slot of touched) {
      if (this.#parents.isFree(slot)) continue;
      const cluster = this.#cluster[slot]!;
      after.add(cluster === SINGLETON ? this.#singleton(slot) : cluster);
    }
    return { main: diagramOf(replaced), staging: diagramOf(after) };
  }

  /** Returns the chunk with the lowest feerate, which would be mined last, or null if the graph is empty. */
  worstChunk(): SlotChunk | null {
    this.#updateClusters();
    const slot = this.#heap.worst();
    return slot < 0 ? null : this.#clusterOf(slot).chunks.at(-1)!;
  }

  /**
   * Yields the chunks of the best feerate classes that together reach `weight`, one class at a time, highest first.
   * Each class is computed when it is requested. The chunks of a class are unsorted, except that those of one cluster
   * keep their linearization order. The graph must not change during the iteration.
   */
  *bestClasses(weight: number): Generator<SlotChunk[], void> {
    this.#updateClusters();
    const later = new Map<number, SlotChunk[]>();
    const classes = this.#classes.best(weight, this.#parents.end);
    const least = classes.at(-1)?.inClass ?? 0;
    for (const { inClass, slots } of classes) {
      const chunks = later.get(inClass) ?? [];
      for (let i = 0; i < slots.length; i++) {
        const slot = slots[i]!;
        const cluster = this.#cluster[slot];
        if (cluster === SINGLETON) chunks.push({ fee: this.#fee[slot]!, size: this.#weight[slot]!, slots: [slot] });
        // A cluster is visited once, at its first slot, which belongs to its best chunk.
        else if (cluster?.slots[0] === slot)
          for (const chunk of cluster.chunks) {
            const of = this.#classes.get(chunk.slots[0]!);
            if (of === inClass) chunks.push(chunk);
            else if (of >= least) listAt(later, of).push(chunk);
          }
      }
      later.delete(inClass);
      yield chunks;
    }
  }

  /** Returns the slots to remove, including their descendants, so that all clusters are within the limits. */
  trim(): number[] {
    this.#updateClusters();
    const out: number[] = [];
    for (const cluster of this.#oversized) {
      let count = 0;
      let weight = 0;
      const dropped = new Set<number>();
      // Ancestors come first in the order, so a slot is kept only with all its ancestors.
      for (const slot of cluster.slots) {
        const fits = count < this.#maxCount && weight + this.#weight[slot]! <= this.#maxWeight;
        if (fits && !this.#parents.neighbours(slot).some((parent) => dropped.has(parent))) {
          count++;
          weight += this.#weight[slot]!;
        } else dropped.add(slot);
      }
      out.push(...dropped);
    }
    return out;
  }

  /** Returns the slot that was removed first, unless it cannot be assigned yet. */
  #reusedSlot(): number | undefined {
    const slot = this.#removed[this.#firstRemoved];
    if (slot === undefined || !this.#mayReuse(slot)) return undefined;
    this.#firstRemoved++;
    if (this.#firstRemoved >= COMPACT_AT && this.#firstRemoved * 2 >= this.#removed.length) {
      this.#removed = this.#removed.slice(this.#firstRemoved);
      this.#firstRemoved = 0;
    }
    return slot;
  }

  #grow(): void {
    const rows = grownRows(this.#fee.length);
    this.#fee = grown(this.#fee, rows);
    this.#weight = grown(this.#weight, rows);
    this.#version = grown(this.#version, rows);
  }

  #clusterOf(slot: number): Cluster {
    this.#updateClusters();
    const cluster = this.#cluster[slot]!;
    return cluster === SINGLETON ? this.#singleton(slot) : cluster;
  }

  #singleton(slot: number): Cluster {
    const slots = [slot];
    return { slots, chunks: [{ slots, fee: this.#fee[slot]!, size: this.#weight[slot]! }], oversized: false };
  }

  #open(slot: number): void {
    this.#parents.open(slot);
    this.#children.open(slot);
  }

  #link(parent: number, child: number): void {
    this.#parents.add(child, parent);
    this.#children.add(parent, child);
  }

  #invalidateAndLink(parent: number, child: number): void {
    this.#invalidate(parent);
    this.#invalidate(child);
    this.#link(parent, child);
  }

  #unlink(parent: number, child: number): void {
    this.#parents.remove(child, parent);
    this.#children.remove(parent, child);
  }

  #drop(slot: number): void {
    this.#invalidate(slot);
    this.#parents.free(slot);
    this.#children.open(slot);
    this.#cluster[slot] = undefined;
    this.#classes.set(slot, 0, this.#weight[slot]!);
    this.#stale.delete(slot);
  }

  /** Marks the cluster of a slot for recomputation. */
  #invalidate(slot: number): void {
    const cluster = this.#cluster[slot];
    if (!cluster) return;
    if (cluster === SINGLETON) {
      if (this.#staging && !this.#staging.createdAlone.delete(slot)) this.#staging.replaced.add(this.#singleton(slot));
      this.#cluster[slot] = undefined;
      this.#version[slot]!++;
      this.#stale.add(slot);
      return;
    }
    if (this.#staging && !this.#staging.created.has(cluster)) this.#staging.replaced.add(cluster);
    this.#oversized.delete(cluster);
    for (const member of cluster.slots) {
      if (this.#cluster[member] !== cluster) continue;
      this.#cluster[member] = undefined;
      this.#version[member]!++;
      this.#stale.add(member);
    }
  }

  /** Recomputes the clusters of all stale slots. */
  #updateClusters(): void {
    if (this.#stale.size === 0) return;
    for (const slot of this.#stale) {
      if (this.#parents.isFree(slot) || this.#cluster[slot]) continue;
      if (this.#hasNoNeighbours(slot)) {
        this.#cluster[slot] = SINGLETON;
        this.#staging?.createdAlone.add(slot);
        this.#classes.set(slot, feerateClass(this.#fee[slot]!, this.#weight[slot]!), this.#weight[slot]!);
        this.#heap.add(slot, this.#version[slot]!, this.#fee[slot]!, this.#weight[slot]!);
        continue;
      }
      const members = this.#connected(slot);
      const cluster = this.#newCluster(members);
      for (const member of members) this.#cluster[member] = cluster;
      let inClass = BEST_CLASS;
      for (const { fee, size, slots } of cluster.chunks) {
        // Class numbers are rounded, so the class is capped: no chunk may rank before a chunk it depends on.
        inClass = Math.min(inClass, feerateClass(fee, size));
        for (const member of slots) this.#classes.set(member, inClass, this.#weight[member]!);
      }
      if (cluster.oversized) this.#oversized.add(cluster);
      this.#staging?.created.add(cluster);
      const last = cluster.chunks.at(-1)!;
      const key = last.slots[0]!;
      this.#heap.add(key, this.#version[key]!, last.fee, last.size);
    }
    this.#stale.clear();
  }

  /**
   * Returns whether the transaction has no neighbours and is within the weight limit; a heavier one needs an oversized
   * cluster object.
   */
  #hasNoNeighbours(slot: number): boolean {
    return this.#parents.hasNone(slot) && this.#children.hasNone(slot) && this.#weight[slot]! <= this.#maxWeight;
  }

  #newCluster(members: readonly number[]): Cluster {
    const weight = members.reduce((sum, slot) => sum + this.#weight[slot]!, 0);
    const facts = { fee: this.#fee, weight: this.#weight, parents: this.#parents };
    return members.length > this.#maxCount || weight > this.#maxWeight
      ? oversizedCluster(members, facts)
      : orderedCluster(members, facts);
  }

  #connected(start: number): number[] {
    const seen = new Set([start]);
    for (const slot of seen) {
      for (const parent of this.#parents.neighbours(slot)) seen.add(parent);
      for (const child of this.#children.neighbours(slot)) seen.add(child);
    }
    return [...seen].sort((a, b) => a - b);
  }
}

function listAt(lists: Map<number, SlotChunk[]>, key: number): SlotChunk[] {
  const list = lists.get(key) ?? [];
  lists.set(key, list);
  return list;
}
