import { medianTimePast } from '../consensus/header-entry.ts';
import { MAX_BLOCK_SIGOPS_COST, MAX_BLOCK_WEIGHT } from '../consensus/limits.ts';
import { isFinalTx } from '../consensus/locktime.ts';
import { bestChunks } from '../mempool/cluster/best-chunks.ts';
import type { ChainView } from '../mempool/coins-view.ts';
import type { Mempool } from '../mempool/pool.ts';
import { BLOCK_MIN_FEERATE } from '../policy/relay-options.ts';
import type { ParsedTransaction } from '../primitives/block.ts';

/** What goes into a block beside its coinbase, parents first. Satoshis. */
export interface Selection {
  readonly txs: readonly ParsedTransaction[];
  readonly fees: number;
  readonly weight: number;
  readonly sigopCost: number;
}

export interface SelectionOptions {
  /** False leaves a transaction for a later block, and what needs it. */
  readonly admit?: (slot: number) => boolean;
}

/** Left free for header and coinbase, as Core does: weight and sigop cost. */
const RESERVED_WEIGHT = 8000;
const RESERVED_SIGOPS = 400;
/** When the block is nearly full, so many chunks in a row that do not fit end the search. */
const MAX_FAILURES = 1000;
const NEARLY_FULL = 4000;
/** Blocks' worth of the best chunks among which what fits is sought. */
const LOOKED_AT = 4;

/** Fills a block with what pays best: chunk by chunk, in falling order of feerate. */
export function selectTransactions(
  { entries, graph }: Mempool,
  { tip }: Pick<ChainView, 'tip'>,
  { admit = () => true }: SelectionOptions = {},
): Selection {
  const height = tip.height + 1;
  const medianTime = medianTimePast(tip);
  const txs: ParsedTransaction[] = [];
  /** Chunks of a cluster come in its order: what follows one that was left out may need it. */
  const leftOut = new Set<number>();
  let fees = 0;
  let weight = RESERVED_WEIGHT;
  let sigopCost = RESERVED_SIGOPS;
  let failures = 0;
  for (const chunk of bestChunks(graph, MAX_BLOCK_WEIGHT * LOOKED_AT)) {
    if (chunk.fee * 4000 < Number(BLOCK_MIN_FEERATE) * chunk.size) break;
    const chunkWeight = chunk.slots.reduce((sum, slot) => sum + entries.weight(slot), 0);
    const chunkSigops = chunk.slots.reduce((sum, slot) => sum + entries.sigopCost(slot), 0);
    const key = graph.cluster(chunk.slots[0]!)[0]!;
    const fits = weight + chunkWeight < MAX_BLOCK_WEIGHT && sigopCost + chunkSigops < MAX_BLOCK_SIGOPS_COST;
    const parsed =
      fits && !leftOut.has(key) && chunk.slots.every(admit) ? chunk.slots.map((s) => entries.parsed(s)) : [];
    if (parsed.length === 0 || !parsed.every(({ tx }) => isFinalTx(tx, height, medianTime))) {
      leftOut.add(key);
      if (!fits && ++failures > MAX_FAILURES && weight > MAX_BLOCK_WEIGHT - NEARLY_FULL) break;
      continue;
    }
    failures = 0;
    txs.push(...parsed);
    weight += chunkWeight;
    sigopCost += chunkSigops;
    fees += chunk.slots.reduce((sum, slot) => sum + entries.fee(slot), 0);
  }
  return { txs, fees, weight, sigopCost };
}
