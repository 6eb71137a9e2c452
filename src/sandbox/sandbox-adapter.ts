import type { Chain } from '../chain/chain.ts';
import type { ChainEntry } from '../chain/chain-entry.ts';
import { nextWorkRequired } from '../consensus/difficulty.ts';
import { medianTimePast } from '../consensus/header-entry.ts';
import { rejectionText } from '../consensus/rejection.ts';
import { computeBlockVersion, VersionBitsCache } from '../consensus/version-bits.ts';
import type { MempoolService } from '../mempool/service.ts';
import { selectTransactions } from '../mining/select-transactions.ts';
import type { BlockHash } from '../primitives/hash.ts';
import { ChainReads } from '../storage/chain-reads.ts';
import { type Clock, unixSeconds } from '../util/clock.ts';
import type { SandboxTip, ScenarioChain } from './sandbox-chain.ts';

/** The sandbox reads only a dozen scripts, so a small cache is enough. */
const READ_CACHE_MIB = 4;

/** Returns the sandbox's view of the chain; its coins come from the address index. Closes with the signal. */
export function sandboxChain(
  { chain, mempool, clock }: { chain: Chain; mempool: MempoolService; clock: Clock },
  dir: string,
  signal: AbortSignal,
): ScenarioChain {
  const reads = new ChainReads(dir, { cacheMiB: READ_CACHE_MIB });
  signal.addEventListener('abort', () => reads.close(), { once: true });
  const versions = new VersionBitsCache();
  const { consensus } = chain.params;
  const factsOf = (entry: ChainEntry): SandboxTip => ({
    hash: entry.hash,
    height: entry.height,
    time: entry.time,
    medianTimePast: medianTimePast(entry),
    // On regtest the difficulty never changes, so it does not depend on the time of the next block.
    nextBits: nextWorkRequired(entry, entry.time, consensus),
    nextVersion: computeBlockVersion(entry, consensus, versions),
  });
  const entryOf = (hash: BlockHash): ChainEntry | null => chain.findEntry(hash);
  return {
    tip: () => factsOf(chain.tip),
    at(height) {
      const entry = chain.tip.ancestor(height);
      return entry && factsOf(entry);
    },
    facts(hash) {
      const entry = entryOf(hash);
      return entry && factsOf(entry);
    },
    transactionsOf(hash) {
      const entry = entryOf(hash);
      return entry?.hasBody
        ? chain
            .readBlock(entry)
            .txs.slice(1)
            .map(({ tx }) => tx)
        : [];
    },
    coinsOf(script, limit) {
      if (signal.aborted) return [];
      return reads.snapshot(() => {
        const totals = reads.scripts.totals(script);
        if (!totals) return [];
        return reads.scripts
          .coins(totals.key, { position: -1, vout: 0 }, limit)
          .flatMap(({ position, vout, value }) => {
            const outpoint = { txid: reads.txs.byPosition(position)!.txid, vout };
            const waits = mempool.mempool.entries.spender(outpoint) >= 0;
            return waits ? [] : [{ outpoint, value: BigInt(value), position }];
          });
      });
    },
    async offer(raw) {
      const result = await mempool.submissions.broadcast(raw, { maxFeerate: null, maxBurn: 0 });
      return result.status === 'rejected' ? { ok: false, reason: rejectionText(result.rejection) } : { ok: true };
    },
    ripe() {
      const { entries } = mempool.mempool;
      return chain.whenSettled(() => {
        // Arrival times are rounded to whole seconds.
        const latest = unixSeconds(clock) - 2;
        const admit = (slot: number) => entries.time(slot) <= latest;
        const { txs, fees } = selectTransactions(mempool.mempool, chain, { admit });
        return { transactions: txs.map(({ tx }) => tx), fees: BigInt(fees) };
      });
    },
    async submit(raw) {
      const outcome = await chain.submitBlock(raw);
      return outcome.status === 'rejected' ? { ok: false, reason: outcome.rejection.reason } : { ok: true };
    },
  };
}
