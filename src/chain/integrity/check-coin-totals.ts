import { pairSecond } from '../../storage/runs/pair-codec.ts';
import type { Run } from '../../storage/runs/run.ts';
import { allLiveEntries } from '../../storage/runs/run-range.ts';
import type { Findings } from './findings.ts';

/** Entries that are read between two pauses. */
const ENTRIES_AT_ONCE = 20_000;

export interface ExpectedCoins {
  readonly utxos: number;
  /** Value of all coins, satoshis. */
  readonly circulating: number;
}

/**
 * Compares the number and the value of the stored coins with the totals of their block. This is the check where not all
 * blocks are stored from which the coins follow. `folder` and `part` name the coins. Yields between slices of work.
 */
export function* checkCoinTotals(
  runs: readonly Run[],
  { utxos, circulating }: ExpectedCoins,
  [folder, part]: readonly [folder: string, part: string],
  findings: Findings,
): Generator<undefined> {
  let count = 0;
  let value = 0;
  for (const { bytes, from } of allLiveEntries(runs)) {
    value += pairSecond(bytes, from);
    if (++count % ENTRIES_AT_ONCE === 0) yield;
  }
  if (count !== utxos) findings.addFinding(folder, part, `the number of coins ${count} is not ${utxos}`);
  if (value !== circulating) findings.addFinding(folder, part, `the value of all coins ${value} is not ${circulating}`);
}
