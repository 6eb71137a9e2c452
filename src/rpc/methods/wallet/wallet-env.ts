import { fail } from '../../../http/errors.ts';
import type { LoadedWallet } from '../../../queries/wallet-readers.ts';
import { WalletView } from '../../../wallet/read/wallet-view.ts';
import type { WalletState } from '../../../wallet/wallet-state.ts';
import type { FrontEnv } from '../../engine/method.ts';
import { rpcFail } from '../../engine/rpc-error.ts';

/** Whether the caller may use a wallet of that name, loaded or not. */
export function maySeeWallet({ call }: Pick<FrontEnv, 'call'>, name: string): boolean {
  return call?.principal.wallets?.has(name) ?? true;
}

/**
 * Refuses a wallet that the caller's key is not bound to. It depends on the name alone, so the answer does not reveal
 * whether there is such a wallet.
 */
export function checkWalletAllowed(env: Pick<FrontEnv, 'call'>, name: string): void {
  if (!maySeeWallet(env, name)) fail('insufficient_scope', 'this key is bound to other wallets');
}

/** The loaded wallets that the caller may use. */
export function visibleWallets(env: Pick<FrontEnv, 'ctx' | 'call'>): readonly WalletState[] {
  return (env.ctx.wallets.states ?? []).filter(({ name }) => maySeeWallet(env, name));
}

/**
 * The wallet that a call is about: the one in its path, else the only one. Throws RpcError in Core's words; a wallet that
 * the caller may not use is answered like one that does not exist.
 */
export function walletOf(env: FrontEnv): LoadedWallet {
  const { wallet } = env;
  const readers = env.ctx.wallets;
  if (wallet !== null) {
    const found = maySeeWallet(env, wallet) ? readers.get(wallet) : null;
    return found ?? rpcFail('walletNotFound', 'Requested wallet does not exist or is not loaded');
  }
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

/** The name of the wallet that a call is about. */
export function walletName(env: FrontEnv): string {
  return walletOf(env).state.name;
}

/** Blocks that a wallet may lag behind without being waited for: in initial sync it catches up now and then. */
const NEAR_THE_TIP = 2;

/** Waits for the wallet that a call is about to hear of all blocks; not in initial sync. */
export async function walletSynced(env: FrontEnv): Promise<void> {
  const { state } = walletOf(env);
  const node = env.ctx.node();
  const { headers } = node.status();
  if (state.live || headers - (env.ctx.tip()?.height ?? 0) > NEAR_THE_TIP) return;
  await node.act('walletSynced', state.name);
}

/** Reads the wallet that a call is about, on one state of its file, when it has heard of all blocks. */
export async function readWallet<T>(env: FrontEnv, read: (view: WalletView, wallet: LoadedWallet) => T): Promise<T> {
  await walletSynced(env);
  return walletSnapshot(env, read);
}

/** The same without waiting. */
function walletSnapshot<T>(env: FrontEnv, read: (view: WalletView, wallet: LoadedWallet) => T): T {
  const wallet = walletOf(env);
  return wallet.reads.snapshot(() => read(new WalletView(wallet.reads), wallet));
}

/** A label as callers give it. Throws RpcError on `*`. */
export function checkLabel(label: string): string {
  return label === '*' ? rpcFail('invalidLabelName', 'Invalid label name') : label;
}

/** Whether coins on used addresses are kept apart; throws RpcError where the wallet does not know them. */
export function avoidReuseOf({ reads }: LoadedWallet, given: boolean | null): boolean {
  const able = reads.meta('flags')?.includes('avoid_reuse') ?? false;
  if (given === true && !able) rpcFail('wallet', 'wallet does not have the "avoid reuse" feature enabled');
  return given ?? able;
}
