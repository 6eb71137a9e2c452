import { parseArgs } from 'node:util';
import { printTable } from '../bench/report.ts';
import type { Proofs } from './proof.ts';

const OPTIONS = { count: { type: 'string' }, seed: { type: 'string' }, chain: { type: 'string' } } as const;
const MAX_SEED = 0xffff_ffff;

/** Runs the proof that `args` names, or lists all of them. Returns the exit status: 0 held, 1 violated, 2 wrong usage. */
export async function proofCommand(proofs: Proofs, args: readonly string[], signal: AbortSignal): Promise<number> {
  let name: string | undefined;
  let count: number | undefined;
  let seed: number | undefined;
  let chain: string | undefined;
  try {
    const { positionals, values } = parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true });
    if (positionals.length > 1) throw new Error('only one proof runs at a time');
    [name] = positionals;
    ({ chain } = values);
    count = wholeNumber('count', values.count, 1, Number.MAX_SAFE_INTEGER);
    seed = wholeNumber('seed', values.seed, 0, MAX_SEED);
  } catch (error) {
    console.error(`${(error as Error).message}\n`);
    listProofs(proofs);
    return 2;
  }
  if (name === undefined) {
    listProofs(proofs);
    return 0;
  }
  const proof = Object.hasOwn(proofs, name) ? proofs[name] : undefined;
  if (!proof) {
    console.error(`no proof is named ${name}\n`);
    listProofs(proofs);
    return 2;
  }
  if (chain !== undefined && !proof.acceptsChain) {
    console.error(`${name} makes its own chain: --chain is for other proofs`);
    return 2;
  }
  count ??= proof.count;
  seed ??= crypto.getRandomValues(new Uint32Array(1))[0]!;
  console.log(`${name}: count ${count}, seed ${seed}`);
  const start = performance.now();
  try {
    const { figures, violations } = await proof.run(count, seed, signal, (line) => console.log(line), chain);
    const seconds = `${((performance.now() - start) / 1000).toFixed(1)} s`;
    printTable('', [...figures.map(([key, value]) => [key, String(value)] as const), ['time', seconds]]);
    for (const violation of violations) console.log(violation);
    console.log(violations.length === 0 ? `${name} held` : `${name} does not hold, violations: ${violations.length}`);
    return violations.length === 0 ? 0 : 1;
  } catch (error) {
    console.error(error);
    console.log(`${name} does not hold: it did not finish`);
    return 1;
  }
}

function listProofs(proofs: Proofs): void {
  console.log('npm run proof -- NAME [--count N] [--seed S] [--chain FILE]\n');
  const width = Math.max(0, ...Object.keys(proofs).map(({ length }) => length));
  for (const [name, { help, count }] of Object.entries(proofs))
    console.log(`  ${name.padEnd(width)}  ${help} (count ${count})`);
}

function wholeNumber(name: string, text: string | undefined, min: number, max: number): number | undefined {
  if (text === undefined) return undefined;
  const value = /^[0-9]+$/.test(text) ? Number(text) : Number.NaN;
  if (!(value >= min && value <= max)) throw new Error(`--${name} must be a whole number from ${min} to ${max}`);
  return value;
}
