import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Chain } from '../../src/chain/chain.ts';
import { BlockFileScanner } from '../../src/node/block-file-scanner.ts';
import { regtest } from '../../src/params/regtest.ts';
import { type BlockHash, hashFromHex } from '../../src/primitives/hash.ts';
import { type BlockHeader, headerFromBytes } from '../../src/primitives/header.ts';
import { buildThread } from '../../src/storage/runs/build-thread.ts';
import { mergeThread } from '../../src/storage/runs/merge-thread.ts';
import { systemClock } from '../../src/util/clock.ts';
import { processLog } from '../../src/util/process-log.ts';

/** Processor time of the thread that connects blocks; `cpuSeconds` is that of the whole process. */
export interface AssumedValidCost {
  readonly seconds: number;
  readonly threadSeconds: number;
  readonly cpuSeconds: number;
  readonly height: number;
}

const CLOCK_TICKS = 100;
const COINS_CACHE_BYTES = 1 << 30;

// The main thread of this process does what the node thread does.
const [file, assumed] = process.argv.slice(2) as [string, string];
const dir = mkdtempSync(join(tmpdir(), 'obverse-assumed-'));
const merges = mergeThread();
const builds = buildThread();
const consensus = { ...regtest.consensus, assumeValid: hashFromHex<BlockHash>(assumed), minimumChainWork: 0n };
const chain = new Chain(
  {
    dir,
    params: { ...regtest, consensus },
    coinsCacheBytes: COINS_CACHE_BYTES,
    databaseCacheMiB: 64,
    indexes: { tx: true, address: true, spender: true, coinStats: false },
  },
  {
    verifier: {
      begin: () => {
        throw new Error('scripts of assumed-valid blocks are not verified');
      },
    },
    clock: systemClock,
    log: processLog({ level: 'error', format: 'text' }),
    mergeRuns: (job) => merges.runJob(job),
    buildRuns: (job) => builds.runJob(job),
  },
);
try {
  await chain.acceptHeaders(headersOf(file));
  const scanner = new BlockFileScanner(file, regtest.magic);
  const started = performance.now();
  const before = threadSeconds();
  const { user, system } = process.cpuUsage();
  for (let found = scanner.next(); found !== null; found = scanner.next()) {
    const outcome = await chain.acceptBlock(found.raw);
    if (outcome.status === 'rejected') throw new Error(outcome.rejection.reason);
    // The blocks on top only bury the others.
    if (chain.height === chain.findEntry(consensus.assumeValid)!.height) break;
  }
  await chain.settle();
  const used = process.cpuUsage();
  const cost: AssumedValidCost = {
    seconds: (performance.now() - started) / 1000,
    threadSeconds: threadSeconds() - before,
    cpuSeconds: (used.user - user + used.system - system) / 1e6,
    height: chain.tip.height,
  };
  scanner.close();
  console.log(JSON.stringify(cost));
} finally {
  await chain.close();
  merges.close();
  builds.close();
  rmSync(dir, { recursive: true, force: true });
}

function headersOf(path: string): BlockHeader[] {
  const scanner = new BlockFileScanner(path, regtest.magic);
  const headers: BlockHeader[] = [];
  for (let found = scanner.next(); found !== null; found = scanner.next()) headers.push(headerFromBytes(found.raw));
  scanner.close();
  return headers;
}

/** Processor time of the calling thread. */
function threadSeconds(): number {
  const fields = readFileSync('/proc/thread-self/stat', 'utf8').split(') ').at(-1)!.split(' ');
  return (Number(fields[11]) + Number(fields[12])) / CLOCK_TICKS;
}
