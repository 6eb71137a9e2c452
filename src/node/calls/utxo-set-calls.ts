import type { Chain } from '../../chain/chain.ts';
import type { CallTable, UtxoSetCalls } from '../../port/node-calls.ts';
import type { Refusal } from '../../port/refusal.ts';
import { COINS } from '../../storage/runs/run-family.ts';

/** Returns the calls of loadtxoutset. */
export function utxoSetCalls({
  chain,
  isMempoolEmpty,
  loadedWallets,
  onActivated,
}: {
  readonly chain: Chain;
  readonly isMempoolEmpty: () => boolean;
  readonly loadedWallets: () => number;
  /** Called when a set was activated. */
  readonly onActivated: () => void;
}): CallTable<UtxoSetCalls> {
  const reason = (): string | null => {
    if (!isMempoolEmpty()) return "Can't activate a snapshot when mempool not empty";
    // Wallets would not see the blocks below the base, and have no index to find their history in.
    return loadedWallets() > 0 ? "Can't activate a snapshot while wallets are loaded" : null;
  };
  const refuse = (message: string): Refusal => ({ refused: 'internal', message });
  return {
    beginUtxoSet(baseHash) {
      const found = chain.findLoadableBase(baseHash);
      if (typeof found === 'string') return refuse(found);
      const other = reason();
      if (other !== null) return refuse(other);
      return { baseHeight: found.entry.height, runId: chain.reserveRunId() };
    },
    async activateUtxoSet({ baseHash, runId, run, hash, value, coins }) {
      const set = { baseHash, run: { family: COINS, id: runId, run }, hash, value, coins };
      const refused = await chain.activateUtxoSet(set, reason);
      if (refused !== null) return refuse(refused);
      onActivated();
      return null;
    },
  };
}
