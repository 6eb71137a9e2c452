import { Database } from 'bun:sqlite';
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RunManifest, runFileName, runFolder } from '../../../src/storage/runs/run-manifest.ts';
import { liveState, StoreOfRuns } from '../../lib/run-chain.ts';
import { type CrashStep, crashSteps, stateAfter } from './crash-steps.ts';

const root = mkdtempSync(join(tmpdir(), 'obverse-crash-'));
afterAll(() => rmSync(root, { recursive: true }));
let dir: string;
beforeEach(() => void (dir = mkdtempSync(join(root, 'copy-'))));
afterEach(() => rmSync(dir, { recursive: true }));

const steps: CrashStep[] = [];
{
  const all = mkdtempSync(join(root, 'all-'));
  for (const step of crashSteps(all)) steps.push(step);
  rmSync(all, { recursive: true });
}

/** The steps are made once; each test goes on to its own one. */
const source = mkdtempSync(join(root, 'source-'));
const progress = crashSteps(source);
let made = 0;

/** Copies the files as they are amid a step: those that a process leaves which ends there without any notice to it. */
function copyAt(n: number): void {
  for (; made <= n; made++) progress.next();
  cpSync(source, dir, { recursive: true });
}

function expectState(commits: number): void {
  const runs = new StoreOfRuns(dir);
  expect(liveState(runs.store)).toEqual(stateAfter(commits));
  expect(files()).toEqual(listed());
  // The store goes on: with a commit, the merges that are due and another start.
  runs.merge();
  runs.close();
  const again = new StoreOfRuns(dir);
  expect(liveState(again.store)).toEqual(stateAfter(commits));
  expect(files()).toEqual(listed());
  again.close();
}

const files = () => readdirSync(runFolder(dir)).sort();

function listed(): string[] {
  const db = new Database(join(dir, 'chain.db'), { readonly: true });
  try {
    return new RunManifest(db)
      .all()
      .filter(({ inTable }) => !inTable)
      .map(({ id, family }) => runFileName(id, family))
      .sort();
  } finally {
    db.close();
  }
}

describe('the end of a process with large runs', () => {
  test('happens at each step of a commit and of a merge', () => {
    const names = steps.map(({ name }) => name);
    for (const step of ['staged', 'inserted', 'committed', 'opened']) expect(names).toContain(`commit 8 ${step}`);
    for (const step of ['begun', 'written', 'listed']) expect(names).toContain(`merge of coins ${step}`);
  });

  test.each(steps.map((step, n) => [step.name, step.commits, n] as const))(
    'after "%s" leaves the state of %d commits and no other file',
    (_, commits, n) => {
      copyAt(n);
      expectState(commits);
    },
  );

  test('by kill -9 leaves the same files as a copy', async () => {
    const n = steps.findIndex(({ name }) => name === 'commit 8 inserted');
    const script = join(import.meta.dir, 'crash-steps.ts');
    const child = Bun.spawn([process.execPath, script, dir, String(n)], { stdio: ['ignore', 'ignore', 'inherit'] });
    await child.exited;
    expect(child.signalCode).toBe('SIGKILL');
    expectState(steps[n]!.commits);
  });
});
