import { mkdtempSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { walletCalls } from '../../src/node/calls/wallet-calls.ts';
import { isRefusal } from '../../src/port/refusal.ts';
import { WalletManager } from '../../src/wallet/wallet-manager.ts';
import { PlainChainReads } from '../wallet/plain-chain-reads.ts';
import { WalletFixture, walletMemory } from '../wallet/wallet-fixture.ts';
import { grouped, printTable } from './report.ts';
import { CHAIN_CASES } from './wallet-stalls/chain.ts';
import { COIN_CASES } from './wallet-stalls/coins.ts';
import { FILE_CASES } from './wallet-stalls/files.ts';
import { longestHold } from './wallet-stalls/hold.ts';
import { KEY_CASES } from './wallet-stalls/keys.ts';
import type { Act, Case } from './wallet-stalls/world.ts';

const CASES = [...KEY_CASES, ...COIN_CASES, ...FILE_CASES, ...CHAIN_CASES];
/** A call that takes longer is given up, seconds. Most have shown all their kinds of slices by then. */
const USUAL_LIMIT_S = 20;

async function measure(one: Case): Promise<readonly [string, string]> {
  console.error(`${one.call}: ${one.input}`);
  using it = new WalletFixture({}, 100);
  const index = new PlainChainReads(it.chain);
  it.deps.chain.reads = () => index.reads;
  it.deps.mempool.broadcast = async () => ({ status: 'accepted' }) as never;
  const dir = mkdtempSync(join(tmpdir(), 'obverse-stalls-'));
  const manager = new WalletManager(
    {
      dir: join(dir, 'wallets'),
      backupDir: join(dir, 'backups'),
      autocreate: false,
      passphrase: () => null,
      max: 10,
      known: walletMemory(),
    },
    it.deps,
  );
  try {
    manager.open();
    const table = walletCalls(manager, it.deps.signer) as Record<string, (...args: unknown[]) => Promise<unknown>>;
    const never = new AbortController().signal;
    const actWith =
      (signal: AbortSignal): Act =>
      (name, ...args) =>
        table[name]!(...args, signal);
    const world = { act: actWith(never), chain: it.chain, manager };
    const prepared = await one.prepare?.(world);
    // The index of this chain is no work of the call.
    index.reads.txs.byTxid(new Uint8Array(32));
    const started = performance.now();
    const {
      ms,
      workedMs: work,
      result,
    } = await longestHold(one.limit ?? USUAL_LIMIT_S, (signal) =>
      one.run({ ...world, act: actWith(signal) }, prepared as never),
    );
    const whole = (performance.now() - started) / 1000;
    const outcome =
      result instanceof Error
        ? result.message
        : isRefusal(result)
          ? result.message
          : typeof result === 'string' && result === 'given up'
            ? result
            : Array.isArray(result) && result[0]?.error
              ? result[0].error.message
              : 'ok';
    return [
      `${one.call}: ${one.input}`,
      `${grouped(work)} ms of work, ${grouped(ms)} ms, whole ${grouped(whole, 1)} s, ${outcome.slice(0, 60)}`,
    ] as const;
  } finally {
    it.ending.abort(new Error('measured'));
    manager.close();
    rmSync(dir, { recursive: true, force: true });
  }
}

/** Measures how long each call of a wallet blocks its thread, with the worst input that it accepts. */
export async function benchWalletStalls(only = ''): Promise<void> {
  const rows: (readonly [string, string])[] = [];
  for (const one of CASES)
    if (`${one.call}: ${one.input}`.includes(only)) {
      const row = await measure(one);
      console.error(`  ${row[1]}`);
      rows.push(row);
    }
  printTable(`longest hold of the thread; load ${loadavg()[0]!.toFixed(1)}`, rows);
}
