import { medianTimePast } from '../consensus/header-entry.ts';
import { MAX_BLOCK_SIGOPS_COST, WITNESS_SCALE_FACTOR } from '../consensus/limits.ts';
import { isFinalAtAnySequence, isFinalTx } from '../consensus/locktime.ts';
import { bestChunks } from '../mempool/cluster/best-chunks.ts';
import type { ChainView } from '../mempool/coins-view.ts';
import type { Mempool } from '../mempool/pool.ts';
import type { ParsedTransaction } from '../primitives/block.ts';
import { DEFAULT_MINING_OPTIONS, type MiningOptions } from './mining-options.ts';

/** Mempool slots of a block's transactions, parents first. Fees in satoshis. */
export interface SlotSelection {
  readonly slots: readonly number[];
  readonly fees: number;
  /** Weight including the reserve for header and coinbase; so is the sigop cost. */
  readonly weight: number;
  readonly sigopCost: number;
}

/** A selection with its transactions. */
export interface TemplateSelection extends SlotSelection {
  readonly txs: readonly ParsedTransaction[];
}

export interface SelectionOptions {
  /** Returns false for a transaction that is left out together with its descendants. */
  readonly admit?: (slot: number) => boolean;
  readonly limits?: MiningOptions;
}

/** Sigop cost that is left for the coinbase, as in Core. */
const RESERVED_SIGOP_COST = 400;
/** When the block is nearly full, selection ends after this many chunks in a row that do not fit. */
const MAX_FAILURES = 1000;
const NEARLY_FULL = 4000;
/** TemplateSelection considers the best chunks of this many block weights. */
const BLOCKS_CONSIDERED = 2;

/** Returns the selection of a block without transactions: the weight and sigop cost reserved for its header and coinbase. */
export function emptySelection({ reservedWeight }: Pick<MiningOptions, 'reservedWeight'>): SlotSelection {
  return { slots: [], fees: 0, weight: reservedWeight, sigopCost: RESERVED_SIGOP_COST };
}

/** Selects transactions for a block, chunk by chunk in descending order of feerate. */
export function selectTransactions(
  mempool: Mempool,
  chain: Pick<ChainView, 'tip'>,
  options?: SelectionOptions,
): TemplateSelection {
  const selection = selectSlots(mempool, chain, options);
  return { ...selection, txs: selection.slots.map((slot) => mempool.entries.parsed(slot)) };
}

/** Selects as `selectTransactions` does, without decoding the transactions. */
export function selectSlots(
  { entries, graph }: Mempool,
  { tip }: Pick<ChainView, 'tip'>,
  { admit = () => true, limits = DEFAULT_MINING_OPTIONS }: SelectionOptions = {},
): SlotSelection {
  const { maxWeight } = limits;
  const minFeerate = Number(limits.minFeerate);
  const height = tip.height + 1;
  const medianTime = medianTimePast(tip);
  const isFinal = (slot: number) =>
    !entries.locked(slot) ||
    isFinalAtAnySequence(locktimeOf(entries.raw(slot)), height, medianTime) ||
    isFinalTx(entries.parsed(slot).tx, height, medianTime);
  const mayEnter = (slot: number) => admit(slot) && isFinal(slot);
  const clusterOf = (slots: readonly number[]) => graph.cluster(slots[0]!)[0]!;
  const chosen: number[] = [];
  /** Clusters with a chunk that was left out: their later chunks may depend on it. */
  const leftOut = new Set<number>();
  let { fees, weight, sigopCost } = emptySelection(limits);
  let failures = 0;
  for (const { fee, size, slots } of bestChunks(graph, maxWeight * BLOCKS_CONSIDERED)) {
    // As in Core, the virtual size of a chunk is rounded up.
    if (fee * 1000 < minFeerate * Math.ceil(size / WITNESS_SCALE_FACTOR)) break;
    if (leftOut.size > 0 && leftOut.has(clusterOf(slots))) continue;
    let chunkSigops = 0;
    for (let i = 0; i < slots.length; i++) chunkSigops += entries.sigopCost(slots[i]!);
    // The size of a chunk is its weight, or more if it has many sigops.
    const fits = weight + size < maxWeight && sigopCost + chunkSigops < MAX_BLOCK_SIGOPS_COST;
    if (!fits || !slots.every(mayEnter)) {
      leftOut.add(clusterOf(slots));
      if (++failures > MAX_FAILURES && weight > maxWeight - NEARLY_FULL) break;
      continue;
    }
    failures = 0;
    for (let i = 0; i < slots.length; i++) {
      const slot = slots[i]!;
      chosen.push(slot);
      weight += entries.weight(slot);
      fees += entries.fee(slot);
    }
    sigopCost += chunkSigops;
  }
  return { slots: chosen, fees, weight, sigopCost };
}

/** Reads the locktime, the last four bytes of the encoding. */
function locktimeOf(raw: Uint8Array): number {
  const at = raw.length - 4;
  return (raw[at]! | (raw[at + 1]! << 8) | (raw[at + 2]! << 16) | (raw[at + 3]! << 24)) >>> 0;
}
