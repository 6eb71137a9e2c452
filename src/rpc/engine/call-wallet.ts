import { fail } from '../../http/errors.ts';
import type { LoadedWallet } from '../../queries/wallet-readers.ts';
import { WalletView } from '../../wallet/read/wallet-view.ts';
import type { WalletState } from '../../wallet/wallet-state.ts';
import type { MainThreadEnv } from './method.ts';
import { rpcFail } from './rpc-error.ts';

/** Whether the caller may use a wallet with this name, loaded or not. */
export function maySeeWallet({ call }: Pick<MainThreadEnv, 'call'>, name: string): boolean {
  return call?.principal.wallets?.has(name) ?? true;
}

/** Description of an `include_watchonly` argument. */
export const WATCH_ONLY_NOTE = 'Has no effect, since a wallet without private keys lists its coins anyway.';

/**
 * Throws ApiError if the key of the caller is bound to other wallets. This depends on the name alone, so that the error
 * does not reveal whether the wallet exists.
 */
export function checkWalletAllowed(env: Pick<MainThreadEnv, 'call'>, name: string): void {
  if (!maySeeWallet(env, name)) fail('insufficient_scope', 'this key is bound to other wallets');
}

/** Returns the loaded wallets that the caller may use. */
export function visibleWallets(env: Pick<MainThreadEnv, 'ctx' | 'call'>): readonly WalletState[] {
  return (env.ctx.wallets.states ?? []).filter(({ name }) => maySeeWallet(env, name));
}

/**
 * Returns the wallet of a call: that of its path, or the only loaded one. Throws RpcError with Core's texts. A wallet
 * that the caller may not use looks like one that does not exist.
 */
export function walletOf(env: MainThreadEnv): LoadedWallet {
  const { wallet } = env;
  const readers = env.ctx.wallets;
  if (wallet !== null) {
    const found = maySeeWallet(env, wallet) ? readers.get(wallet) : null;
    return found ?? rpcFail('walletNotFound', 'Requested wallet does not exist or is not loaded');
  }
  if (readers.states === null) rpcFail('methodNotFound', 'Method not found: wallets are disabled (wallet.enabled)');
  const states = visibleWallets(env);
  if (states.length > 1)
    rpcFail(
      'walletNotSpecified',
      'Multiple wallets are loaded. Please select which wallet to use by requesting the RPC through the /wallet/<walletname> URI path.',
    );
  const only = states[0] && readers.get(states[0].name);
  return (
    only ??
    rpcFail(
      'walletNotFound',
      'No wallet is loaded. Load a wallet using loadwallet or create a new one with createwallet. (Note: A default wallet is no longer automatically created)',
    )
  );
}

/** Returns the name of the wallet of a call. Throws RpcError as `walletOf` does. */
export function walletName(env: MainThreadEnv): string {
  return walletOf(env).state.name;
}

/** Lag of the chain in blocks above which calls do not wait for a wallet: during IBD wallets catch up at intervals. */
const NEAR_THE_TIP = 2;

/** Resolves when the wallet of a call has processed all blocks; at once during the initial block download. */
export async function walletSynced(env: MainThreadEnv): Promise<void> {
  const { state } = walletOf(env);
  const node = env.ctx.node();
  const { headers } = node.status();
  if (state.live || headers - (env.ctx.tip()?.height ?? 0) > NEAR_THE_TIP) return;
  await node.call('walletSynced', state.name);
}

/** Reads the wallet of a call in one snapshot of its database, after it has processed all blocks. */
export async function readWallet<T>(
  env: MainThreadEnv,
  read: (view: WalletView, wallet: LoadedWallet) => T,
): Promise<T> {
  await walletSynced(env);
  return walletSnapshot(env, read);
}

/** Reads the wallet of a call in one snapshot of its database, without waiting for blocks. */
function walletSnapshot<T>(env: MainThreadEnv, read: (view: WalletView, wallet: LoadedWallet) => T): T {
  const wallet = walletOf(env);
  return wallet.reads.snapshot(() => read(new WalletView(wallet.reads, env.settings.wallet), wallet));
}

/** Returns the label. Throws RpcError for `*`, which means all labels elsewhere. */
export function checkLabel(label: string): string {
  return label === '*' ? rpcFail('invalidLabelName', 'Invalid label name') : label;
}

/**
 * Whether coins on used addresses are excluded: `given`, or by default the flag of the wallet. Throws RpcError for true
 * without that flag.
 */
export function avoidReuseOf({ reads }: LoadedWallet, given: boolean | null): boolean {
  const hasFlag = reads.meta('flags')?.includes('avoid_reuse') ?? false;
  if (given === true && !hasFlag) rpcFail('wallet', 'wallet does not have the "avoid reuse" feature enabled');
  return given ?? hasFlag;
}
