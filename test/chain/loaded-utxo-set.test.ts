import { expect, test } from 'bun:test';
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { hashFromHex } from '../../src/primitives/hash.ts';
import { loadUtxoSet } from '../../src/queries/utxo-load.ts';
import { decodeSnapshotMetadata, SNAPSHOT_HEADER_SIZE, SnapshotError } from '../../src/storage/utxo-snapshot.ts';
import { TestNode } from '../lib/chain-fixture.ts';
import { differences, ModelChain } from '../lib/chain-state.ts';
import { diceOf } from '../lib/fork-tree.ts';
import { buildIndexes, loadInto, setAt, setChain } from '../lib/loaded-set.ts';
import { cleanUpAfterTests, poll, tempDir } from '../lib/node-process.ts';
import { loadSteps } from './set-loader.ts';

cleanUpAfterTests();

const chain = setChain();
const BASE = 112;
const set = setAt(chain, BASE);
const blocks = chain.blocks.slice(1);

async function knowingNode(params = set.params): Promise<TestNode> {
  const node = new TestNode({ params });
  await node.chain.acceptHeaders(blocks.map(({ header }) => header));
  return node;
}

async function loadedNode(given = set): Promise<TestNode> {
  const node = await knowingNode(given.params);
  expect(await loadInto(node, given, join(tempDir(), 'utxo.dat'))).toBeNull();
  return node;
}

const complete = (node: TestNode) => poll('the validation', () => node.chain.background === null);

function expectWhole(node: TestNode, expected = blocks): void {
  buildIndexes(node.chain);
  expect(node.chain.indexes.progress().every(({ live }) => live)).toBe(true);
  expect(differences(node.state(), new ModelChain(expected).state())).toEqual([]);
}

test('a loaded set serves at once, new blocks connect to it, and the chain behind it is validated', async () => {
  await using node = await loadedNode();
  expect(node.chain.tip.height).toBe(BASE);
  await node.take(blocks.slice(BASE, 119));
  expect(node.chain.tip.height).toBe(119);
  expect(node.read(({ headers }) => headers.totals(119))!.utxos).toBe(setAt(chain, 119).coins);
  expect(node.read(({ headers }) => headers.totals(111))).toBeNull();
  await node.take(blocks.slice(0, 59));
  await poll('height 59', () => node.chain.background!.tip.height === 59);
  await node.restart();
  expect(node.chain.tip.height).toBe(119);
  expect(node.chain.background!.tip.height).toBe(59);
  await node.take(blocks.slice(59, BASE).reverse());
  await complete(node);
  await node.take(blocks.slice(119));
  expectWhole(node);
  await node.restart();
  expect(node.chain.background).toBeNull();
  expectWhole(node);
});

test('a set is loaded on top of blocks that are validated already', async () => {
  await using node = await knowingNode();
  await node.take(blocks.slice(0, 105));
  expect(await loadInto(node, set, join(tempDir(), 'utxo.dat'))).toBeNull();
  expect([node.chain.tip.height, node.chain.background!.tip.height]).toEqual([BASE, 105]);
  await node.take(blocks.slice(105));
  await complete(node);
  expectWhole(node);
});

test('a set is loaded on top of blocks that its chain does not have', async () => {
  await using node = await knowingNode();
  const stale = chain.fork(103);
  stale.mine(3);
  await node.take(stale.blocks.slice(1));
  expect(await loadInto(node, set, join(tempDir(), 'utxo.dat'))).toBeNull();
  await node.restart();
  expect(node.chain.tip.height).toBe(BASE);
  expect(node.chain.background!.tip.hash).toEqual(stale.tip.hash);
  await node.take(blocks);
  await complete(node);
  await node.chain.settle();
  expectWhole(node);
});

test('blocks above the base are reorganized while the chain behind it is validated', async () => {
  await using node = await loadedNode();
  await node.take(blocks.slice(BASE, 117));
  await node.take(blocks.slice(0, 100));
  const branch = chain.fork(114);
  branch.mine(4);
  const other = branch.blocks.slice(115);
  await node.take(other);
  expect(node.chain.tip.height).toBe(118);
  expect(node.chain.tip.hash).toEqual(branch.tip.hash);
  // A branch from below the base has more work, but no undo data leads to it.
  const deep = chain.fork(110);
  deep.mine(12);
  await node.take(deep.blocks.slice(111));
  expect(node.chain.tip.hash).toEqual(branch.tip.hash);
  await node.take(blocks.slice(100, BASE));
  await complete(node);
  await poll('the deeper branch', async () => {
    await node.chain.settle();
    return node.chain.tip.height === 122;
  });
  expectWhole(node, deep.blocks.slice(1));
});

test('a set that is not that of the validated chain is removed, and the next start goes on without it', async () => {
  // The value of the first coin of the file is another one, and the parameters have the hash of that.
  const altered = new TestNode({ params: set.params });
  const path = join(tempDir(), 'utxo.dat');
  const at = SNAPSHOT_HEADER_SIZE * 2;
  const wrong = { ...set, hex: set.hex.slice(0, at + 64) + alteredCoin(set.hex.slice(at + 64)) };
  writeFileSync(path, Uint8Array.fromHex(wrong.hex));
  const load = { path, coins: set.coins, baseHeight: BASE, runId: 900, chainDir: altered.dir };
  const { hash } = loadUtxoSet(load, () => {});
  await altered.close();
  expect(hash).not.toEqual(hashFromHex(set.hash));
  const params = { ...set.params, assumedUtxoSets: [{ ...set.params.assumedUtxoSets[0]!, hash }] };
  await using node = await loadedNode({ ...wrong, params });
  await node.accept(blocks.slice(BASE, 120));
  await node.accept(blocks.slice(0, BASE));
  await poll('the end', () => node.chain.stopped !== null);
  expect(node.chain.stopped!.message).toContain(
    'the loaded UTXO set is not that of the validated chain (hash mismatch',
  );
  await node.restart();
  expect(node.chain.background).toBeNull();
  await node.take(blocks);
  expect(node.chain.tip.height).toBe(125);
  expectWhole(node);
});

/** Changes the height of the first coin by one: the count and the index of the coin are one byte each. */
function alteredCoin(hex: string): string {
  const code = Number.parseInt(hex.slice(4, 6), 16);
  return hex.slice(0, 4) + (code ^ 2).toString(16).padStart(2, '0') + hex.slice(6);
}

test('a file that does not follow the format or has another hash is rejected', async () => {
  await using node = await knowingNode();
  const path = join(tempDir(), 'utxo.dat');
  const bytes = Uint8Array.fromHex(set.hex);
  const body = set.hex.slice(SNAPSHOT_HEADER_SIZE * 2);
  const header = set.hex.slice(0, SNAPSHOT_HEADER_SIZE * 2);
  const reject = async (hex: string, coins = set.coins): Promise<string> => {
    try {
      return String(await loadInto(node, { ...set, hex, coins }, path));
    } catch (error) {
      return (error as Error).message;
    }
  };
  expect(await reject(set.hex.slice(0, -2))).toStartWith(
    'Bad snapshot format or truncated snapshot after deserializing',
  );
  expect(await reject(`${set.hex}00`)).toBe(`Bad snapshot - coins left over after deserializing ${set.coins} coins`);
  const miscounted = new Set<string>();
  for (let coins = set.coins - 20; coins < set.coins; coins++)
    miscounted.add((await reject(set.hex, coins)).replace(/\d+/, 'N'));
  expect([...miscounted].sort()).toEqual([
    'Bad snapshot - coins left over after deserializing N coins',
    'Mismatch in coins count in snapshot metadata and actual snapshot data',
  ]);
  expect(await reject(header + body.slice(0, 64) + alteredCoin(body.slice(64)))).toStartWith(
    `Population failed: Bad snapshot content hash: expected ${set.hash}, got `,
  );
  expect(await reject(`${header}${'ff'.repeat(32)}${body.slice(64)}`)).toStartWith(
    'Bad snapshot data after deserializing',
  );
  const height = `${header}${body.slice(0, 68)}ff7f${body.slice(70)}`;
  expect(await reject(height)).toBe('Bad snapshot data after deserializing 0 coins');
  expect(node.chain.tip.height).toBe(0);
  expect(await loadInto(node, set, path)).toBeNull();
  expect(readFileSync(path)).toEqual(Buffer.from(bytes));
  expect(await reject(set.hex)).toBe("Can't activate a snapshot-based chainstate more than once");
});

test('a start that does not know the loaded set is refused, and removes nothing', async () => {
  await using node = await loadedNode();
  await node.take(blocks.slice(0, 20));
  await node.close();
  expect(() => new TestNode({ from: node.dir })).toThrow(
    `the UTXO set of height ${BASE} that was loaded is not known: start with the same chain.assumeUtxo as when it was loaded`,
  );
  await node.restart();
  expect([node.chain.tip.height, node.chain.background!.tip.height]).toEqual([BASE, 20]);
});

test('a flipped bit anywhere in the file is rejected and changes nothing', async () => {
  await using node = await knowingNode();
  const path = join(tempDir(), 'utxo.dat');
  const intact = Uint8Array.fromHex(set.hex);
  const networks = new Map([[set.params.magic, 'regtest']]);
  const dice = diceOf(intact.length);
  const attempt = async (bytes: Uint8Array): Promise<string | null> => {
    try {
      const { baseHash, coins } = decodeSnapshotMetadata(bytes, set.params.magic, networks);
      return await loadInto(node, { ...set, hex: bytes.toHex(), baseHash, coins }, path);
    } catch (error) {
      expect(error).toBeInstanceOf(SnapshotError);
      return (error as SnapshotError).message;
    }
  };
  const body = Array.from({ length: 150 }, () => SNAPSHOT_HEADER_SIZE + dice(intact.length - SNAPSHOT_HEADER_SIZE));
  for (const at of [...Array(SNAPSHOT_HEADER_SIZE).keys(), ...body, intact.length - 1]) {
    const bytes = intact.slice();
    bytes[at]! ^= 1 << dice(8);
    expect([at, await attempt(bytes)]).toEqual([at, expect.any(String)]);
  }
  expect([node.chain.tip.height, readdirSync(join(node.dir, 'runs'))]).toEqual([0, []]);
  expect(await attempt(intact)).toBeNull();
});

test('a load and its validation that end at any moment are completed by the next start', async () => {
  const path = join(tempDir(), 'utxo.dat');
  const ends: string[] = [];
  let dir = tempDir();
  for (let steps = 1; ; steps += steps < 6 ? 1 : 15) {
    let close = async () => {};
    let last: string | null = null;
    let taken = 0;
    for await (const step of loadSteps(dir, path, (closing) => void (close = closing))) {
      // Lets what the step began go on.
      await new Promise((resolve) => setTimeout(resolve, 1));
      if (++taken < steps) continue;
      last = step;
      break;
    }
    if (last === null) break;
    ends.push(last);
    // The files as they are now: those that a process leaves which ends without any notice to it.
    const copy = tempDir();
    cpSync(dir, copy, { recursive: true });
    await close();
    rmSync(dir, { recursive: true });
    dir = copy;
  }
  expect(new Set(ends).size).toBeGreaterThan(5);
  await using node = new TestNode({ params: set.params, from: dir });
  expectWhole(node);
});

test.each([3, 70])('a load that is killed after step %d is completed by the next start', async (steps) => {
  const dir = tempDir();
  const path = join(tempDir(), 'utxo.dat');
  const child = Bun.spawn([process.execPath, join(import.meta.dir, 'set-loader.ts'), dir, path, String(steps)], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  await child.exited;
  expect(child.signalCode).toBe('SIGKILL');
  for await (const _ of loadSteps(dir, path));
  await using node = new TestNode({ params: set.params, from: dir });
  expectWhole(node);
});
