import type { Database } from 'bun:sqlite';
import { HeaderStore } from '../../storage/header-store.ts';
import { LoadedSetStore } from '../../storage/loaded-set-store.ts';
import { type ChainEntry, forkPoint } from '../chain-entry.ts';
import type { CheckedHeaders } from './check-headers.ts';
import type { Findings } from './findings.ts';

/** A loaded UTXO set that is not validated yet, and the chain that is validated behind it. */
export interface CheckedLoadedSet {
  readonly base: ChainEntry;
  /** The last validated block, which may have left the active chain. */
  readonly tip: ChainEntry;
  /** The last validated block of the active chain below the base; blocks above it up to the base may be missing. */
  readonly validatedHeight: number;
  readonly utxos: number;
  readonly circulating: number;
}

/** Checks the row of the loaded UTXO set. Returns null without one, and if its blocks are not known. */
export function checkLoadedSet(
  db: Database,
  database: string,
  { tree, active }: CheckedHeaders,
  findings: Findings,
): CheckedLoadedSet | null {
  // A database that no start of this version has opened yet lacks the table.
  if (db.query("SELECT 1 FROM sqlite_master WHERE name = 'loaded_set'").get() === null) return null;
  const stored = new LoadedSetStore(db).get();
  if (stored === null) return null;
  const base = tree.findEntry(stored.base);
  const tip = tree.findEntry(stored.tip);
  const report = (problem: string) => findings.addFinding(database, 'table loaded_set', problem);
  if (base === null || active[base.height] !== base) {
    report('its block is not one of the active chain');
    return null;
  }
  if (tip === null) {
    report('the last validated block is not known');
    return null;
  }
  const isBehindBase = tip.ancestor(base.height) === base;
  if (stored.validated && !isBehindBase) report('the validated chain does not reach its block');
  const totals = active[tip.height] === tip ? new HeaderStore(db).totals(tip.height) : null;
  // The row of the base has the totals of the set, and that of a block above it those that follow from them.
  for (const key of ['circulating', 'utxos', 'txs'] as const)
    if (totals !== null && totals[key] !== stored.totals[key])
      report(`${key} ${stored.totals[key]} is not ${totals[key]}`);
  const { utxos, circulating } = stored.totals;
  return { base, tip, validatedHeight: forkPoint(tip, base).height, utxos, circulating };
}

/** Returns the chain from the genesis block up to an entry. */
export function chainUpTo(tip: ChainEntry): ChainEntry[] {
  const chain: ChainEntry[] = [];
  for (let at: ChainEntry | null = tip; at !== null; at = at.parent) chain.push(at);
  return chain.reverse();
}
