import type { ActionTable, ChainActions, Refusal } from '../api/node-actions.ts';
import type { Chain } from '../chain/chain.ts';
import type { ChainEntry } from '../chain/chain-entry.ts';
import { rejectionText } from '../consensus/rejection.ts';
import type { MempoolService } from '../mempool/service.ts';
import type { Miner } from '../mining/miner.ts';
import { parseTransaction } from '../primitives/block.ts';
import { hashFromHex, hashToHex, type Txid } from '../primitives/hash.ts';
import type { Transaction } from '../primitives/transaction.ts';

const NOT_FOUND: Refusal = { refused: 'invalidAddressOrKey', message: 'Block not found' };

/** What the RPC interface may do to the chain. */
export function chainActions(
  { chain, mempool, miner }: { chain: Chain; mempool: MempoolService; miner: Miner },
  signal: AbortSignal,
): ActionTable<ChainActions> {
  const onBlock = async (hash: Uint8Array, act: (entry: ChainEntry) => Promise<void>) => {
    const entry = chain.get(hash);
    if (entry === null) return NOT_FOUND;
    await act(entry);
    return null;
  };
  return {
    chainTips: () =>
      chain.tips().map(({ entry, branchLength, status }) => ({
        height: entry.height,
        hash: hashToHex(entry.hash),
        branchLength,
        status,
      })),
    async generate(script, count, maxTries) {
      const hashes: string[] = [];
      let left = maxTries;
      while (hashes.length < count && left > 0 && !signal.aborted) {
        const block = await miner.mine(script, left);
        if (block === null) break;
        left -= block.tries;
        const rejection = await miner.submit(block);
        if (rejection)
          return { refused: 'misc', message: `ProcessNewBlock, block not accepted: ${rejectionText(rejection)}` };
        hashes.push(hashToHex(block.hash));
      }
      return hashes;
    },
    async generateBlock(script, given, submit) {
      const txs: Transaction[] = [];
      for (const one of given) {
        if (typeof one !== 'string') {
          txs.push(parseTransaction(one).tx);
          continue;
        }
        const { entries } = mempool.mempool;
        const slot = entries.find(hashFromHex<Txid>(one));
        if (slot < 0) return { refused: 'invalidAddressOrKey', message: `Transaction ${one} not in mempool.` };
        txs.push(entries.parsed(slot).tx);
      }
      const block = await miner.mineThese(script, txs);
      const rejection = submit ? await miner.submit(block) : null;
      if (rejection) return { refused: 'verify', message: `TestBlockValidity failed: ${rejectionText(rejection)}` };
      return { hash: hashToHex(block.hash), raw: block.raw };
    },
    async invalidateBlock(hash) {
      const entry = chain.get(hash);
      if (entry !== null && entry.parent === null)
        return { refused: 'invalidParameter', message: 'The genesis block cannot be made invalid' };
      return onBlock(hash, (block) => chain.invalidate(block));
    },
    reconsiderBlock: (hash) => onBlock(hash, (entry) => chain.reconsider(entry)),
    preciousBlock: (hash) => onBlock(hash, (entry) => chain.prefer(entry)),
  };
}
