import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { importFiles } from '../../src/node/import-files.ts';
import type { ImportProgress, ImportResult } from '../../src/node/import-types.ts';
import { paramsFor } from '../../src/params/networks.ts';
import { hashToHex } from '../../src/primitives/hash.ts';
import { concatBytes } from '../../src/util/bytes.ts';
import { createLog } from '../../src/util/log.ts';
import type { RegtestChain, TestBlock } from '../lib/chain-builder.ts';
import { lateVerifier, type NodeOptions, TestNode } from '../lib/chain-fixture.ts';
import { differences, ModelChain } from '../lib/chain-state.ts';
import { branchOf, openScript, POISON, trunkWithCoins } from '../lib/fork-tree.ts';
import { spend } from '../lib/tx-builder.ts';

const MAGIC = 0xdab5_bffa;
let dir: string;
let logged: string[];
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'obverse-import-'));
  logged = [];
});
afterEach(() => rmSync(dir, { recursive: true }));

function recordOf(raw: Uint8Array, magic = MAGIC): Uint8Array {
  const head = new DataView(new ArrayBuffer(8));
  head.setUint32(0, magic, true);
  head.setUint32(4, raw.length, true);
  return concatBytes(new Uint8Array(head.buffer), raw);
}

let files = 0;
function fileOf(...parts: (TestBlock | Uint8Array)[]): string {
  const path = join(dir, `blk${files++}.dat`);
  writeFileSync(path, concatBytes(...parts.map((part) => (part instanceof Uint8Array ? part : recordOf(part.raw)))));
  return path;
}

const log = createLog({
  level: 'warn',
  format: 'json',
  write: (bytes) => {
    logged.push(...new TextDecoder().decode(bytes).trim().split('\n'));
    return bytes.length;
  },
});

const importInto = (node: TestNode, paths: string[], signal = new AbortController().signal): Promise<ImportResult> =>
  importFiles(node.chain, paths, { signal, progress: () => {} }, { clock: node.clock, log });

const hex = ({ hash }: TestBlock) => hashToHex(hash);
const expectState = (node: TestNode, tip: TestBlock) =>
  expect(differences(node.state(), new ModelChain(branchOf(tip)).state())).toEqual([]);

const chain = trunkWithCoins();
const blocks = chain.blocks.slice(1);

describe('an import of block files', () => {
  test('connects a file that begins with the genesis block, and reports the result', async () => {
    await using node = new TestNode();
    const result = await importInto(node, [fileOf(...chain.blocks)]);
    expect(result).toEqual({ blocksConnected: 104, blocksKnown: 1, height: 104, hash: hex(chain.tip), badBlock: null });
    expectState(node, chain.tip);
  });

  test('changes nothing when it is repeated', async () => {
    const path = fileOf(...blocks);
    await using node = new TestNode();
    await importInto(node, [path]);
    const before = node.state();
    const { lastSeq } = node.chain;
    expect(await importInto(node, [path, path])).toMatchObject({
      blocksConnected: 0,
      blocksKnown: 208,
      badBlock: null,
    });
    expect(differences(node.state(), before)).toEqual([]);
    expect(node.chain.lastSeq).toBe(lastSeq);
    await node.restart();
    expect(await importInto(node, [path])).toMatchObject({ blocksConnected: 0, blocksKnown: 104 });
    expect(differences(node.state(), before)).toEqual([]);
  });

  test('connects blocks in any order within the file', async () => {
    const orders = [
      blocks.toReversed(),
      [...blocks.slice(50), ...blocks.slice(0, 50)],
      blocks.toSorted((a, b) => Buffer.compare(a.hash, b.hash)),
    ];
    for (const order of orders) {
      await using node = new TestNode();
      expect(await importInto(node, [fileOf(...order)])).toMatchObject({ blocksConnected: 104, badBlock: null });
      expectState(node, chain.tip);
    }
  });

  test('connects several files in any order', async () => {
    const odd = fileOf(...blocks.filter(({ height }) => height % 2 === 1));
    const even = fileOf(...blocks.filter(({ height }) => height % 2 === 0));
    await using node = new TestNode();
    expect(await importInto(node, [even, odd])).toMatchObject({ blocksConnected: 104, height: 104 });
    expectState(node, chain.tip);
  });

  test('skips padding, garbage and a truncated record at the end', async () => {
    const garbage = Uint8Array.from({ length: 5000 }, (_, i) => (i * 197) & 0xff);
    const cut = recordOf(blocks[103]!.raw).subarray(0, -3);
    await using node = new TestNode();
    const path = fileOf(
      new Uint8Array(100_000),
      ...blocks.slice(0, 40),
      garbage,
      ...blocks.slice(40, 70),
      new Uint8Array(70_001),
      ...blocks.slice(70, 103),
      cut,
    );
    expect(await importInto(node, [path])).toMatchObject({ blocksConnected: 103, height: 103, badBlock: null });
    expectState(node, chain.at(103));
  });

  test('activates the branch with the most work', async () => {
    const fork = chain.fork(95);
    fork.mine(10);
    await using node = new TestNode();
    const path = fileOf(...blocks, ...fork.blocks.slice(96));
    expect(await importInto(node, [path])).toMatchObject({ height: 105, hash: hex(fork.tip), badBlock: null });
    expectState(node, fork.tip);
  });

  test('skips blocks whose parent is in no file, and logs their number', async () => {
    await using node = new TestNode();
    const result = await importInto(node, [fileOf(...blocks.slice(0, 50), ...blocks.slice(51))]);
    expect(result).toMatchObject({ height: 50, badBlock: null });
    log.flush();
    expect(JSON.parse(logged.at(-1)!)).toMatchObject({ level: 'warn', blocks: 53 });
  });

  test('keeps connected blocks when it is stopped, and can be continued', async () => {
    const path = fileOf(...blocks);
    await using node = new TestNode();
    const stop = new AbortController();
    node.chain.onBlockConnected(() => {
      if (node.chain.height >= 20) stop.abort();
    });
    expect((await importInto(node, [path], stop.signal)).blocksConnected).toBe(20);
    await node.chain.settle();
    expectState(node, chain.at(20));
    expect(await importInto(node, [path])).toMatchObject({ height: 104, blocksConnected: 84, blocksKnown: 20 });
    expectState(node, chain.tip);
  });

  test('reports its progress', async () => {
    await using node = new TestNode();
    const seen: ImportProgress[] = [];
    const path = fileOf(...blocks);
    const { clock } = node;
    node.chain.onBlockConnected(() => clock.advance(250));
    await importFiles(
      node.chain,
      [path],
      { signal: new AbortController().signal, progress: (progress) => seen.push(progress) },
      { clock, log },
    );
    const totalBytes = readFileSync(path).length;
    expect(seen.length).toBeGreaterThan(50);
    expect(seen.at(-1)).toEqual({
      height: 104,
      blocks: 104,
      inputs: 2,
      bytes: totalBytes,
      totalBytes,
      elapsedMs: 104 * 250,
    });
    expect(seen.every(({ bytes }, i) => i === 0 || bytes >= seen[i - 1]!.bytes)).toBe(true);
  });
});

describe('an import of an invalid block', () => {
  const coinOf = (script: Uint8Array) => chain.coinsOf(script)[0]!;
  const poisoned = spend(coinOf(POISON), [{ to: openScript(1), value: 1n }], { sign: false });
  const overpaid = spend(coinOf(openScript(1)), [{ to: openScript(1), value: 2_0000_0000n }], { sign: false });
  const EVAL_FALSE =
    'block-script-verify-flag-failed (Script evaluated without error but finished with a false/empty top stack element)';
  const cases: [title: string, reason: string, options: Parameters<RegtestChain['build']>[0], late?: boolean][] = [
    ['its proof of work', 'high-hash', { work: false }],
    ['its merkle root', 'bad-txnmrklroot', { merkleRoot: new Uint8Array(32) as never }],
    ['its coinbase', 'bad-cb-amount', { coinbaseValue: 51_0000_0000n }],
    ['its amounts', 'bad-txns-in-belowout', { txs: [overpaid] }],
    ['a script', EVAL_FALSE, { txs: [poisoned] }],
    ['a script that is verified late', EVAL_FALSE, { txs: [poisoned] }, true],
  ];
  for (const [title, reason, options, late] of cases)
    test(`for ${title} is named with its place; all before it is kept`, async () => {
      const own = chain.fork();
      own.mine(2);
      const bad = own.build(options);
      own.append(bad);
      own.mine(3);
      const [before, after] = [own.blocks.slice(1, bad.height), own.blocks.slice(bad.height)];
      const first = fileOf(...before.slice(0, 60));
      const padding = new Uint8Array(77);
      const second = fileOf(...before.slice(60), padding, ...after);
      const place = before.slice(60).reduce((sum, { raw }) => sum + 8 + raw.length, padding.length);
      const nodeOptions: NodeOptions = late ? { verifier: lateVerifier(() => 20) } : {};
      await using node = new TestNode(nodeOptions);
      const result = await importInto(node, [first, second]);
      expect(result.badBlock).toEqual({ file: second, offset: place, hash: hex(bad), reason });
      expect([result.height, result.hash]).toEqual([106, hex(own.at(106))]);
      expectState(node, own.at(106));
      // A valid branch can still follow.
      const other = own.fork(106);
      other.mine(2);
      expect(await importInto(node, [fileOf(...other.blocks.slice(107))])).toMatchObject({
        height: 108,
        badBlock: null,
      });
      expectState(node, other.tip);
    });

  test('reports the position of a block that waited for its parent', async () => {
    const own = chain.fork();
    const bad = own.build({ coinbaseValue: 51_0000_0000n });
    const path = fileOf(bad, ...own.blocks.slice(1));
    await using node = new TestNode();
    const result = await importInto(node, [path]);
    expect(result.badBlock).toEqual({ file: path, offset: 0, hash: hex(bad), reason: 'bad-cb-amount' });
    expectState(node, chain.tip);
  });

  test('rejects a block again that was rejected before', async () => {
    const own = chain.fork();
    own.append(own.build({ coinbaseValue: 51_0000_0000n }));
    const path = fileOf(...own.blocks.slice(1));
    await using node = new TestNode();
    expect((await importInto(node, [path])).badBlock?.reason).toBe('bad-cb-amount');
    await node.restart();
    expect((await importInto(node, [path])).badBlock).toMatchObject({
      hash: hex(own.tip),
      reason: 'duplicate-invalid',
    });
    expectState(node, chain.tip);
  });
});

describe('an import of a file without blocks of the network', () => {
  test('refuses the file and names the network of its blocks', async () => {
    await using node = new TestNode();
    const { magic } = paramsFor('testnet4');
    const foreign = fileOf(recordOf(blocks[0]!.raw, magic));
    await expect(importInto(node, [foreign])).rejects.toThrow(
      `${foreign} holds no block of network regtest: its blocks are of network testnet4`,
    );
    const nothing = fileOf(new Uint8Array(1000));
    await expect(importInto(node, [nothing])).rejects.toThrow(`${nothing} holds no block of network regtest`);
  });

  test('keeps the blocks of the file before it', async () => {
    await using node = new TestNode();
    const foreign = fileOf(recordOf(blocks[0]!.raw, 0xd9b4_bef9));
    await expect(importInto(node, [fileOf(...blocks), foreign])).rejects.toThrow('its blocks are of network main');
    await node.chain.settle();
    expectState(node, chain.tip);
  });

  test('accepts an empty file', async () => {
    await using node = new TestNode();
    expect(await importInto(node, [fileOf(), fileOf(...blocks.slice(0, 2))])).toMatchObject({ height: 2 });
  });

  test('refuses a file that does not exist', async () => {
    await using node = new TestNode();
    await expect(importInto(node, [join(dir, 'missing.dat')])).rejects.toThrow(/ENOENT/);
  });
});
