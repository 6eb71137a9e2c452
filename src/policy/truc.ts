import type { ParsedTransaction } from '../primitives/block.ts';
import { hashToHex, type Txid, type Wtxid } from '../primitives/hash.ts';
import { equalBytes } from '../util/bytes.ts';

/** BIP-431: transactions of this version stay small and alone, so that they can always be replaced. */
export const TRUC_VERSION = 3;

/** A transaction of this version and its unconfirmed ancestors: it may have one parent. */
const TRUC_ANCESTOR_LIMIT = 2;
/** The same for its descendants: one child. */
const TRUC_DESCENDANT_LIMIT = 2;
/** Virtual bytes adjusted for sigops. */
export const TRUC_MAX_VSIZE = 10_000;
/** Of one that has an unconfirmed parent: what somebody else may have to outbid is to stay cheap. */
export const TRUC_CHILD_MAX_VSIZE = 1000;

type Member = Pick<ParsedTransaction, 'tx' | 'txid' | 'wtxid'>;

interface Named {
  readonly txid: Txid;
  readonly wtxid: Wtxid;
}

interface Versioned extends Named {
  readonly version: number;
}

/** A transaction of the mempool that is spent. The counts are read only where a rule asks, and may be getters. */
export interface TrucParent extends Versioned {
  /** With itself. */
  readonly ancestorCount: number;
  /** With itself. */
  readonly descendantCount: number;
}

/** Another transaction of the mempool that descends from the parent. */
export interface TrucSibling<Id> {
  /** However the caller names its transactions. */
  readonly id: Id;
  /** With itself. */
  readonly ancestorCount: number;
  /** The new transaction spends what it spends, so it would go anyway. */
  readonly conflicts: boolean;
}

/** A transaction on its way into the mempool. */
export interface SingleTrucView<Id> {
  readonly parsed: Member;
  /** Virtual bytes adjusted for sigops. */
  readonly vsize: number;
  /** Those it spends in the mempool, each once. */
  readonly parents: readonly TrucParent[];
  /** All that descends from its first parent, without that; asked only where there is one parent. */
  readonly siblings: () => readonly TrucSibling<Id>[];
}

/** What is wrong, and which sibling could make room by being replaced. */
export interface TrucViolation<Id> {
  readonly debug: string;
  readonly sibling: Id | null;
}

/** A transaction on its way into the mempool together with others, in their order. */
export interface PackageTrucView {
  readonly package: readonly Member[];
  /** Which of them is judged. */
  readonly index: number;
  /** Of that one. */
  readonly vsize: number;
  /** Those it spends in the mempool, each once; not those of the package. */
  readonly parents: readonly TrucParent[];
}

/**
 * The rules of BIP-431 for one transaction, of whatever version; null where they hold. A second child may take the
 * place of the first: then that is named, and the caller decides whether it pays enough.
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
  // A reorg can leave more than one, or a chain of them; which one should go would be a question of its own then.
  const [sibling] = siblings;
  const evictable = parent.descendantCount === 2 && sibling !== undefined && sibling.ancestorCount === 2;
  return violation(tooManyDescendants(parent), evictable ? sibling.id : null);
}

/**
 * The same for one transaction of a package, which may have its parent there; null or what is wrong. Every transaction
 * of the package has to be asked about: some violations show at only one of those involved.
 */
export function checkPackageTruc({ package: txs, index, vsize, parents }: PackageTrucView): string | null {
  const parsed = txs[index]!;
  const { version, inputs } = parsed.tx;
  // The package is sorted, so its parents come before it.
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
      // A second child in the package has no one to replace.
      if (equalBytes(prevout.txid, parent.txid)) return tooManyDescendants(parent);
      if (equalBytes(prevout.txid, parsed.txid)) return tooManyAncestors(other);
    }
  }
  return mempoolParent && mempoolParent.descendantCount > 1 ? tooManyDescendants(parent) : null;
}

function versioned({ tx, txid, wtxid }: Member): Versioned {
  return { txid, wtxid, version: tx.version };
}

/** BIP-431 transactions have only parents of their own kind, and others none of it: about the first that is not so. */
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
