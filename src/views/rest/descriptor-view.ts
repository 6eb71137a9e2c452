import { COINBASE_MATURITY } from '../../consensus/limits.ts';
import { sat } from '../../http/sat.ts';
import type { ScriptSums } from '../../mempool/mirror.ts';
import type { TxPosition } from '../../primitives/coin.ts';
import { tipView } from '../../queries/block-facts.ts';
import type { DerivedScript } from '../../queries/derived-scripts.ts';
import {
  type BranchUsage,
  type DescriptorUsage,
  type UsedScript,
  usedScripts,
} from '../../queries/descriptor-usage.ts';
import type { ReadEnv } from '../../queries/read-env.ts';
import type { ScriptTotals } from '../../storage/script-store.ts';

/** Maximum number of history records that are read to count the different transactions. */
const MAX_COUNTED = 100_000;
/** Time to read one record, and the coins of one script, microseconds. */
const RECORD_US = 2;
const COINS_US = 30;
const BATCH = 1000;

/** The addresses of a summary: used ones, those with a balance, all examined ones, or none. */
export type ShownAddresses = 'used' | 'funded' | 'all' | 'none';

const UNUSED: Pick<UsedScript, 'totals' | 'pending'> = {
  totals: null,
  pending: { txs: 0, received: 0, sent: 0, outputs: 0, inputs: 0 },
};

/** Returns the balance and the addresses of a descriptor. `mempoolTxs`: number of its unconfirmed transactions. */
export function descriptorSummary(
  env: ReadEnv,
  usage: DescriptorUsage,
  {
    gapLimit,
    addresses,
    mempoolTxs,
  }: { readonly gapLimit: number; readonly addresses: ShownAddresses; readonly mempoolTxs: number },
) {
  const used = usedScripts(usage);
  const pending = used.map((each) => each.pending);
  return {
    descriptor: usage.watched.text,
    gapLimit,
    tip: tipView(env.tip),
    ...sumsView(used),
    immature: immatureOf(env, used),
    pendingReceived: pending.reduce((sum, { received }) => sum + received, 0),
    pendingSpent: pending.reduce((sum, { sent }) => sum + sent, 0),
    txCount: distinctTxs(env, usage),
    mempoolTxCount: mempoolTxs,
    usedCount: used.length,
    branches: usage.branches.map((branch, number) => branchView(branch, number)),
    addresses: shownScripts(usage, addresses).map(addressView),
  };
}

/**
 * Returns the number of different confirmed transactions; null where the scripts have so many together that counting
 * takes too long.
 */
export function distinctTxs(env: ReadEnv, usage: DescriptorUsage): number | null {
  const totals = usedScripts(usage).flatMap((each) => each.totals ?? []);
  const records = totals.reduce((sum, { txs }) => sum + txs, 0);
  if (totals.length <= 1) return records;
  if (records > MAX_COUNTED) return null;
  env.expectWork(records * RECORD_US);
  const positions = new Set<TxPosition>();
  for (const { key } of totals)
    for (let above = -1; ; ) {
      env.expectWork(0);
      const range = { above, below: Number.MAX_SAFE_INTEGER, order: 'asc', limit: BATCH } as const;
      const found = env.reads.scripts.history(key, range);
      for (const { position } of found) positions.add(position);
      if (found.length < BATCH) break;
      above = found.at(-1)!.position;
    }
  return positions.size;
}

function branchView({ branch, examined, used, lastUsedIndex }: BranchUsage, number: number) {
  const { isRange } = branch.descriptor;
  const next = isRange ? (lastUsedIndex ?? -1) + 1 : lastUsedIndex === null ? 0 : null;
  const scripts = next === null ? [] : branch.at(next);
  // A combo() begins with a bare key, which has no address.
  const unused = scripts.find(({ address }) => !address.startsWith('script:')) ?? scripts[0];
  return {
    branch: number,
    descriptor: branch.descriptor.toString(),
    isRange,
    examinedCount: examined,
    usedCount: used.length,
    lastUsedIndex,
    nextUnused: unused ? placeView(unused) : null,
    ...sumsView(used),
  };
}

function shownScripts({ branches }: DescriptorUsage, shown: ShownAddresses): UsedScript[] {
  switch (shown) {
    case 'none':
      return [];
    case 'used':
      return branches.flatMap(({ used }) => used);
    case 'funded':
      return branches.flatMap(({ used }) => used.filter(isFunded));
    case 'all':
      return branches.flatMap(({ branch, examined, used }) => {
        const known = new Map(used.map((each) => [each.derived, each]));
        const scripts = Array.from({ length: examined }, (_, index) => branch.at(index)).flat();
        return scripts.map((derived) => known.get(derived) ?? { derived, ...UNUSED });
      });
  }
}

function isFunded({ totals, pending }: UsedScript): boolean {
  return (totals?.utxos ?? 0) + pending.outputs - pending.inputs > 0;
}

function addressView({ derived, totals, pending }: UsedScript) {
  return {
    ...placeView(derived),
    ...sumsView([{ totals, pending }]),
    txCount: totals?.txs ?? 0,
    mempoolTxCount: pending.txs,
    firstSeenHeight: totals?.firstHeight ?? null,
    lastSeenHeight: totals?.lastHeight ?? null,
  };
}

function placeView({ address, branch, index }: DerivedScript) {
  return { address, branch, index };
}

function sumsView(scripts: readonly { readonly totals: ScriptTotals | null; readonly pending: ScriptSums }[]) {
  let [received, sent, unconfirmed, utxoCount] = [0n, 0n, 0, 0];
  for (const { totals, pending } of scripts) {
    received += totals?.received ?? 0n;
    sent += totals?.sent ?? 0n;
    utxoCount += totals?.utxos ?? 0;
    unconfirmed += pending.received - pending.sent;
  }
  const confirmed = received - sent;
  return {
    confirmed: sat(confirmed),
    unconfirmed,
    total: sat(confirmed + BigInt(unconfirmed)),
    received: sat(received),
    sent: sat(sent),
    utxoCount,
  };
}

function immatureOf(env: ReadEnv, used: readonly UsedScript[]): number {
  let sum = 0;
  for (const { totals } of used) {
    if (totals === null || totals.utxos === 0) continue;
    env.expectWork(COINS_US);
    sum += env.reads.scripts.coinbaseValueFrom(totals.key, env.tip.height - COINBASE_MATURITY + 2);
  }
  return sum;
}
