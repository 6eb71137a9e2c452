import { expect, test } from 'bun:test';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type VerifyReport, verifyFolder } from '../../src/chain/integrity/verify-folder.ts';
import { RegtestChain } from '../lib/chain-builder.ts';
import { type NodeOptions, TestNode, trustingVerifier } from '../lib/chain-fixture.ts';
import { type ChainState, differences, dumpState, ModelChain } from '../lib/chain-state.ts';
import { buildIndexes, loadInto, setAt } from '../lib/loaded-set.ts';
import { cleanUpAfterTests, poll, tempDir } from '../lib/node-process.ts';
import { sweep } from '../lib/tx-builder.ts';

cleanUpAfterTests();

/** About 14 blocks, or the undo data of 70, in each file. */
const FILE_LIMIT = 4096;
/** Core's MIN_BLOCKS_TO_KEEP, and the blocks that it keeps below a lock. */
const KEPT = 288;
const LOCK_BUFFER = 10;
const BASE = 560;
const TIP = 610;

const chain = new RegtestChain({ to: 'anyone' });
chain.mine(110);
for (let n = 1; n <= 500; n++) chain.mine(1, { txs: [sweep(chain.coin(n), 'anyone')] });
const set = setAt(chain, BASE);
const blocks = chain.blocks.slice(1);

async function headersNode(prune: NodeOptions['prune']): Promise<TestNode> {
  const options = prune === undefined ? {} : { prune };
  const node = new TestNode({ params: set.params, fileLimit: FILE_LIMIT, verifier: trustingVerifier, ...options });
  await node.chain.acceptHeaders(blocks.map(({ header }) => header));
  node.chain.startPruning();
  return node;
}

const load = async (node: TestNode) => expect(await loadInto(node, set, join(tempDir(), 'utxo.dat'))).toBeNull();
const pruneHeight = (node: TestNode) => node.chain.pruner!.pruneHeight ?? 0;

function verify(node: TestNode): VerifyReport {
  const check = verifyFolder(node.dir, set.params, 'full');
  for (;;) {
    const { done, value } = check.next();
    if (done) return value;
  }
}

/** The status names what is stored, which pruning changes. */
const withoutStatus = (state: ChainState): ChainState => ({
  ...state,
  chain: state.chain.map((line) => line.replace(/ status \d+/, '')),
});

function expectWhole(node: TestNode): void {
  const raws = chain.blocks.map(({ raw }) => raw);
  const model = withoutStatus(new ModelChain(blocks).state());
  expect(differences(withoutStatus(dumpState(node.dir, raws)), model)).toEqual([]);
}

test('blocks are kept until the chain behind a loaded set has validated them', async () => {
  await using node = await headersNode({ target: null, afterHeight: 100 });
  await load(node);
  await node.take(blocks.slice(BASE));
  await node.chain.pruneUpTo(TIP);
  expect(pruneHeight(node)).toBe(0);
  await node.take(blocks.slice(0, 200));
  await poll('height 200', () => node.chain.background!.tip.height === 200);
  // The indexes need the blocks first.
  await node.chain.pruneUpTo(TIP);
  expect(pruneHeight(node)).toBe(0);
  buildIndexes(node.chain);
  await node.chain.pruneUpTo(TIP);
  const first = pruneHeight(node);
  expect(first).toBeGreaterThan(150);
  expect(first).toBeLessThanOrEqual(200 - LOCK_BUFFER);
  await node.close();
  expect(verify(node)).toMatchObject({
    findings: [],
    pruneHeight: first,
    loadedSet: { height: BASE, validatedHeight: 200 },
  });
  await node.restart();
  node.chain.startPruning();
  expect([node.chain.tip.height, node.chain.background!.tip.height, pruneHeight(node)]).toEqual([TIP, 200, first]);
  await node.take(blocks.slice(200, BASE));
  await poll('the end', () => node.chain.background === null);
  buildIndexes(node.chain);
  await node.chain.pruneUpTo(TIP);
  expect(pruneHeight(node)).toBeGreaterThan(TIP - KEPT - 30);
  expect(pruneHeight(node)).toBeLessThanOrEqual(TIP - KEPT + 1);
  expectWhole(node);
  await node.close();
  const report = verify(node);
  expect(report).toMatchObject({ findings: [], rowsCompared: false, loadedSet: null });
  expect(report.limits).toEqual([
    `blocks below height ${report.pruneHeight} are pruned: they and their undo data cannot be checked`,
    'coins and indexes cannot be compared with pruned blocks: only their checksums and order, and the number and value of the coins, were checked',
  ]);
});

test('a set is loaded into a pruned chain, which is validated from its tip on', async () => {
  await using node = await headersNode({ target: null, afterHeight: 100 });
  await node.take(blocks.slice(0, 500));
  await node.chain.pruneUpTo(TIP);
  const first = pruneHeight(node);
  expect(first).toBeGreaterThan(150);
  await load(node);
  expect(node.chain.tip.height).toBe(BASE);
  await node.restart();
  node.chain.startPruning();
  await node.take(blocks.slice(500));
  await poll('the end', () => node.chain.background === null);
  buildIndexes(node.chain);
  expect(pruneHeight(node)).toBe(first);
  expectWhole(node);
});

test('a target is kept as the chain behind a loaded set is validated', async () => {
  const target = 30_000;
  await using node = await headersNode({ target, afterHeight: 100 });
  await load(node);
  await node.take(blocks.slice(BASE));
  const bytes = () =>
    readdirSync(join(node.dir, 'blocks')).reduce((sum, name) => sum + statSync(join(node.dir, 'blocks', name)).size, 0);
  for (let height = 0; height < BASE; height += 40) {
    await node.take(blocks.slice(height, Math.min(height + 40, BASE)));
    const to = Math.min(height + 40, BASE);
    await poll(`height ${to}`, () => (node.chain.background?.tip.height ?? TIP) >= to);
    buildIndexes(node.chain);
  }
  await poll('the end', () => node.chain.background === null);
  buildIndexes(node.chain);
  await node.chain.pruneUpTo(0);
  await node.chain.settle();
  // 288 blocks and their undo data are kept, which is more than the target.
  expect(pruneHeight(node)).toBeGreaterThan(TIP - KEPT - 60);
  expect(bytes()).toBeLessThan(288 * 500);
  expectWhole(node);
});
