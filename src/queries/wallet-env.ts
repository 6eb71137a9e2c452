import type { WalletEnv } from '../rpc/engine/method.ts';
import { WalletView } from '../wallet/read/wallet-view.ts';
import type { ReadEnv } from './read-env.ts';
import type { LoadedWallet } from './wallet-readers.ts';

/** Runs `read` on one state of chain and wallet each. */
export function withWallet<T>(env: ReadEnv, { state, reads }: LoadedWallet, read: (env: WalletEnv) => T): T {
  return reads.snapshot(() => {
    const own = { wallet: state, view: new WalletView(reads) };
    // What the chain's part looks up only when it is asked for stays so.
    return read(Object.assign(Object.create(env) as ReadEnv, own));
  });
}
