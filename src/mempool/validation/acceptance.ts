import { reject, type TxRejection } from '../../consensus/rejection.ts';
import type { SignatureEngine } from '../../crypto/signature-engine.ts';
import { checkEphemeralSpends } from '../../policy/ephemeral.ts';
import { checkSingleTruc } from '../../policy/truc.ts';
import type { ParsedTransaction } from '../../primitives/block.ts';
import { hashToHex, type Txid } from '../../primitives/hash.ts';
import { type Clock, unixSeconds } from '../../util/clock.ts';
import type { AcceptResult } from '../accept-result.ts';
import { type ChainView, MempoolCoins } from '../coins-view.ts';
import type { Mempool } from '../pool.ts';
import { ephemeralView, trucView } from './policy-views.ts';
import { type Candidate, checkScripts, preCheck, type RejectionDetails, type ValidationOptions } from './pre-check.ts';
import { checkReplacement, linkParents } from './replacement.ts';

export interface AcceptanceDeps {
  readonly mempool: Mempool;
  readonly chain: ChainView;
  readonly engine: SignatureEngine;
  readonly clock: Clock;
}

export interface AcceptOptions {
  /** Validate only; the transaction is not added. */
  readonly testOnly?: boolean;
  /** Skip fee and limit checks, for transactions of disconnected blocks. */
  readonly bypassLimits?: boolean;
  /** The transaction was submitted to this node and did not come from a peer. */
  readonly local?: boolean;
  /** Maximum feerate, satoshis per 1,000 virtual bytes; a higher one is assumed to be a mistake. */
  readonly maxFeerate?: number | null;
  /** Maximum fee in satoshis. It is checked after everything else, as for `sendrawtransaction`. */
  readonly maxFee?: number | null;
  /** Leave the mempool above its size limit; the caller trims it after adding more. */
  readonly keepAboveLimit?: boolean;
  /** The scripts were verified with the policy flags, against the outputs that the transaction spends. */
  readonly scriptsValid?: boolean;
  /** Time of first entry, Unix seconds; by default now. */
  readonly time?: number;
  /** Arrival number of a transaction that is restored. */
  readonly order?: number;
}

/** The rules for a transaction without a package. */
export const SINGLE: Omit<ValidationOptions, 'bypassLimits'> = {
  allowReplacement: true,
  allowSiblingEviction: true,
  packageFeerates: false,
};

/**
 * Validates single transactions and adds them to the mempool (Core's MemPoolAccept). Packages are validated by
 * `PackageAcceptance`.
 */
export class Acceptance {
  readonly #deps: AcceptanceDeps;

  constructor(deps: AcceptanceDeps) {
    this.#deps = deps;
  }

  /** Validates a transaction and adds it unless `testOnly` is set. The graph is unchanged if it is rejected. */
  accept(parsed: ParsedTransaction, options: AcceptOptions = {}): AcceptResult {
    const { mempool } = this.#deps;
    const { graph } = mempool;
    graph.startStaging();
    const validated = this.#validate(parsed, options);
    if (validated.status === 'rejected') {
      graph.abortStaging();
      return rejectedResult(validated.details, parsed);
    }
    const { candidate, replaced } = validated;
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
    for (const slot of replaced) mempool.removeUnlinked(slot, 'replaced', { replacedBy: parsed.txid });
    mempool.insert(candidate.slot, options.order === undefined ? entry : { ...entry, order: options.order }, {
      replaced: accepted.replaced,
      reaccepted: options.bypassLimits ?? false,
      local: options.local ?? false,
      // The transactions of a package are accepted one by one, and the mempool is trimmed afterwards.
      inPackage: options.keepAboveLimit ?? false,
    });
    if (options.keepAboveLimit || options.bypassLimits) return accepted;
    mempool.limit();
    if (mempool.entries.find(parsed.txid) >= 0) return accepted;
    return rejectedResult(
      {
        rejection: reject('fee', 'mempool full'),
        conflicts: [],
        missingInputs: [],
        paid: { fee: modifiedFee, vsize: entry.vsize },
      },
      parsed,
    );
  }

  #validate(
    parsed: ParsedTransaction,
    options: AcceptOptions,
  ):
    | { readonly status: 'valid'; readonly candidate: Candidate; readonly replaced: readonly number[] }
    | { readonly status: 'rejected'; readonly details: RejectionDetails } {
    const { mempool, chain, engine, clock } = this.#deps;
    const bypassLimits = options.bypassLimits ?? false;
    const coins = new MempoolCoins(chain, mempool.entries);
    const time = options.time ?? unixSeconds(clock);
    const validated = preCheck(parsed, coins, this.#deps, { ...SINGLE, bypassLimits }, time);
    if (!validated.ok) return { status: 'rejected', details: validated.details };
    const { candidate } = validated;
    const { modifiedFee, entry } = candidate;
    const rejected = (rejection: TxRejection, paid = false) =>
      ({
        status: 'rejected',
        details: {
          rejection,
          conflicts: [...candidate.conflicts].map((slot) => mempool.entries.txid(slot).slice() as Txid),
          missingInputs: [],
          ...(paid && { paid: { fee: modifiedFee, vsize: entry.vsize } }),
        },
      }) as const;

    if (!bypassLimits) {
      const truc = checkSingleTruc(trucView(mempool, candidate));
      if (truc !== null) {
        if (truc.sibling === null) return rejected(reject('policy', 'TRUC-violation', truc.debug));
        candidate.conflicts.add(truc.sibling);
        candidate.siblingEviction = true;
      }
    }
    let replaced: readonly number[] = [];
    if (candidate.conflicts.size > 0) {
      const checked = checkReplacement(mempool, candidate);
      if (!checked.ok) return rejected(checked, checked.kind === 'fee');
      replaced = checked.value;
    } else if (!linkParents(mempool, candidate, new Set())) return rejected(reject('policy', 'too-large-cluster'));
    if (mempool.graph.isOversized()) return rejected(reject('policy', 'too-large-cluster'));
    const contradiction = spendsConflicting(mempool, candidate);
    if (contradiction) return rejected(contradiction);
    const { maxFeerate } = options;
    if (maxFeerate !== undefined && maxFeerate !== null && modifiedFee * 1000 > maxFeerate * entry.vsize)
      return rejected(reject('policy', 'max feerate exceeded'));
    if (!bypassLimits && mempool.options.requireStandard) {
      const unspent = checkEphemeralSpends([ephemeralView(mempool, candidate)]);
      if (unspent) return rejected(unspent.rejection);
    }
    const scripts = options.scriptsValid ? null : checkScripts(candidate, engine);
    if (scripts) return rejected(scripts);
    const { maxFee } = options;
    if (maxFee !== undefined && maxFee !== null && entry.fee > maxFee)
      return rejected(reject('fee', 'max-fee-exceeded', `${entry.fee} > ${maxFee}`));
    return { status: 'valid', candidate, replaced };
  }
}

/** Rejects a transaction that descends from one it conflicts with, since it could never be valid. */
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
    // The loop visits the parents added here as well, and so all ancestors.
    for (const parent of mempool.parents(slot)) seen.add(parent);
  }
  return null;
}

/** Returns the result for a rejected transaction. */
export function rejectedResult(
  { rejection, conflicts, missingInputs, paid }: RejectionDetails,
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
