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

/** What is left to be lifted. */
interface Missing {
  readonly fee: Amount;
  readonly vsize: number;
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
  const missing = { fee: 0n, vsize: 0 };
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
    missing.vsize += found.missing.vsize;
  }
  return {
    each: slots.map((slot) => bySlot.get(slot) ?? 0n),
    together: feeForSize(feerate, missing.vsize) - missing.fee,
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
  return { each, missing: pays ? { fee: 0n, vsize: 0 } : sumOf(txs, below) };
}

/**
 * Indexes in the order in which ancestor packages are mined, the best first, until a package pays less than the
 * feerate; null for all. Equal ones in the order given.
 */
export function minedPackages(txs: readonly ClusterTx[], feerate: Amount | null): number[][] {
  const packages: number[][] = [];
  const mined = new Set<number>();
  while (mined.size < txs.length) {
    let best: { readonly score: FeeFrac; readonly all: FeeFrac; readonly members: readonly number[] } | null = null;
    for (const [index, tx] of txs.entries()) {
      if (mined.has(index)) continue;
      const members = ancestorsOf(txs, index, mined);
      const { fee, vsize } = sumOf(txs, members);
      const all = { fee: Number(fee), size: vsize };
      // Its ancestors do not earn it a place, so that the worse of both counts.
      const score = isBetter(all, tx) ? tx : all;
      if (best === null || isBetter(score, best.score)) best = { score, all, members };
    }
    const { all, members } = best!;
    if (feerate !== null && BigInt(all.fee) < feeForSize(feerate, all.size)) break;
    for (const member of members) mined.add(member);
    packages.push([...members]);
  }
  return packages;
}

/** A higher feerate, or the same in fewer bytes. */
function isBetter(a: FeeFrac, b: FeeFrac): boolean {
  const sign = compareFeerate(a.fee, a.size, b.fee, b.size);
  return sign > 0 || (sign === 0 && a.size < b.size);
}

/** All it descends from that is not mined yet, itself first. */
function ancestorsOf(txs: readonly ClusterTx[], index: number, mined: ReadonlySet<number>): number[] {
  const found = new Set([index]);
  for (const each of found) for (const parent of txs[each]!.parents) if (!mined.has(parent)) found.add(parent);
  return [...found];
}

function sumOf(txs: readonly ClusterTx[], members: Iterable<number>): Missing {
  let [fee, vsize] = [0, 0];
  for (const member of members) {
    fee += txs[member]!.fee;
    vsize += txs[member]!.size;
  }
  return { fee: BigInt(fee), vsize };
}

/** Satoshis that these lack of a feerate; below zero where they pay more. */
function lifting(txs: readonly ClusterTx[], members: Iterable<number>, feerate: Amount): Amount {
  const { fee, vsize } = sumOf(txs, members);
  return feeForSize(feerate, vsize) - fee;
}
