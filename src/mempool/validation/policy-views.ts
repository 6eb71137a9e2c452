import { dustOutputs } from '../../policy/dust.ts';
import type { EphemeralTx } from '../../policy/ephemeral.ts';
import type { PackageTrucView, SingleTrucView, TrucParent } from '../../policy/truc.ts';
import type { Mempool } from '../pool.ts';
import type { Candidate } from './pre-check.ts';

/** Returns the data of a single transaction that the TRUC rules need (BIP-431). */
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

/** Returns the data of a package transaction that the TRUC rules need (BIP-431). */
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

/** Returns the dust that a transaction creates and the dust outputs of its parents. */
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

/** The counts are computed only if a rule needs them. */
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
