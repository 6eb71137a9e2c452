import { Database } from 'bun:sqlite';
import { expect, spyOn, test } from 'bun:test';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type VerifyLevel, type VerifyReport, verifyFolder } from '../../src/chain/integrity/verify-folder.ts';
import { Run } from '../../src/storage/runs/run.ts';
import { RunBatch } from '../../src/storage/runs/run-batch.ts';
import { BACKGROUND_COINS, COINS, type RunFamily } from '../../src/storage/runs/run-family.ts';
import { runFileName } from '../../src/storage/runs/run-manifest.ts';
import { MemorySource } from '../../src/storage/runs/run-source.ts';
import { RunStore } from '../../src/storage/runs/run-store.ts';
import { TestNode } from '../lib/chain-fixture.ts';
import { differences, ModelChain } from '../lib/chain-state.ts';
import { buildIndexes, loadInto, setAt, setChain } from '../lib/loaded-set.ts';
import { cleanUpAfterTests, poll, tempDir } from '../lib/node-process.ts';
import { reindexFolder } from '../lib/reindex-folder.ts';
import { entriesOf, imageOf } from '../lib/run-entries.ts';
import { putEntry } from '../lib/run-model.ts';

cleanUpAfterTests();

const chain = setChain();
const BASE = 112;
const set = setAt(chain, BASE);
const blocks = chain.blocks.slice(1);

function verify(dir: string, level: VerifyLevel): VerifyReport {
  const check = verifyFolder(dir, set.params, level);
  for (;;) {
    const { done, value } = check.next();
    if (done) return value;
  }
}

/** A node with the loaded set, the blocks above it, and those below it up to a height. */
async function loadedNode(validated: number): Promise<TestNode> {
  const node = new TestNode({ params: set.params, filters: true });
  await node.chain.acceptHeaders(blocks.map(({ header }) => header));
  expect(await loadInto(node, set, join(tempDir(), 'utxo.dat'))).toBeNull();
  await node.take(blocks.slice(BASE, 120));
  await node.take(blocks.slice(0, validated));
  await poll('the validation', () => node.chain.background!.tip.height === validated);
  return node;
}

/** Replaces one entry of the largest run of a family in chain.db by another value, with right checksums. */
function alterCoin(dir: string, family: RunFamily): string {
  const db = new Database(join(dir, 'chain.db'));
  const row = db
    .query<{ id: number; image: Uint8Array }, [number]>(
      'SELECT id, image FROM runs WHERE family = ? ORDER BY bytes DESC LIMIT 1',
    )
    .get(family.code)!;
  const entries = entriesOf(new Run(family, new MemorySource('run', row.image), false));
  const at = entries.findIndex(({ removed }) => !removed);
  const batch = new RunBatch(family);
  for (const [i, { removed, key, value }] of entries.entries()) {
    const stored = value.slice();
    if (i === at) stored[stored.length - 1]! ^= 1;
    putEntry(batch, removed, key, stored);
  }
  const image = imageOf(batch, row.id);
  db.run('UPDATE runs SET bytes = ?, image = ? WHERE id = ?', [image.length, image, row.id]);
  db.close();
  return entries[at]!.key.toHex();
}

test.each([0, 59, 111])(
  'a chain with a loaded set that is validated up to height %p has no finding',
  async (height) => {
    await using node = await loadedNode(height);
    buildIndexes(node.chain);
    await node.close();
    expect(verify(node.dir, 'quick')).toMatchObject({
      height: 120,
      findings: [],
      total: 0,
      loadedSet: { height: BASE, validatedHeight: height },
      limits: [
        `the loaded UTXO set of height ${BASE} is not validated yet: the blocks above height ${height} up to it may be missing`,
      ],
    });
    const { findings, rowsCompared, limits } = verify(node.dir, 'full');
    expect([findings, rowsCompared]).toEqual([[], false]);
    expect(limits[1]).toStartWith('the coins of the validated chain were compared with its blocks; ');
    expect(limits.length).toBe(2);
  },
);

test('a chain on top of blocks that the loaded set does not have, and one that is validated, have no finding', async () => {
  await using node = new TestNode({ params: set.params });
  await node.chain.acceptHeaders(blocks.map(({ header }) => header));
  const stale = chain.fork(103);
  stale.mine(3);
  await node.take(stale.blocks.slice(1));
  expect(await loadInto(node, set, join(tempDir(), 'utxo.dat'))).toBeNull();
  await node.close();
  expect(verify(node.dir, 'full')).toMatchObject({ findings: [], loadedSet: { height: BASE, validatedHeight: 106 } });
  await node.restart();
  await node.take(blocks);
  await poll('the end', () => node.chain.background === null);
  buildIndexes(node.chain);
  await node.close();
  expect(verify(node.dir, 'full')).toMatchObject({ findings: [], loadedSet: null, rowsCompared: true, limits: [] });
});

test('damage of a chain with a loaded set is named', async () => {
  await using node = await loadedNode(111);
  await node.close();
  const { dir } = node;
  const damaged = (change: (dir: string) => void): string[] => {
    const copy = tempDir();
    cpSync(dir, copy, { recursive: true });
    change(copy);
    return verify(copy, 'full').findings.map(({ part, problem }) => `${part}: ${problem}`);
  };
  const sql = (text: string) => (folder: string) => {
    const db = new Database(join(folder, 'chain.db'));
    db.run(text);
    db.close();
  };
  expect(damaged(sql('UPDATE loaded_set SET base = zeroblob(32)'))[0]).toContain('table loaded_set: its block');
  expect(damaged(sql('UPDATE loaded_set SET tip = zeroblob(32)'))[0]).toContain('table loaded_set: the last validated');
  expect(damaged(sql('UPDATE loaded_set SET validated = 1'))[0]).toContain('table loaded_set: the validated chain');
  expect(damaged(sql('UPDATE loaded_set SET utxos = utxos + 1'))[0]).toContain('table loaded_set: utxos');
  expect(damaged(sql('UPDATE chain SET utxos = utxos + 1 WHERE height = 60'))[0]).toContain('table chain, row 60');
  expect(damaged(sql('UPDATE chain SET utxos = utxos + 1 WHERE height = 120'))[0]).toContain('table chain, row 120');
  // The totals of the base are those of the set, which the coins above it follow from.
  expect(damaged(sql(`UPDATE chain SET utxos = utxos + 1 WHERE height = ${BASE}`))).not.toEqual([]);
  expect(
    damaged(sql('UPDATE headers SET file = NULL, offset = NULL, status = status & ~1 WHERE height = 60')),
  ).not.toEqual([]);
  const key = { text: '' };
  const background = damaged((folder) => void (key.text = alterCoin(folder, BACKGROUND_COINS)));
  expect(background[0]).toBe(`family coins of the validated chain, key ${key.text}: the row of the blocks is missing`);
  for (const { code, name } of [BACKGROUND_COINS, COINS]) {
    const found = damaged((folder) => {
      const db = new Database(join(folder, 'chain.db'));
      const { id, image } = db
        .query<{ id: number; image: Uint8Array | null }, [number]>(
          'SELECT id, image FROM runs WHERE family = ? ORDER BY bytes DESC LIMIT 1',
        )
        .get(code)!;
      // The loaded set is a file.
      const path = join(folder, 'runs', runFileName(id, code === COINS.code ? COINS : BACKGROUND_COINS));
      const bytes = image ?? readFileSync(path);
      bytes[300]! ^= 4;
      if (image === null) writeFileSync(path, bytes);
      else db.run('UPDATE runs SET image = ? WHERE id = ?', [image, id]);
      db.close();
    });
    expect(found[0]).toStartWith(`run ${name} `);
  }
});

test('a reindex drops the loaded set, and the chain is downloaded from the first block that is missing', async () => {
  await using node = await loadedNode(59);
  await node.close();
  const { withoutParent, height } = await reindexFolder(node.dir, { filters: true });
  expect([withoutParent, height]).toEqual([8, 59]);
  expect(verify(node.dir, 'full')).toMatchObject({ findings: [], loadedSet: null, height: 59 });
  await node.restart();
  expect(node.chain.background).toBeNull();
  await node.take(blocks);
  expect(differences(node.state(), new ModelChain(blocks).state())).toEqual([]);
  await node.close();
  expect(verify(node.dir, 'full')).toMatchObject({ findings: [], rowsCompared: true });
});

test('a comparison that cannot read the coins is tried again with the next block', async () => {
  await using node = await loadedNode(111);
  const reopen = spyOn(RunStore.prototype, 'reopen');
  reopen.mockImplementationOnce(() => {
    throw Object.assign(new Error('EIO: i/o error, read'), { code: 'EIO' });
  });
  try {
    await node.take(blocks.slice(111, BASE));
    await poll('the failure', () => reopen.mock.calls.length === 1);
    expect([node.chain.stopped, node.chain.background!.validated]).toEqual([null, false]);
    await node.take(blocks.slice(120, 121));
    await poll('the end', () => node.chain.background === null);
  } finally {
    reopen.mockRestore();
  }
});

test('damaged coins of the validated chain stop block processing, and the next start names them', async () => {
  await using node = await loadedNode(111);
  const db = new Database(join(node.dir, 'chain.db'));
  db.run('UPDATE runs SET image = zeroblob(length(image)) WHERE family = ?', [BACKGROUND_COINS.code]);
  db.close();
  await node.accept(blocks.slice(111, BASE));
  await poll('the end', () => node.chain.stopped !== null);
  expect(node.chain.stopped!.message).toContain('run coins ');
  expect(node.restart()).rejects.toThrow(/run coins .*: run obverse reindex, or remove/);
});
