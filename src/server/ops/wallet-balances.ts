import { walletBalancesEndpoint } from '../../feed/wallet-balances-endpoint.ts';
import { fileStateOf } from '../../feed/wallet-event-lines.ts';
import type { ServerContext } from '../context.ts';

/** Time limit, milliseconds, so that a scraper does not time out. */
const LONGEST_MS = 2000;

/**
 * Resolves to the spendable satoshis by wallet name, computed by a reader worker. A wallet that is behind the chain or scans
 * is left out, since its balance may be too low. The map is empty if the balances are not available now.
 */
export async function collectWalletBalances(
  ctx: Pick<ServerContext, 'wallets' | 'queries' | 'stopping' | 'log'>,
): Promise<ReadonlyMap<string, number>> {
  try {
    const current = (ctx.wallets.states ?? []).filter(({ live, scanning }) => live && scanning === null);
    const input = current.map(fileStateOf);
    if (input.length === 0) return new Map();
    const job = { kind: 'rest', name: walletBalancesEndpoint.name, input } as const;
    const signal = AbortSignal.any([ctx.stopping, AbortSignal.timeout(LONGEST_MS)]);
    const result = await ctx.queries.runJob({ job, signal, long: false });
    if (!result.ok) return new Map();
    const { body } = result.reply;
    return new Map(JSON.parse(typeof body === 'string' ? body : new TextDecoder().decode(body)) as [string, number][]);
  } catch (error) {
    // This happens before the node is attached, or while a wallet is unloaded. All other metrics are still shown.
    ctx.log.debug('wallet balances are not available', { error });
    return new Map();
  }
}
