import type { Chain } from '../../chain/chain.ts';
import type { CallTable } from '../../port/node-calls.ts';
import type { Refusal } from '../../port/refusal.ts';
import type { WalletCalls } from '../../port/wallet-node-calls.ts';

/** Refuses calls that open a wallet while blocks are missing below a loaded UTXO set, as Core does. */
export function whileBlocksAreMissing(chain: Chain, calls: CallTable<WalletCalls>): CallTable<WalletCalls> {
  const refusal = (): Refusal | null => {
    const { background } = chain;
    return (
      background && {
        refused: 'wallet',
        message: `Wallet loading failed. Error loading wallet. Wallet requires blocks to be downloaded, and software does not currently support loading wallets while blocks are being downloaded out of order when using assumeutxo snapshots. Wallet should be able to load successfully after node sync reaches height ${background.base.height}`,
      }
    );
  };
  return {
    ...calls,
    walletCreate: (...args) => refusal() ?? calls.walletCreate(...args),
    walletLoad: (...args) => refusal() ?? calls.walletLoad(...args),
    walletRestore: (...args) => refusal() ?? calls.walletRestore(...args),
  };
}
