import { assert } from '../../util/assert.ts';
import { grown, grownRows } from '../../util/column.ts';
import { ChunkHeap } from './chunk-heap.ts';
import { type Cluster, diagramOf, orderedCluster, oversizedCluster, type SlotChunk } from './cluster.ts';
import { Edges } from './edges.ts';
import type { FeeFrac } from './feefrac.ts';
import { BEST_CLASS, FeerateClasses, feerateClass } from './feerate-classes.ts';

/** What has been tried since staging began. */
interface Staging {
  /** Takes the steps back, the last first. */
  readonly undo: (() => void)[];
  /** Clusters of before that are no more, and those that came since. */
  readonly replaced: Set<Cluster>;
  readonly created: Set<Cluster>;
  readonly createdAlone: Set<number>;
  readonly added: Set<number>;
  /** Slots that are free once it is committed. */
  readonly freed: number[];
}

/**
 * How the transactions of the mempool hang together and in which order they are best mined. Each has a slot. Changes can
 * be staged: tried, looked at, and taken back.
 */
export class TxGraph {
  readonly #maxCount: number;
  readonly #maxWeight: number;
  #fee = new Float64Array(INITIAL);
  #weight = new Uint32Array(INITIAL);
  readonly #parents = new Edges();
  readonly #children = new Edges();
  /** undefined where it is to be found anew; ALONE where a transaction hangs together with none, as most do. */
  readonly #cluster: (Cluster | undefined)[] = [];
  #version = new Uint32Array(INITIAL);
  readonly #classes = new FeerateClasses();
  #free: number[] = [];
  /** Slots whose cluster is to be found anew. */
  #stale = new Set<number>();
  #oversized = new Set<Cluster>();
  readonly #heap = new ChunkHeap((slot, version) => this.#version[slot] === version);
  #staging: Staging | null = null;

  /** Limits of a cluster: transactions, and weight. */
  constructor(maxCount = 64, maxWeight = 404_000) {
    this.#maxCount = maxCount;
    this.#maxWeight = maxWeight;
  }

  /** Adds a transaction that hangs together with none; returns its slot. */
  add(fee: number, weight: number): number {
    const slot = this.#free.pop() ?? this.#parents.end;
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

  /** Says that `child` spends an output of `parent`. There must be no cycle. */
  addDependency(parent: number, child: number): void {
    if (this.#parents.has(child, parent)) return;
    this.#touch(parent);
    this.#touch(child);
    this.#link(parent, child);
    this.#staging?.undo.push(() => {
      this.#touch(parent);
      this.#unlink(parent, child);
    });
  }

  /** Takes a transaction out; its parents and children no longer hang together by it. */
  remove(slot: number): void {
    this.#touch(slot);
    const parents = this.#parents.of(slot);
    const children = this.#children.of(slot);
    const [fee, weight] = [this.#fee[slot]!, this.#weight[slot]!];
    for (const parent of parents) this.#unlink(parent, slot);
    for (const child of children) this.#unlink(slot, child);
    this.#drop(slot);
    if (!this.#staging) {
      this.#free.push(slot);
      return;
    }
    this.#staging.freed.push(slot);
    this.#staging.undo.push(() => {
      this.#fee[slot] = fee;
      this.#weight[slot] = weight;
      this.#open(slot);
      this.#stale.add(slot);
      for (const parent of parents) this.#touchAndLink(parent, slot);
      for (const child of children) this.#touchAndLink(slot, child);
    });
  }

  setFee(slot: number, fee: number): void {
    const before = this.#fee[slot]!;
    this.#touch(slot);
    this.#fee[slot] = fee;
    this.#staging?.undo.push(() => {
      this.#touch(slot);
      this.#fee[slot] = before;
    });
  }

  /** All it descends from, itself included. */
  ancestors(slot: number): number[] {
    return this.#parents.reach(slot);
  }

  /** All that descends from it, itself included. */
  descendants(slot: number): number[] {
    return this.#children.reach(slot);
  }

  /** All that hangs together with it, in the order in which it is best mined. */
  cluster(slot: number): readonly number[] {
    return this.#clusterOf(slot).slots;
  }

  /** Whether it hangs together with no other. */
  standsAlone(slot: number): boolean {
    this.#settle();
    return this.#cluster[slot] === ALONE;
  }

  /** The chunk it is mined with. */
  chunk(slot: number): SlotChunk {
    return this.#clusterOf(slot).chunks.find(({ slots }) => slots.includes(slot))!;
  }

  distinctClusters(slots: readonly number[]): number {
    return new Set(slots.map((slot) => this.#clusterOf(slot).slots[0]!)).size;
  }

  /** Whether one that hangs together with none, and these, would be a cluster within the limits if it spent of each. */
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

  /** Whether any cluster is above the limits. */
  isOversized(): boolean {
    this.#settle();
    return this.#oversized.size > 0;
  }

  /** From here on changes are tried only. */
  startStaging(): void {
    assert(this.#staging === null, 'one try at a time');
    this.#settle();
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
    this.#free.push(...this.#staging!.freed);
    this.#staging = null;
  }

  abortStaging(): void {
    const { undo } = this.#staging!;
    this.#staging = null;
    for (const step of undo.reverse()) step();
  }

  /** The chunks, in falling order of feerate, of what the staged changes touch: before and after. */
  diagrams(): { main: FeeFrac[]; staging: FeeFrac[] } {
    this.#settle();
    const { replaced, added } = this.#staging!;
    const touched = new Set(added);
    for (const { slots } of replaced) for (const slot of slots) touched.add(slot);
    const after = new Set<Cluster>();
    for (const slot of touched) {
      if (this.#parents.isFree(slot)) continue;
      const cluster = this.#cluster[slot]!;
      after.add(cluster === ALONE ? this.#alone(slot) : cluster);
    }
    return { main: diagramOf(replaced), staging: diagramOf(after) };
  }

  /** What is mined last of all; null where there is nothing. */
  worstChunk(): SlotChunk | null {
    this.#settle();
    const slot = this.#heap.worst();
    return slot < 0 ? null : this.#clusterOf(slot).chunks.at(-1)!;
  }

  /**
   * The chunks among which are the best ones that weigh so much together, by classes of feerate, the best first; each
   * class is looked up when it is asked for. Within a class in no order, but those of a cluster in theirs. The graph must
   * not change meanwhile.
   */
  *bestClasses(weight: number): Generator<SlotChunk[], void> {
    this.#settle();
    const later = new Map<number, SlotChunk[]>();
    const classes = this.#classes.best(weight, this.#parents.end);
    const least = classes.at(-1)?.inClass ?? 0;
    for (const { inClass, slots } of classes) {
      const chunks = later.get(inClass) ?? [];
      for (let i = 0; i < slots.length; i++) {
        const slot = slots[i]!;
        const cluster = this.#cluster[slot];
        if (cluster === ALONE) chunks.push({ fee: this.#fee[slot]!, size: this.#weight[slot]!, slots: [slot] });
        // Each cluster once: when its first slot is met, which is in the best of its chunks.
        else if (cluster?.slots[0] === slot)
          for (const chunk of cluster.chunks) {
            const of = this.#classes.get(chunk.slots[0]!);
            if (of === inClass) chunks.push(chunk);
            else if (of >= least) listed(later, of).push(chunk);
          }
      }
      later.delete(inClass);
      yield chunks;
    }
  }

  /** Slots to take out, with what descends from them, so that every cluster is within the limits again. */
  trim(): number[] {
    this.#settle();
    const out: number[] = [];
    for (const cluster of this.#oversized) {
      let count = 0;
      let weight = 0;
      const dropped = new Set<number>();
      // What is kept is kept with its ancestors, as those come first.
      for (const slot of cluster.slots) {
        const fits = count < this.#maxCount && weight + this.#weight[slot]! <= this.#maxWeight;
        if (fits && !this.#parents.of(slot).some((parent) => dropped.has(parent))) {
          count++;
          weight += this.#weight[slot]!;
        } else dropped.add(slot);
      }
      out.push(...dropped);
    }
    return out;
  }

  #grow(): void {
    const rows = grownRows(this.#fee.length);
    this.#fee = grown(this.#fee, rows);
    this.#weight = grown(this.#weight, rows);
    this.#version = grown(this.#version, rows);
  }

  #clusterOf(slot: number): Cluster {
    this.#settle();
    const cluster = this.#cluster[slot]!;
    return cluster === ALONE ? this.#alone(slot) : cluster;
  }

  #alone(slot: number): Cluster {
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

  #touchAndLink(parent: number, child: number): void {
    this.#touch(parent);
    this.#touch(child);
    this.#link(parent, child);
  }

  #unlink(parent: number, child: number): void {
    this.#parents.remove(child, parent);
    this.#children.remove(parent, child);
  }

  #drop(slot: number): void {
    this.#touch(slot);
    this.#parents.free(slot);
    this.#children.open(slot);
    this.#cluster[slot] = undefined;
    this.#classes.set(slot, 0, this.#weight[slot]!);
    this.#stale.delete(slot);
  }

  /** The cluster of a slot will not be what it was. */
  #touch(slot: number): void {
    const cluster = this.#cluster[slot];
    if (!cluster) return;
    if (cluster === ALONE) {
      if (this.#staging && !this.#staging.createdAlone.delete(slot)) this.#staging.replaced.add(this.#alone(slot));
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

  /** Finds the clusters of all slots that were touched. */
  #settle(): void {
    if (this.#stale.size === 0) return;
    for (const slot of this.#stale) {
      if (this.#parents.isFree(slot) || this.#cluster[slot]) continue;
      if (this.#isAlone(slot)) {
        this.#cluster[slot] = ALONE;
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
        // No rounding may put a chunk before one that it may need.
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

  /** Whether it hangs together with none; too heavy ones are looked at more closely. */
  #isAlone(slot: number): boolean {
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
      for (const parent of this.#parents.of(slot)) seen.add(parent);
      for (const child of this.#children.of(slot)) seen.add(child);
    }
    return [...seen].sort((a, b) => a - b);
  }
}

const INITIAL = 256;
/** Stands for the cluster of every transaction by itself, which is only made where somebody asks for it. */
const ALONE: Cluster = { slots: [], chunks: [], oversized: false };

function listed(lists: Map<number, SlotChunk[]>, key: number): SlotChunk[] {
  const list = lists.get(key) ?? [];
  lists.set(key, list);
  return list;
}
