import { beforeAll, describe, expect, test } from 'bun:test';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { hashToHex } from '../../src/primitives/hash.ts';
import { txidOf } from '../../src/primitives/transaction.ts';
import { directoryWith } from '../lib/chain-directory.ts';
import { post } from '../lib/mempool-node.ts';
import type { AddressTx, Balance, ErrorBody, Reply, Utxo } from '../lib/node-client.ts';
import { cleanUpAfterTests, copyDatadir, type NodeProcess, runProgram, startNode } from '../lib/node-process.ts';
import { peersOf, rpcError, startPeer, tipOf } from '../lib/peer-node.ts';
import { TestPeer } from '../lib/test-peer.ts';
import { extendWide, PAID_ADDRESS, wideChain } from '../lib/wide-blocks.ts';

cleanUpAfterTests();

const TIP = 600;
/** The last block of which pruning may remove the body: 288 are kept. */
const LAST = TIP - 288;
const PRUNE = ['--storage.prune=1', '--storage.fastPrune'];
/** That of `storage.fastPrune`. */
const FILE_LIMIT = 64 * 1024;
const PRUNED_TEXT = 'Block not available (pruned data)';

/** Recent, since limited peers are not asked during initial block download. */
const SPACING = 120;
const chain = wideChain(TIP, { startTime: Math.floor(Date.now() / 1000) - TIP * SPACING, spacing: SPACING });
const hashAt = (height: number) => hashToHex(chain.at(height).hash);
const txAt = (height: number) => hashToHex(txidOf(chain.at(height).txs[1]!));
const ADDRESS = PAID_ADDRESS(chain);

let whole: NodeProcess;
let pruned: NodeProcess;
let pruneHeight: number;

beforeAll(async () => {
  // The files of a chain without the setting would be large ones.
  const datadir = await directoryWith(chain, { fileLimit: FILE_LIMIT });
  const start = (at: string, args: readonly string[]) =>
    startNode({ datadir: at, args: ['--wallet.enabled=false', ...args] });
  [whole, pruned] = await Promise.all([start(copyDatadir(datadir), []), start(datadir, PRUNE)]);
});

const submission = (raw: Uint8Array) => ({ jsonrpc: '2.0', id: 1, method: 'submitblock', params: [raw.toHex()] });
const blockFiles = ({ networkDir }: NodeProcess, kind: string) =>
  readdirSync(join(networkDir, 'chain', 'blocks')).filter((name) => name.startsWith(kind));

describe('pruneblockchain', () => {
  test('has the errors of Core', async () => {
    expect(await rpcError(whole, 'pruneblockchain', [100])).toEqual({
      code: -1,
      message: 'Cannot prune blocks because node is not in prune mode.',
    });
    expect(await rpcError(pruned, 'pruneblockchain', [-1])).toEqual({ code: -8, message: 'Negative block height.' });
    expect(await rpcError(pruned, 'pruneblockchain', [TIP + 1])).toEqual({
      code: -8,
      message: 'Blockchain is shorter than the attempted prune height.',
    });
    expect(await rpcError(pruned, 'pruneblockchain', [2_000_000_000])).toEqual({
      code: -8,
      message: 'Could not find block with at least the specified timestamp.',
    });
  });

  test('removes nothing where no file lies below the height', async () => {
    expect(await pruned.api.rpc('pruneblockchain', [10])).toBe(-1);
    const info = await pruned.api.rpc<Record<string, unknown>>('getblockchaininfo');
    expect(info).toMatchObject({ pruned: true, pruneheight: 0, automatic_pruning: false });
    expect(info).not.toHaveProperty('prune_target_size');
    expect(await pruned.api.json('/api/info')).toMatchObject({ pruned: true, pruneHeight: 0 });
    expect(await whole.api.json('/api/info')).toMatchObject({ pruned: false, pruneHeight: null });
  });

  test('returns the height of the last pruned block, by a height and by a time', async () => {
    const before = blockFiles(pruned, 'blk').length;
    // Two hours are taken from a time, as in Core.
    const last = await pruned.api.rpc<number>('pruneblockchain', [chain.at(200).time + 7200]);
    expect(last).toBeGreaterThan(140);
    expect(last).toBeLessThanOrEqual(200);
    const further = await pruned.api.rpc<number>('pruneblockchain', [TIP]);
    expect(further).toBeGreaterThan(LAST - 70);
    expect(further).toBeLessThanOrEqual(LAST);
    pruneHeight = further + 1;
    expect(await pruned.api.rpc('getblockchaininfo')).toMatchObject({ pruned: true, pruneheight: pruneHeight });
    expect(await pruned.api.json('/api/info')).toMatchObject({ pruned: true, pruneHeight });
    expect(blockFiles(pruned, 'blk').length).toBeLessThan(before - 2);
    expect(blockFiles(pruned, 'rev')).not.toContain('rev00000.dat');
  });

  test('is counted by the metrics', async () => {
    const { text } = await pruned.api.request<string>('/metrics');
    expect(text).toContain(`\nobverse_chain_prune_height ${pruneHeight}\n`);
    const dir = join(pruned.networkDir, 'chain', 'blocks');
    const stored = readdirSync(dir).reduce((sum, name) => sum + statSync(join(dir, name)).size, 0);
    // The sum may be a few seconds old.
    await pruned.until('the size of the files', async () => {
      const metrics = await pruned.api.request<string>('/metrics');
      return metrics.text.includes(`\nobverse_block_file_bytes ${stored}\n`);
    });
  });
});

describe('a pruned block', () => {
  const height = 120;
  const gone = (reply: Reply<unknown>) => {
    expect({ status: reply.status, error: (reply.body as ErrorBody).error }).toMatchObject({
      status: 410,
      error: { code: 'block_pruned', message: PRUNED_TEXT, details: { pruneHeight } },
    });
  };

  test('is 410 over REST where its body is needed', async () => {
    const { api } = pruned;
    for (const path of ['', '/raw', '/hex', '/txs']) gone(await api.request(`/api/block/${hashAt(height)}${path}`));
    gone(await api.request(`/api/block-by-height/${height}`));
    for (const path of ['', '/raw', '/hex', '/proof']) gone(await api.request(`/api/tx/${txAt(height)}${path}`));
    gone(await api.request(`/api/blocks?before=${height}`));
  });

  test('is named among many transactions', async () => {
    const txids = [txAt(height), txAt(chain.height)];
    const { status, body } = await post<{ items: { txid: string }[] }>(pruned.api, '/api/txs/details', { txids });
    expect(status).toBe(200);
    expect(body).toMatchObject({ missing: [], pruned: [txids[0]], remaining: [] });
    expect(body.items.map(({ txid }) => txid)).toEqual([txids[1]!]);
  });

  test('has all that the index holds', async () => {
    for (const path of [
      `/api/block/${hashAt(height)}/header`,
      `/api/block/${hashAt(height)}/status`,
      `/api/block/${hashAt(height)}/txids`,
      `/api/tx/${txAt(height)}/status`,
      `/api/headers?from=0&count=2000`,
    ]) {
      const [mine, twins] = [await pruned.api.request(path), await whole.api.request(path)];
      expect({ path, status: mine.status, body: mine.body }).toEqual({ path, status: 200, body: twins.body });
    }
  });

  test('ends a page of blocks, newest first', async () => {
    const page = await pruned.api.json<{ items: { height: number }[]; next: string | null }>(
      `/api/blocks?before=${pruneHeight + 5}&limit=20`,
    );
    const heights = page.items.map((item) => item.height);
    expect(heights[0]).toBe(pruneHeight + 4);
    expect(heights.at(-1)).toBeLessThanOrEqual(pruneHeight);
    expect(heights.at(-1)).toBeGreaterThan(pruneHeight - 15);
    gone(await pruned.api.request(page.next!));
  });

  test("has Core's errors over JSON-RPC", async () => {
    const missing = { code: -1, message: PRUNED_TEXT };
    for (const level of [0, 1, 2, 3])
      expect(await rpcError(pruned, 'getblock', [hashAt(height), level])).toEqual(missing);
    expect(await rpcError(pruned, 'getblockstats', [height])).toEqual(missing);
    expect(await rpcError(pruned, 'gettxoutproof', [[txAt(height)]])).toEqual(missing);
    expect(await rpcError(pruned, 'getrawtransaction', [txAt(height)])).toEqual(missing);
    expect(await rpcError(pruned, 'getaddressdeltas', [{ addresses: [ADDRESS] }])).toEqual(missing);
    expect(await rpcError(pruned, 'getdescriptoractivity', [[hashAt(height)], [`addr(${ADDRESS})`]])).toEqual(missing);
    expect(await rpcError(pruned, 'invalidateblock', [hashAt(height)])).toEqual(missing);
    expect(await rpcError(pruned, 'getrawtransaction', [txAt(height), 1, hashAt(height)])).toEqual({
      code: -1,
      message: 'Block not available',
    });
  });

  test('is not needed by what the index answers over JSON-RPC', async () => {
    for (const [method, params] of [
      ['getblockheader', [hashAt(height)]],
      ['getblockhash', [height]],
      ['getchaintxstats', [400]],
      ['gettxout', [txAt(height), 1]],
      ['gettxoutsetinfo', ['muhash']],
      ['getaddressbalance', [{ addresses: [ADDRESS] }]],
      ['getaddresstxids', [{ addresses: [ADDRESS] }]],
      ['getaddressutxos', [{ addresses: [ADDRESS] }]],
    ] as const) {
      const mine = await pruned.api.rpc(method, params);
      expect({ method, mine }).toEqual({ method, mine: await whole.api.rpc(method, params) });
    }
  });

  test('is skipped by verifychain, which is then not complete', async () => {
    expect(await pruned.api.rpc('verifychain', [4, 100])).toBe(true);
    expect(await pruned.api.rpc('verifychain', [1, 0])).toBe(false);
    expect(await whole.api.rpc('verifychain', [1, 0])).toBe(true);
  });

  test('holds transactions that are confirmed still, with an unknown fee', async () => {
    const raw = await whole.api.rpc<string>('getrawtransaction', [txAt(height)]);
    const send = ({ api }: NodeProcess) =>
      api.request<Record<string, unknown>>('/api/tx', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ tx: raw }),
      });
    const known = (await send(whole)).body;
    expect(known).toMatchObject({ status: 'already_confirmed', fee: 1000 });
    expect((await send(pruned)).body).toEqual({ ...known, fee: null, feeRate: null });
  });
});

describe('the address index of a pruned node', () => {
  test('has the balance and the unspent outputs', async () => {
    const path = `/api/balance/${ADDRESS}`;
    const [mine, twins] = [await pruned.api.json<Balance>(path), await whole.api.json<Balance>(path)];
    expect(mine).toEqual(twins);
    const utxos = (node: NodeProcess) => node.api.all<Utxo>(`/api/address/${ADDRESS}/utxos?limit=500`);
    const { items } = await utxos(pruned);
    expect(items).toEqual((await utxos(whole)).items);
    expect(items.length).toBe(TIP - 110);
  });

  test('has the history, with the amounts of each transaction', async () => {
    const history = (node: NodeProcess) => node.api.all<AddressTx>(`/api/address/${ADDRESS}/txs?limit=300`);
    const [mine, twins] = [(await history(pruned)).items, (await history(whole)).items];
    const short = ({ txid, status, time, received, sent, net, isCoinbase }: AddressTx & Record<string, unknown>) => ({
      ...{ txid, status, time, received, sent, net, isCoinbase },
    });
    expect(mine.map(short as never)).toEqual(twins.map(short as never));
    const stored = mine.findLastIndex(({ status }) => status.blockHeight! >= pruneHeight);
    expect(mine.slice(0, stored + 1)).toEqual(twins.slice(0, stored + 1));
    expect(mine.at(-1)).toMatchObject({ fee: null, vsize: null, signalsRbf: null, outputs: null, inputs: null });
  });
});

describe('the events of a pruned block', () => {
  const events = (query: string) => pruned.api.request<{ items: { type: string; data: { height: number } }[] }>(query);

  test('that need its transactions are 410, those of the log are not', async () => {
    const { api } = pruned;
    const { items } = (await events('/api/events?after=0&types=newBlock&limit=5')).body;
    expect(items.map(({ data }) => data.height)).toEqual([0, 1, 2, 3, 4]);
    await api.request('/api/watches', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ kind: 'address', value: ADDRESS }),
    });
    const reply = await events('/api/events?after=0&types=addressTransaction&limit=5');
    expect({ status: reply.status, error: (reply.body as unknown as ErrorBody).error }).toMatchObject({
      status: 410,
      error: { code: 'block_pruned', details: { pruneHeight } },
    });
  });

  test('end a WebSocket with an error', async () => {
    const socket = await pruned.api.socket();
    socket.send({ type: 'subscribe', id: 1, data: { events: ['addressTransaction'], replace: true, after: 0 } });
    const { data } = await socket.until('error', ({ type }) => type === 'error');
    expect(data).toMatchObject({ code: 'block_pruned', details: { pruneHeight } });
    expect((await socket.closed).code).toBe(1013);
  });
});

describe('a pruned block that comes back', () => {
  const height = 130;

  test('by submitblock is "inconclusive", and then a duplicate', async () => {
    const submit = async () =>
      (await pruned.api.rpcBody<{ result: unknown }>(submission(chain.at(height).raw))).body.result;
    expect(await submit()).toBe('inconclusive');
    expect(await submit()).toBe('duplicate');
    expect(await tipOf(pruned)).toBe(hashAt(TIP));
    expect(await pruned.api.rpc('getblock', [hashAt(height), 0])).toBe(chain.at(height).raw.toHex());
  });

  test('has neither fees nor spent outputs', async () => {
    const { tx } = await pruned.api.rpc<{ tx: Record<string, unknown>[] }>('getblock', [hashAt(height), 3]);
    expect(tx[1]).not.toHaveProperty('fee');
    expect((tx[1]!.vin as object[])[0]).not.toHaveProperty('prevout');
    expect(await rpcError(pruned, 'getblockstats', [height])).toEqual({
      code: -1,
      message: 'Undo data not available (pruned data)',
    });
    const view = await pruned.api.json<{ fee: null; vin: { prevout: null }[] }>(`/api/tx/${txAt(height)}`);
    expect(view.fee).toBeNull();
    expect(view.vin[0]!.prevout).toBeNull();
  });
});

describe('peers of a pruned node', () => {
  let address: string;
  let limited: NodeProcess;
  let source: Awaited<ReturnType<typeof startPeer>>;

  beforeAll(async () => {
    const [theirs, mine] = [whole.datadir, pruned.datadir];
    await whole.stop();
    await pruned.stop();
    source = await startPeer([], { datadir: theirs });
    whole = source.node;
    const started = await startPeer([source.address], { datadir: mine, args: PRUNE });
    limited = started.node;
    pruned = limited;
    address = started.address;
  });

  test('learn that it serves only the last blocks (BIP-159)', async () => {
    const { localservicesnames } = await limited.api.rpc<{ localservicesnames: string[] }>('getnetworkinfo');
    expect(localservicesnames).toContain('NETWORK_LIMITED');
    expect(localservicesnames).not.toContain('NETWORK');
    const peer = await TestPeer.dial(address);
    peer.introduce();
    // NODE_NETWORK is bit 0, NODE_NETWORK_LIMITED bit 10.
    const { services } = await peer.until('version');
    expect(services & 0x401n).toBe(0x400n);
    peer.close();
  });

  test('get the last 288 blocks and two more; deeper requests end the connection, stored or not', async () => {
    const peer = await TestPeer.join(address);
    const deepest = TIP - 290;
    expect(deepest).toBeGreaterThanOrEqual(pruneHeight);
    for (const height of [TIP, deepest]) {
      peer.send('getdata', { items: [{ kind: 0x4000_0002, hash: chain.at(height).hash }] });
      expect((await peer.until('block')).hash).toEqual(chain.at(height).hash);
    }
    peer.send('getdata', { items: [{ kind: 0x4000_0002, hash: chain.at(deepest - 1).hash }] });
    await peer.closed;
    const other = await TestPeer.join(address);
    other.send('getdata', { items: [{ kind: 0x4000_0002, hash: chain.at(100).hash }] });
    expect(await other.closed).not.toContain('block');
  });

  test('receive no announcement of blocks that may soon be pruned (getblocks)', async () => {
    const peer = await TestPeer.join(address);
    peer.send('getblocks', {
      version: 70016,
      locator: [chain.at(TIP - 400).hash],
      stopHash: new Uint8Array(32) as never,
    });
    peer.send('getblocks', {
      version: 70016,
      locator: [chain.at(TIP - 281).hash],
      stopHash: new Uint8Array(32) as never,
    });
    const { items } = await peer.until('inv');
    expect(hashToHex(items[0]!.hash as never)).toBe(hashAt(TIP - 280));
    peer.close();
  });

  test('that lack a few blocks synchronize from it', async () => {
    const datadir = await directoryWith({ blocks: chain.blocks.slice(0, TIP - 249) });
    const { node } = await startPeer([address], { datadir });
    await node.height(TIP);
    expect(await tipOf(node)).toBe(hashAt(TIP));
    await node.stop();
  });

  test('send a pruned block again on request (getblockfrompeer)', async () => {
    await peersOf(limited, 1);
    const height = 140;
    const { id } = (await limited.api.rpc<{ id: number }[]>('getpeerinfo'))[0]!;
    expect(await rpcError(limited, 'getblock', [hashAt(height), 0])).toEqual({ code: -1, message: PRUNED_TEXT });
    expect(await limited.api.rpc('getblockfrompeer', [hashAt(height), id])).toEqual({});
    await limited.until('the block', async () => {
      const reply = await limited.api.rpcBody<{ result?: string }>({
        jsonrpc: '2.0',
        id: 1,
        method: 'getblock',
        params: [hashAt(height), 0],
      });
      return reply.body.result === chain.at(height).raw.toHex();
    });
    expect(await rpcError(limited, 'getblockfrompeer', [hashAt(height), id])).toEqual({
      code: -1,
      message: 'Block already downloaded',
    });
  });

  test('may bring a branch of 100 blocks with more work', async () => {
    const branch = chain.fork(TIP - 100);
    extendWide(branch, 101);
    for (const { raw } of branch.blocks.slice(-101)) await limited.api.rpcBody(submission(raw));
    await limited.height(TIP + 1);
    expect(await tipOf(limited)).toBe(hashToHex(branch.tip.hash));
    expect(await limited.api.rpc('verifychain', [4, 150])).toBe(true);
  });
});

describe('the start of a pruned node', () => {
  test('is refused with pruning switched off', async () => {
    const { datadir } = pruned;
    await pruned.stop();
    await expect(startNode({ datadir, args: ['--wallet.enabled=false'] })).rejects.toThrow(
      /to go back to unpruned mode/,
    );
  });

  test('is not prevented by a verification, which names what it could not check', async () => {
    const settings = ['--network', 'regtest', '--datadir', pruned.datadir];
    const cannot = /\nblocks below height \d+ are pruned: they and their undo data cannot be checked\n/;
    for (const level of ['quick', 'full']) {
      const { status, stdout } = await runProgram(['verify', '--level', level, ...settings]);
      expect([level, status, stdout]).toEqual([level, 0, expect.stringMatching(cannot)]);
      expect(stdout).toStartWith(`${level} check: no damage; tip at height`);
    }
  });

  test('is not replaced by a reindex, which would need the pruned blocks', async () => {
    const { status, stderr } = await runProgram([
      'reindex',
      '--network',
      'regtest',
      '--datadir',
      pruned.datadir,
      ...PRUNE,
    ]);
    expect(status).not.toBe(0);
    expect(stderr).toContain(
      `obverse: blocks of ${pruned.networkDir}/chain have been pruned, and a reindex needs all of them: remove ${pruned.networkDir}/chain and sync again`,
    );
    const again = await startNode({ datadir: pruned.datadir, args: ['--wallet.enabled=false', ...PRUNE] });
    expect((await again.api.json<{ height: number }>('/api/info')).height).toBeGreaterThanOrEqual(TIP);
    await again.stop();
  });

  test('is refused with a target that is too low, which names what is allowed', async () => {
    for (const value of ['2', '549', '-1', 'x'])
      await expect(startNode({ args: [`--storage.prune=${value}`] })).rejects.toThrow(
        /storage\.prune: .* is not allowed: must be 1 \(only by pruneblockchain\), 0 \(never\), or at least 550/,
      );
  });
});
