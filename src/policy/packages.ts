import { reject, type TxRejection } from '../consensus/rejection.ts';
import { sha256 } from '../crypto/hash-functions.ts';
import { type ParsedTransaction, weightOf } from '../primitives/block.ts';
import { hashFromHex, hashToHex, type Wtxid } from '../primitives/hash.ts';
import { outpointKey } from '../primitives/outpoint.ts';
import { concatBytes } from '../util/bytes.ts';

export const MAX_PACKAGE_COUNT = 25;
/**
 * Maximum weight of a package: a little more than of one transaction, so that a transaction of the maximum weight may
 * have a small child.
 */
const MAX_PACKAGE_WEIGHT = 404_000;

type PackageTx = Pick<ParsedTransaction, 'tx' | 'txid'>;

/**
 * Checks the form of a package without coins (Core's IsWellFormedPackage): number, weight, no duplicates, parents
 * before children, no conflicts.
 */
export function checkPackage(
  txs: readonly (PackageTx & Pick<ParsedTransaction, 'raw' | 'strippedSize'>)[],
): TxRejection | null {
  if (txs.length > MAX_PACKAGE_COUNT) return reject('policy', 'package-too-many-transactions');
  let weight = 0;
  for (const parsed of txs) weight += weightOf(parsed);
  // A single transaction has its own limit.
  if (txs.length > 1 && weight > MAX_PACKAGE_WEIGHT) return reject('policy', 'package-too-large');
  // By txid: a transaction with two different witnesses is a duplicate.
  const txids = txidsOf(txs);
  if (txids.size !== txs.length) return reject('policy', 'package-contains-duplicates');
  if (!isSorted(txs, txids)) return reject('policy', 'package-not-sorted');
  if (hasConflicts(txs)) return reject('policy', 'conflict-in-package');
  return null;
}

/** Whether all but the last transaction are parents of the last. Not all of its parents need to be in the package. */
export function isChildWithParents(txs: readonly PackageTx[]): boolean {
  const child = txs.at(-1);
  if (child === undefined || txs.length < 2) return false;
  const spent = new Set(child.tx.inputs.map(({ prevout }) => hashToHex(prevout.txid)));
  return txs.slice(0, -1).every(({ txid }) => spent.has(hashToHex(txid)));
}

/** Whether `isChildWithParents` holds and no parent spends another. */
export function isChildWithParentsTree(txs: readonly PackageTx[]): boolean {
  if (!isChildWithParents(txs)) return false;
  const parents = txs.slice(0, -1);
  const txids = txidsOf(parents);
  return parents.every(({ tx }) => tx.inputs.every(({ prevout }) => !txids.has(hashToHex(prevout.txid))));
}

/** Returns the package hash: SHA-256 of the wtxids, sorted in display order. */
export function packageHash(wtxids: readonly Wtxid[]): Uint8Array {
  const sorted = wtxids.map(hashToHex).sort();
  return sha256(concatBytes(...sorted.map((hex) => hashFromHex<Wtxid>(hex))));
}

function txidsOf(txs: readonly PackageTx[]): Set<string> {
  return new Set(txs.map(({ txid }) => hashToHex(txid)));
}

/** Whether no transaction spends an output of a later one or of itself. `txids` are those of `txs`. */
function isSorted(txs: readonly PackageTx[], txids: ReadonlySet<string>): boolean {
  const later = new Set(txids);
  for (const { tx, txid } of txs) {
    if (tx.inputs.some(({ prevout }) => later.has(hashToHex(prevout.txid)))) return false;
    later.delete(hashToHex(txid));
  }
  return true;
}

/** Whether two transactions spend the same output. A transaction that spends an output twice is rejected elsewhere. */
function hasConflicts(txs: readonly PackageTx[]): boolean {
  const spent = new Set<string>();
  for (const { tx } of txs) {
    // A transaction without inputs cannot be checked, and counts as a conflict, as in Core.
    if (tx.inputs.length === 0) return true;
    const keys = tx.inputs.map(({ prevout }) => outpointKey(prevout));
    if (keys.some((key) => spent.has(key))) return true;
    for (const key of keys) spent.add(key);
  }
  return false;
}
