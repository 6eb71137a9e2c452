import { walletBalancesEndpoint } from '../../feed/wallet-balances.ts';
import { nameOf } from '../../feed/wallet-event-lines.ts';
import type { ServerContext } from '../context.ts';

/** Whoever collects metrics does not wait for long. */
const LONGEST_MS = 2000;

/** Satoshis by name of the wallet, worked out by a reader worker. Empty where that cannot be had now. */
export async function collectWalletBalances(
  ctx: Pick<ServerContext, 'wallets' | 'queries' | 'stopping' | 'log'>,
): Promise<ReadonlyMap<string, number>> {
  try {
    const input = (ctx.wallets.states ?? []).map(nameOf);
    if (input.length === 0) return new Map();
    const job = { kind: 'rest', name: walletBalancesEndpoint.name, input } as const;
    const signal = AbortSignal.any([ctx.stopping, AbortSignal.timeout(LONGEST_MS)]);
    const result = await ctx.queries.runJob({ job, signal, long: false });
    if (!result.ok) return new Map();
    const { body } = result.reply;
    return new Map(JSON.parse(typeof body === 'string' ? body : new TextDecoder().decode(body)) as [string, number][]);
  } catch (error) {
    // Before the node is there, or while a wallet is being unloaded; all other metrics are shown.
    ctx.log.debug('balances of wallets cannot be shown', { error });
    return new Map();
  }
}
