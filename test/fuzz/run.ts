import { parseArgs } from 'node:util';
import { readFailure, writeFailure } from './failure-file.ts';
import { fuzz, runCase } from './fuzz.ts';
import type { FuzzTarget } from './target.ts';
import { TARGETS } from './targets.ts';
import { Watchdog } from './watchdog.ts';
import { measureWorstCase, WORST_CASES } from './worst-cases.ts';

const DEFAULT_SECONDS = 60;

const USAGE = `npm run fuzz -- [--seconds N] [--seed S] [--target NAME,NAME]
               --replay FILE    one case that was found
               --worst          the most expensive scripts, transactions and blocks there can be, timed
               --list           the targets

The time, ${DEFAULT_SECONDS} seconds if not given, is shared by the targets.
`;

const mega = (bytes: number) => `${(bytes / 1e6).toFixed(0)} MB`;

function wrongUse(message: string): never {
  console.error(`${message}\n\n${USAGE}`);
  process.exit(2);
}

function targetsOf(names: string | undefined): readonly FuzzTarget[] {
  if (names === undefined) return TARGETS;
  return names
    .split(',')
    .map((name) => TARGETS.find((target) => target.name === name) ?? wrongUse(`there is no target ${name}`));
}

function wholeNumber(text: string, name: string): number {
  const value = Number(text);
  return Number.isInteger(value) && value >= 0 ? value : wrongUse(`--${name} must be a whole number`);
}

function printError(error: unknown): void {
  console.error(error instanceof Error ? (error.stack ?? error.message) : error);
}

async function run(targets: readonly FuzzTarget[], seconds: number, seed: number): Promise<boolean> {
  console.log(`seed ${seed}, ${seconds} s for ${targets.length} targets`);
  const watchdog = new Watchdog();
  let good = true;
  for (const target of targets) {
    watchdog.begin(target.name);
    const milliseconds = (seconds * 1000) / targets.length;
    const report = await fuzz(target, { seed, milliseconds, onCase: (input) => watchdog.case(input) });
    watchdog.rest();
    const { cases, slowestMs, slowest, grownBytes, failure } = report;
    console.log(
      `${failure ? 'FAILED' : 'ok    '} ${target.name.padEnd(16)}${String(cases).padStart(9)} cases` +
        `   slowest ${slowestMs.toFixed(1)} ms (${slowest.length} bytes)   grown ${mega(grownBytes)}`,
    );
    if (!failure) continue;
    good = false;
    printError(failure.error);
    console.error(writeFailure(target.name, failure.input));
  }
  watchdog.close();
  return good;
}

async function replay(path: string): Promise<boolean> {
  const { target: name, input } = readFailure(path);
  const [target] = targetsOf(name);
  const start = performance.now();
  const failure = await runCase(target!, input);
  console.log(`${name}, ${input.length} bytes: ${(performance.now() - start).toFixed(1)} ms`);
  if (failure) printError(failure.error);
  else console.log('everything holds');
  return failure === null;
}

function runWorstCases(): boolean {
  let good = true;
  for (const worst of WORST_CASES) {
    const { seconds, grownBytes, fault } = measureWorstCase(worst);
    const time = `${(seconds * 1000).toFixed(1)} ms`;
    console.log(
      `${fault ? 'FAILED' : 'ok    '} ${worst.name.padEnd(64)}${time.padStart(12)}   grown ${mega(grownBytes)}`,
    );
    if (fault) console.error(`       ${fault}`);
    good &&= fault === null;
  }
  return good;
}

const OPTIONS = {
  seconds: { type: 'string', default: String(DEFAULT_SECONDS) },
  seed: { type: 'string', default: String(crypto.getRandomValues(new Uint32Array(1))[0]) },
  target: { type: 'string' },
  replay: { type: 'string' },
  worst: { type: 'boolean', default: false },
  list: { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
} as const;

function readOptions() {
  try {
    return parseArgs({ options: OPTIONS }).values;
  } catch (error) {
    return wrongUse((error as Error).message);
  }
}

const values = readOptions();
let good = true;
if (values.help) console.log(USAGE);
else if (values.list) for (const { name, help } of TARGETS) console.log(`${name.padEnd(16)}${help}`);
else if (values.replay !== undefined) good = await replay(values.replay);
else if (values.worst) good = runWorstCases();
else
  good = await run(
    targetsOf(values.target),
    wholeNumber(values.seconds, 'seconds'),
    wholeNumber(values.seed, 'seed') >>> 0,
  );
process.exit(good ? 0 : 1);
