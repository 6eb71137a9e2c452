import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { basicFilter, matchFilter } from '../../../src/indexes/basic-filter.ts';
import { hashToHex } from '../../../src/primitives/hash.ts';
import { txidOf } from '../../../src/primitives/transaction.ts';
import { withSnapshot } from '../../../src/queries/read-env.ts';
import type { ScanStep } from '../../../src/queries/reader-jobs.ts';
import { runScanStep } from '../../../src/rpc/methods/blockchain/scan-steps.ts';
import { addressOf } from '../../../src/script/address.ts';
import { ChainReads } from '../../../src/storage/chain-reads.ts';
import { type ApiFixture, startTestApi } from '../../lib/chain-api.ts';
import type { RegtestChain, TestBlock } from '../../lib/chain-builder.ts';
import { TestNode } from '../../lib/chain-fixture.ts';
import { defaultReadSources } from '../../lib/default-options.ts';
import { recentChain } from '../../lib/sample-chains.ts';
import { lockOf, scriptOfDestination } from '../../lib/tx-builder.ts';

const TPUB =
  'tpubD6NzVbkrYhZ4WaWSyoBvQwbpLkojyoTZPRsgXELWz3Popb3qkjcJyJUGLnL4qHHoQvao8ESaAstxYSnhyswJ76uZPStJRJCTKvosUCJZL5B';

interface Found {
  from_height: number;
  to_height: number;
  relevant_blocks: string[];
  completed: boolean;
}
interface Activity {
  type: 'spend' | 'receive';
  amount: number;
  blockhash?: string;
  height?: number;
}

/** Returns the payments of each block to a script and its spends from it, read from the blocks themselves. */
function touchesOf(chain: RegtestChain, script: string) {
  const outputs = new Map<string, { script: string; value: bigint }>();
  return chain.blocks.map((block) =>
    block.txs.flatMap((tx, index) => {
      const txid = hashToHex(txidOf(tx));
      const spends = tx.inputs.flatMap(({ prevout }, vin) => {
        const prevoutTxid = hashToHex(prevout.txid);
        const spent = index === 0 ? undefined : outputs.get(`${prevoutTxid}:${prevout.vout}`);
        if (spent?.script !== script) return [];
        const names = { spend_txid: txid, spend_vin: vin, prevout_txid: prevoutTxid, prevout_vout: prevout.vout };
        return [{ type: 'spend', amount: Number(spent.value) / 1e8, ...names }];
      });
      const receives = tx.outputs.flatMap(({ value, scriptPubKey }, vout) => {
        outputs.set(`${txid}:${vout}`, { script: scriptPubKey.toHex(), value });
        if (scriptPubKey.toHex() !== script) return [];
        return [{ type: 'receive', amount: Number(value) / 1e8, txid, vout }];
      });
      return [...spends, ...receives];
    }),
  );
}

/** Returns a script that matches the filter of a block by chance. */
function chanceMatch(blocks: readonly TestBlock[], touched: (script: Uint8Array) => boolean) {
  // A script matches an element with a probability of 1 in 784,931 (BIP-158), so one of a hundred blocks has a match.
  let scripts = Array.from({ length: 160_000 }, (_, i) => Uint8Array.of(0x51, 0x51, i >> 16, i >> 8, i));
  for (const block of blocks) {
    const parsed = block.parsed();
    // A block with a coinbase only spends nothing, so its filter holds the scripts of its outputs only.
    const filter = basicFilter(parsed, []);
    if (parsed.txs.length > 1 || !matchFilter(filter, block.hash, scripts)) continue;
    while (scripts.length > 1) {
      const half = scripts.slice(0, scripts.length >> 1);
      scripts = matchFilter(filter, block.hash, half) ? half : scripts.slice(half.length);
    }
    if (!touched(scripts[0]!)) return { block, script: scripts[0]!.toHex() };
  }
  throw new Error('no script matches by chance');
}

describe('scanblocks and getdescriptoractivity', () => {
  const chain = recentChain(160, { payments: 3 });
  const branch = chain.fork(155);
  branch.mine(7);
  const script = scriptOfDestination(lockOf('p2tr', 1));
  const descriptor = `addr(${addressOf(script, chain.params.address)})`;
  const touches = touchesOf(chain, script.toHex());
  const hashAt = (height: number, of: RegtestChain = chain) => hashToHex(of.at(height).hash);
  const relevant = (from: number, to: number) =>
    touches.flatMap((found, height) => (found.length > 0 && height >= from && height <= to ? [hashAt(height)] : []));

  let node: TestNode;
  let api: ApiFixture;
  let off: ApiFixture;
  beforeAll(async () => {
    node = new TestNode({ params: chain.params, filters: true });
    await node.take(chain.blocks.slice(1));
    const sources = (filterIndex: boolean) => defaultReadSources(chain.params, { filterIndex });
    api = startTestApi(node.dir, { params: chain.params, sources: sources(true) });
    off = startTestApi(node.dir, { params: chain.params, sources: sources(false) });
  });
  afterAll(async () => {
    await api.close();
    await off.close();
    await node[Symbol.asyncDispose]();
  });

  const errorOf = async (method: string, params: unknown, on = api) => {
    const reply = await on.post('/', JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }));
    const { error } = (await reply.json()) as { error: { code: number; message: string } };
    return [error.code, error.message];
  };

  test('scanblocks finds the blocks that pay a script or spend from it', async () => {
    expect(relevant(0, 160).length).toBeGreaterThan(3);
    expect(touches.flat().some(({ type }) => type === 'spend')).toBe(false);
    expect(await api.rpc<Found>('scanblocks', 'start', [descriptor])).toEqual({
      from_height: 0,
      to_height: 160,
      relevant_blocks: relevant(0, 160),
      completed: true,
    });
    const some = await api.rpc<Found>('scanblocks', 'start', [descriptor], 110, 140, 'basic', {
      filter_false_positives: true,
    });
    expect(some).toEqual({
      from_height: 110,
      to_height: 140,
      relevant_blocks: relevant(110, 140),
      completed: true,
    });
  });

  test('scanblocks finds blocks that only spend from a script', async () => {
    const mined = scriptOfDestination(lockOf('p2wpkh'));
    const object = { desc: `raw(${mined.toHex()})` };
    const found = await api.rpc<Found>('scanblocks', 'start', [object], 0, null, 'basic', {
      filter_false_positives: true,
    });
    const expected = touchesOf(chain, mined.toHex()).flatMap((all, height) => (all.length > 0 ? [hashAt(height)] : []));
    expect(found.relevant_blocks).toEqual(expected);
    expect(await api.rpc<Found>('scanblocks', 'start', [], 5, 5)).toMatchObject({ to_height: 5, relevant_blocks: [] });
  });

  test('filter_false_positives omits a match by chance', async () => {
    const { block, script: chance } = chanceMatch(chain.blocks.slice(1), (candidate) =>
      touchesOf(chain, candidate.toHex()).some(({ length }) => length > 0),
    );
    const scan = (options: object) =>
      api.rpc<Found>('scanblocks', 'start', [`raw(${chance})`], block.height, block.height, 'basic', options);
    expect((await scan({})).relevant_blocks).toEqual([hashToHex(block.hash)]);
    expect((await scan({ filter_false_positives: true })).relevant_blocks).toEqual([]);
  });

  test('one scan runs at a time, and its progress can be queried and the scan aborted', async () => {
    expect(await api.rpc('scanblocks', 'status')).toBeNull();
    expect(await api.rpc<boolean>('scanblocks', 'abort')).toBe(false);
    // These derivations take a minute.
    const running = api.rpc<Found>('scanblocks', 'start', [{ desc: `wpkh(${TPUB}/*)`, range: 900_000 }], 3);
    while ((await api.rpc('scanblocks', 'status')) === null) await Bun.sleep(1);
    expect(await api.rpc<object>('scanblocks', 'status')).toEqual({ progress: 0, current_height: 3 });
    expect(await errorOf('scanblocks', ['start', [descriptor]])).toEqual([
      -8,
      'Scan already in progress, use action "abort" or "status"',
    ]);
    expect(await api.rpc<boolean>('scanblocks', 'abort')).toBe(true);
    expect(await running).toEqual({ from_height: 3, to_height: 3, relevant_blocks: [], completed: false });
    expect(await api.rpc('scanblocks', 'status')).toBeNull();
  });

  test('a scan ends with the connection of its caller', async () => {
    const gone = new AbortController();
    const params = ['start', [{ desc: `wpkh(${TPUB}/*)`, range: 900_000 }]];
    const lost = fetch(api.url, {
      method: 'POST',
      body: JSON.stringify({ id: 1, method: 'scanblocks', params }),
      headers: { authorization: 'Bearer a-static-key-of-the-tests' },
      signal: gone.signal,
    }).catch(() => null);
    while ((await api.rpc('scanblocks', 'status')) === null) await Bun.sleep(1);
    gone.abort();
    await lost;
    while ((await api.rpc('scanblocks', 'status')) !== null) await Bun.sleep(1);
    expect((await api.rpc<Found>('scanblocks', 'start', [descriptor], 150)).completed).toBe(true);
  });

  for (const [params, code, message] of [
    [['start'], -1, 'scanobjects argument is required for the start action'],
    [['begin'], -8, "Invalid action 'begin'"],
    [['start', [descriptor], 0, 10, 'extended'], -5, 'Unknown filtertype'],
    [['start', [descriptor], 161], -1, 'Invalid start_height'],
    [['start', [descriptor], -1], -1, 'Invalid start_height'],
    [['start', [descriptor], 10, 9], -1, 'Invalid stop_height'],
    [['start', [descriptor], 10, 161], -1, 'Invalid stop_height'],
    [['start', ['addr(x)']], -5, 'Address is not valid'],
    [['start', [1]], -8, 'Scan object needs to be either a string or an object'],
    [
      ['start', [descriptor], 0, 1, 'basic', { filter_false_positives: 1 }],
      -3,
      'JSON value of type number is not of expected type bool',
    ],
    [
      ['start', [1, 2, 3].map((n) => ({ desc: `combo(${TPUB}/${n})`, range: [0, 1] })), 161],
      -1,
      'Invalid start_height',
    ],
  ] as const)
    test(`scanblocks ${JSON.stringify(params).slice(0, 60)}: ${code} ${message}`, async () =>
      expect(await errorOf('scanblocks', params)).toEqual([code, message]));

  test('scanblocks fails without the index', async () => {
    const params = ['start', [descriptor]];
    expect(await errorOf('scanblocks', params, off)).toEqual([-1, 'Index is not enabled for filtertype basic']);
    expect(await off.rpc('scanblocks', 'status')).toBeNull();
  });

  test('getdescriptoractivity lists payments to a script', async () => {
    const heights = touches.flatMap((found, height) => (found.length > 0 ? [height] : []));
    const hashes = heights.map((height) => hashAt(height));
    // The blocks may be given in any order and twice.
    const asked = [...hashes.toReversed(), hashes[0], hashAt(1)];
    const { activity } = await api.rpc<{ activity: Activity[] }>('getdescriptoractivity', asked, [descriptor], false);
    const expected = heights.flatMap((height) =>
      touches[height]!.map((event) => ({ ...event, blockhash: hashAt(height), height })),
    );
    expect(activity).toMatchObject(expected);
    expect(activity).toHaveLength(expected.length);
  });

  test('getdescriptoractivity lists spends from a script', async () => {
    const mined = scriptOfDestination(lockOf('p2wpkh'));
    const params = [[hashAt(120)], [`raw(${mined.toHex()})`], false];
    const { activity } = await api.rpc<{ activity: Activity[] }>('getdescriptoractivity', ...params);
    const expected = touchesOf(chain, mined.toHex())[120]!;
    expect(expected.map(({ type }) => type)).toContain('spend');
    expect(activity).toMatchObject(expected.map((event) => ({ ...event, height: 120 })));
    expect(activity).toHaveLength(expected.length);
  });

  test('errors of getdescriptoractivity are those of Bitcoin Core', async () => {
    const unknownHash = '00'.repeat(32);
    const ask = (...params: unknown[]) => errorOf('getdescriptoractivity', params);
    expect(await ask([unknownHash], [descriptor])).toEqual([-5, 'Block not found']);
    expect(await ask(['ab'], [descriptor])).toEqual([-8, "blockhash must be of length 64 (not 2, for 'ab')"]);
    expect(await ask([], ['addr(x)'], false)).toEqual([-5, 'Address is not valid']);
    expect(await ask([hashAt(1)])).toEqual([
      -1,
      'getdescriptoractivity ["blockhash",...] [scanobjects,...] ( include_mempool )',
    ]);
  });

  test('a scan follows the branch of the block at which it stops', async () => {
    await node.take(branch.blocks.slice(156));
    const reads = new ChainReads(node.dir);
    const run = (step: ScanStep) =>
      withSnapshot(
        { reads, ...defaultReadSources(chain.params), mirror: null },
        () => {},
        (env) => runScanStep(env, step),
      );
    const packed = run({ step: 'scripts', objects: JSON.stringify([descriptor]) }) as Uint8Array;
    const scripts = new SharedArrayBuffer(packed.length);
    new Uint8Array(scripts).set(packed);
    const step = { step: 'filters', scripts, from: 150, stop: chain.at(160).hash, exact: true } as const;
    expect(JSON.parse(run(step) as string)).toEqual({ height: 160, found: relevant(150, 160) });
    const blocks = { step: 'blocks', scripts, blocks: new Uint8Array(0) } as const;
    expect(run(blocks)).toBe('0 0\n');
    reads.close();
    expect(await errorOf('getdescriptoractivity', [[hashAt(160)], [descriptor]])).toEqual([
      -8,
      'Block is not in main chain',
    ]);
  });

  test('a damaged filter fails the scan', async () => {
    const { position } = node.chain.filters!.findRecord(node.chain.tip.ancestor(107)!)!;
    const file = join(node.dir, 'filters/flt00000.dat');
    const bytes = readFileSync(file);
    bytes[position.offset]! ^= 1;
    writeFileSync(file, bytes);
    expect(await errorOf('scanblocks', ['start', [descriptor]])).toEqual([
      -32603,
      'Filter not found. This error is unexpected and indicates index corruption.',
    ]);
  });
});
