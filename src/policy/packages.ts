import { reject, type TxRejection } from '../consensus/rejection.ts';
import { sha256 } from '../crypto/hash.ts';
import { type ParsedTransaction, weightOf } from '../primitives/block.ts';
import { hashFromHex, hashToHex, type Wtxid } from '../primitives/hash.ts';
import { outpointKey } from '../primitives/outpoint.ts';
import { concatBytes } from '../util/bytes.ts';

export const MAX_PACKAGE_COUNT = 25;
/** A little more than one transaction may have, so that what is fine alone is not too large beside a small child. */
const MAX_PACKAGE_WEIGHT = 404_000;

type PackageTx = Pick<ParsedTransaction, 'tx' | 'txid'>;

/**
 * Whether transactions can be judged as a package at all: not too many, not too large, none twice, parents before
 * children, none against another. Looks at no coin.
 */
export function checkPackage(
  txs: readonly (PackageTx & Pick<ParsedTransaction, 'raw' | 'strippedSize'>)[],
): TxRejection | null {
  if (txs.length > MAX_PACKAGE_COUNT) return reject('policy', 'package-too-many-transactions');
  let weight = 0;
  for (const parsed of txs) weight += weightOf(parsed);
  // One alone is judged by its own limit.
  if (txs.length > 1 && weight > MAX_PACKAGE_WEIGHT) return reject('policy', 'package-too-large');
  // By txid: the same transaction with two witnesses is there twice.
  const txids = txidsOf(txs);
  if (txids.size !== txs.length) return reject('policy', 'package-contains-duplicates');
  if (!isSorted(txs, txids)) return reject('policy', 'package-not-sorted');
  if (hasConflicts(txs)) return reject('policy', 'conflict-in-package');
  return null;
}

/** Whether all but the last are parents of the last. Not all of its parents have to be there. */
export function isChildWithParents(txs: readonly PackageTx[]): boolean {
  const child = txs.at(-1);
  if (child === undefined || txs.length < 2) return false;
  const spent = new Set(child.tx.inputs.map(({ prevout }) => hashToHex(prevout.txid)));
  return txs.slice(0, -1).every(({ txid }) => spent.has(hashToHex(txid)));
}

/** The same, and no parent spends another. */
export function isChildWithParentsTree(txs: readonly PackageTx[]): boolean {
  if (!isChildWithParents(txs)) return false;
  const parents = txs.slice(0, -1);
  const txids = txidsOf(parents);
  return parents.every(({ tx }) => tx.inputs.every(({ prevout }) => !txids.has(hashToHex(prevout.txid))));
}

/** Names a set of transactions, in whatever order: SHA-256 of their wtxids, sorted as they are displayed. */
export function packageHash(wtxids: readonly Wtxid[]): Uint8Array {
  const sorted = wtxids.map(hashToHex).sort();
  return sha256(concatBytes(...sorted.map((hex) => hashFromHex<Wtxid>(hex))));
}

function txidsOf(txs: readonly PackageTx[]): Set<string> {
  return new Set(txs.map(({ txid }) => hashToHex(txid)));
}

/** Whether none spends one that comes later, or itself. `txids` are those of `txs`. */
function isSorted(txs: readonly PackageTx[], txids: ReadonlySet<string>): boolean {
  const later = new Set(txids);
  for (const { tx, txid } of txs) {
    if (tx.inputs.some(({ prevout }) => later.has(hashToHex(prevout.txid)))) return false;
    later.delete(hashToHex(txid));
  }
  return true;
}

/** Whether two spend the same output. One that spends it twice by itself is left to the rules of transactions. */
function hasConflicts(txs: readonly PackageTx[]): boolean {
  const spent = new Set<string>();
  for (const { tx } of txs) {
    // Without inputs there is nothing to tell by.
    if (tx.inputs.length === 0) return true;
    const keys = tx.inputs.map(({ prevout }) => outpointKey(prevout));
    if (keys.some((key) => spent.has(key))) return true;
    for (const key of keys) spent.add(key);
  }
  return false;
}
