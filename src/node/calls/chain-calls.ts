import type { Chain } from '../../chain/chain.ts';
import type { ChainEntry } from '../../chain/chain-entry.ts';
import type { ActionTable, ChainActions } from '../../port/node-actions.ts';
import type { Refusal } from '../../port/refusal.ts';
import { hashToHex } from '../../primitives/hash.ts';
import { keepDebugLines } from '../../util/log.ts';

const NOT_FOUND: Refusal = { refused: 'invalidAddressOrKey', message: 'Block not found' };

/** Returns the calls of the RPC interface that change the chain. */
export function chainActions(
  chain: Chain,
  coinCaches: { readonly database: number; readonly table: number },
): ActionTable<ChainActions> {
  const onBlock = async (hash: Uint8Array, act: (entry: ChainEntry) => Promise<void>) => {
    const entry = chain.findEntry(hash);
    if (entry === null) return NOT_FOUND;
    await act(entry);
    return null;
  };
  return {
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
