import type { Chain } from '../../chain/chain.ts';
import type { ChainEntry } from '../../chain/chain-entry.ts';
import type { ConsensusParams } from '../../consensus/consensus-params.ts';
import { isBuriedActive } from '../../consensus/deployments.ts';
import { withReservedValue } from '../../mining/reserved-value.ts';
import type { CallTable, ChainCalls } from '../../port/node-calls.ts';
import type { Refusal } from '../../port/refusal.ts';
import { parseLeadingBlock } from '../../primitives/block.ts';
import { hashToHex } from '../../primitives/hash.ts';
import { DecodeError } from '../../util/bytes.ts';
import { keepDebugLines } from '../../util/log.ts';

const NOT_FOUND: Refusal = { refused: 'invalidAddressOrKey', message: 'Block not found' };

/** Returns the calls of the RPC interface that change the chain. */
export function chainCalls(
  { chain, consensus }: { readonly chain: Chain; readonly consensus: ConsensusParams },
  coinCaches: { readonly database: number; readonly table: number },
): CallTable<ChainCalls> {
  const onBlock = async (hash: Uint8Array, act: (entry: ChainEntry) => Promise<void>) => {
    const entry = chain.findEntry(hash);
    if (entry === null) return NOT_FOUND;
    await act(entry);
    return null;
  };
  return {
    async submitBlock(raw) {
      const outcome = await chain.submitBlock(completeBlock(raw, chain, consensus));
      if (outcome.status === 'known') return 'duplicate';
      if (outcome.status === 'rejected') return outcome.rejection.reason;
      const { height } = outcome.entry;
      return chain.tip.ancestor(height) === outcome.entry ? null : 'inconclusive';
    },
    chainTips: () =>
      chain.chainTips().map(({ entry, branchLength, status }) => ({
        height: entry.height,
        hash: hashToHex(entry.hash),
        branchLength,
        status,
      })),
    coinCaches: () => coinCaches,
    logDebug(kept) {
      keepDebugLines(kept);
      return null;
    },
    async invalidateBlock(hash) {
      const entry = chain.findEntry(hash);
      if (entry !== null && entry.parent === null)
        return { refused: 'invalidParameter', message: 'The genesis block cannot be made invalid' };
      return onBlock(hash, (block) => chain.invalidateBlock(block));
    },
    reconsiderBlock: (hash) => onBlock(hash, (entry) => chain.reconsiderBlock(entry)),
    preciousBlock: (hash) => onBlock(hash, (entry) => chain.preferBlock(entry)),
  };
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
