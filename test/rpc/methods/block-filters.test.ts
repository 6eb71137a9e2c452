import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { hashToHex } from '../../../src/primitives/hash.ts';
import { type ApiFixture, startTestApi } from '../../lib/chain-api.ts';
import type { RegtestChain } from '../../lib/chain-builder.ts';
import { TestNode } from '../../lib/chain-fixture.ts';
import { defaultReadSources } from '../../lib/default-options.ts';
import { FilterModel } from '../../lib/filter-model.ts';
import { recentChain } from '../../lib/sample-chains.ts';

const NAME = 'basic block filter index';
const NOBODY = '00'.repeat(32);

describe('getblockfilter and getindexinfo', () => {
  const chain = recentChain(110, { payments: 2 });
  const branch = chain.fork(105);
  branch.mine(3);
  const model = new FilterModel(chain.blocks.map(({ raw }) => raw)).filters;
  const hashAt = (height: number, of: RegtestChain = chain) => hashToHex(of.at(height).hash);
  const sources = (filterIndex: boolean) => defaultReadSources(chain.params, { filterIndex });

  let node: TestNode;
  let on: ApiFixture;
  let off: ApiFixture;
  beforeAll(async () => {
    node = new TestNode({ params: chain.params });
    await node.take(chain.blocks.slice(1, 101));
    await node.restart({ filters: true });
    on = startTestApi(node.dir, { params: chain.params, sources: sources(true) });
    off = startTestApi(node.dir, { params: chain.params, sources: sources(false) });
  });
  afterAll(async () => {
    await on.close();
    await off.close();
    await node[Symbol.asyncDispose]();
  });

  const errorOf = async (api: ApiFixture, ...params: unknown[]) => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'getblockfilter', params });
    const { error } = (await (await api.post('/', body)).json()) as { error: { code: number; message: string } };
    return [error.code, error.message];
  };
  const infoOf = async (api: ApiFixture) =>
    (await api.json<{ indexes: { filter: unknown } }>('/api/info')).indexes.filter;

  test('getblockfilter fails without the index', async () => {
    expect(await errorOf(off, hashAt(5))).toEqual([-1, 'Index is not enabled for filtertype basic']);
    expect(await errorOf(off, NOBODY)).toEqual([-1, 'Index is not enabled for filtertype basic']);
    expect(await errorOf(off, hashAt(5), 'extended')).toEqual([-5, 'Unknown filtertype']);
    expect(await off.rpc<object>('getindexinfo')).toEqual({ txindex: { synced: true, best_block_height: 100 } });
    expect(await off.rpc<object>('getindexinfo', NAME)).toEqual({});
    expect(await infoOf(off)).toEqual({ enabled: false, height: null, synced: false });
  });

  test('an index under construction is reported as not synced', async () => {
    expect(await on.rpc<object>('getindexinfo', NAME)).toEqual({ [NAME]: { synced: false, best_block_height: 0 } });
    for (let i = 0; i < 41; i++) {
      node.clock.advance(1_000);
      node.chain.filters!.buildMissing(0, node.clock);
    }
    expect(await on.rpc<object>('getindexinfo', NAME)).toEqual({ [NAME]: { synced: false, best_block_height: 39 } });
    expect(await infoOf(on)).toEqual({ enabled: true, height: 39, synced: false });
    const { filter, header } = model[39]!;
    expect(await on.rpc<object>('getblockfilter', hashAt(39))).toEqual({ filter, header });
    expect(await errorOf(on, hashAt(40))).toEqual([
      -1,
      'Filter not found. Block filters are still in the process of being indexed.',
    ]);
  });

  test('a complete index returns the filters of the chain', async () => {
    node.chain.filters!.buildMissing(1, node.clock);
    await node.take(chain.blocks.slice(101));
    expect(await on.rpc<object>('getindexinfo')).toEqual({
      txindex: { synced: true, best_block_height: 110 },
      [NAME]: { synced: true, best_block_height: 110 },
    });
    expect(await on.rpc<object>('getindexinfo', 'txindex')).toEqual({
      txindex: { synced: true, best_block_height: 110 },
    });
    expect(await infoOf(on)).toEqual({ enabled: true, height: 110, synced: true });
    for (const [height, { filter, header }] of model.entries())
      expect(await on.rpc<object>('getblockfilter', hashAt(height), 'basic')).toEqual({ filter, header });
  });

  test('errors are those of Bitcoin Core', async () => {
    await node.take(branch.blocks.slice(106));
    expect(await errorOf(on, NOBODY)).toEqual([-5, 'Block not found']);
    expect(await errorOf(on, NOBODY, 'all')).toEqual([-5, 'Unknown filtertype']);
    expect(await errorOf(on, 'ab')).toEqual([-8, "blockhash must be of length 64 (not 2, for 'ab')"]);
    expect(await errorOf(on, hashAt(106, branch))).toEqual([
      -5,
      'Filter not found. Block was not connected to active chain.',
    ]);
  });

  test('a damaged filter is not returned', async () => {
    const { position } = node.chain.filters!.findRecord(node.chain.tip.ancestor(107)!)!;
    const file = join(node.dir, 'filters/flt00000.dat');
    const bytes = readFileSync(file);
    bytes[position.offset]! ^= 1;
    writeFileSync(file, bytes);
    expect(await errorOf(on, hashAt(107))).toEqual([
      -32603,
      'Filter not found. This error is unexpected and indicates index corruption.',
    ]);
  });
});
