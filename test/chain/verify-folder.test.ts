import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type VerifyLevel, type VerifyReport, verifyFolder } from '../../src/chain/integrity/verify-folder.ts';
import { regtest } from '../../src/params/regtest.ts';
import { Run } from '../../src/storage/runs/run.ts';
import { RunBatch } from '../../src/storage/runs/run-batch.ts';
import { COINS, HISTORY, type RunFamily, SCRIPT_COINS, TX_INDEX } from '../../src/storage/runs/run-family.ts';
import { MemorySource } from '../../src/storage/runs/run-source.ts';
import type { RegtestChain } from '../lib/chain-builder.ts';
import { TestNode } from '../lib/chain-fixture.ts';
import { diceOf, POISON, trunkWithCoins } from '../lib/fork-tree.ts';
import { reindexFolder } from '../lib/reindex-folder.ts';
import { entriesOf, imageOf } from '../lib/run-entries.ts';
import { putEntry } from '../lib/run-model.ts';
import { oldChain, recentChain } from '../lib/sample-chains.ts';
import { coinOf, spend, sweep } from '../lib/tx-builder.ts';

const root = mkdtempSync(join(tmpdir(), 'obverse-verify-'));
afterAll(() => rmSync(root, { recursive: true }));

let chain: RegtestChain;
/** Folder of a closed chain with a reorg, an invalid block and filters; all runs are in chain.db. */
let small: string;
/** Folder of a closed chain with runs in files. */
let large: string;

beforeAll(async () => {
  chain = trunkWithCoins();
  const stale = chain.fork();
  const invalid = chain.fork();
  const coins = chain.tip.txs[1]!;
  stale.mine(2, { txs: [sweep(coinOf(coins, 0), 'anyone', 1000n, { sign: false })] });
  for (let n = 1; n < 6; n++)
    chain.mine(1, { txs: [sweep(coinOf(coins, n), n % 2 === 0 ? 'anyone' : 'p2wpkh', 1000n, { sign: false })] });
  const poison = chain.at(104).txs[2]!;
  invalid.mine(1, { txs: [spend(coinOf(poison, 0), [{ to: POISON, value: 5n }], { sign: false })] });
  await using node = new TestNode({ filters: true });
  await node.take(chain.blocks.slice(1, 105));
  expect(await node.submit(invalid.tip)).toStartWith('block-script-verify-flag-failed');
  await node.take(stale.blocks.slice(-2));
  await node.take(chain.blocks.slice(105));
  await node.close();
  small = join(root, 'small');
  cpSync(node.dir, small, { recursive: true });

  const big = recentChain(104, { bigAt: 102, spacing: 600 });
  await using other = new TestNode({ filters: true });
  await other.take(big.blocks.slice(1));
  await other.close();
  large = join(root, 'large');
  cpSync(other.dir, large, { recursive: true });
  expect(readdirSync(join(large, 'runs')).length).toBeGreaterThan(0);
});

function copyOf(dir: string): string {
  const copy = mkdtempSync(join(root, 'copy-'));
  cpSync(dir, copy, { recursive: true });
  return copy;
}

function verify(dir: string, level: VerifyLevel): VerifyReport {
  const check = verifyFolder(dir, regtest, level);
  for (;;) {
    const { done, value } = check.next();
    if (done) return value;
  }
}

/** Files and parts of what a check finds. */
const found = (dir: string, level: VerifyLevel = 'quick') =>
  verify(dir, level).findings.map(({ file, part, height }) => ({ file, part, height }));

function withFlip(path: string, at: number, bit: number, check: () => void): void {
  const bytes = readFileSync(path);
  bytes[at]! ^= 1 << bit;
  writeFileSync(path, bytes);
  check();
  bytes[at]! ^= 1 << bit;
  writeFileSync(path, bytes);
}

/** About `count` positions in a file, with another bit each. */
function* positions(path: string, count: number): Generator<[at: number, bit: number]> {
  const { length } = readFileSync(path);
  const dice = diceOf(length);
  for (let i = 0; i < count; i++) yield [Math.min(length - 1, Math.floor((i * length) / count) + dice(7)), dice(8)];
}

describe('a clean folder', () => {
  test('after a reorg, an invalid block and merges has no finding', () => {
    for (const level of ['quick', 'full'] as const) {
      expect(verify(small, level)).toMatchObject({ height: chain.height, total: 0, findings: [] });
      expect(verify(large, level)).toMatchObject({ height: 104, total: 0, findings: [] });
    }
  });

  test('after a reindex has no finding', async () => {
    const dir = copyOf(small);
    await reindexFolder(dir, { filters: true });
    expect(verify(dir, 'full')).toMatchObject({ height: chain.height, total: 0 });
  });

  test('after commits block by block has no finding', async () => {
    const blocks = recentChain(130, { payments: 20 }).blocks.slice(1);
    await using node = new TestNode({ nowMs: Date.now() });
    await node.take(blocks);
    await node.close();
    expect(verify(node.dir, 'full')).toMatchObject({ height: 130, total: 0, findings: [] });
  });

  test('with events that an earlier version stored without outputs has no finding', () => {
    const dir = copyOf(small);
    const db = new Database(join(dir, 'chain.db'));
    const changed = db.run(
      `UPDATE events SET data = json_set(data, '$.txs', json((SELECT json_group_array(json_remove(value, '$.outputs'))
         FROM json_each(data, '$.txs'))))
       WHERE type = 'reorg' AND json_array_length(data, '$.txs[0].outputs') > 0`,
    );
    db.close();
    expect(changed.changes).toBe(1);
    expect(verify(dir, 'full')).toMatchObject({ total: 0, findings: [] });
  });

  test('with the genesis block alone has no finding', async () => {
    await using node = new TestNode({ filters: true });
    await node.close();
    expect(verify(node.dir, 'full')).toMatchObject({ height: 0, total: 0, findings: [] });
  });
});

describe('one flipped bit', () => {
  test('in a run in a file is named with the run and its part', () => {
    const dir = copyOf(large);
    for (const name of readdirSync(join(dir, 'runs'))) {
      const path = join(dir, 'runs', name);
      const [family, id] = /^([a-z]+)-0*(\d+)\.run$/.exec(name)!.slice(1);
      for (const [at, bit] of positions(path, 12))
        withFlip(path, at, bit, () => {
          const [finding, ...others] = found(dir);
          expect([at, finding?.file, others.length]).toEqual([at, path, 0]);
          expect(finding!.part).toStartWith(`run ${family} ${id}`);
        });
      withFlip(path, 4096 * 3 + 5, 1, () =>
        expect(found(dir)).toEqual([{ file: path, part: `run ${family} ${id}, page 3`, height: null }]),
      );
      const { length } = readFileSync(path);
      withFlip(path, length - 3, 1, () => expect(found(dir)[0]).toMatchObject({ file: path }));
    }
  });

  test('in a block file is named with the offset and the height', () => {
    const dir = copyOf(small);
    const path = join(dir, 'blocks/blk00000.dat');
    for (const [at, bit] of positions(path, 20))
      withFlip(path, at, bit, () => {
        const findings = found(dir).filter(({ file }) => file === path);
        expect([at, findings.length]).toEqual([at, 1]);
      });
    const offset = readFileSync(path).indexOf(chain.at(107).raw);
    for (const at of [offset - 8, offset - 4, offset, offset + 79, offset + 100])
      withFlip(path, at, 2, () =>
        expect(found(dir)).toContainEqual({ file: path, part: `offset ${offset}`, height: 107 }),
      );
  });

  test('in undo data is named with the height', () => {
    const dir = copyOf(small);
    const path = join(dir, 'blocks/rev00000.dat');
    for (const [at, bit] of positions(path, 20))
      withFlip(path, at, bit, () => {
        const findings = found(dir).filter(({ file }) => file === path);
        expect([at, findings.length, findings[0]?.height !== null]).toEqual([at, 1, true]);
      });
  });

  test('in a filter file is named with the height', () => {
    const dir = copyOf(small);
    const path = join(dir, 'filters/flt00000.dat');
    for (const [at, bit] of positions(path, 20))
      withFlip(path, at, bit, () => {
        const findings = found(dir).filter(({ file }) => file === path);
        expect([at, findings.length, findings[0]?.height !== null]).toEqual([at, 1, true]);
      });
  });

  // The structure alone is checked by SQLite, and only a part of it.
  test('in chain.db is found, or changes none of its rows', () => {
    const dir = copyOf(small);
    const path = join(dir, 'chain.db');
    const intact = contentOf(dir);
    let harmless = 0;
    for (const [at, bit] of positions(path, 60))
      withFlip(path, at, bit, () => {
        if (found(dir).length > 0) return;
        expect([at, bit, contentOf(dir) === intact]).toEqual([at, bit, true]);
        harmless++;
      });
    // Free space within pages.
    expect(harmless).toBeLessThan(55);
  });
});

/** All rows that answers come from; null if they cannot be read. */
function contentOf(dir: string): string | null {
  const db = new Database(join(dir, 'chain.db'), { readonly: true });
  try {
    const tables = ['meta', 'headers', 'chain', 'txs', 'events', 'event_ranges', 'filters', 'indexes', 'runs'];
    const rows = tables.map((table) => db.query<Record<string, unknown>, []>(`SELECT * FROM ${table}`).all());
    return JSON.stringify(rows, (key, value: unknown) =>
      // Times of arrival are known from nowhere else.
      key === 'received_at' ? null : key === 'data' ? withoutTime(value) : value,
    );
  } catch {
    return null;
  } finally {
    db.close();
  }
}

const withoutTime = (data: unknown) => String(data).replace(/(?<="(time|headers|reorg|initialSync)":)\w+/g, '');

describe('a changed row of chain.db is named', () => {
  const changes: [sql: string, part: RegExp][] = [
    ['UPDATE headers SET hash = zeroblob(32) WHERE height = 50', /^table headers, row 5/],
    ['UPDATE headers SET height = height + 1 WHERE id = 60', /^table headers, row 60/],
    ['UPDATE headers SET chainwork = zeroblob(32) WHERE id = 60', /^table headers, row 60/],
    ['UPDATE headers SET status = status | 4 WHERE id = 60', /^table (headers|chain), row (60|59)/],
    ['UPDATE headers SET status = status | 64 WHERE id = 60', /^table headers, row 60/],
    ['UPDATE headers SET status = status & ~2 WHERE id = 60', /^table headers, row 60/],
    ['UPDATE headers SET offset = offset + 1 WHERE id = 60', /^offset /],
    ['UPDATE headers SET undo_size = undo_size + 1 WHERE id = 60', /^offset /],
    ...['tx_count', 'stripped_size', 'inputs', 'outputs', 'value_out', 'reward', 'fees'].map(
      (column): [string, RegExp] => [
        `UPDATE headers SET ${column} = ${column} + 1 WHERE id = 60`,
        /^table headers, row 60/,
      ],
    ),
    ...['circulating', 'utxos', 'txs'].map((column): [string, RegExp] => [
      `UPDATE chain SET ${column} = ${column} + 4 WHERE height = 70`,
      /^table chain, row 70/,
    ]),
    ['UPDATE chain SET header_id = header_id + 1 WHERE height = 70', /^table chain, row 70/],
    ['DELETE FROM chain WHERE height = 108', /^table/],
    ['UPDATE txs SET offset = offset + 1 WHERE rowid = (SELECT max(position) FROM txs)', /^table txs, row/],
    ['UPDATE txs SET undo_offset = 3 WHERE rowid = (SELECT max(position) FROM txs)', /^table txs, row/],
    ['UPDATE txs SET txid = zeroblob(32) WHERE rowid = 1048576', /^table txs, row 1048576/],
    ['DELETE FROM txs WHERE position = 1048576', /^table txs, row 1048576/],
    ['INSERT INTO txs VALUES (1048576 * 5000, zeroblob(32), 81, 0)', /^table txs, row 5242880000/],
    ["UPDATE meta SET value = value + 1 WHERE key = 'bestHeaderHeight'", /^table meta, row bestHeaderHeight/],
    ["UPDATE meta SET value = 1 WHERE key = 'reservedSeq'", /^table meta, row reservedSeq/],
    ["UPDATE meta SET value = value + 1 WHERE key = 'eventRows'", /^table meta, row eventRows/],
    ["UPDATE meta SET value = value + 1 WHERE key = 'filterEnd'", /^table meta, row filterEnd/],
    [
      "UPDATE meta SET value = iif(value LIKE 'f%', '0', 'f') || substr(value, 2) WHERE key = 'scriptSalt'",
      /scriptSalt/,
    ],
    ["UPDATE meta SET value = 'obverse' WHERE key = 'network'", /^table meta/],
    ['UPDATE events SET data = replace(data, \'"height":90\', \'"height":91\')', /^table events, row/],
    ['UPDATE events SET data = replace(data, \'"nonce":\', \'"nonce":1\')', /^table events, row/],
    ["UPDATE events SET type = 'newBlok' WHERE seq = 9", /^table events, row 9/],
    ["UPDATE event_ranges SET tag = 'A' || substr(tag, 2) WHERE first > 0", /^table event_ranges/],
    ['UPDATE filters SET hash = zeroblob(32) WHERE header_id = 60', /^table filters, row 60|^offset/],
    ['UPDATE filters SET header = zeroblob(32) WHERE header_id = 60', /^table filters, row 60/],
    ['UPDATE filters SET offset = offset + 1 WHERE header_id = 60', /^offset|^table meta/],
    ['DELETE FROM filters WHERE header_id = 60', /^table filters, row 60/],
    ["UPDATE indexes SET hash = zeroblob(32) WHERE name = 'tx'", /^table indexes, row tx/],
    ["UPDATE indexes SET height = height + 1 WHERE name = 'address'", /^table indexes, row address/],
    ['UPDATE runs SET entries = entries + 1', /^table runs, row/],
    ['UPDATE runs SET bytes = bytes + 1', /^table runs, row/],
    ['UPDATE runs SET age = 0', /^table runs, row/],
    ['UPDATE runs SET id = id + 1000', /^run /],
    ['UPDATE runs SET family = 5 - family', /^run /],
    ['UPDATE runs SET family = 77', /^table runs/],
  ];
  test.each(changes)('%s', (sql, part) => {
    const dir = copyOf(small);
    const db = new Database(join(dir, 'chain.db'));
    const { changes: rows } = db.run(sql);
    expect(rows).toBeGreaterThan(0);
    db.close();
    const findings = found(dir);
    expect(findings.length).toBeGreaterThan(0);
    expect(findings.map((finding) => finding.part).join('\n')).toMatch(new RegExp(part.source, 'm'));
  });
});

describe('rows with right checksums that do not follow from the blocks', () => {
  /** Replaces the run of a family in chain.db by one with other entries. */
  function rewrite(dir: string, family: RunFamily, change: 'omit' | 'alter'): string {
    const db = new Database(join(dir, 'chain.db'));
    const row = db
      .query<{ id: number; image: Uint8Array }, [number]>(
        'SELECT id, image FROM runs WHERE family = ? ORDER BY bytes DESC LIMIT 1',
      )
      .get(family.code)!;
    const entries = entriesOf(new Run(family, new MemorySource('run', row.image), false));
    const at = entries.findIndex(({ removed }) => !removed);
    const { key } = entries[at]!;
    const batch = new RunBatch(family);
    for (const [i, entry] of entries.entries()) {
      const value = entry.value.slice();
      if (i === at && change === 'omit') continue;
      if (i === at && change === 'alter') value[value.length - 1]! ^= 1;
      putEntry(batch, entry.removed, entry.key, value);
    }
    const image = imageOf(batch, row.id);
    db.run('UPDATE runs SET entries = ?, bytes = ?, image = ? WHERE id = ?', [
      batch.count,
      image.length,
      image,
      row.id,
    ]);
    db.close();
    return key.toHex();
  }

  const families = [COINS, TX_INDEX, HISTORY, SCRIPT_COINS];
  test.each(families.map((family) => [family.name, family] as const))(
    'a missing row of %s is named by a full check',
    (_, family) => {
      const dir = copyOf(small);
      const key = rewrite(dir, family, 'omit');
      expect(found(dir, 'quick')).toEqual([]);
      expect(verify(dir, 'full').findings).toEqual([
        {
          file: join(dir, 'runs'),
          part: `family ${family.name}, key ${key}`,
          height: null,
          problem: 'the row of the blocks is missing',
        },
      ]);
    },
  );

  test('a coin with another script is named by a full check', async () => {
    const dir = copyOf(small);
    const key = rewrite(dir, COINS, 'alter');
    expect(verify(dir, 'full').findings.map(({ part, problem }) => [part, problem])).toEqual([
      [`family coins, key ${key}`, expect.any(String)],
      [`family coins, key ${key}`, expect.any(String)],
    ]);
    await reindexFolder(dir, { filters: true });
    expect(verify(dir, 'full').total).toBe(0);
  });

  test('an index that is not complete is not compared', async () => {
    await using node = new TestNode({ indexes: { tx: true, address: false, spender: false, coinStats: false } });
    await node.take(oldChain(20).blocks.slice(1));
    await node.restart({ indexes: { tx: true, address: true, spender: true, coinStats: false } });
    await node.close();
    expect(verify(node.dir, 'full')).toMatchObject({ height: 20, total: 0, findings: [] });
  });
});

test('a folder without a database is no folder of a chain', () => {
  expect(() => verify(mkdtempSync(join(root, 'empty-')), 'quick')).toThrow(
    'does not exist: there is nothing to verify',
  );
});
