import { reject, type TxRejection } from '../../consensus/rejection.ts';
import { checkEphemeralSpends } from '../../policy/ephemeral.ts';
import { feeratePerKvB, feerateText } from '../../policy/feerate.ts';
import { checkPackage, isChildWithParents } from '../../policy/packages.ts';
import { checkReplacementClusters, paysForReplacement } from '../../policy/rbf.ts';
import { checkPackageTruc, checkSingleTruc } from '../../policy/truc.ts';
import type { ParsedTransaction } from '../../primitives/block.ts';
import { hashToHex, type Txid, type Wtxid } from '../../primitives/hash.ts';
import { unixSeconds } from '../../util/clock.ts';
import type { AcceptResult, EffectiveFeerate, PackageResult } from '../accept-result.ts';
import { compareFeerate } from '../cluster/feefrac.ts';
import { MempoolCoins } from '../coins-view.ts';
import { type Acceptance, type AcceptanceDeps, type AcceptOptions, rejectedResult } from './acceptance.ts';
import { ephemeralView, packageTrucView, trucView } from './policy-views.ts';
import { type Candidate, checkFeerate, checkScripts, preCheck, type ValidationOptions } from './pre-check.ts';
import { improvesDiagram, linkParents, sumOf, withDescendants } from './replacement.ts';

type PackageRejection = NonNullable<PackageResult['rejection']>;

interface PackageOptions extends Pick<AcceptOptions, 'maxFeerate' | 'local'> {
  readonly testOnly: boolean;
}

const FAILED: PackageRejection = { kind: 'transaction', reason: 'transaction failed' };
const policy = (reason: string, debug?: string): PackageRejection => ({
  kind: 'policy',
  reason,
  ...(debug !== undefined && { debug }),
});

/** Validates packages, in which a child may pay for its parents (Core's package acceptance). */
export class PackageAcceptance {
  readonly #deps: AcceptanceDeps;
  readonly #single: Acceptance;

  constructor(deps: AcceptanceDeps, single: Acceptance) {
    this.#deps = deps;
    this.#single = single;
  }

  /** Validates transactions in topological order without adding them. They must not replace any transaction. */
  test(txs: readonly ParsedTransaction[]): PackageResult {
    const one = txs.length === 1 ? txs[0]! : null;
    if (one) {
      const result = this.#single.accept(one, { testOnly: true });
      return { rejection: result.status === 'accepted' ? null : FAILED, results: new Map([[key(one), result]]) };
    }
    return this.#acceptTogether(txs, { testOnly: true });
  }

  /** Validates a child with some or all of its parents and adds them, each alone if it can be accepted alone. */
  accept(txs: readonly ParsedTransaction[], options: Pick<AcceptOptions, 'maxFeerate' | 'local'> = {}): PackageResult {
    const { mempool } = this.#deps;
    const malformed = checkPackage(txs);
    if (malformed) return { rejection: policy(malformed.reason, malformed.debug), results: new Map() };
    if (txs.length > 1 && !isChildWithParents(txs))
      return { rejection: policy('package-not-child-with-parents'), results: new Map() };

    const results = new Map<string, AcceptResult>();
    const alone = new Map<string, AcceptResult>();
    const together: ParsedTransaction[] = [];
    let rejection: PackageRejection | null = null;
    for (const parsed of txs) {
      const present = this.#present(parsed);
      if (present) {
        results.set(key(parsed), present);
        continue;
      }
      const result = this.#single.accept(parsed, { ...options, keepAboveLimit: true });
      if (result.status !== 'rejected') {
        results.set(key(parsed), result);
        continue;
      }
      alone.set(key(parsed), result);
      const { kind } = result.rejection;
      // Only a low fee or missing inputs can be resolved by the rest of the package.
      if (txs.length > 1 && (kind === 'fee' || kind === 'missing-inputs')) together.push(parsed);
      else rejection = FAILED;
    }
    if (rejection === null && together.length > 0) {
      const validated =
        together.length > 1
          ? this.#acceptTogether(together, { ...options, testOnly: false })
          : this.#acceptOne(together[0]!, options);
      rejection = validated.rejection;
      for (const [wtxid, result] of validated.results) results.set(wtxid, result);
    }
    for (const [wtxid, result] of alone) if (!results.has(wtxid)) results.set(wtxid, result);
    mempool.limit();
    for (const parsed of txs) {
      const result = results.get(key(parsed));
      const isAccepted = result !== undefined && result.status !== 'rejected';
      if (!isAccepted || mempool.entries.find(parsed.txid) >= 0) continue;
      rejection = FAILED;
      const details = { rejection: reject('policy', 'mempool full'), conflicts: [], missingInputs: [] };
      results.set(key(parsed), rejectedResult(details, parsed));
    }
    return { rejection, results };
  }

  #present({ txid, wtxid }: ParsedTransaction): AcceptResult | null {
    const { entries } = this.#deps.mempool;
    const slot = entries.find(txid);
    if (slot < 0) return null;
    return entries.findWtxid(wtxid) === slot
      ? { status: 'in-mempool', vsize: entries.vsize(slot), fee: entries.fee(slot) }
      : { status: 'different-witness', wtxid: entries.wtxid(slot).slice() as Wtxid };
  }

  #acceptOne(parsed: ParsedTransaction, options: Pick<AcceptOptions, 'maxFeerate' | 'local'>): PackageResult {
    const result = this.#single.accept(parsed, { ...options, keepAboveLimit: true });
    return { rejection: result.status === 'accepted' ? null : FAILED, results: new Map([[key(parsed), result]]) };
  }

  #acceptTogether(txs: readonly ParsedTransaction[], options: PackageOptions): PackageResult {
    const malformed = checkPackage(txs);
    if (malformed) return { rejection: policy(malformed.reason, malformed.debug), results: new Map() };
    const { mempool } = this.#deps;
    mempool.graph.startStaging();
    const attempt = new PackageAttempt(txs, this.#deps, options);
    const rejection = attempt.validate();
    if (rejection !== null || options.testOnly) mempool.graph.abortStaging();
    else attempt.commit();
    return { rejection, results: attempt.results };
  }
}

/** One attempt to accept several transactions together. */
class PackageAttempt {
  readonly results = new Map<string, AcceptResult>();
  readonly #txs: readonly ParsedTransaction[];
  readonly #deps: AcceptanceDeps;
  readonly #options: PackageOptions;
  readonly #candidates: Candidate[] = [];
  #replaced: readonly number[] = [];
  #fee = 0;
  #vsize = 0;

  constructor(txs: readonly ParsedTransaction[], deps: AcceptanceDeps, options: PackageOptions) {
    this.#txs = txs;
    this.#deps = deps;
    this.#options = options;
  }

  /** Returns null if all are valid; they are staged then. */
  validate(): PackageRejection | null {
    return (
      this.#preChecks() ??
      this.#checkTruc() ??
      this.#checkFee() ??
      this.#checkReplacement() ??
      this.#checkLimits() ??
      this.#checkScripts()
    );
  }

  /** Adds the validated transactions to the mempool. */
  commit(): void {
    const { mempool } = this.#deps;
    const { entries, graph } = mempool;
    const child = this.#txs.at(-1)!;
    const replaced = this.#replaced.map((slot) => entries.txid(slot).slice() as Txid);
    graph.commitStaging();
    for (const slot of this.#replaced) mempool.removeUnlinked(slot, 'replaced', { replacedBy: child.txid });
    for (const [i, { slot, entry }] of this.#candidates.entries())
      mempool.insert(slot, entry, {
        replaced: i === this.#candidates.length - 1 ? replaced : [],
        reaccepted: false,
        local: this.#options.local ?? false,
        inPackage: true,
      });
  }

  #preChecks(): PackageRejection | null {
    const { mempool, chain, clock } = this.#deps;
    const { testOnly, maxFeerate } = this.#options;
    const options: ValidationOptions = {
      bypassLimits: false,
      allowReplacement: !testOnly,
      allowSiblingEviction: false,
      packageFeerates: !testOnly,
    };
    const coins = new MempoolCoins(chain, mempool.entries);
    for (const parsed of this.#txs) {
      const validated = preCheck(parsed, coins, this.#deps, options, unixSeconds(clock));
      if (!validated.ok) {
        this.results.set(key(parsed), rejectedResult(validated.details, parsed));
        return FAILED;
      }
      const { candidate } = validated;
      const { modifiedFee, entry } = candidate;
      // Packages do not support sibling eviction.
      const truc = checkSingleTruc(trucView(mempool, candidate));
      if (truc !== null) return this.#fail(candidate, reject('policy', 'TRUC-violation', truc.debug));
      if (maxFeerate !== undefined && maxFeerate !== null && modifiedFee * 1000 > maxFeerate * entry.vsize)
        return this.#fail(candidate, reject('policy', 'max feerate exceeded'));
      this.#candidates.push(candidate);
      this.#fee += modifiedFee;
      this.#vsize += entry.vsize;
      coins.addPackageTransaction(parsed);
    }
    return null;
  }

  #checkTruc(): PackageRejection | null {
    for (const [i, candidate] of this.#candidates.entries()) {
      const violation = checkPackageTruc(packageTrucView(this.#deps.mempool, candidate, i, this.#candidates));
      if (violation !== null) return policy('TRUC-violation', violation);
    }
    return null;
  }

  #checkFee(): PackageRejection | null {
    if (this.#options.testOnly) return null;
    const low = checkFeerate(this.#deps.mempool, this.#fee, this.#vsize);
    if (!low) return null;
    const child = this.#txs.at(-1)!;
    this.results.set(key(child), {
      status: 'rejected',
      rejection: low,
      effective: this.#effective,
      conflicts: [],
      missingInputs: [],
    });
    return FAILED;
  }

  #checkReplacement(): PackageRejection | null {
    const { mempool } = this.#deps;
    const conflicts = new Set(this.#candidates.flatMap((candidate) => [...candidate.conflicts]));
    if (conflicts.size === 0) return this.#link(new Set()) ? null : policy('too-large-cluster');
    const [parent, child] = this.#candidates;
    if (this.#candidates.length !== 2 || !parent || !child || !isChildWithParents(this.#txs))
      return policy('package RBF failed: package must be 1-parent-1-child');
    if (this.#candidates.some(({ parents }) => parents.length > 0))
      return policy('package RBF failed: new transaction cannot have mempool ancestors');
    const { txid } = child.parsed;
    const tooMany = checkReplacementClusters(txid, mempool.graph.distinctClusters([...conflicts]));
    if (tooMany !== null) return policy('package RBF failed: too many potential replacements', tooMany);
    const all = withDescendants(mempool, conflicts);
    for (const slot of all) mempool.graph.remove(slot);
    const paid = paysForReplacement({
      txid,
      originalFees: BigInt(sumOf(all, (slot) => mempool.entries.modifiedFee(slot))),
      replacementFees: BigInt(this.#fee),
      replacementVsize: this.#vsize,
      incrementalFeerate: mempool.options.incrementalFeerate,
    });
    if (paid !== null) return policy('package RBF failed: insufficient anti-DoS fees', paid);
    // The package feerate must exceed the parent's, so that the child pays for the parent and not only for the
    // replacement.
    if (compareFeerate(this.#fee, this.#vsize, parent.modifiedFee, parent.entry.vsize) <= 0)
      return policy(
        'package RBF failed: package feerate is less than or equal to parent feerate',
        `package feerate ${rateText(this.#fee, this.#vsize)} <= parent feerate is ${rateText(parent.modifiedFee, parent.entry.vsize)}`,
      );
    if (!this.#link(new Set(all)) || mempool.graph.isOversized()) return policy('too-large-cluster');
    if (!improvesDiagram(mempool))
      return policy('package RBF failed: insufficient feerate: does not improve feerate diagram', '');
    this.#replaced = all;
    return null;
  }

  #checkLimits(): PackageRejection | null {
    const { mempool } = this.#deps;
    if (mempool.graph.isOversized()) return policy('too-large-cluster');
    if (!mempool.options.requireStandard) return null;
    const unspent = checkEphemeralSpends(this.#candidates.map((candidate) => ephemeralView(mempool, candidate)));
    if (!unspent) return null;
    this.#fail(this.#candidates[unspent.index]!, unspent.rejection);
    return { kind: 'transaction', reason: 'unspent-dust' };
  }

  #checkScripts(): PackageRejection | null {
    for (const candidate of this.#candidates) {
      const bad = checkScripts(candidate, this.#deps.engine);
      if (bad) return this.#fail(candidate, bad);
      const { parsed, entry, modifiedFee } = candidate;
      this.results.set(key(parsed), {
        status: 'accepted',
        vsize: entry.vsize,
        fee: entry.fee,
        effective: this.#options.testOnly
          ? { fee: modifiedFee, vsize: entry.vsize, includes: [parsed.wtxid] }
          : this.#effective,
        replaced: this.#replaced.map((slot) => this.#deps.mempool.entries.txid(slot).slice() as Txid),
      });
    }
    return null;
  }

  /**
   * Links the staged transactions to their parents in the mempool and in the package. Returns false if a cluster would
   * be too large.
   */
  #link(replaced: ReadonlySet<number>): boolean {
    const { mempool } = this.#deps;
    const slots = new Map(this.#candidates.map(({ parsed, slot }) => [hashToHex(parsed.txid), slot]));
    for (const candidate of this.#candidates) {
      if (!linkParents(mempool, candidate, replaced)) return false;
      const parents = new Set(candidate.parsed.tx.inputs.map(({ prevout }) => slots.get(hashToHex(prevout.txid))));
      for (const parent of parents) if (parent !== undefined) mempool.graph.addDependency(parent, candidate.slot);
    }
    return true;
  }

  #fail({ parsed }: Candidate, rejection: TxRejection): PackageRejection {
    this.results.set(key(parsed), rejectedResult({ rejection, conflicts: [], missingInputs: [] }, parsed));
    return FAILED;
  }

  get #effective(): EffectiveFeerate {
    return { fee: this.#fee, vsize: this.#vsize, includes: this.#txs.map(({ wtxid }) => wtxid) };
  }
}

function key({ wtxid }: ParsedTransaction): string {
  return hashToHex(wtxid);
}

function rateText(fee: number, vsize: number): string {
  return feerateText(feeratePerKvB({ fee: BigInt(fee), vsize }));
}
