import { medianTimePast } from '../consensus/header-entry.ts';
import { MAX_BLOCK_SIGOPS_COST, MAX_BLOCK_WEIGHT } from '../consensus/limits.ts';
import { isFinalAtAnySequence, isFinalTx } from '../consensus/locktime.ts';
import { bestChunks } from '../mempool/cluster/best-chunks.ts';
import type { ChainView } from '../mempool/coins-view.ts';
import type { Mempool } from '../mempool/pool.ts';
import { BLOCK_MIN_FEERATE } from '../policy/relay-options.ts';
import type { ParsedTransaction } from '../primitives/block.ts';

/** What goes into a block beside its coinbase, parents first: slots of the mempool. Satoshis. */
export interface SlotSelection {
  readonly slots: readonly number[];
  readonly fees: number;
  /** With what is left free for header and coinbase; so are the sigops. */
  readonly weight: number;
  readonly sigopCost: number;
}

/** The same with the transactions. */
export interface Selection extends SlotSelection {
  readonly txs: readonly ParsedTransaction[];
}

export interface SelectionOptions {
  /** False leaves a transaction for a later block, and what needs it. */
  readonly admit?: (slot: number) => boolean;
}

/** A block without transactions: what is left free for header and coinbase, as Core does. */
export const EMPTY_BLOCK: SlotSelection = { slots: [], fees: 0, weight: 8000, sigopCost: 400 };
/** When the block is nearly full, so many chunks in a row that do not fit end the search. */
const MAX_FAILURES = 1000;
const NEARLY_FULL = 4000;
/** Blocks' worth of the best chunks among which what fits is sought. */
const LOOKED_AT = 2;

/** Fills a block with what pays best: chunk by chunk, in falling order of feerate. */
export function selectTransactions(
  mempool: Mempool,
  chain: Pick<ChainView, 'tip'>,
  options?: SelectionOptions,
): Selection {
  const selection = selectSlots(mempool, chain, options);
  return { ...selection, txs: selection.slots.map((slot) => mempool.entries.parsed(slot)) };
}

/** The same without reading the transactions. */
export function selectSlots(
  { entries, graph }: Mempool,
  { tip }: Pick<ChainView, 'tip'>,
  { admit = () => true }: SelectionOptions = {},
): SlotSelection {
  const height = tip.height + 1;
  const medianTime = medianTimePast(tip);
  const isFinal = (slot: number) =>
    !entries.locked(slot) ||
    isFinalAtAnySequence(locktimeOf(entries.raw(slot)), height, medianTime) ||
    isFinalTx(entries.parsed(slot).tx, height, medianTime);
  const mayEnter = (slot: number) => admit(slot) && isFinal(slot);
  const clusterOf = (slots: readonly number[]) => graph.cluster(slots[0]!)[0]!;
  const chosen: number[] = [];
  /** Chunks of a cluster come in its order: what follows one that was left out may need it. */
  const leftOut = new Set<number>();
  let fees = 0;
  let weight = EMPTY_BLOCK.weight;
  let sigopCost = EMPTY_BLOCK.sigopCost;
  let failures = 0;
  for (const { fee, size, slots } of bestChunks(graph, MAX_BLOCK_WEIGHT * LOOKED_AT)) {
    if (fee * 4000 < Number(BLOCK_MIN_FEERATE) * size) break;
    if (leftOut.size > 0 && leftOut.has(clusterOf(slots))) continue;
    let chunkSigops = 0;
    for (let i = 0; i < slots.length; i++) chunkSigops += entries.sigopCost(slots[i]!);
    // The size of a chunk is its weight, or more where it has many sigops.
    const fits = weight + size < MAX_BLOCK_WEIGHT && sigopCost + chunkSigops < MAX_BLOCK_SIGOPS_COST;
    if (!fits || !slots.every(mayEnter)) {
      leftOut.add(clusterOf(slots));
      if (++failures > MAX_FAILURES && weight > MAX_BLOCK_WEIGHT - NEARLY_FULL) break;
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

/** The locktime is what an encoding ends with. */
function locktimeOf(raw: Uint8Array): number {
  const at = raw.length - 4;
  return (raw[at]! | (raw[at + 1]! << 8) | (raw[at + 2]! << 16) | (raw[at + 3]! << 24)) >>> 0;
}
