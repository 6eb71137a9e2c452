import { TRUC_VERSION } from '../../policy/truc.ts';
import type { ParsedTransaction } from '../../primitives/block.ts';
import { hashToHex } from '../../primitives/hash.ts';
import type { Outpoint } from '../../primitives/outpoint.ts';
import { writeUndoRecord } from '../../primitives/undo.ts';
import { ByteWriter } from '../../util/bytes.ts';
import { IN_MEMPOOL } from '../changes.ts';
import { type ChainView, MempoolCoins } from '../coins-view.ts';
import type { Mempool } from '../pool.ts';
import { SINGLE } from './acceptance.ts';
import { checkWithoutScripts } from './pre-check.ts';

interface AdvanceCheckDeps {
  readonly mempool: Mempool;
  readonly chain: ChainView;
}

/** An upper bound of the cluster that a transaction would be in. */
interface ClusterBound {
  readonly count: number;
  readonly weight: number;
}

interface Passed {
  readonly parsed: ParsedTransaction;
  readonly cluster: ClusterBound;
}

/** Scratch space of one call. */
const writer = new ByteWriter(1024);

/**
 * The checks that precede those of scripts, for transactions that wait to be accepted. A script costs much more than all
 * of them, so none is verified for a transaction that they reject. What depends on the order of acceptance, as
 * replacements and TRUC transactions do, is left to acceptance, which verifies the scripts after its own checks.
 */
export class AdvanceChecks {
  readonly #deps: AdvanceCheckDeps;
  readonly #coins: MempoolCoins;
  /** Transactions that passed, by txid in hex: they are probably accepted before those that follow. */
  readonly #clusters = new Map<string, ClusterBound>();
  /** Spent outpoints of the transactions that passed. */
  readonly #spent = new Set<string>();
  readonly #passed: Passed[] = [];

  /** `before` has the checks of the transactions before these, which may not be accepted yet; null without any. */
  constructor(deps: AdvanceCheckDeps, before: AdvanceChecks | null) {
    this.#deps = deps;
    this.#coins = new MempoolCoins(deps.chain, deps.mempool.entries);
    if (before) for (const passed of before.#passed) this.#record(passed);
  }

  /**
   * Returns the undo records of the outputs that a transaction spends if it passes; null if it does not, or if acceptance
   * has to check it first. The records are valid until the next call.
   */
  check(parsed: ParsedTransaction): Uint8Array | null {
    const checked = checkWithoutScripts(parsed, this.#coins, this.#deps, { ...SINGLE, bypassLimits: false });
    if (!checked.ok || checked.facts.conflicts.size > 0 || parsed.tx.version === TRUC_VERSION) return null;
    const cluster = this.#clusterOf(parsed, checked.facts.weight);
    if (!cluster || parsed.tx.inputs.some(({ prevout }) => this.#spent.has(nameOf(prevout)))) return null;
    this.#passed.push({ parsed, cluster });
    this.#record({ parsed, cluster });
    writer.reset();
    for (const { output } of checked.facts.spent)
      writeUndoRecord(writer, IN_MEMPOOL, output.value, output.scriptPubKey);
    return writer.finish();
  }

  #record({ parsed, cluster }: Passed): void {
    this.#clusters.set(hashToHex(parsed.txid), cluster);
    for (const { prevout } of parsed.tx.inputs) this.#spent.add(nameOf(prevout));
    this.#coins.addPackageTransaction(parsed);
  }

  /** Returns null if the cluster may be too large, or if rules apply to the spenders of a parent. */
  #clusterOf({ tx }: ParsedTransaction, weight: number): ClusterBound | null {
    const { entries, graph, options } = this.#deps.mempool;
    const bound = { count: 1, weight };
    const counted = new Set<string>();
    for (const { prevout } of tx.inputs) {
      const key = hashToHex(prevout.txid);
      if (counted.has(key)) continue;
      counted.add(key);
      const slot = entries.find(prevout.txid);
      const waiting = this.#clusters.get(key);
      if (slot >= 0) {
        // A parent without a fee has dust, which its child must spend (ephemeral dust).
        if (entries.raw(slot)[0] === TRUC_VERSION || entries.fee(slot) === 0) return null;
        for (const member of graph.cluster(slot)) {
          bound.count++;
          bound.weight += entries.adjustedWeight(member, options.bytesPerSigop);
        }
      } else if (waiting) {
        bound.count += waiting.count;
        bound.weight += waiting.weight;
      }
    }
    return bound.count > options.clusterCount || bound.weight > options.clusterVsize * 4 ? null : bound;
  }
}

function nameOf({ txid, vout }: Outpoint): string {
  return `${hashToHex(txid)}:${vout}`;
}
