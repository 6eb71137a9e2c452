import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { tempDir } from './node-process.ts';
import type { UpgradeRecord } from './upgrade-answers.ts';

const FOLDER = join(import.meta.dir, '../fixtures/upgrades');

/** Data directories of earlier versions: the commit that wrote them, and how its node ended. */
export const UPGRADE_FIXTURES = ['9679492', 'aac1387', '417c60a', 'a47c66d'].flatMap((commit) =>
  ['stopped', 'killed'].map((end) => `${commit}-${end}`),
);

/** One directory of each version; `.ci/run` leaves the others out. */
export const SOME_UPGRADE_FIXTURES = ['9679492-killed', 'aac1387-stopped', '417c60a-killed', 'a47c66d-stopped'];

function decompress(name: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Bun.zstdDecompressSync(readFileSync(join(FOLDER, name))));
}

/** Extracts a data directory of an earlier version. Returns its path. */
export function extractUpgradeFixture(name: string): string {
  const to = tempDir('upgrade');
  const { success, stderr } = Bun.spawnSync(['tar', '-x', '-C', to], { stdin: decompress(`${name}.tar.zst`) });
  if (!success) throw new Error(stderr.toString());
  return to;
}

export function readUpgradeRecord(name: string): UpgradeRecord {
  return JSON.parse(new TextDecoder().decode(decompress(`${name}.json.zst`))) as UpgradeRecord;
}
