import { describe, expect, test } from 'bun:test';
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { hashToHex } from '../../src/primitives/hash.ts';
import { basicAuth } from '../lib/basic-auth.ts';
import { chainWithCoins } from '../lib/chain-builder.ts';
import { directoryWith, mixedDirectory } from '../lib/chain-directory.ts';
import { cleanUpAfterTests, type NodeProcess, startNode, tempDir } from '../lib/node-process.ts';
import { generate, rpcError } from '../lib/peer-node.ts';
import { recentChain } from '../lib/sample-chains.ts';
import { type UtxoFile, utxoFileOf } from '../lib/utxo-file-model.ts';
import { hasVectors } from '../lib/vectors.ts';

cleanUpAfterTests();

/** The reply to a call with the cookie of the node. */
async function withCookie(node: NodeProcess, method: string, params: unknown): Promise<object> {
  const authorization = basicAuth(readFileSync(join(node.networkDir, '.cookie'), 'utf8'));
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  return (await fetch(node.api.url, { method: 'POST', headers: { authorization }, body })).json() as Promise<object>;
}

/** Files of Bitcoin Core 31.99 on the mixed chain: height, transactions of the chain, and SHA-256. */
const CORE_FILES: readonly [height: number, txs: number, sha256: string][] = [
  [101, 102, '7f9d817c50f8fa6d1a024a1d507077ee95ebc3e13ba0046de5dcde997db3ab8b'],
  [137, 10_888, '2da59726af05dcc2ccf57e9c7b97b92a7fb3c9704c2674bcd18657bd2828d25c'],
  [160, 17_724, '6c4cc9e61109bee3dc4315927840a13d029843e5dee9a3c6f0b4510cf111404d'],
];

test.skipIf(!hasVectors)('dumptxoutset writes the files that Bitcoin Core writes', async () => {
  const node = await startNode({ datadir: await mixedDirectory() });
  for (const [height, txs, sha256] of CORE_FILES) {
    const file = `${height}.dat`;
    const result = await node.api.rpc<object>('dumptxoutset', { path: file, rollback: height } as never);
    expect(result).toMatchObject({ base_height: height, nchaintx: txs });
    expect(Bun.SHA256.hash(readFileSync(join(node.networkDir, file)), 'hex')).toBe(sha256);
  }
});

describe('dumptxoutset', () => {
  // The block of a megabyte has a transaction with 30,000 outputs, whose indexes have VARINTs in another order.
  const chain = recentChain(125, { payments: 12, bigAt: 112 });
  const made = new Map<number, UtxoFile>();
  const files = (height: number): UtxoFile => {
    const file = made.get(height) ?? utxoFileOf(chain.blocks.slice(0, height + 1));
    made.set(height, file);
    return file;
  };

  test('writes the UTXO set of the tip and of earlier blocks as Core does', async () => {
    const node = await startNode({ datadir: await directoryWith(chain) });
    const { rpc } = { rpc: node.api.rpc.bind(node.api) };
    const calls: [name: string, height: number, params: unknown][] = [
      ['tip.dat', 125, ['tip.dat', 'latest']],
      ['same.dat', 125, { path: 'same.dat', rollback: 125 }],
      ['before.dat', 124, { path: 'before.dat', rollback: 124, in_memory: true }],
      ['height.dat', 111, ['height.dat', 'rollback', { rollback: 111 }]],
      ['hash.dat', 112, ['hash.dat', '', { rollback: hashToHex(chain.at(112).hash) }]],
      ['genesis.dat', 0, { path: 'genesis.dat', rollback: 0 }],
    ];
    const before = await rpc<object>('gettxoutsetinfo');
    for (const [name, height, params] of calls) {
      const { hex, coins, hash, txs } = files(height);
      const path = join(node.networkDir, name);
      expect(await rpc<object>('dumptxoutset', params as unknown[])).toEqual({
        coins_written: coins,
        base_hash: hashToHex(chain.at(height).hash),
        base_height: height,
        path,
        txoutset_hash: hash,
        nchaintx: txs,
      });
      expect(readFileSync(path).toHex() === hex).toBe(true);
      expect(existsSync(`${path}.incomplete`)).toBe(false);
      expect(statSync(path).mode & 0o777).toBe(0o600);
    }
    expect(await rpc<object>('gettxoutsetinfo')).toEqual(before);
    expect(before).toMatchObject({ hash_serialized_3: files(125).hash });
    // Only the cookie, which other machines cannot read, names a file elsewhere.
    const elsewhere = join(tempDir(), 'utxo.dat');
    writeFileSync(`${elsewhere}.incomplete`, 'of an interrupted call');
    for (const path of [elsewhere, '../utxo.dat'])
      expect(await rpcError(node, 'dumptxoutset', [path, 'latest'])).toEqual({
        code: -8,
        message:
          'an API key names a file in the data directory of the network, without a path; the cookie may name any path',
      });
    expect(await withCookie(node, 'dumptxoutset', [elsewhere, 'latest'])).toMatchObject({
      result: { path: elsewhere },
    });
    expect(readFileSync(elsewhere).toHex() === files(125).hex).toBe(true);
  });

  test('writes to a named pipe as soon as it has a reader, and ends when the reader closes it', async () => {
    const node = await startNode({ datadir: await directoryWith(chain) });
    const pipe = join(node.networkDir, 'set.pipe');
    expect(Bun.spawnSync(['mkfifo', pipe]).exitCode).toBe(0);
    const dump = node.api.rpc<object>('dumptxoutset', { path: 'set.pipe', rollback: 124 } as never);
    const reader = Bun.spawn(['cat', pipe], { stdout: 'pipe' });
    const [result, bytes] = await Promise.all([dump, new Response(reader.stdout).bytes()]);
    const { hex, coins } = files(124);
    expect(result).toMatchObject({ path: pipe, coins_written: coins });
    expect(bytes.toHex() === hex).toBe(true);
    expect(existsSync(`${pipe}.incomplete`)).toBe(false);
    const closed = rpcError(node, 'dumptxoutset', ['set.pipe', 'latest']);
    await Bun.spawn(['head', '--bytes=51', pipe], { stdout: 'ignore' }).exited;
    expect(await closed).toEqual({ code: -1, message: `Couldn't write ${pipe}: its reader has closed it` });
  });

  test('rejects what Core rejects, with its messages', async () => {
    const node = await startNode({ datadir: await directoryWith(chainWithCoins(2)) });
    const [, stale] = await generate(node, 2);
    await node.api.rpc('invalidateblock', [stale]);
    const { blocks } = await node.api.rpc<{ blocks: number }>('getblockchaininfo');
    const path = join(node.networkDir, 'there.dat');
    writeFileSync(path, '');
    mkdirSync(join(node.networkDir, 'folder.incomplete'));
    const rows: [params: unknown, code: number, message: string][] = [
      [['x.dat'], -8, 'Invalid snapshot type "" specified. Please specify "rollback" or "latest"'],
      [['x.dat', 'all'], -8, 'Invalid snapshot type "all" specified. Please specify "rollback" or "latest"'],
      [['x.dat', 'latest', { rollback: 1 }], -8, 'Invalid snapshot type "latest" specified with rollback option'],
      [{ path: 'x.dat', rollback: -1 }, -8, 'Target block height -1 is negative'],
      [{ path: 'x.dat', rollback: 5000 }, -8, `Target block height 5000 after current tip ${blocks}`],
      [['x.dat', 'rollback'], -8, `Target block height 299 after current tip ${blocks}`],
      [{ path: 'x.dat', rollback: '00'.repeat(32) }, -5, 'Block not found'],
      [{ path: 'x.dat', rollback: 'aa' }, -8, "hash_or_height must be of length 64 (not 2, for 'aa')"],
      [{ path: 'x.dat', rollback: stale }, -8, 'Block is not in main chain'],
      [
        ['there.dat', 'latest'],
        -8,
        `${path} already exists. If you are sure this is what you want, move it out of the way first`,
      ],
      [['folder', 'latest'], -8, `Couldn't open file ${join(node.networkDir, 'folder.incomplete')} for writing.`],
    ];
    for (const [params, code, message] of rows)
      expect([params, await rpcError(node, 'dumptxoutset', params)]).toEqual([params, { code, message }]);
    const nowhere = join(node.networkDir, 'nowhere/x.dat');
    expect(await withCookie(node, 'dumptxoutset', ['nowhere/x.dat', 'latest'])).toMatchObject({
      error: { code: -8, message: `Couldn't open file ${nowhere}.incomplete for writing.` },
    });
    expect(readFileSync(path).length).toBe(0);
    expect(existsSync(join(node.networkDir, 'x.dat.incomplete'))).toBe(false);
  });
});
