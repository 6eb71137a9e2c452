import { type ReadEndpoint, textAnswer } from '../queries/answer.ts';
import type { WalletFileState } from '../queries/wallet-readers.ts';
import { balancesOf } from '../wallet/read/balances.ts';
import { WalletView } from '../wallet/read/wallet-view.ts';

/** Pairs of a wallet's name and what it could spend, in satoshis, as getbalance counts it. */
export const walletBalancesEndpoint: ReadEndpoint<readonly WalletFileState[]> = {
  name: 'wallet-balances',
  run(env, wallets) {
    const balances = wallets.map((wallet) => {
      const reads = env.wallets!(wallet);
      const balance = reads.snapshot(() => {
        const avoidReuse = reads.meta('flags')?.includes('avoid_reuse') ?? false;
        return balancesOf(new WalletView(reads, env.settings.wallet), {
          minDepth: 0,
          avoidReuse,
          includeNonMempool: false,
        }).trusted;
      });
      return [wallet.name, balance];
    });
    return textAnswer(JSON.stringify(balances), 'none');
  },
};
