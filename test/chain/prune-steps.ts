import { join } from 'node:path';
import { regtest } from '../../src/params/regtest.ts';
import { hashToHex } from '../../src/primitives/hash.ts';
import { openWriter } from '../../src/storage/chain-database.ts';
import { HeaderStore } from '../../src/storage/header-store.ts';
import { type PrunedKind, RecordRemoval, type RemovedFile } from '../../src/storage/record-removal.ts';

/** The steps in which the first two block files and the first undo file of a folder are removed. */
export function* pruneSteps(dir: string): Generator<string, void> {
  const identity = { network: 'regtest', genesisHash: hashToHex(regtest.consensus.genesisHash) };
  const db = openWriter(join(dir, 'chain.db'), identity, 16);
  const records = [...new HeaderStore(db).all()];
  const file = (kind: PrunedKind, number: number): RemovedFile => ({
    kind,
    file: number,
    headerIds: records.filter(({ body, undo }) => (kind === 'blk' ? body : undo)?.file === number).map(({ id }) => id),
  });
  yield 'nothing';
  const files = [file('blk', 0), file('blk', 1), file('rev', 0)];
  const removed = new Set(files.flatMap(({ headerIds }) => headerIds));
  const highest = Math.max(...records.flatMap(({ id, height }) => (removed.has(id) ? [height] : [])));
  yield* new RecordRemoval(db, join(dir, 'blocks')).removalSteps(files, highest + 1);
}

/** Runs the steps up to the one with this number, and ends the process there without any notice to it. */
if (import.meta.main) {
  const [dir, target] = [process.argv[2]!, Number(process.argv[3])];
  let n = 0;
  for (const _ of pruneSteps(dir)) if (n++ === target) process.kill(process.pid, 'SIGKILL');
}
