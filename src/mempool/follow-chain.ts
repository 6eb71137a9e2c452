import { medianTimePast } from '../consensus/header-entry.ts';
import { COINBASE_MATURITY, MAX_BLOCK_WEIGHT, MIN_TRANSACTION_WEIGHT } from '../consensus/limits.ts';
import { calculateSequenceLocks, evaluateSequenceLocks, isFinalTx } from '../consensus/locktime.ts';
import type { ParsedBlock, ParsedTransaction } from '../primitives/block.ts';
import { coinHeight, isCoinbaseCoin } from '../primitives/coin.ts';
import { hashToHex, type Txid } from '../primitives/hash.ts';
import { type ChainView, MempoolCoins } from './coins-view.ts';
import type { Mempool } from './pool.ts';
import type { Acceptance } from './validation/acceptance.ts';

/** Blocks whose transactions return to the mempool after `invalidateblock`. */
const MAX_INVALIDATED_BLOCKS = 10;
/** Memory of transactions of disconnected blocks that may return (Core's MAX_DISCONNECTED_TX_POOL_BYTES), bytes. */
const MAX_RETURNING_BYTES = 20_000_000;
/** Memory of a transaction beyond its bytes in Core, of each of its inputs, and of each of its outputs, bytes. */
const [TX_BYTES, INPUT_BYTES, OUTPUT_BYTES] = [250, 110, 40];
const MAX_BLOCK_TXS = Math.floor(MAX_BLOCK_WEIGHT / MIN_TRANSACTION_WEIGHT);

/** A change of the active chain. Blocks are read one at a time, since a reorganization may be long. */
export interface BlocksMoved {
  /** Disconnected blocks, highest first. */
  readonly disconnected: readonly (() => ParsedBlock)[];
  /** Connected blocks, lowest first. */
  readonly connected: readonly (() => ParsedBlock)[];
  /**
   * Whether transactions of disconnected blocks may be accepted again: the coins are readable and those of the new tip.
   */
  readonly reaccept: boolean;
  /** Whether an operator invalidated the disconnected blocks; the transactions of the ten highest return then, as in Core. */
  readonly invalidated?: boolean;
  /**
   * Called for each connected block in order after its transactions were removed; `block` is null if it was not read.
   */
  joined?(index: number, block: ParsedBlock | null): void;
}

/**
 * Updates the mempool after a change of the active chain (Core's removeForBlock and MaybeUpdateMempoolForReorg).
 * Transactions of connected blocks and their conflicts are removed. Transactions of disconnected blocks are accepted
 * again, oldest first, and everything that cannot be in the next block is removed. `chain` is already at the new tip.
 *
 * The oldest transactions of disconnected blocks return, up to 20 MB, so that a long reorganization is bounded in time and
 * memory. Those that confirmed last do not, and neither do their descendants.
 */
export function followChain(
  move: BlocksMoved,
  { mempool, acceptance, chain }: { mempool: Mempool; acceptance: Acceptance; chain: ChainView },
): void {
  const reorg = move.disconnected.length > 0;
  const confirmed = new Set<string>();
  for (const [index, block] of move.connected.entries()) {
    // With an empty mempool, as during initial block download, the blocks need not be read.
    if (!reorg && !move.reaccept && mempool.isEmpty) {
      mempool.onBlockConnected();
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
  // They get arrival numbers below all others: when the mempool is restored, they must precede their children, and
  // peers that know the block may request them at once.
  let order = mempool.entries.lowestOrder - move.disconnected.length * MAX_BLOCK_TXS;
  let returningBytes = 0;
  const kept = move.invalidated ? move.disconnected.length - MAX_INVALIDATED_BLOCKS : 0;
  for (const [depth, block] of move.disconnected.toReversed().entries()) {
    for (const [index, parsed] of block().txs.entries()) {
      const isCandidate = index > 0 && depth >= kept;
      // Transactions that the new branch confirms count as well: in Core they are held until their block is connected.
      if (isCandidate) returningBytes += memoryOf(parsed);
      if (confirmed.has(hashToHex(parsed.txid))) continue;
      const fits = returningBytes <= MAX_RETURNING_BYTES;
      const options = { bypassLimits: true, keepAboveLimit: true, order: order++ };
      const result = move.reaccept && isCandidate && fits ? acceptance.accept(parsed, options) : null;
      const { outputs } = parsed.tx;
      if (result?.status === 'accepted')
        back.push({ slot: mempool.entries.find(parsed.txid), txid: parsed.txid, outputs: outputs.length });
      // Without it, the transactions that spend its outputs have missing inputs.
      else mempool.removeRecursive(mempool.children(parsed.txid, outputs.length), 'reorg');
    }
  }
  linkChildren(mempool, back);
  mempool.removeRecursive(mempool.graph.trim(), 'sizelimit');
  if (move.reaccept) mempool.removeRecursive(premature(mempool, chain), 'reorg');
  mempool.limit();
}

/** Returns the memory that Core counts for a transaction of a disconnected block, roughly, bytes. */
function memoryOf({ raw, tx }: ParsedTransaction): number {
  return raw.length + TX_BYTES + tx.inputs.length * INPUT_BYTES + tx.outputs.length * OUTPUT_BYTES;
}

/** Links accepted transactions to children that were in the mempool before them. */
function linkChildren(mempool: Mempool, back: readonly { slot: number; txid: Txid; outputs: number }[]): void {
  for (const { slot, txid, outputs } of back) {
    // It may have been replaced by another transaction of a disconnected block.
    if (mempool.entries.find(txid) !== slot) continue;
    for (const child of mempool.children(txid, outputs)) mempool.graph.addDependency(slot, child);
  }
}

/** Returns the slots of transactions that are not valid in the next block. */
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
