import { dustOutputs } from '../../policy/dust.ts';
import type { EphemeralTx } from '../../policy/ephemeral.ts';
import type { PackageTrucView, SingleTrucView, TrucParent } from '../../policy/truc.ts';
import type { Mempool } from '../pool.ts';
import type { Candidate } from './pre-check.ts';

/** A transaction that would enter alone, as the rules of version 3 see it. */
export function trucView(mempool: Mempool, { parsed, entry, parents, conflicts }: Candidate): SingleTrucView<number> {
  const { graph } = mempool;
  return {
    parsed,
    vsize: entry.vsize,
    parents: parents.map((slot) => trucParent(mempool, slot)),
    siblings: () =>
      graph
        .descendants(parents[0]!)
        .filter((slot) => slot !== parents[0])
        .map((slot) => ({ id: slot, ancestorCount: graph.ancestors(slot).length, conflicts: conflicts.has(slot) })),
  };
}

/** The same for one transaction of a package. */
export function packageTrucView(
  mempool: Mempool,
  { entry, parents }: Candidate,
  index: number,
  all: readonly Candidate[],
): PackageTrucView {
  return {
    package: all.map(({ parsed }) => parsed),
    index,
    vsize: entry.vsize,
    parents: parents.map((slot) => trucParent(mempool, slot)),
  };
}

/** What is known of the dust that a transaction makes and meets. */
export function ephemeralView({ entries, options }: Mempool, { parsed }: Candidate): EphemeralTx {
  return {
    parsed,
    dust: dustOutputs(parsed.tx, options.dustFeerate),
    mempoolDust(txid) {
      const slot = entries.find(txid);
      return slot < 0 ? [] : dustOutputs(entries.parsed(slot).tx, options.dustFeerate);
    },
  };
}

/** The counts are looked up where a rule asks. */
function trucParent({ entries, graph }: Mempool, slot: number): TrucParent {
  return {
    txid: entries.txid(slot),
    wtxid: entries.wtxid(slot),
    version: entries.parsed(slot).tx.version,
    get ancestorCount() {
      return graph.ancestors(slot).length;
    },
    get descendantCount() {
      return graph.descendants(slot).length;
    },
  };
}
