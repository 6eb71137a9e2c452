import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ChainReads } from '../../src/storage/chain-reads.ts';
import { grouped, printGrid } from './report.ts';

const MAIN = join(import.meta.dir, '../../src/main.ts');
const MEMORY_GROUPS = '/sys/fs/cgroup/memory';
/** Blocks with at least this many inputs belong to the phase that spends. */
const SPENDING_INPUTS = 1000;
const POLL_MS = 100;

/**
 * Imports chains one after the other, each into a directory of its own, under a limit of memory that includes the page
 * cache, and prints what each cost. Needs root and control groups of version 1 for the limit.
 */
export async function benchSize(args: readonly string[]): Promise<void> {
  const limitAt = args.indexOf('--memory');
  const limitGiB = limitAt < 0 ? null : Number(args[limitAt + 1]);
  const chains = args.filter((_, i) => limitAt < 0 || (i !== limitAt && i !== limitAt + 1));
  if (chains.length === 0) throw new Error('bench size needs chains: npm run bench -- size CHAIN… [--memory GIB]');
  const lines: string[][] = [];
  for (const chain of chains) lines.push(await importChain(chain, limitGiB));
  console.log(limitGiB === null ? 'memory is not limited' : `${limitGiB} GiB of memory, page cache included`);
  printGrid(
    [
      'chain, MB',
      'coins',
      'seconds',
      'CPU s',
      'spent inputs/s',
      'resident MB',
      'written, of chain',
      'read MB',
      'disk MB',
    ],
    lines,
  );
}

async function importChain(chain: string, limitGiB: number | null): Promise<string[]> {
  const datadir = mkdtempSync(join(tmpdir(), 'obverse-size-'));
  const group = limitGiB === null ? null : limitedGroup(limitGiB);
  try {
    const command = [process.execPath, MAIN, 'import', '--network', 'regtest', '--datadir', datadir, chain];
    // The shell enters the group before it becomes the node, so that all of its memory is counted.
    const enter = group === null ? 'exec "$@"' : `echo $$ > ${group}/cgroup.procs && exec "$@"`;
    const started = performance.now();
    const child = Bun.spawn(['setsid', '--wait', 'sh', '-c', enter, 'sh', ...command], { stderr: 'pipe' });
    const use = watchUse(child.pid);
    const stderr = await new Response(child.stderr).text();
    if ((await child.exited) !== 0) throw new Error(`the import failed:\n${stderr}`);
    const seconds = (performance.now() - started) / 1000;
    const { peak, written, read } = use();
    const { coins, spendingRate } = outcomeOf(join(datadir, 'regtest/chain'));
    const size = statSync(chain).size;
    return [
      grouped(size / 1e6),
      grouped(coins),
      grouped(seconds, 1),
      grouped(Number(child.resourceUsage()!.cpuTime.total) / 1e6, 1),
      spendingRate === null ? '' : grouped(spendingRate),
      grouped(peak / 1e6),
      grouped(written / size, 1),
      grouped(read / 1e6),
      grouped(diskUse(datadir) / 1e6),
    ];
  } finally {
    rmSync(datadir, { recursive: true, force: true });
    if (group !== null) rmdirSync(group);
  }
}

function limitedGroup(gibibytes: number): string {
  if (!existsSync(join(MEMORY_GROUPS, 'memory.limit_in_bytes')))
    throw new Error(`${MEMORY_GROUPS} is missing: run without --memory`);
  const group = join(MEMORY_GROUPS, `obverse-size-${process.pid}`);
  mkdirSync(group);
  writeFileSync(join(group, 'memory.limit_in_bytes'), String(gibibytes * 1024 ** 3));
  return group;
}

/** Returns the number of coins, and the inputs per second from the first block that spends many to the tip. */
function outcomeOf(dir: string): { coins: number; spendingRate: number | null } {
  const reads = new ChainReads(dir);
  try {
    const tip = reads.tip();
    let inputs = 0;
    let first: number | null = null;
    for (let height = 1; height <= tip.height; height++) {
      const { stats, receivedAt } = reads.headers.byHeight(height)!;
      if (first !== null) inputs += stats!.inputs;
      if (stats!.inputs >= SPENDING_INPUTS) first ??= receivedAt;
    }
    const seconds = first === null ? 0 : tip.receivedAt! - first;
    return {
      coins: reads.headers.totals(tip.height)!.utxos,
      spendingRate: seconds > 0 ? inputs / seconds : null,
    };
  } finally {
    reads.close();
  }
}

/** Returns a function for the peak of resident memory and the bytes written and read by a process and its children. */
function watchUse(pid: number): () => { peak: number; written: number; read: number } {
  const use = { peak: 0, written: 0, read: 0 };
  const look = () => {
    for (const id of [pid, ...childrenOf(pid)])
      try {
        const number = (text: string, name: string) => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(text)?.[1] ?? 0);
        const io = readFileSync(`/proc/${id}/io`, 'utf8');
        use.peak = Math.max(use.peak, number(readFileSync(`/proc/${id}/status`, 'utf8'), 'VmHWM') * 1024);
        use.written = Math.max(use.written, number(io, '\nwrite_bytes'));
        use.read = Math.max(use.read, number(io, '\nread_bytes'));
      } catch {
        // The process has ended.
      }
  };
  const timer = setInterval(look, POLL_MS);
  return () => {
    clearInterval(timer);
    return use;
  };
}

function childrenOf(pid: number): number[] {
  try {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
    return children === '' ? [] : children.split(' ').map(Number);
  } catch {
    return [];
  }
}

function diskUse(dir: string): number {
  const { stdout } = Bun.spawnSync(['du', '-sk', dir]);
  return Number(stdout.toString().split('\t')[0]) * 1024;
}
