import { WalletView } from '../wallet/read/wallet-view.ts';
import type { WalletState } from '../wallet/wallet-state.ts';
import type { ReadEnv } from './read-env.ts';
import type { LoadedWallet } from './wallet-readers.ts';

/** What a method has that answers from one wallet, beside the chain. */
export interface WalletEnv extends ReadEnv {
  readonly wallet: WalletState;
  /** The wallet on one state of its file. */
  readonly view: WalletView;
}

/** Runs `read` on one state of chain and wallet each. */
export function withWallet<T>(env: ReadEnv, { state, reads }: LoadedWallet, read: (env: WalletEnv) => T): T {
  return reads.snapshot(() => {
    const own = { wallet: state, view: new WalletView(reads) };
    // What the chain's part looks up only when it is asked for stays so.
    return read(Object.assign(Object.create(env) as ReadEnv, own));
  });
}
