import type { Chain } from '../../chain/chain.ts';
import type { ChainEntry } from '../../chain/chain-entry.ts';
import type { ConsensusParams } from '../../consensus/consensus-params.ts';
import { isBuriedActive } from '../../consensus/deployments.ts';
import { hash256 } from '../../crypto/hash-functions.ts';
import { withReservedValue } from '../../mining/reserved-value.ts';
import type { CallTable, ChainCalls } from '../../port/node-calls.ts';
import type { Refusal } from '../../port/refusal.ts';
import { parseLeadingBlock } from '../../primitives/block.ts';
import { hashToHex } from '../../primitives/hash.ts';
import { HEADER_SIZE } from '../../primitives/header.ts';
import { DecodeError } from '../../util/bytes.ts';
import { setLogLevels } from '../../util/log.ts';
import { orDiskRefusal } from './storage-refusal.ts';

/** A height above this is a UNIX time, as in Core. */
const FIRST_TIME = 1_000_000_000;
/** Core's TIMESTAMP_WINDOW: the tolerance for block times, seconds. */
const TIMESTAMP_WINDOW_S = 7200;

const NOT_FOUND: Refusal = { refused: 'invalidAddressOrKey', message: 'Block not found' };

const PRUNED: Refusal = { refused: 'misc', message: 'Block not available (pruned data)' };

/** Returns the calls of the RPC interface that change the chain. */
export function chainCalls(
  {
    chain,
    consensus,
    signal,
  }: { readonly chain: Chain; readonly consensus: ConsensusParams; readonly signal: AbortSignal },
  coinCaches: { readonly database: number; readonly table: number; readonly background: number },
): CallTable<ChainCalls> {
  const onBlock = async (hash: Uint8Array, act: (entry: ChainEntry) => Promise<unknown>) => {
    const entry = chain.findEntry(hash);
    if (entry === null) return NOT_FOUND;
    return (await act(entry)) === false ? PRUNED : null;
  };
  return {
    async submitBlock(raw) {
      const block = completeBlock(raw, chain, consensus);
      const known = block.length < HEADER_SIZE ? null : chain.findEntry(hash256(block.subarray(0, HEADER_SIZE)));
      // As in Core, a pruned block is stored again, which validates nothing.
      const pruned = known ? known.hadBody && !known.hasBody : false;
      const outcome = await orDiskRefusal(chain, 'the block was not accepted', () => chain.submitBlock(block));
      if ('refused' in outcome) return outcome;
      if (outcome.status === 'known') return 'duplicate';
      if (outcome.status === 'rejected') return outcome.rejection.reason;
      const { height } = outcome.entry;
      return chain.tip.ancestor(height) === outcome.entry && !pruned ? null : 'inconclusive';
    },
    chainTips: () =>
      chain.chainTips().map(({ entry, branchLength, status }) => ({
        height: entry.height,
        hash: hashToHex(entry.hash),
        branchLength,
        status,
      })),
    async coinStatsCaughtUp() {
      await chain.coinStats.caughtUp(signal);
      return null;
    },
    coinCaches: () => coinCaches,
    setLogLevels(levels, areConfigured) {
      setLogLevels(levels, areConfigured);
      return null;
    },
    pruneBlocks: (height) => pruneBlocks(chain, height),
    async invalidateBlock(hash) {
      const entry = chain.findEntry(hash);
      if (entry !== null && entry.parent === null)
        return { refused: 'invalidParameter', message: 'The genesis block cannot be made invalid' };
      const { background } = chain;
      // No undo data leads below the base before the chain behind it is complete.
      if (entry !== null && background !== null && background.base.ancestor(entry.height) === entry)
        return {
          refused: 'misc',
          message: 'Blocks below a loaded UTXO set cannot be made invalid until it is validated',
        };
      return onBlock(hash, (block) => chain.invalidateBlock(block));
    },
    reconsiderBlock: (hash) => onBlock(hash, (entry) => chain.reconsiderBlock(entry)),
    preciousBlock: (hash) => onBlock(hash, (entry) => chain.preferBlock(entry)),
  };
}

/** Prunes as Core's pruneblockchain. */
async function pruneBlocks(chain: Chain, given: number): Promise<number | null | Refusal> {
  const { pruner, tip } = chain;
  if (pruner === null) return null;
  if (given < 0) return { refused: 'invalidParameter', message: 'Negative block height.' };
  const height = given > FIRST_TIME ? heightAtTime(tip, given - TIMESTAMP_WINDOW_S) : given;
  if (height === null)
    return { refused: 'invalidParameter', message: 'Could not find block with at least the specified timestamp.' };
  if (tip.height < pruner.options.afterHeight)
    return { refused: 'misc', message: 'Blockchain is too short for pruning.' };
  if (height > tip.height)
    return { refused: 'invalidParameter', message: 'Blockchain is shorter than the attempted prune height.' };
  await chain.pruneUpTo(height);
  return (pruner.pruneHeight || 0) - 1;
}

/** Returns the lowest height at which any block up to it has at least this time; null where there is none. */
function heightAtTime(tip: ChainEntry, time: number): number | null {
  let found: number | null = null;
  for (let at: ChainEntry | null = tip; at !== null; at = at.parent) if (at.time >= time) found = at.height;
  return found;
}

/**
 * Returns the block without trailing bytes. Where segwit requires a witness of the coinbase and the miner left it out,
 * it is added.
 */
function completeBlock(bytes: Uint8Array, chain: Chain, consensus: ConsensusParams): Uint8Array {
  try {
    const block = parseLeadingBlock(bytes);
    const parent = chain.findEntry(block.header.previousHash);
    const segwit = parent !== null && isBuriedActive('segwit', parent.height + 1, consensus);
    return segwit ? withReservedValue(block) : block.raw;
  } catch (error) {
    // The chain reports the decoding error.
    if (error instanceof DecodeError) return bytes;
    throw error;
  }
}
