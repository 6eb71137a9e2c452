import { Database } from 'bun:sqlite';
import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openWriter } from '../../src/storage/chain-database.ts';
import { closeDatabase } from '../../src/storage/database.ts';
import { RUN_FAMILIES } from '../../src/storage/runs/run-family.ts';
import { runFileName, runFolder } from '../../src/storage/runs/run-manifest.ts';
import { RunStore } from '../../src/storage/runs/run-store.ts';
import { createLog } from '../../src/util/log.ts';
import { RegtestChain } from '../lib/chain-builder.ts';
import { TestNode } from '../lib/chain-fixture.ts';
import { differences, dumpState, ModelChain } from '../lib/chain-state.ts';
import { ManualClock } from '../lib/manual-clock.ts';
import { cleanUpAfterTests } from '../lib/node-process.ts';
import { insertOldRows, makeOldDatabase, withOldTables } from '../lib/old-chain-database.ts';
import { liveState } from '../lib/run-chain.ts';
import { spend, sweep } from '../lib/tx-builder.ts';
import { extractUpgradeFixture } from '../lib/upgrade-fixtures.ts';
import { openChain } from '../storage/open-chain.ts';

cleanUpAfterTests();

let dir: string;
beforeEach(() => void (dir = mkdtempSync(join(tmpdir(), 'obverse-convert-'))));
afterEach(() => rmSync(dir, { recursive: true }));

/** A chain with spends, and a branch that it left. */
const chain = new RegtestChain({ to: 'anyone' });
chain.mine(104);
const payees = (count: number) =>
  Array.from({ length: count }, (_, i) => ({
    to: Uint8Array.of(0x51 + (i % 9), 0x51),
    value: 1_0000_0000n + BigInt(i),
  }));
chain.mine(1, { txs: [spend(chain.coin(1), payees(30), { sign: false })] });
const branch = chain.fork();
branch.mine(2, { txs: [] });
branch.mine(1, { txs: [sweep(branch.coin(2), 'anyone')] });
chain.mine(1, { txs: [spend(chain.coin(3), [{ to: new Uint8Array(9000).fill(0x61), value: 5n }], { sign: false })] });
for (let i = 4; i < 8; i++) chain.mine(1, { txs: [sweep(chain.coin(i), Uint8Array.of(0x52, 0x51))] });

const IDENTITY = {
  network: 'regtest',
  genesisHash: '0f9188f13cb7b2c71f2a335e3a4fc328bf5beb436012afca590b1a11466e2206',
};

/** A closed directory of schema version 1 with the chain, its block files, events and filters. */
async function oldDirectory(): Promise<string> {
  await using node = new TestNode({ filters: true });
  // The branch is the active chain at first.
  await node.take([...branch.blocks.slice(1), ...chain.blocks.slice(106)]);
  await node.close();
  makeOldDatabase(node.dir, new ModelChain(chain.blocks.slice(1)));
  const old = join(dir, 'old');
  cpSync(node.dir, old, { recursive: true });
  return old;
}

/** The rows of all tables that the conversion has nothing to do with. */
function otherRows(from: string): Record<string, unknown[]> {
  const db = new Database(join(from, 'chain.db'), { readonly: true });
  try {
    const tables = ['headers', 'chain', 'txs', 'events', 'filters', 'event_ranges'];
    return Object.fromEntries(tables.map((name) => [name, db.query(`SELECT * FROM ${name} ORDER BY 1`).all()]));
  } finally {
    db.close();
  }
}

const filesOf = (from: string) =>
  ['blocks', 'filters'].flatMap((folder) =>
    readdirSync(join(from, folder))
      .sort()
      .map((name) => `${name} ${Bun.hash(readFileSync(join(from, folder, name)))}`),
  );

const schemaOf = (from: string) => {
  const db = new Database(join(from, 'chain.db'), { readonly: true });
  try {
    const version = db.query<{ value: number }, []>("SELECT value FROM meta WHERE key = 'schema'").get()!.value;
    const names = db.query<{ name: string }, []>("SELECT name FROM sqlite_master WHERE type = 'table'").all();
    return { version, tables: names.map(({ name }) => name) };
  } finally {
    db.close();
  }
};

describe('a chain of schema version 1', () => {
  test('has the state of its blocks after the conversion, which changes nothing else', async () => {
    const old = await oldDirectory();
    expect(schemaOf(old)).toMatchObject({ version: 1, tables: expect.arrayContaining(['coins', 'history']) });
    const rows = otherRows(old);
    expect(rows.filters!.length).toBeGreaterThan(chain.height);
    expect(rows.events!.length).toBeGreaterThan(chain.height);
    const files = filesOf(old);
    closeDatabase(openWriter(join(old, 'chain.db'), IDENTITY, 1));
    expect(otherRows(old)).toEqual(rows);
    expect(filesOf(old)).toEqual(files);
    const { version, tables } = schemaOf(old);
    expect(version).toBe(3);
    for (const gone of ['coins', 'tx_index', 'scripts', 'history', 'script_coins']) expect(tables).not.toContain(gone);
    await using node = new TestNode({ from: old, filters: true });
    expect(differences(node.state(), new ModelChain(chain.blocks.slice(1)).state())).toEqual([]);
  });

  test('is converted by a node that opens it, and removes converted entries in a reorg', async () => {
    await using node = new TestNode({ from: await oldDirectory(), filters: true });
    expect(node.tip).toBe(chain.tip.hash.toReversed().toHex());
    const longer = branch.fork();
    longer.mine(5);
    await node.take(longer.blocks.slice(branch.height + 1));
    expect(node.chain.tip.height).toBe(longer.height);
    expect(differences(node.state(), new ModelChain(longer.blocks.slice(1)).state())).toEqual([]);
    await node.restart();
    const back = chain.fork();
    back.mine(6, { txs: [] });
    await node.take(back.blocks.slice(chain.height + 1));
    expect(differences(node.state(), new ModelChain(back.blocks.slice(1)).state())).toEqual([]);
  });

  test('without any block is converted', async () => {
    await using empty = new TestNode();
    await empty.close();
    makeOldDatabase(empty.dir, new ModelChain());
    await using node = new TestNode({ from: empty.dir });
    expect(differences(node.state(), new ModelChain().state())).toEqual([]);
    await node.take(chain.blocks.slice(1));
    expect(differences(node.state(), new ModelChain(chain.blocks.slice(1)).state())).toEqual([]);
  });
});

const ROWS = 20_000;
const MOMENTS = 10;

/** A database of schema version 1 with so many rows that a conversion can be interrupted; they are of no chain. */
function largeOldDirectory(): string {
  const made = join(dir, 'made');
  mkdirSync(made);
  const path = join(made, 'chain.db');
  const db = openWriter(path, IDENTITY, 16);
  new RunStore(db, made, new ManualClock(0)).close();
  closeDatabase(db);
  withOldTables(made, (at) => {
    insertOldRows(at, ROWS);
    // Keys of scripts depend on the salt, which both conversions must have in common.
    at.run("INSERT INTO meta VALUES ('scriptSalt', '000102030405060708090a0b0c0d0e0f')");
  });
  // Statements of this process may keep the original open.
  const old = join(dir, 'large');
  cpSync(made, old, { recursive: true });
  return old;
}

function stateOf(from: string): { state: string[]; files: string[] } {
  const db = openWriter(join(from, 'chain.db'), IDENTITY, 16);
  const store = new RunStore(db, from, new ManualClock(0));
  try {
    return { state: liveState(store), files: readdirSync(runFolder(from)).sort() };
  } finally {
    store.close();
    closeDatabase(db);
  }
}

/**
 * Converts the chain in a folder below `datadir`, and calls `check` at each of the steps with a copy of the directory: the
 * files that a process leaves which ends there without any notice to it. Returns the number of steps.
 */
function convertWithCopies(
  datadir: string,
  folder: string,
  { isChosen, check }: { isChosen: (step: number) => boolean; check: (copy: string, step: number) => void },
): number {
  return openChain(join(datadir, folder), IDENTITY.genesisHash, (step) => {
    if (!isChosen(step)) return;
    const copy = mkdtempSync(join(dir, 'copy-'));
    cpSync(datadir, copy, { recursive: true });
    check(join(copy, folder), step);
    rmSync(copy, { recursive: true });
  });
}

const convert = (chainDir: string) => openChain(chainDir, IDENTITY.genesisHash, () => {});

/** Steps that are spread over all of them, with the first and the last ones among them. */
function momentsOf(steps: number, count: number): number[] {
  const all = Array.from({ length: count }, (_, i) => 1 + Math.round((i * (steps - 1)) / (count - 1)));
  return [...new Set(all)];
}

test('a conversion that ends at ten moments is done again by the next start', () => {
  const large = largeOldDirectory();
  const pristine = join(dir, 'pristine');
  cpSync(large, pristine, { recursive: true });
  const steps = convert(pristine);
  const expected = stateOf(pristine);
  expect(expected.state.length).toBeGreaterThan(ROWS * 3.9);
  expect(expected.files).toEqual(
    RUN_FAMILIES.slice(0, 4)
      .map((family, i) => runFileName(i + 1, family))
      .sort(),
  );
  const moments = momentsOf(steps, MOMENTS);
  expect(moments).toHaveLength(MOMENTS);
  const versions = new Map<unknown, number>();
  const check = (at: string, moment: number) => {
    const { version } = schemaOf(at);
    versions.set(version, (versions.get(version) ?? 0) + 1);
    if (version === 1) {
      // Left by another attempt that had more runs.
      mkdirSync(runFolder(at), { recursive: true });
      writeFileSync(join(runFolder(at), runFileName(17, RUN_FAMILIES[0]!)), 'rest');
      writeFileSync(join(at, 'chain.db.converting-journal'), 'rest');
    }
    const found = stateOf(at);
    expect([moment, found.files]).toEqual([moment, expected.files]);
    expect(Bun.deepEquals(found.state, expected.state)).toBe(true);
    expect(readdirSync(at).filter((name) => name.includes('converting'))).toEqual([]);
  };
  convertWithCopies(large, '.', { isChosen: (step) => moments.includes(step), check });
  // Only the last step comes after the new database has its name.
  expect(versions).toEqual(
    new Map([
      [1, MOMENTS - 1],
      [3, 1],
    ]),
  );
}, 400_000);

test('a conversion that is killed leaves the same files as a copy', async () => {
  const large = largeOldDirectory();
  const pristine = join(dir, 'pristine');
  cpSync(large, pristine, { recursive: true });
  const middle = Math.floor(convert(pristine) / 2);
  let copied: string[] = [];
  const namesOf = (at: string) => readdirSync(at, { recursive: true }).map(String).sort();
  const other = join(dir, 'other');
  cpSync(large, other, { recursive: true });
  convertWithCopies(other, '.', {
    isChosen: (step) => step === middle,
    check: (copy) => void (copied = namesOf(copy)),
  });
  const script = join(import.meta.dir, '../storage/open-chain.ts');
  const child = Bun.spawn([process.execPath, script, large, IDENTITY.genesisHash, String(middle)], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  await child.exited;
  expect(child.signalCode).toBe('SIGKILL');
  expect(namesOf(large)).toEqual(copied);
  expect(stateOf(large)).toEqual(stateOf(pristine));
});

test.each(['9679492-killed', 'aac1387-stopped', '417c60a-killed'])(
  'the chain of %s has the same state, whichever step of its conversion is the last one',
  (fixture) => {
    const folder = 'regtest/chain';
    const expected = join(extractUpgradeFixture(fixture), folder);
    expect(convert(expected)).toBeGreaterThan(10);
    const state = dumpState(expected);
    const rows = otherRows(expected);
    const files = filesOf(expected);
    convertWithCopies(extractUpgradeFixture(fixture), folder, {
      isChosen: (step) => step % 2 === 1,
      check: (copy, step) => {
        expect(convert(copy)).toBeGreaterThan(1);
        expect([step, differences(dumpState(copy), state)]).toEqual([step, []]);
        expect(otherRows(copy)).toEqual(rows);
        expect(filesOf(copy)).toEqual(files);
      },
    });
  },
  400_000,
);

test('a stop interrupts a conversion, and its files are removed', () => {
  const large = largeOldDirectory();
  let steps = 0;
  const open = () => openWriter(join(large, 'chain.db'), IDENTITY, 16, { isStopping: () => ++steps > 15 });
  expect(open).toThrow('was interrupted; the next start begins it again');
  // The journal of the new database is in memory.
  expect(readdirSync(large).sort()).toEqual(['chain.db', 'runs']);
  expect(readdirSync(runFolder(large))).toEqual([]);
  expect(schemaOf(large).version).toBe(1);
  expect(stateOf(large).state.length).toBeGreaterThan(ROWS * 3.9);
}, 60_000);

test('a database that another program has open is not converted', () => {
  const large = largeOldDirectory();
  const other = new Database(join(large, 'chain.db'));
  try {
    expect(other.query('SELECT count(*) AS n FROM coins').get()).toEqual({ n: ROWS });
    expect(() => openWriter(join(large, 'chain.db'), IDENTITY, 16)).toThrow('another program has it open');
  } finally {
    other.close();
  }
  expect(stateOf(large).state.length).toBeGreaterThan(ROWS * 3.9);
}, 30_000);

test('the log has the progress of a conversion, and its space is free for the disk again', () => {
  const large = largeOldDirectory();
  const before = statSync(join(large, 'chain.db')).size;
  const clock = new ManualClock(0);
  const lines: Record<string, unknown>[] = [];
  const log = createLog({
    level: 'info',
    format: 'json',
    write: (bytes) => {
      for (const line of new TextDecoder().decode(bytes).trim().split('\n')) lines.push(JSON.parse(line));
      return bytes.length;
    },
  });
  // Each reading of the clock is two seconds later.
  const monotonicMs = () => {
    clock.advance(2000);
    return clock.monotonicMs();
  };
  closeDatabase(openWriter(join(large, 'chain.db'), IDENTITY, 16, { log, clock: { monotonicMs } }));
  expect(lines[0]).toMatchObject({ msg: expect.stringContaining('converting the chain database'), bytes: before });
  expect(lines.at(-1)).toMatchObject({ msg: 'the chain database is converted', seconds: expect.any(Number) });
  const progress = lines.slice(1, -1);
  expect(progress.length).toBeGreaterThan(3);
  for (const { table, rows, percent } of progress) {
    expect([table, rows]).toEqual([expect.any(String), expect.any(Number)]);
    expect(percent as number).toBeGreaterThanOrEqual(0);
    expect(percent as number).toBeLessThanOrEqual(100);
  }
  expect(statSync(join(large, 'chain.db')).size).toBeLessThan(before / 10);
});
