import { feeForSize } from '../policy/feerate.ts';
import type { Amount } from '../primitives/amount.ts';
import type { Outpoint } from '../primitives/outpoint.ts';
import { compareBytes } from '../util/bytes.ts';
import { compareFeerate, type FeeFrac } from './cluster/feefrac.ts';
import type { Mempool } from './pool.ts';
import { parentsOf } from './relatives.ts';

/** Satoshis that lift what coins stand on in the mempool to a feerate. */
export interface BumpFees {
  /** Of each coin as if it were spent alone, in their order. */
  readonly each: readonly Amount[];
  /** Of all of them: what several stand on is paid for once. */
  readonly together: Amount;
}

/** A transaction of a cluster: modified fee, virtual bytes, and the indexes of those whose outputs it spends. */
export interface ClusterTx extends FeeFrac {
  readonly parents: readonly number[];
}

/**
 * Core's MiniMiner: a transaction that would be mined at this feerate (satoshis per 1,000 vB), be it for what another
 * pays, costs its spender nothing. What spends one of the coins now counts as replaced, with all that descends from it;
 * coins that are not in the mempool, or go with what is replaced, cost nothing. Every cluster is looked at by itself.
 */
export function bumpFees(mempool: Mempool, outpoints: readonly Outpoint[], feerate: Amount): BumpFees {
  const { entries, graph } = mempool;
  const slots = outpoints.map(({ txid }) => entries.find(txid));
  const wanted = new Set(slots.filter((slot) => slot >= 0));
  const replaced = new Set<number>();
  for (const [i, slot] of slots.entries()) {
    const spender = slot < 0 ? -1 : entries.spender(outpoints[i]!);
    if (spender >= 0) for (const each of graph.descendants(spender)) replaced.add(each);
  }
  const bySlot = new Map<number, Amount>();
  const missing = { fee: 0, size: 0 };
  const done = new Set<number>();
  for (const slot of wanted) {
    if (done.has(slot) || replaced.has(slot)) continue;
    // In a fixed order, so that equal ones are chosen alike.
    const cluster = graph
      .cluster(slot)
      .filter((each) => !replaced.has(each))
      .sort((a, b) => compareBytes(entries.txid(a), entries.txid(b)));
    for (const each of cluster) done.add(each);
    const index = new Map(cluster.map((each, i) => [each, i]));
    const txs = cluster.map((each) => ({
      fee: entries.modifiedFee(each),
      size: entries.vsize(each),
      parents: parentsOf(entries, each).map((parent) => index.get(parent)!),
    }));
    const asked = cluster.flatMap((each, i) => (wanted.has(each) ? i : []));
    const found = clusterBumpFees(txs, asked, feerate);
    for (const i of asked) bySlot.set(cluster[i]!, found.each.get(i)!);
    missing.fee += found.missing.fee;
    missing.size += found.missing.size;
  }
  return {
    each: slots.map((slot) => bySlot.get(slot) ?? 0n),
    together: feeForSize(feerate, missing.size) - BigInt(missing.fee),
  };
}

/** Of some transactions of a cluster: what each needs to be lifted, and what they all stand on that is too cheap. */
function clusterBumpFees(txs: readonly ClusterTx[], asked: readonly number[], feerate: Amount) {
  const mined = new Set(minedPackages(txs, feerate).flat());
  const each = new Map<number, Amount>();
  const below = new Set<number>();
  for (const index of asked) {
    if (mined.has(index)) {
      each.set(index, 0n);
      continue;
    }
    const ancestors = ancestorsOf(txs, index, mined);
    for (const ancestor of ancestors) below.add(ancestor);
    // It has to be worth it alone, and with all it stands on.
    const [own, all] = [lifting(txs, [index], feerate), lifting(txs, ancestors, feerate)];
    each.set(index, own > all ? own : all);
  }
  // Together they may pay enough: then they are mined before what spends them, which owes them nothing.
  const pays = lifting(txs, below, feerate) <= 0n;
  return { each, missing: pays ? { fee: 0, size: 0 } : sumOf(txs, below) };
}

/**
 * Indexes in the order in which ancestor packages are mined, the best first, until a package pays less than the
 * feerate; null for all. Equal ones in the order given.
 */
export function minedPackages(txs: readonly ClusterTx[], feerate: Amount | null): number[][] {
  const packages: number[][] = [];
  const left = new Map(txs.map((tx, index) => [index, { tx, ancestors: packageOf(txs, index) }]));
  while (left.size > 0) {
    let best: { readonly score: FeeFrac; readonly ancestors: AncestorPackage } | null = null;
    for (const { tx, ancestors } of left.values()) {
      // Its ancestors do not earn it a place, so that the worse of both counts.
      const score = isBetter(ancestors, tx) ? tx : ancestors;
      if (best === null || isBetter(score, best.score)) best = { score, ancestors };
    }
    const { members, fee, size } = best!.ancestors;
    if (feerate !== null && BigInt(fee) < feeForSize(feerate, size)) break;
    packages.push([...members]);
    for (const member of members) left.delete(member);
    for (const { ancestors } of left.values())
      for (const member of members)
        if (ancestors.members.delete(member)) {
          ancestors.fee -= txs[member]!.fee;
          ancestors.size -= txs[member]!.size;
        }
  }
  return packages;
}

/** A transaction with all it descends from that is not mined yet. */
interface AncestorPackage {
  fee: number;
  size: number;
  readonly members: Set<number>;
}

function packageOf(txs: readonly ClusterTx[], index: number): AncestorPackage {
  const members = new Set(ancestorsOf(txs, index));
  return { ...sumOf(txs, members), members };
}

/** A higher feerate, or the same in fewer bytes. */
function isBetter(a: FeeFrac, b: FeeFrac): boolean {
  const sign = compareFeerate(a.fee, a.size, b.fee, b.size);
  return sign > 0 || (sign === 0 && a.size < b.size);
}

/** All it descends from but what is mined, itself first. */
function ancestorsOf(txs: readonly ClusterTx[], index: number, mined: ReadonlySet<number> = new Set()): number[] {
  const found = new Set([index]);
  for (const each of found) for (const parent of txs[each]!.parents) if (!mined.has(parent)) found.add(parent);
  return [...found];
}

function sumOf(txs: readonly ClusterTx[], members: Iterable<number>): FeeFrac {
  let [fee, size] = [0, 0];
  for (const member of members) {
    fee += txs[member]!.fee;
    size += txs[member]!.size;
  }
  return { fee, size };
}

/** Satoshis that these lack of a feerate; below zero where they pay more. */
function lifting(txs: readonly ClusterTx[], members: Iterable<number>, feerate: Amount): Amount {
  const { fee, size } = sumOf(txs, members);
  return feeForSize(feerate, size) - BigInt(fee);
}
