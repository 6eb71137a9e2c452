import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { AuthStore } from '../../src/auth/auth-store.ts';
import { issueKey } from '../../src/auth/issue-key.ts';
import { ordinarySpends } from '../bench/spends.ts';
import { chainWithCoins } from '../lib/chain-builder.ts';
import { directoryWith } from '../lib/chain-directory.ts';
import { ApiClient } from '../lib/node-client.ts';
import { type NodeProcess, startNode } from '../lib/node-process.ts';
import { tipOf } from '../lib/peer-node.ts';
import { ReadFloodProcess, type ReadFloodReport } from '../lib/read-flood.ts';
import type { Proof, ProofResult } from './proof.ts';

const HOSTILE_CONNECTIONS = 150;
const TRANSACTIONS = 2007;
const P99_MS = 1000;

/** Replies that the second key and the hostile key received. */
export interface FairReads {
  readonly statuses: readonly number[];
  /** Milliseconds, ascending: of pages of 101 to 500 transactions, of pages of up to 1,000, and of the tip. */
  readonly pages: readonly number[];
  readonly longPages: readonly number[];
  readonly tips: readonly number[];
  readonly hostile: ReadFloodReport;
  readonly peakMiB: number;
}

/**
 * One key requests long pages over many connections without a pause, and a second key at the same address must be
 * served.
 */
export const fairReads: Proof = {
  help: 'one read key with 150 connections does not delay another; counts answers of the other key',
  count: 200,
  async run(count, _seed, signal) {
    const { statuses, pages, longPages, tips, hostile, peakMiB } = await readBesideFlood(TRANSACTIONS, count, signal);
    const figures: ProofResult['figures'][number][] = [];
    const violations: string[] = [];
    const failed = statuses.filter((status) => status !== 200);
    if (failed.length > 0) violations.push(`${failed.length} of ${statuses.length} answers are not 200: ${failed}`);
    for (const [name, times] of Object.entries({ pages, 'long pages': longPages, tips })) {
      const [p50, p99, slowest] = [0.5, 0.99, 1].map((share) => Math.round(percentile(times, share)));
      figures.push([`${name}: p50, p99, slowest`, `${p50}, ${p99}, ${slowest} ms`]);
      if (p99! >= P99_MS) violations.push(`the p99 of ${name} is ${p99} ms`);
    }
    figures.push(['hostile replies by status', JSON.stringify(hostile.statuses)], ['peak of memory', `${peakMiB} MiB`]);
    return { figures, violations };
  },
};

/**
 * Starts a node with a block of `transactions`, floods it with requests for pages by one key, and measures `count`
 * replies to another.
 */
export async function readBesideFlood(transactions: number, count: number, signal: AbortSignal): Promise<FairReads> {
  const chain = chainWithCoins(1, 'anyone');
  chain.mine(1, { txs: ordinarySpends(chain, transactions, () => 1000n) });
  const node = await startNode({ datadir: await directoryWith(chain), args: ['--wallet.enabled=false'] });
  const path = `/api/block/${await tipOf(node)}/txs`;
  const [first, second] = await twoKeys(node);
  const port = Number(new URL(node.api.url).port);
  const limits = { least: Math.min(100, transactions >> 1), most: Math.min(1000, transactions) };
  const flood = new ReadFloodProcess({ port, key: first, connections: HOSTILE_CONNECTIONS, path, limits });
  try {
    const statuses: number[] = [];
    const timed = async (target: string) => {
      const from = performance.now();
      const headers = { authorization: `Bearer ${second}`, 'accept-encoding': 'identity' };
      const response = await fetch(`${node.api.url}${target}`, { headers, signal });
      await response.arrayBuffer();
      statuses.push(response.status);
      return performance.now() - from;
    };
    await flood.refused;
    const pages: number[] = [];
    const longPages: number[] = [];
    const tips: number[] = [];
    const shortest = Math.min(101, transactions >> 2);
    for (let i = 0; statuses.length < count; i++) {
      pages.push(await timed(`${path}?limit=${shortest + ((i * 7) % 400)}`));
      longPages.push(await timed(`${path}?limit=${1000 - (i % 500)}`));
      tips.push(await timed('/api/blocks/tip'));
    }
    const peakMiB = Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${node.pid}/status`, 'utf8'))?.[1]) >> 10;
    for (const times of [pages, longPages, tips]) times.sort((a, b) => a - b);
    return { statuses, pages, longPages, tips, hostile: await flood.stop(), peakMiB };
  } finally {
    await flood.stop();
    await node.stop();
  }
}

export function percentile(ascending: readonly number[], share: number): number {
  return ascending[Math.min(ascending.length - 1, Math.floor(share * ascending.length))]!;
}

/** Creates two keys with the scope `read`. */
export async function twoKeys(node: NodeProcess): Promise<[string, string]> {
  const store = new AuthStore(join(node.networkDir, 'auth.db'));
  const [first, second] = ['first', 'second'].map((label) => issueKey(store, { label, scopes: ['read'] }, 1).key);
  store.close();
  const isKnown = async () => (await new ApiClient(node.api.url, second!).request('/api/blocks/tip')).status === 200;
  await node.until('the keys', isKnown, 10_000, 500);
  return [first!, second!];
}
