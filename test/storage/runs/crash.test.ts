import { Database } from 'bun:sqlite';
import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RunManifest, runFileName, runFolder } from '../../../src/storage/runs/run-manifest.ts';
import { liveState, StoreOfRuns } from '../../lib/run-chain.ts';
import { type CrashStep, crashSteps, stateAfter } from './crash-steps.ts';

let dir: string;
beforeEach(() => void (dir = mkdtempSync(join(tmpdir(), 'obverse-crash-'))));
afterEach(() => rmSync(dir, { recursive: true }));

const script = join(import.meta.dir, 'crash-steps.ts');

const steps: CrashStep[] = [];
{
  const all = mkdtempSync(join(tmpdir(), 'obverse-crash-'));
  for (const step of crashSteps(all)) steps.push(step);
  rmSync(all, { recursive: true });
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

describe('kill -9 of a process with large runs', () => {
  test('happens at each step of a commit and of a merge', () => {
    const names = steps.map(({ name }) => name);
    for (const step of ['staged', 'inserted', 'committed', 'opened']) expect(names).toContain(`commit 8 ${step}`);
    for (const step of ['begun', 'written', 'listed']) expect(names).toContain(`merge of coins ${step}`);
  });

  test.each(steps.map((step, n) => [step.name, step.commits, n] as const))(
    'after "%s" leaves the state of %d commits and no other file',
    async (_, commits, n) => {
      const child = Bun.spawn([process.execPath, script, dir, String(n)], { stdio: ['ignore', 'ignore', 'inherit'] });
      await child.exited;
      expect(child.signalCode).toBe('SIGKILL');
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
    },
    60_000,
  );
});
