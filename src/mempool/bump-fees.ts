import { feeForSize } from '../policy/feerate.ts';
import type { Amount } from '../primitives/amount.ts';
import type { Outpoint } from '../primitives/outpoint.ts';
import { compareBytes } from '../util/bytes.ts';
import { compareFeerate, type FeeFrac } from './cluster/feefrac.ts';
import type { Mempool } from './pool.ts';
import { parentsOf } from './relatives.ts';

/** Additional fees in satoshis that raise the unconfirmed ancestors of coins to a feerate. */
export interface BumpFees {
  /** For each coin if it is spent alone, in the order of the coins. */
  readonly each: readonly Amount[];
  /** For all coins together; shared ancestors are paid for once. */
  readonly together: Amount;
}

/** A transaction of a cluster: modified fee, virtual bytes, and the indexes of its parents. */
export interface ClusterTx extends FeeFrac {
  readonly parents: readonly number[];
}

/**
 * Core's MiniMiner: returns the fees that ancestors of coins lack at a feerate (satoshis per 1,000 vB). Ancestors that
 * would be mined at this feerate anyway, possibly because of another descendant, cost nothing. Transactions that spend
 * one of the coins are assumed to be replaced with their descendants. Coins outside the mempool, and those of replaced
 * transactions, cost nothing. Each cluster is evaluated separately.
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
    // Sorted by txid, so that ties are resolved in the same way each time.
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

/** Evaluates transactions of one cluster: the fee that each lacks, and the total of their unmined ancestors. */
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
    // The feerate must be reached both alone and together with the ancestors.
    const [own, all] = [missingFee(txs, [index], feerate), missingFee(txs, ancestors, feerate)];
    each.set(index, own > all ? own : all);
  }
  // If the ancestors reach the feerate together, they are mined without the spender's fee.
  const pays = missingFee(txs, below, feerate) <= 0n;
  return { each, missing: pays ? { fee: 0, size: 0 } : sumOf(txs, below) };
}

/**
 * Returns packages of indexes in the order of ancestor-feerate mining, best first, until a package is below the feerate
 * (null: all). Ties are resolved by input order.
 */
export function minedPackages(txs: readonly ClusterTx[], feerate: Amount | null): number[][] {
  const packages: number[][] = [];
  const left = new Map(txs.map((tx, index) => [index, { tx, ancestors: packageOf(txs, index) }]));
  while (left.size > 0) {
    let best: { readonly score: FeeFrac; readonly ancestors: AncestorPackage } | null = null;
    for (const { tx, ancestors } of left.values()) {
      // A transaction is rated by the lower of its own and its package's feerate: high-fee ancestors do not raise it.
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

/** A transaction with its unmined ancestors. */
interface AncestorPackage {
  fee: number;
  size: number;
  readonly members: Set<number>;
}

function packageOf(txs: readonly ClusterTx[], index: number): AncestorPackage {
  const members = new Set(ancestorsOf(txs, index));
  return { ...sumOf(txs, members), members };
}

/** Returns whether a has a higher feerate than b, or the same in fewer bytes. */
function isBetter(a: FeeFrac, b: FeeFrac): boolean {
  const sign = compareFeerate(a.fee, a.size, b.fee, b.size);
  return sign > 0 || (sign === 0 && a.size < b.size);
}

/** Returns the unmined ancestors of a transaction, beginning with itself. */
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

/** Returns the satoshis that transactions lack to reach a feerate; negative if they exceed it. */
function missingFee(txs: readonly ClusterTx[], members: Iterable<number>, feerate: Amount): Amount {
  const { fee, size } = sumOf(txs, members);
  return feeForSize(feerate, size) - BigInt(fee);
}
