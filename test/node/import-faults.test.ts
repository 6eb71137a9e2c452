import { afterAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { importFiles } from '../../src/node/import-files.ts';
import type { ImportResult } from '../../src/node/import-types.ts';
import { hashToHex } from '../../src/primitives/hash.ts';
import { FAULTS, goodChain, MAGIC, record } from '../lib/block-faults.ts';
import { silentLog, TestNode } from '../lib/chain-fixture.ts';
import { tipHash } from '../lib/sample-chains.ts';

const root = mkdtempSync(join(tmpdir(), 'obverse-import-faults-'));
afterAll(() => rmSync(root, { recursive: true }));

const good = goodChain();
let files = 0;
function fileOf(...parts: Uint8Array[]): string {
  const path = join(root, `${files++}.dat`);
  writeFileSync(path, Buffer.concat(parts));
  return path;
}

/** A node whose clock has the time of day, by which blocks may be too far ahead. */
const presentNode = () => new TestNode({ nowMs: Date.now() });

function importInto(node: TestNode, ...paths: string[]): Promise<ImportResult> {
  const options = { signal: new AbortController().signal, progress: () => {} };
  return importFiles(node.chain, paths, options, { clock: node.clock, log: silentLog });
}

describe('an invalid block in a file', () => {
  test.each(FAULTS)('%s', async (_, reason, change) => {
    const chain = good.fork();
    const bad = chain.build(change(chain));
    const before = good.bootstrap();
    chain.append(bad);
    // Zeros as files have that are made in steps, then the bad block, then one that builds on it.
    const file = fileOf(before, new Uint8Array(1000), record(bad), record(chain.mine(1)));
    await using node = presentNode();
    const result = await importInto(node, file);
    expect(result.badBlock).toEqual({
      file,
      offset: before.length + 1000,
      hash: hashToHex(bad.hash),
      reason: expect.stringMatching(reason),
    });
    expect(result).toMatchObject({ height: good.height, hash: tipHash(good) });

    // The valid blocks are kept, and the import of another file continues from there.
    await node.restart();
    const onwards = good.fork();
    onwards.mine(2);
    const next = fileOf(onwards.bootstrap(good.height + 1));
    expect(await importInto(node, next)).toEqual({
      blocksConnected: 2,
      blocksKnown: 0,
      height: good.height + 2,
      hash: tipHash(onwards),
      badBlock: null,
    });
  });
});

describe('unusual files that hold a valid chain', () => {
  const records = good.blocks.map((block) => record(block));
  /** The same disorder in every run. */
  const shuffled = records
    .map((bytes, i) => ({ bytes, key: (i * 7919) % 104_729 }))
    .toSorted((a, b) => (a.key % 101) - (b.key % 101))
    .map(({ bytes }) => bytes);
  const junk = new Uint8Array(5000).map((_, i) => (i * 31) & 0xff);

  test.each<[string, Uint8Array[][]]>([
    ['blocks backwards', [records.toReversed()]],
    ['blocks in disorder', [shuffled]],
    ['blocks twice', [[...records, ...records]]],
    [
      'zeros in front, between and behind',
      [[new Uint8Array(333), ...records.flatMap((bytes) => [bytes, new Uint8Array(77)]), new Uint8Array(100_000)]],
    ],
    ['something else between', [records.flatMap((bytes, i) => (i % 10 === 0 ? [junk, bytes] : [bytes]))]],
    ['a last record that was cut off', [[...records, record(good.fork().mine(1)).subarray(0, 200)]]],
    ['a last record without its end, of the magic alone', [[...records, MAGIC]]],
    ['the parent in a later file', [records.slice(50), records.slice(0, 50)]],
    ['an empty file among them', [records.slice(0, 60), [], records.slice(60)]],
    ['without the genesis block', [records.slice(1)]],
  ])('%s', async (_, contents) => {
    await using node = presentNode();
    const result = await importInto(node, ...contents.map((parts) => fileOf(...parts)));
    expect(result).toMatchObject({ height: good.height, hash: tipHash(good), badBlock: null });
  });
});
