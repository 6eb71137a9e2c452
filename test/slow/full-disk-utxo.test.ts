import { afterAll, expect, setDefaultTimeout, test } from 'bun:test';
import { cpSync, readdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { hashToHex } from '../../src/primitives/hash.ts';
import { directoryWith } from '../lib/chain-directory.ts';
import { cleanUpAfterTests, startNode, tempDir } from '../lib/node-process.ts';
import { rpcError } from '../lib/peer-node.ts';
import { recentChain } from '../lib/sample-chains.ts';
import { utxoFileOf } from '../lib/utxo-file-model.ts';

setDefaultTimeout(300_000);

const disk = tempDir();
const mounted =
  process.getuid?.() === 0 &&
  Bun.spawnSync(['mount', '-t', 'tmpfs', '-o', 'size=48m', 'tmpfs', disk], { stderr: 'ignore' }).success;
if (!mounted) console.warn('a small disk cannot be mounted: the tests of UTXO sets on a full disk are skipped');
afterAll(() => {
  if (mounted) Bun.spawnSync(['umount', '-l', disk]);
});

// It follows the unmounting, since a mounted directory cannot be removed.
cleanUpAfterTests();

const BASE = 112;
const chain = recentChain(125, { bigAt: 105 });
const file = utxoFileOf(chain.blocks.slice(0, BASE + 1));
const set = `--chain.assumeUtxo=${BASE}:${file.hash}:${file.txs}:${hashToHex(chain.at(BASE).hash)}`;
const NO_WALLET = '--wallet.enabled=false';
/** Blocks are kept while the disk is full. */
const ARGS = [NO_WALLET, set, '--ready.disk.fail=0', '--ready.disk.degraded=0'];

const filler = join(disk, 'filler');
/** Fills the disk but for some bytes. */
function fill(left: number): void {
  const { bavail, bsize } = statfsSync(disk);
  writeFileSync(filler, new Uint8Array(bavail * bsize - left));
}
const free = () => rmSync(filler, { force: true });
const scratch = (networkDir: string) =>
  readdirSync(join(networkDir, 'chain/runs')).filter((name) => /scratch/.test(name));

test.skipIf(!mounted)('a dump that fills the disk is named, removed, and can be written later', async () => {
  const datadir = join(disk, 'dump');
  cpSync(await directoryWith(chain), datadir, { recursive: true });
  const node = await startNode({ datadir, args: ARGS });
  fill(300_000);
  for (const params of [['utxo.dat', 'latest'], { path: 'utxo.dat', rollback: BASE }])
    expect(await rpcError(node, 'dumptxoutset', params)).toEqual({
      code: -1,
      message: `Couldn't write ${join(node.networkDir, 'utxo.dat')}: no space left on the device`,
    });
  expect([readdirSync(node.networkDir).filter((name) => name.startsWith('utxo')), scratch(node.networkDir)]).toEqual([
    [],
    [],
  ]);
  free();
  expect(await node.api.rpc<object>('dumptxoutset', ['utxo.dat', 'latest'])).toMatchObject({ base_height: 125 });
  await node.stop();
  rmSync(datadir, { recursive: true });
});

test.skipIf(!mounted)('a load that fills the disk is named, changes nothing, and can be done later', async () => {
  const node = await startNode({ datadir: join(disk, 'load'), args: ARGS });
  for (const { raw } of chain.blocks.slice(1)) await node.api.rpc('submitheader', [raw.slice(0, 80).toHex()]);
  const path = join(node.networkDir, 'utxo.dat');
  writeFileSync(path, Uint8Array.fromHex(file.hex));
  fill(300_000);
  expect(await rpcError(node, 'loadtxoutset', ['utxo.dat'])).toEqual({
    code: -32603,
    message: `Unable to load UTXO snapshot: Population failed: no space left on the device. (${path})`,
  });
  expect(readdirSync(join(node.networkDir, 'chain/runs'))).toEqual([]);
  free();
  expect(await node.api.rpc<object>('loadtxoutset', ['utxo.dat'])).toMatchObject({ base_height: BASE });
  for (const { raw } of chain.blocks.slice(1)) await node.api.rpc('submitblock', [raw.toHex()]);
  await node.height(125);
  await node.stop();
  rmSync(node.datadir, { recursive: true });
});
