import type { ParsedTransaction } from '../primitives/block.ts';
import { hashToHex, type Txid, type Wtxid } from '../primitives/hash.ts';
import { equalBytes } from '../util/bytes.ts';

/** BIP-431: version of TRUC transactions, which stay small and have few relatives, so that they can be replaced. */
export const TRUC_VERSION = 3;

/** Maximum number of a TRUC transaction and its unconfirmed ancestors: itself and one parent. */
const TRUC_ANCESTOR_LIMIT = 2;
/** Maximum number of a TRUC transaction and its descendants: itself and one child. */
const TRUC_DESCENDANT_LIMIT = 2;
/** Maximum size of a TRUC transaction, virtual bytes adjusted for sigops. */
export const TRUC_MAX_VSIZE = 10_000;
/** Maximum size of a TRUC transaction with an unconfirmed parent, so that replacing it stays cheap. */
export const TRUC_CHILD_MAX_VSIZE = 1000;

type Member = Pick<ParsedTransaction, 'tx' | 'txid' | 'wtxid'>;

interface Named {
  readonly txid: Txid;
  readonly wtxid: Wtxid;
}

interface Versioned extends Named {
  readonly version: number;
}

/** A mempool transaction that is spent. The counts may be getters: they are read only when a rule needs them. */
export interface TrucParent extends Versioned {
  /** Number of its ancestors, itself included. */
  readonly ancestorCount: number;
  /** Number of its descendants, itself included. */
  readonly descendantCount: number;
}

/** Another mempool transaction that descends from the parent. */
export interface TrucSibling<Id> {
  /** The caller's id of the transaction. */
  readonly id: Id;
  /** Number of its ancestors, itself included. */
  readonly ancestorCount: number;
  /** Whether the new transaction conflicts with it, so that it would be replaced anyway. */
  readonly conflicts: boolean;
}

/** A transaction that is validated for the mempool. */
export interface SingleTrucView<Id> {
  readonly parsed: Member;
  /** Maximum size of a TRUC transaction, virtual bytes adjusted for sigops. */
  readonly vsize: number;
  /** Its parents in the mempool, each once. */
  readonly parents: readonly TrucParent[];
  /** Returns the other descendants of its parent; called only if there is one parent. */
  readonly siblings: () => readonly TrucSibling<Id>[];
}

/** A violation, with the sibling that the transaction could replace, if any. */
export interface TrucViolation<Id> {
  readonly debug: string;
  readonly sibling: Id | null;
}

/** A transaction that is validated as part of a package. */
export interface PackageTrucView {
  readonly package: readonly Member[];
  /** Index of the transaction in the package. */
  readonly index: number;
  /** Size of the transaction, virtual bytes adjusted for sigops. */
  readonly vsize: number;
  /** Its parents in the mempool, each once; not those in the package. */
  readonly parents: readonly TrucParent[];
}

/**
 * Checks the rules of BIP-431 for one transaction of any version; null if they hold. If only a sibling stands against
 * it, the violation names the sibling, and the caller decides whether the fees suffice for its eviction (Core's
 * SingleTRUCChecks).
 */
export function checkSingleTruc<Id>(view: SingleTrucView<Id>): TrucViolation<Id> | null {
  const { parsed, vsize, parents } = view;
  const violation = (debug: string, sibling: Id | null = null): TrucViolation<Id> => ({ debug, sibling });
  const mixed = mixedVersions(parsed, parents);
  if (mixed !== null) return violation(mixed);
  if (parsed.tx.version !== TRUC_VERSION) return null;
  if (vsize > TRUC_MAX_VSIZE) return violation(tooBig(parsed, vsize));
  if (parents.length + 1 > TRUC_ANCESTOR_LIMIT) return violation(tooManyAncestors(parsed));

  const [parent] = parents;
  if (parent === undefined) return null;
  if (parent.ancestorCount + 1 > TRUC_ANCESTOR_LIMIT) return violation(tooManyAncestors(parsed));
  if (vsize > TRUC_CHILD_MAX_VSIZE) return violation(childTooBig(parsed, vsize));
  if (parent.descendantCount + 1 <= TRUC_DESCENDANT_LIMIT) return null;
  const siblings = view.siblings();
  if (siblings.some(({ conflicts }) => conflicts)) return null;
  // After a reorg there may be several siblings or a chain of them; then none is evicted.
  const [sibling] = siblings;
  const evictable = parent.descendantCount === 2 && sibling !== undefined && sibling.ancestorCount === 2;
  return violation(tooManyDescendants(parent), evictable ? sibling.id : null);
}

/**
 * Checks the rules of BIP-431 for one transaction of a package, which may contain its parent; returns Core's message or
 * null. Must be called for every transaction of the package: some violations show at only one of them (Core's
 * PackageTRUCChecks).
 */
export function checkPackageTruc({ package: txs, index, vsize, parents }: PackageTrucView): string | null {
  const parsed = txs[index]!;
  const { version, inputs } = parsed.tx;
  // The package is sorted, so parents come first.
  const spent = new Set(inputs.map(({ prevout }) => hashToHex(prevout.txid)));
  const packageParents = txs
    .slice(0, index)
    .filter(({ txid }) => spent.has(hashToHex(txid)))
    .map(versioned);
  if (version !== TRUC_VERSION) return mixedVersions(parsed, [...parents, ...packageParents]);

  if (vsize > TRUC_MAX_VSIZE) return tooBig(parsed, vsize);
  if (parents.length + packageParents.length + 1 > TRUC_ANCESTOR_LIMIT) return tooManyAncestors(parsed);
  const mempoolParent = parents[0];
  if (mempoolParent && mempoolParent.ancestorCount + packageParents.length + 1 > TRUC_ANCESTOR_LIMIT)
    return tooManyAncestors(parsed);
  const parent: Versioned | undefined = mempoolParent ?? packageParents[0];
  if (parent === undefined) return null;
  if (vsize > TRUC_CHILD_MAX_VSIZE) return childTooBig(parsed, vsize);
  const mixed = mixedVersions(parsed, [parent]);
  if (mixed !== null) return mixed;
  for (const [i, other] of txs.entries()) {
    if (i === index) continue;
    for (const { prevout } of other.tx.inputs) {
      // Within a package no sibling can be evicted.
      if (equalBytes(prevout.txid, parent.txid)) return tooManyDescendants(parent);
      if (equalBytes(prevout.txid, parsed.txid)) return tooManyAncestors(other);
    }
  }
  return mempoolParent && mempoolParent.descendantCount > 1 ? tooManyDescendants(parent) : null;
}

function versioned({ tx, txid, wtxid }: Member): Versioned {
  return { txid, wtxid, version: tx.version };
}

/**
 * Returns a message about the first parent with another kind of version: TRUC transactions may spend only TRUC outputs
 * while unconfirmed, and other transactions none of them.
 */
function mixedVersions(child: Member, parents: readonly Versioned[]): string | null {
  const isTruc = child.tx.version === TRUC_VERSION;
  const other = parents.find(({ version }) => (version === TRUC_VERSION) !== isTruc);
  if (other === undefined) return null;
  return isTruc
    ? `version=3 ${nameOf(child)} cannot spend from non-version=3 ${nameOf(other)}`
    : `non-version=3 ${nameOf(child)} cannot spend from version=3 ${nameOf(other)}`;
}

function nameOf({ txid, wtxid }: Named): string {
  return `tx ${hashToHex(txid)} (wtxid=${hashToHex(wtxid)})`;
}

function tooBig(tx: Named, vsize: number): string {
  return `version=3 ${nameOf(tx)} is too big: ${vsize} > ${TRUC_MAX_VSIZE} virtual bytes`;
}

function childTooBig(tx: Named, vsize: number): string {
  return `version=3 child ${nameOf(tx)} is too big: ${vsize} > ${TRUC_CHILD_MAX_VSIZE} virtual bytes`;
}

function tooManyAncestors(tx: Named): string {
  return `${nameOf(tx)} would have too many ancestors`;
}

function tooManyDescendants(tx: Named): string {
  return `${nameOf(tx)} would exceed descendant count limit`;
}
