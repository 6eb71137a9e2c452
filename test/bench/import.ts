import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ChainReads } from '../../src/storage/chain-reads.ts';
import { benchAssumedValid } from './assumed-valid.ts';
import { signatureRates } from './primitives.ts';
import { grouped, printTable } from './report.ts';

const MAIN = join(import.meta.dir, '../../src/main.ts');

/**
 * Measures `obverse import` of the chain with all indexes, in its own process, and then how fast it connects if its scripts
 * are assumed valid; `--core BITCOIND`: beside Bitcoin Core.
 */
export async function benchImport(chain: string, args: readonly string[] = []): Promise<void> {
  const { values } = parseArgs({ args: [...args], options: { core: { type: 'string' } }, allowPositionals: true });
  const signatures = signatureRates();
  const datadir = mkdtempSync(join(tmpdir(), 'obverse-bench-'));
  try {
    const start = performance.now();
    const child = Bun.spawn(
      [
        process.execPath,
        MAIN,
        'import',
        '--network',
        'regtest',
        '--datadir',
        datadir,
        '--log.level',
        'debug',
        '--log.format',
        'json',
        chain,
      ],
      { stdout: 'inherit', stderr: 'pipe' },
    );
    const peak = watchMemory(child.pid);
    const stderr = await new Response(child.stderr).text();
    const status = await child.exited;
    const seconds = (performance.now() - start) / 1000;
    if (status !== 0) throw new Error(`the import failed:\n${stderr}`);
    report({ datadir, seconds, peak: peak(), stderr, signatures, cpu: child.resourceUsage() });
  } finally {
    rmSync(datadir, { recursive: true, force: true });
  }
  await benchAssumedValid(chain, values.core);
}

interface Outcome {
  datadir: string;
  seconds: number;
  /** Peak memory, bytes. */
  peak: number;
  stderr: string;
  signatures: ReturnType<typeof signatureRates>;
  cpu: ReturnType<Bun.Subprocess['resourceUsage']>;
}

function report({ datadir, seconds, peak, stderr, signatures, cpu }: Outcome): void {
  const dir = join(datadir, 'regtest/chain');
  const reads = new ChainReads(dir);
  const tip = reads.tip();
  const totals = reads.headers.totals(tip.height)!;
  let inputs = 0;
  for (let height = 0; height <= tip.height; height++) inputs += reads.headers.byHeight(height)!.stats!.inputs;
  reads.close();
  const perSecond = (count: number) => grouped(count / seconds);
  printTable('import with all indexes', [
    ['seconds', grouped(seconds, 1)],
    ['blocks', grouped(tip.height)],
    ['transactions', grouped(totals.txs)],
    ['inputs', grouped(inputs)],
    ['blocks/s', grouped(tip.height / seconds, 1)],
    ['transactions/s', perSecond(totals.txs)],
    ['inputs/s', perSecond(inputs)],
    ['peak memory, MB', grouped(peak / 1e6)],
    ['processor seconds', cpu ? grouped(Number(cpu.cpuTime.total) / 1e6, 1) : 'unknown'],
  ]);
  printTable('for scale, before the import', [
    [`ECDSA verifications/s, one core (${signatures.engine})`, grouped(signatures.ecdsa)],
    [`Schnorr verifications/s, one core (${signatures.engine})`, grouped(signatures.schnorr)],
  ]);
  const stages = stderr.split('\n').find((line) => line.includes('import stages'));
  if (stages) {
    const { parse, check, connect, wait, commit } = JSON.parse(stages) as Record<string, number>;
    const named = { parse, check, connect, 'wait for script checks': wait, commit };
    printTable(
      'stages of the node thread, seconds',
      Object.entries(named).map(([name, ms]) => [name, grouped((ms ?? Number.NaN) / 1000, 2)] as const),
    );
  }
  const database = sizeOf(join(dir, 'chain.db'));
  const files = (prefix: string, folder = 'blocks') =>
    readdirSync(join(dir, folder))
      .filter((name) => name.startsWith(prefix))
      .reduce((sum, name) => sum + sizeOf(join(dir, folder, name)), 0);
  printTable('bytes on disk per transaction', [
    ['chain.db', grouped(database / totals.txs, 1)],
    ['block files', grouped(files('blk') / totals.txs, 1)],
    ['undo files', grouped(files('rev') / totals.txs, 1)],
    // With OBVERSE_INDEX_FILTER=true.
    ...(existsSync(join(dir, 'filters'))
      ? [['block filters', grouped(files('flt', 'filters') / totals.txs, 1)] as const]
      : []),
  ]);
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

/** Returns a function for the peak memory of the process, from the kernel's figures if there are any. */
function watchMemory(pid: number): () => number {
  let peak = 0;
  const look = () => {
    try {
      const kilobytes = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
      peak = Math.max(peak, Number(kilobytes ?? 0) * 1024);
    } catch {
      // The process has ended, or the system has no such figures.
    }
  };
  const timer = setInterval(look, 100);
  return () => {
    clearInterval(timer);
    return peak;
  };
}
