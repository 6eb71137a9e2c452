import { expect, test } from 'bun:test';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { hashToHex } from '../../src/primitives/hash.ts';
import { directoryWith } from '../lib/chain-directory.ts';
import { differences, dumpState } from '../lib/chain-state.ts';
import { cleanUpAfterTests, type NodeProcess, Program, runProgram, startNode } from '../lib/node-process.ts';
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

test('a wallet that needs no block below the set opens at once, the others when the chain behind it is complete', async () => {
  const node = await freshNode(['--wallet.enabled=true', '--wallet.autocreate=false']);
  const { datadir } = node;
  await node.api.rpc('createwallet', ['old', false, false, '', false, true, true]);
  await node.api.rpc('backupwallet', ['old.db']);
  expect((await rpcError(node, 'loadtxoutset', ['utxo.dat'])).message).toStartWith(
    "Unable to load UTXO snapshot: Can't activate a snapshot while wallets are loaded. (",
  );
  for (const name of await node.api.rpc<string[]>('listwallets'))
    await node.api.rpc('unloadwallet', [name, name === 'old']);
  await node.api.rpc('loadtxoutset', ['utxo.dat']);
  const closed = `Wallet loading failed. Error loading wallet. Wallet requires blocks to be downloaded, and software does not currently support loading wallets while blocks are being downloaded out of order when using assumeutxo snapshots. Wallet should be able to load successfully after node sync reaches height ${BASE}`;
  expect(await rpcError(node, 'loadwallet', ['old'])).toEqual({ code: -4, message: closed });
  expect(await rpcError(node, 'restorewallet', ['restored', 'old.db'])).toEqual({ code: -4, message: closed });
  await node.api.rpc('createwallet', ['new', false, false, '', false, true, true]);
  const address = await node.api.rpc<string>('getnewaddress');
  for (const { raw } of chain.blocks.slice(BASE + 1)) await node.api.rpc('submitblock', [raw.toHex()]);
  await node.api.rpc('generatetoaddress', [2, address]);
  const balances = async (at: NodeProcess) =>
    (await at.api.rpc<{ mine: { immature: number } }>('getbalances')).mine.immature;
  expect(await balances(node)).toBe(100);
  expect((await rpcError(node, 'rescanblockchain', [5])).message).toStartWith(
    'Failed to rescan unavailable blocks likely due to an in-progress assumeutxo background sync.',
  );
  await node.stop('SIGKILL');

  const again = await startNode({ datadir, args: [setting(), '--wallet.enabled=true'] });
  expect(await again.api.rpc<string[]>('listwallets')).toEqual(['new']);
  await again.until('the balance', async () => (await balances(again)) === 100);
  const wallets = async () =>
    (await again.api.request<{ checks: { wallet: object } }>('/readyz')).body.checks.wallet as { status: string };
  expect(await wallets()).toMatchObject({ status: 'degraded', waiting: ['old'] });
  for (const { raw } of chain.blocks.slice(1, BASE + 1)) await again.api.rpc('submitblock', [raw.toHex()]);
  await again.until('both wallets', async () => (await again.api.rpc<string[]>('listwallets')).length === 2);
  expect(await chainstates(again)).toHaveLength(1);
  await again.until('the check', async () => (await wallets()).status === 'ok');
  await again.api.rpc('restorewallet', ['restored', 'old.db']);
  await again.stop();
});

/** Kills a reindex after its start, and returns its log. A reindex that ends before the signal arrives is repeated. */
async function killReindex(args: readonly string[]): Promise<string> {
  let log = '';
  for (let attempt = 0; attempt < 10; attempt++) {
    const program = new Program(['reindex', ...args]);
    await program.output('stderr', /reindex begins/);
    program.kill('SIGKILL');
    const { signal } = await program.end();
    log += program.stderr;
    if (signal === 'SIGKILL') return log;
  }
  throw new Error('every reindex ended before it was killed');
}

test('verify and reindex of a directory with a loaded set that is not validated, with kill -9 in the middle', async () => {
  const first = await freshNode();
  const { datadir } = first;
  await first.api.rpc('loadtxoutset', ['utxo.dat']);
  for (const { raw } of [...chain.blocks.slice(BASE + 1), ...chain.blocks.slice(1, 60)])
    await first.api.rpc('submitblock', [raw.toHex()]);
  await first.until('height 59', async () => (await chainstates(first))[0]!.blocks === 59);
  await first.stop('SIGKILL');
  const settings = ['--network', 'regtest', '--datadir', datadir, setting()];
  for (const level of ['quick', 'full']) {
    const { status, stdout } = await runProgram(['verify', '--level', level, ...settings]);
    expect([level, status, stdout]).toEqual([level, 0, expect.stringContaining(`${level} check: no damage; tip at`)]);
    expect(stdout).toContain(
      `the loaded UTXO set of height ${BASE} is not validated yet: the blocks above height 59 up to it may be missing\n`,
    );
  }
  expect((await runProgram(['reindex', '--indexes', ...settings])).status).toBe(0);
  const second = await startNode({ datadir, args: [setting(), NO_WALLET] });
  expect(await chainstates(second)).toMatchObject([{ blocks: 59 }, { blocks: 125, validated: false }]);
  await second.stop('SIGKILL');

  expect(await killReindex(settings)).toContain('the reindex drops the loaded UTXO set, which is not validated yet');
  await killReindex(['--restart', ...settings]);
  expect((await runProgram(['start', ...settings])).stderr).toContain('was interrupted: run obverse reindex');
  const done = await runProgram(['reindex', ...settings]);
  expect([done.status, done.stdout]).toEqual([0, expect.stringContaining('tip at height 59, ')]);
  const third = await startNode({ datadir, args: [setting(), NO_WALLET] });
  expect(await third.height(59)).toBe(59);
  // The set can be loaded again, on top of what is validated.
  for (const { raw } of chain.blocks.slice(60)) await third.api.rpc('submitheader', [raw.slice(0, 80).toHex()]);
  await third.api.rpc('loadtxoutset', ['utxo.dat']);
  expect(await chainstates(third)).toMatchObject([{ blocks: 59 }, { blocks: BASE, validated: false }]);
  for (const { raw } of chain.blocks.slice(60)) await third.api.rpc('submitblock', [raw.toHex()]);
  await third.until('the end', async () => (await chainstates(third)).length === 1);
  await third.height(125);
  await third.stop();
  expect((await runProgram(['verify', ...settings])).status).toBe(0);
});
