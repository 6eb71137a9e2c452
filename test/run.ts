import { chmodSync, mkdtempSync, renameSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { testArguments } from './lib/test-arguments.ts';
import { TestOutput } from './lib/test-output.ts';

// Runs the tests without the slow ones, or all of them with `--all`; with paths only the tests of these. Other arguments are
// those of `bun test`.
//
// The tests start their nodes from an executable that is built here: a start from the sources transpiles every module in
// every thread, and takes three times as much processor time. For the same reason the threads that tests start in their own
// process run bundles.

const root = resolve(import.meta.dir, '..');
const { TEST_EXECUTABLE: given } = process.env;
// npm changes to the root, and INIT_CWD is the folder that it was called in.
const { paths, options: chosen } = testArguments(process.argv.slice(2), root, process.env.INIT_CWD ?? process.cwd());
const folder = mkdtempSync(join(tmpdir(), 'obverse-tests-'));

/**
 * Options of the runtime. A function is compiled after four times as many calls as usual: most functions are called less
 * often in tests, and compiling them takes a tenth of the processor time or more. Freed memory stays with the process,
 * which on a virtual machine saves a third of the processor time of tests and a tenth of that of nodes. Programs that tests
 * start inherit that, and have further options of their own (test/lib/node-process.ts).
 */
const ENGINE = { BUN_JSC_thresholdForJITAfterWarmUp: '2000', MIMALLOC_PURGE_DELAY: '-1' };

/** How often the files are run again that a crash of the runtime has left without results. */
const RETRIES = 2;

/** A file system in memory, which Linux has by default. */
const MEMORY = '/dev/shm';
/** The directories of all tests that run at the same time need a tenth of it. */
const MEMORY_BYTES = 4 * 2 ** 30;

async function run(
  command: readonly string[],
  env: Readonly<Record<string, string>> = {},
  output: TestOutput | null = null,
): Promise<number> {
  const colours = output && process.stderr.isTTY ? { FORCE_COLOR: '1' } : {};
  const child = Bun.spawn([process.execPath, ...command], {
    cwd: root,
    env: { ...process.env, ...colours, ...env },
    // The runner reports on its error output.
    stdio: ['ignore', 'inherit', output ? 'pipe' : 'inherit'],
  });
  const forward = (signal: NodeJS.Signals) => void child.kill(signal);
  process.on('SIGINT', forward).on('SIGTERM', forward);
  if (output && child.stderr) {
    const decoder = new TextDecoder();
    for await (const part of child.stderr) {
      process.stderr.write(part);
      output.addText(decoder.decode(part, { stream: true }));
    }
  }
  const status = await child.exited;
  process.off('SIGINT', forward).off('SIGTERM', forward);
  return status;
}

/**
 * Makes the folder for the directories of tests. It is in memory where that is possible: the commits of hundreds of short
 * chains take half of the system time of a run on a disk. Programs must be able to run from it, since the runtime unpacks
 * native libraries there.
 */
function makeScratch(): string {
  return scratchIn(MEMORY) ?? mkdtempSync(join(tmpdir(), 'obverse-tests-'));
}

function scratchIn(parent: string): string | null {
  let made: string | null = null;
  try {
    const { bavail, bsize } = statfsSync(parent);
    if (bavail * bsize < MEMORY_BYTES) return null;
    made = mkdtempSync(join(parent, 'obverse-tests-'));
    const program = join(made, 'program');
    writeFileSync(program, '#!/bin/sh\n', { mode: 0o700 });
    if (Bun.spawnSync([program]).success) return made;
  } catch {
    // No such file system, no right to write to it, or no programs may run from it.
  }
  if (made !== null) rmSync(made, { recursive: true, force: true });
  return null;
}

/**
 * Bundles the threads that tests start in their own process; those of fronts and nodes run in the executable. A bundle has
 * the name of its source, because a thread starts others by that name.
 */
async function bundleWorkers(outdir: string): Promise<void> {
  const workers = [...new Bun.Glob('src/**/*-worker.ts').scanSync({ cwd: root, absolute: true })];
  const { outputs } = await Bun.build({
    entrypoints: workers.filter((file) => !/(front|node)-worker\.ts$/.test(file)),
    naming: { entry: '[name].[ext]' },
    outdir,
    target: 'bun',
    format: 'cjs',
    minify: true,
    bytecode: true,
  });
  for (const { kind, path } of outputs) if (kind !== 'asset') renameSync(path, path.replace(/\.js(\.jsc)?$/, '.ts$1'));
}

async function runTests(): Promise<number> {
  const executable = given ?? join(folder, 'obverse');
  const workers = join(folder, 'workers');
  const [built] = await Promise.all([given ? 0 : run(['build.ts', '--outfile', executable]), bundleWorkers(workers)]);
  if (built !== 0) return built;
  // Whole nodes wait for one another much of the time: two test files more than there are cores keep all cores busy.
  // The files of a process share its modules, because loading them again for each file takes a fifth of all the time.
  const parallel = [`--parallel=${availableParallelism() + 2}`, '--no-isolate'];
  const preload = ['--preload', './test/lib/bundled-workers.ts'];
  const options = [...parallel, ...preload, '--timings', 'test/timings.json', '--timeout', '180000'];
  // Chains that several test files read are made by the first of them.
  const fixtures = mkdtempSync(join(scratch, 'obverse-fixtures-'));
  const made = { TEST_EXECUTABLE: executable, TEST_WORKERS: workers, TEST_FIXTURES: fixtures };
  const env = { ...made, TMPDIR: scratch, ...ENGINE };
  const output = new TestOutput();
  const status = await run(['test', ...paths, ...options, ...chosen], env, output);
  // The runner lists only their titles at the end, thousands of lines below.
  for (const failure of output.failures) console.error(`\n${failure}`);
  return output.crashed ? repeatUnfinished(output, options, env) : status;
}

/**
 * Runs the files again that a crash of the runtime has left without results, and prints the totals of all runs. The report
 * of the crash stays in the output; a file in which each run crashes has failed.
 */
async function repeatUnfinished(
  first: TestOutput,
  options: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<number> {
  const totals = first.totals();
  let { unfinished } = first;
  for (let n = 0; n < RETRIES && unfinished.length > 0; n++) {
    console.error(`\nThe runtime crashed: ${unfinished.length} files are run again.`);
    const output = new TestOutput();
    await run(['test', ...unfinished.map((file) => `./${file}`), ...options], env, output);
    const { passed, failed } = output.totals();
    totals.passed += passed;
    totals.failed += failed;
    ({ unfinished } = output);
  }
  const failed = totals.failed + unfinished.length;
  console.error(`\n ${totals.passed} pass\n ${failed} fail`);
  return failed === 0 ? 0 : 1;
}

const scratch = makeScratch();
try {
  // As the folder for all users does: some tests start programs as another one.
  chmodSync(scratch, 0o1777);
  process.exitCode = await runTests();
} finally {
  rmSync(scratch, { recursive: true, force: true });
  rmSync(folder, { recursive: true, force: true });
}
