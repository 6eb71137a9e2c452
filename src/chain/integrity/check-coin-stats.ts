import type { Database } from 'bun:sqlite';
import { blockSubsidy, issuedSupply } from '../../consensus/subsidy.ts';
import { muhashDigest } from '../../crypto/muhash.ts';
import type { NetworkParams } from '../../params/network-params.ts';
import { CoinStatsStore } from '../../storage/coin-stats-store.ts';
import { HeaderStore } from '../../storage/header-store.ts';
import { IndexStore } from '../../storage/index-store.ts';
import { equalBytes } from '../../util/bytes.ts';
import type { ChainEntry } from '../chain-entry.ts';
import type { Findings } from './findings.ts';

/** Rows that are read between two pauses. */
const ROWS_AT_ONCE = 2000;
/** Up to here the chain of the main network counts two coinbases that later ones overwrite (BIP-30), and the index never. */
const LAST_OVERWRITTEN = 91_880;

/**
 * Checks the statistics of the UTXO set at each block of the active chain: against the totals of the chain, against the
 * subsidies, and the last MuHash against its value. To compute the others again would take hours. Yields between slices of
 * work.
 */
export function* checkCoinStats(
  db: Database,
  database: string,
  active: readonly ChainEntry[],
  { consensus, name }: NetworkParams,
  findings: Findings,
): Generator<undefined> {
  const covered = new IndexStore(db).covered('coinStats');
  if (covered === null) return;
  const store = new CoinStatsStore(db);
  const headers = new HeaderStore(db);
  const { subsidyHalvingInterval } = consensus;
  const tip = active[covered.height];
  const isActive = tip !== undefined && equalBytes(tip.hash, covered.hash);
  const first = name === 'main' ? LAST_OVERWRITTEN : 0;
  for (let height = 0; height <= Math.min(covered.height, active.length - 1); height++) {
    if (height % ROWS_AT_ONCE === 0) yield;
    const entry = active[height]!;
    const stats = store.get(entry.id);
    // Above a fork point, the index has the rows of the branch that it covers.
    if (stats === null && isActive)
      findings.addFinding(database, 'table coin_stats', 'the row of a block is missing', height);
    if (stats === null) continue;
    const { genesis, bip30, scripts, unclaimed } = stats;
    const totals = headers.totals(height);
    const spent = stats.prevoutSpent + blockSubsidy(height, subsidyHalvingInterval);
    const isSum =
      stats.totalAmount + stats.totalUnspendable === issuedSupply(height, subsidyHalvingInterval) &&
      spent === stats.newOutputs + stats.coinbase + genesis + bip30 + scripts + unclaimed;
    const isTotal =
      totals === null ||
      height < first ||
      (stats.txouts === totals.utxos && stats.totalAmount === BigInt(totals.circulating));
    if (!isSum || !isTotal)
      findings.addFinding(database, 'table coin_stats', 'the statistics contradict the totals of the chain', height);
  }
  const last = headers.byHash(covered.hash);
  const stats = last && store.get(last.id);
  if (stats === null || !equalBytes(stats.muhash, muhashDigest(store.value())))
    findings.addFinding(database, 'table coin_stats_value', 'it is not that of the last covered block', covered.height);
}
