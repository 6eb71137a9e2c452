import { expect, test } from 'bun:test';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { hashToHex } from '../../src/primitives/hash.ts';
import { directoryWith } from '../lib/chain-directory.ts';
import { differences, dumpState } from '../lib/chain-state.ts';
import { cleanUpAfterTests, type NodeProcess, startNode } from '../lib/node-process.ts';
import { generate, rpcError, startPeer, tipOf } from '../lib/peer-node.ts';
import { recentChain } from '../lib/sample-chains.ts';
import { type UtxoFile, utxoFileOf } from '../lib/utxo-file-model.ts';

cleanUpAfterTests({ each: true });

const BASE = 112;
const chain = recentChain(125, { payments: 9 });
const file = utxoFileOf(chain.blocks.slice(0, BASE + 1));
const base = hashToHex(chain.at(BASE).hash);
const setting = ({ hash, txs }: UtxoFile = file) => `--chain.assumeUtxo=${BASE}:${hash}:${txs}:${base}`;
const NO_WALLET = '--wallet.enabled=false';

interface Chainstates {
  readonly headers: number;
  readonly chainstates: readonly {
    blocks: number;
    bestblockhash: string;
    validated: boolean;
    snapshot_blockhash?: string;
  }[];
}

const chainstates = async (node: NodeProcess) => (await node.api.rpc<Chainstates>('getchainstates')).chainstates;
const services = async (node: NodeProcess) =>
  (await node.api.rpc<{ localservicesnames: string[] }>('getnetworkinfo')).localservicesnames;

/** A node that has the headers of the chain and no block, with the file in its directory. */
async function freshNode(args: readonly string[] = [], hex = file.hex): Promise<NodeProcess> {
  const node = await startNode({ args: [setting(), ...(args.length > 0 ? args : [NO_WALLET])] });
  for (const { raw } of chain.blocks.slice(1)) await node.api.rpc('submitheader', [raw.slice(0, 80).toHex()]);
  writeFileSync(join(node.networkDir, 'utxo.dat'), Uint8Array.fromHex(hex));
  return node;
}

test('a loaded UTXO set serves at once, and the chain behind it comes from a peer', async () => {
  const source = await startPeer([], { datadir: await directoryWith(chain) });
  await source.node.api.rpc('dumptxoutset', { path: 'utxo.dat', rollback: BASE });
  const first = await freshNode();
  const { datadir, networkDir } = first;
  expect(await first.api.rpc<object>('loadtxoutset', ['utxo.dat'])).toEqual({
    coins_loaded: file.coins,
    tip_hash: base,
    base_height: BASE,
    path: join(networkDir, 'utxo.dat'),
  });
  expect(await tipOf(first)).toBe(base);
  expect(await first.api.rpc<object>('gettxoutsetinfo')).toMatchObject({ hash_serialized_3: file.hash, height: BASE });
  expect(await chainstates(first)).toMatchObject([
    { blocks: 0, validated: true },
    { blocks: BASE, bestblockhash: base, validated: false, snapshot_blockhash: base },
  ]);
  expect(await first.api.rpc<object>('getblockchaininfo')).toMatchObject({
    blocks: BASE,
    headers: 125,
    backgroundvalidation: { snapshotheight: BASE, blocks: 0 },
  });
  const again = await rpcError(first, 'loadtxoutset', ['utxo.dat']);
  expect(again.message).toStartWith(
    "Unable to load UTXO snapshot: Can't activate a snapshot-based chainstate more than once.",
  );
  expect(await services(first)).not.toContain('NETWORK');
  const { body } = await first.api.request<{ checks: { chain: object } }>('/readyz');
  expect(body.checks.chain).toMatchObject({ status: 'degraded', loadedHeight: BASE, validatedHeight: 0 });
  await first.stop('SIGKILL');

  const { node } = await startPeer([source.address], { datadir, args: [setting(), NO_WALLET] });
  expect(await node.height(125)).toBe(125);
  const [mined] = await generate(source.node, 1);
  await node.height(126);
  expect(await tipOf(node)).toBe(mined!);
  await node.until('the validation', async () => (await chainstates(node)).length === 1);
  await node.until('the end', async () => (await chainstates(node))[0]!.snapshot_blockhash === undefined);
  expect(await services(node)).toContain('NETWORK');
  await node.until('the indexes', async () =>
    Object.values(await node.api.rpc<Record<string, { synced: boolean }>>('getindexinfo')).every(
      ({ synced }) => synced,
    ),
  );
  await node.stop();
  await source.node.stop();
  const folder = (dir: string) => join(dir, 'regtest/chain');
  expect(differences(dumpState(folder(datadir)), dumpState(folder(source.node.datadir)))).toEqual([]);
});

test('rejects what Core rejects, with its messages', async () => {
  const node = await freshNode();
  const write = (name: string, hex: string) => writeFileSync(join(node.networkDir, name), Uint8Array.fromHex(hex));
  const path = (name: string) => join(node.networkDir, name);
  const magic = 'fabfb5da';
  const unknown = '11'.repeat(32);
  const rows: [name: string, hex: string, code: number, message: string][] = [
    [
      'magic.dat',
      `00${file.hex.slice(2)}`,
      -22,
      'Unable to parse metadata: Invalid UTXO set snapshot magic bytes. Please check if this is indeed a snapshot file or if you are using an outdated snapshot format.',
    ],
    [
      'version.dat',
      file.hex.replace('ff0200', 'ff0300'),
      -22,
      'Unable to parse metadata: Version of snapshot 3 does not match any of the supported versions.',
    ],
    [
      'main.dat',
      file.hex.replace(magic, 'f9beb4d9'),
      -22,
      'Unable to parse metadata: The network of the snapshot (main) does not match the network of this node (regtest).',
    ],
    [
      'other.dat',
      file.hex.replace(magic, '00000000'),
      -22,
      'Unable to parse metadata: This snapshot has been created for an unrecognized network. This could be a custom signet, a new testnet or possibly caused by data corruption.',
    ],
    [
      'hash.dat',
      file.hex.replace(chain.at(BASE).hash.toHex(), unknown),
      -32603,
      `Unable to load UTXO snapshot: assumeutxo block hash in snapshot metadata not recognized (hash: ${unknown}). The following snapshot heights are available: ${BASE}. (${path('hash.dat')})`,
    ],
    [
      'short.dat',
      file.hex.slice(0, -2),
      -32603,
      `Unable to load UTXO snapshot: Population failed: Bad snapshot format or truncated snapshot after deserializing ${file.coins - 1} coins. (${path('short.dat')})`,
    ],
    [
      'long.dat',
      `${file.hex}00`,
      -32603,
      `Unable to load UTXO snapshot: Population failed: Bad snapshot - coins left over after deserializing ${file.coins} coins. (${path('long.dat')})`,
    ],
  ];
  for (const [name, hex, code, message] of rows) {
    write(name, hex);
    expect([name, await rpcError(node, 'loadtxoutset', [name])]).toEqual([name, { code, message }]);
  }
  expect(await rpcError(node, 'loadtxoutset', ['none.dat'])).toEqual({
    code: -8,
    message: `Couldn't open file ${path('none.dat')} for reading.`,
  });
  expect((await rpcError(node, 'loadtxoutset', [path('utxo.dat')])).code).toBe(-8);
  expect(readdirSync(join(node.networkDir, 'chain/runs'))).toEqual([]);

  const headless = await startNode({ args: [setting(), NO_WALLET] });
  writeFileSync(join(headless.networkDir, 'utxo.dat'), Uint8Array.fromHex(file.hex));
  expect((await rpcError(headless, 'loadtxoutset', ['utxo.dat'])).message).toStartWith(
    `Unable to load UTXO snapshot: The base block header (${base}) must appear in the headers chain. Make sure all headers are syncing, and call loadtxoutset again. (`,
  );
  const whole = await startNode({ datadir: await directoryWith(chain), args: [setting(), NO_WALLET] });
  writeFileSync(join(whole.networkDir, 'utxo.dat'), Uint8Array.fromHex(file.hex));
  expect((await rpcError(whole, 'loadtxoutset', ['utxo.dat'])).message).toStartWith(
    'Unable to load UTXO snapshot: Population failed: Work does not exceed active chainstate. (',
  );
});

test('no wallet may be loaded, and none opens before the chain behind the set is complete', async () => {
  const node = await freshNode(['--wallet.enabled=true']);
  await node.api.rpc('createwallet', ['one']);
  expect((await rpcError(node, 'loadtxoutset', ['utxo.dat'])).message).toStartWith(
    "Unable to load UTXO snapshot: Can't activate a snapshot while wallets are loaded. (",
  );
  for (const name of await node.api.rpc<string[]>('listwallets')) await node.api.rpc('unloadwallet', [name]);
  await node.api.rpc('loadtxoutset', ['utxo.dat']);
  const closed = `Wallet should be able to load successfully after node sync reaches height ${BASE}`;
  expect((await rpcError(node, 'loadwallet', ['one'])).message).toContain(closed);
  for (const { raw } of chain.blocks.slice(1)) await node.api.rpc('submitblock', [raw.toHex()]);
  await node.until('the end', async () => (await chainstates(node))[0]!.snapshot_blockhash === undefined);
  await node.api.rpc('loadwallet', ['one']);
  expect(await node.api.rpc<string[]>('listwallets')).toEqual(['one']);
});
