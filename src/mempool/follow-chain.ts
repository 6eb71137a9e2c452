import { medianTimePast } from '../consensus/header-entry.ts';
import { COINBASE_MATURITY, MAX_BLOCK_WEIGHT, MIN_TRANSACTION_WEIGHT } from '../consensus/limits.ts';
import { calculateSequenceLocks, evaluateSequenceLocks, isFinalTx } from '../consensus/locktime.ts';
import type { ParsedBlock } from '../primitives/block.ts';
import { coinHeight, isCoinbaseCoin } from '../primitives/coin.ts';
import { hashToHex, type Txid } from '../primitives/hash.ts';
import { type ChainView, MempoolCoins } from './coins-view.ts';
import type { Mempool } from './pool.ts';
import type { Acceptance } from './validation/acceptance.ts';

const MAX_BLOCK_TXS = Math.floor(MAX_BLOCK_WEIGHT / MIN_TRANSACTION_WEIGHT);

/** How the chain has moved; blocks are read one by one, since a reorg may be long. */
export interface BlocksMoved {
  /** Blocks that left it, the highest first. */
  readonly disconnected: readonly (() => ParsedBlock)[];
  /** Blocks that joined it, the lowest first. */
  readonly connected: readonly (() => ParsedBlock)[];
  /** What was in dropped blocks may come back: coins can be read, and are those of the new tip. */
  readonly reaccept: boolean;
  /** Told of each block that joined, in order, when its transactions have left; null where it was not looked at. */
  joined?(index: number, block: ParsedBlock | null): void;
}

/**
 * Brings the mempool in line with a chain that has moved: what is in the new blocks leaves, with what contradicts it;
 * what was in dropped blocks comes back through acceptance, the oldest first, and whatever can then not be in the next
 * block goes. `chain` is at the new tip already.
 */
export function followChain(
  move: BlocksMoved,
  { mempool, acceptance, chain }: { mempool: Mempool; acceptance: Acceptance; chain: ChainView },
): void {
  const reorg = move.disconnected.length > 0;
  const confirmed = new Set<string>();
  for (const [index, block] of move.connected.entries()) {
    // In initial sync there is nothing to take out, and blocks need not be read for it.
    if (!reorg && !move.reaccept && mempool.isUntouchable) {
      mempool.blockArrived();
      move.joined?.(index, null);
      continue;
    }
    const body = block();
    mempool.removeForBlock(body.txs, hashToHex(body.hash));
    if (reorg) for (const { txid } of body.txs) confirmed.add(hashToHex(txid));
    move.joined?.(index, body);
  }
  if (!reorg) return;
  const back: { slot: number; txid: Txid; outputs: number }[] = [];
  // It counts as older than all that is here: what spends it must come after it when both are read back one day, and
  // peers that know of that may ask for it.
  let order = mempool.entries.lowestOrder - move.disconnected.length * MAX_BLOCK_TXS;
  for (const block of move.disconnected.toReversed()) {
    for (const [index, parsed] of block().txs.entries()) {
      if (confirmed.has(hashToHex(parsed.txid))) continue;
      const options = { bypassLimits: true, keepAboveLimit: true, order: order++ };
      const result = move.reaccept && index > 0 ? acceptance.accept(parsed, options) : null;
      const { outputs } = parsed.tx;
      if (result?.status === 'accepted')
        back.push({ slot: mempool.entries.find(parsed.txid), txid: parsed.txid, outputs: outputs.length });
      // Without it, what spends its outputs has nothing to spend.
      else mempool.removeRecursive(mempool.children(parsed.txid, outputs.length), 'reorg');
    }
  }
  linkChildren(mempool, back);
  mempool.removeRecursive(mempool.graph.trim(), 'sizelimit');
  if (move.reaccept) mempool.removeRecursive(premature(mempool, chain), 'reorg');
  mempool.limit();
}

/** What came back may have children that were here before it. */
function linkChildren(mempool: Mempool, back: readonly { slot: number; txid: Txid; outputs: number }[]): void {
  for (const { slot, txid, outputs } of back) {
    // It may have been replaced by another that came back.
    if (mempool.entries.find(txid) !== slot) continue;
    for (const child of mempool.children(txid, outputs)) mempool.graph.addDependency(slot, child);
  }
}

/** Slots of transactions that could not be in the next block any more. */
function premature(mempool: Mempool, chain: ChainView): number[] {
  const { entries } = mempool;
  const { tip } = chain;
  const nextHeight = tip.height + 1;
  const medianTime = medianTimePast(tip);
  const found: number[] = [];
  for (const slot of entries.slots()) {
    if (!entries.locked(slot)) continue;
    const { tx } = entries.parsed(slot);
    const coins = new MempoolCoins(chain, entries);
    const spent = tx.inputs.map(({ prevout }) => coins.get(prevout));
    const known = spent.filter((coin) => coin !== null);
    const stays =
      known.length === spent.length &&
      isFinalTx(tx, nextHeight, medianTime) &&
      evaluateSequenceLocks(calculateSequenceLocks(tx, known, tip), nextHeight, medianTime) &&
      known.every((coin) => !isCoinbaseCoin(coin) || nextHeight - coinHeight(coin) >= COINBASE_MATURITY);
    if (!stays) found.push(slot);
  }
  return found;
}
