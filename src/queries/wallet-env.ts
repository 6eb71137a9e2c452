import { WalletView } from '../wallet/read/wallet-view.ts';
import type { WalletState } from '../wallet/wallet-state.ts';
import type { ReadEnv } from './read-env.ts';
import type { LoadedWallet } from './wallet-readers.ts';

/** The environment of a method that reads one wallet and the chain. */
export interface WalletEnv extends ReadEnv {
  readonly wallet: WalletState;
  /** The wallet in one state of its file. */
  readonly view: WalletView;
}

/** Runs `read` on one state of the chain and one of the wallet. */
export function withWallet<T>(env: ReadEnv, { state, reads }: LoadedWallet, read: (env: WalletEnv) => T): T {
  return reads.snapshot(() => {
    const own = { wallet: state, view: new WalletView(reads, env.settings.wallet) };
    // The lazy members of the chain's environment stay lazy.
    return read(Object.assign(Object.create(env) as ReadEnv, own));
  });
}
