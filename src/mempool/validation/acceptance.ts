import { reject, type TxRejection } from '../../consensus/rejection.ts';
import type { SignatureEngine } from '../../crypto/secp256k1.ts';
import { checkEphemeralSpends } from '../../policy/ephemeral.ts';
import { checkSingleTruc } from '../../policy/truc.ts';
import type { ParsedTransaction } from '../../primitives/block.ts';
import { hashToHex, type Txid } from '../../primitives/hash.ts';
import { type Clock, unixSeconds } from '../../util/clock.ts';
import { type ChainView, MempoolCoins } from '../coins-view.ts';
import type { Mempool } from '../pool.ts';
import type { AcceptResult } from '../result.ts';
import { ephemeralView, trucView } from './policy-views.ts';
import { type Candidate, checkScripts, type JudgeOptions, preCheck, type Refusal } from './pre-check.ts';
import { checkReplacement, linkParents } from './replacement.ts';

export interface AcceptanceDeps {
  readonly mempool: Mempool;
  readonly chain: ChainView;
  readonly engine: SignatureEngine;
  readonly clock: Clock;
}

export interface AcceptOptions {
  /** Only judged, not taken. */
  readonly testOnly?: boolean;
  /** Fees and limits are not looked at: it comes back from a block that left the chain. */
  readonly bypassLimits?: boolean;
  /** Handed in here, not by a peer. */
  readonly local?: boolean;
  /** Satoshis per 1,000 virtual bytes above which it must be a mistake. */
  readonly maxFeerate?: number | null;
  /** Satoshis above which it must be a mistake; looked at when all else is good, as for `sendrawtransaction`. */
  readonly maxFee?: number | null;
  /** The mempool is brought within its limits by the caller, who takes in more. */
  readonly keepAboveLimit?: boolean;
  /** When it first came, Unix seconds; now where not given. */
  readonly time?: number;
  /** Its place in the order of arrival, where it is put back. */
  readonly order?: number;
}

const SINGLE: Omit<JudgeOptions, 'bypassLimits'> = {
  allowReplacement: true,
  allowSiblingEviction: true,
  packageFeerates: false,
};

/** Decides which transactions get into the mempool, one by one. Packages are judged by `PackageAcceptance`. */
export class Acceptance {
  readonly #deps: AcceptanceDeps;

  constructor(deps: AcceptanceDeps) {
    this.#deps = deps;
  }

  /** Judges a transaction, and takes it in unless it is a test. The graph is as before where it is refused. */
  accept(parsed: ParsedTransaction, options: AcceptOptions = {}): AcceptResult {
    const { mempool } = this.#deps;
    const { graph } = mempool;
    graph.startStaging();
    const judged = this.#judge(parsed, options);
    if (judged.status === 'refused') {
      graph.abortStaging();
      return refused(judged.refusal, parsed);
    }
    const { candidate, replaced } = judged;
    const { entry, modifiedFee } = candidate;
    const accepted = {
      status: 'accepted',
      vsize: entry.vsize,
      fee: entry.fee,
      effective: { fee: modifiedFee, vsize: entry.vsize, includes: [parsed.wtxid] },
      replaced: replaced.map((slot) => mempool.entries.txid(slot).slice() as Txid),
    } as const;
    if (options.testOnly) {
      graph.abortStaging();
      return accepted;
    }
    graph.commitStaging();
    for (const slot of replaced) mempool.forget(slot, 'replaced', { replacedBy: parsed.txid });
    mempool.insert(candidate.slot, options.order === undefined ? entry : { ...entry, order: options.order }, {
      replaced: accepted.replaced,
      reaccepted: options.bypassLimits ?? false,
      local: options.local ?? false,
      // Members of a package are accepted one by one, and only then is the limit seen to.
      inPackage: options.keepAboveLimit ?? false,
    });
    if (options.keepAboveLimit || options.bypassLimits) return accepted;
    mempool.limit();
    if (mempool.entries.find(parsed.txid) >= 0) return accepted;
    return refused(
      {
        rejection: reject('fee', 'mempool full'),
        conflicts: [],
        missingInputs: [],
        paid: { fee: modifiedFee, vsize: entry.vsize },
      },
      parsed,
    );
  }

  #judge(
    parsed: ParsedTransaction,
    options: AcceptOptions,
  ):
    | { readonly status: 'good'; readonly candidate: Candidate; readonly replaced: readonly number[] }
    | { readonly status: 'refused'; readonly refusal: Refusal } {
    const { mempool, chain, engine, clock } = this.#deps;
    const bypassLimits = options.bypassLimits ?? false;
    const coins = new MempoolCoins(chain, mempool.entries);
    const time = options.time ?? unixSeconds(clock);
    const judged = preCheck(parsed, coins, this.#deps, { ...SINGLE, bypassLimits }, time);
    if (!judged.ok) return { status: 'refused', refusal: judged.refusal };
    const { candidate } = judged;
    const { modifiedFee, entry } = candidate;
    const refuse = (rejection: TxRejection, paid = false) =>
      ({
        status: 'refused',
        refusal: {
          rejection,
          conflicts: [...candidate.conflicts].map((slot) => mempool.entries.txid(slot).slice() as Txid),
          missingInputs: [],
          ...(paid && { paid: { fee: modifiedFee, vsize: entry.vsize } }),
        },
      }) as const;

    if (!bypassLimits) {
      const truc = checkSingleTruc(trucView(mempool, candidate));
      if (truc !== null) {
        if (truc.sibling === null) return refuse(reject('policy', 'TRUC-violation', truc.debug));
        candidate.conflicts.add(truc.sibling);
        candidate.siblingEviction = true;
      }
    }
    let replaced: readonly number[] = [];
    if (candidate.conflicts.size > 0) {
      const checked = checkReplacement(mempool, candidate);
      if (!checked.ok) return refuse(checked, checked.kind === 'fee');
      replaced = checked.value;
    } else if (!linkParents(mempool, candidate, new Set())) return refuse(reject('policy', 'too-large-cluster'));
    if (mempool.graph.isOversized()) return refuse(reject('policy', 'too-large-cluster'));
    const contradiction = spendsConflicting(mempool, candidate);
    if (contradiction) return refuse(contradiction);
    const { maxFeerate } = options;
    if (maxFeerate !== undefined && maxFeerate !== null && modifiedFee * 1000 > maxFeerate * entry.vsize)
      return refuse(reject('policy', 'max feerate exceeded'));
    if (!bypassLimits && mempool.options.requireStandard) {
      const unspent = checkEphemeralSpends([ephemeralView(mempool, candidate)]);
      if (unspent) return refuse(unspent.rejection);
    }
    const scripts = checkScripts(candidate, engine);
    if (scripts) return refuse(scripts);
    const { maxFee } = options;
    if (maxFee !== undefined && maxFee !== null && entry.fee > maxFee)
      return refuse(reject('fee', 'max-fee-exceeded', `${entry.fee} > ${maxFee}`));
    return { status: 'good', candidate, replaced };
  }
}

/** What depends on a transaction that it contradicts could never be valid. */
function spendsConflicting(mempool: Mempool, { parsed, parents, conflicts }: Candidate): TxRejection | null {
  if (conflicts.size === 0) return null;
  const seen = new Set(parents);
  for (const slot of seen) {
    if (conflicts.has(slot))
      return reject(
        'consensus',
        'bad-txns-spends-conflicting-tx',
        `${hashToHex(parsed.txid)} spends conflicting transaction ${hashToHex(mempool.entries.txid(slot))}`,
      );
    // A set that grows while it is gone through: all ancestors.
    for (const parent of mempool.parents(slot)) seen.add(parent);
  }
  return null;
}

/** The result that tells of a refusal. */
export function refused(
  { rejection, conflicts, missingInputs, paid }: Refusal,
  { wtxid }: ParsedTransaction,
): AcceptResult {
  return {
    status: 'rejected',
    rejection,
    conflicts,
    missingInputs,
    effective: paid && { ...paid, includes: [wtxid] },
  };
}
