import { mergeRuns } from '../../../src/storage/runs/merge-runs.ts';
import { ChangeSource, StoreOfRuns } from '../../lib/run-chain.ts';

/** A moment at which the process may end, and how many commits a later start must find. */
export interface CrashStep {
  readonly name: string;
  readonly commits: number;
}

/** Entries of a commit, with large scripts of coins: its coins are a file. */
const ENTRIES_PER_COMMIT = 250;
const SEED = 21;

/** Commits with large batches, a merge of their files, and the removal of these, step by step. */
export function* crashSteps(dir: string): Generator<CrashStep> {
  const runs = new StoreOfRuns(dir);
  const source = new ChangeSource(SEED);
  let commits = 0;
  for (let i = 0; i < 8; i++) {
    const name = `commit ${i + 1}`;
    for (const step of runs.commitSteps(source.next(ENTRIES_PER_COMMIT, true))) {
      if (step === 'committed') commits++;
      // Every step of the first and of the last commit.
      if (i === 0 || i === 7) yield { name: `${name} ${step}`, commits };
    }
  }
  for (let job = runs.store.beginMerge(); job !== null; job = runs.store.beginMerge()) {
    const name = `merge of ${job.family.name}`;
    yield { name: `${name} begun`, commits };
    const result = mergeRuns(job);
    yield { name: `${name} written`, commits };
    runs.commit(source.next(3, false));
    commits++;
    yield { name: `${name} written, after another commit`, commits };
    runs.store.finishMerge(result);
    yield { name: `${name} listed`, commits };
    runs.commit(source.next(3, false));
    commits++;
    yield { name: `${name} listed, after another commit`, commits };
  }
  runs.clock.advance(60_000);
  runs.commit(source.next(3, false));
  commits++;
  yield { name: 'merged files removed', commits };
  runs.close();
  yield { name: 'closed', commits };
}

/** The state that a number of commits of `crashSteps` leaves. */
export function stateAfter(commits: number): string[] {
  const source = new ChangeSource(SEED);
  for (let i = 0; i < commits; i++) source.next(i < 8 ? ENTRIES_PER_COMMIT : 3, i < 8);
  return source.state();
}

/** Runs the steps up to the one with this number, and ends the process there without any notice to it. */
if (import.meta.main) {
  const [dir, target] = [process.argv[2]!, Number(process.argv[3])];
  let n = 0;
  for (const _ of crashSteps(dir)) if (n++ === target) process.kill(process.pid, 'SIGKILL');
}
