import { expect, test } from 'bun:test';
import { regtest } from '../../src/params/regtest.ts';
import { addChecksum } from '../../src/wallet/descriptor/checksum.ts';
import { ExtendedPrivateKey, formatExtendedPublicKey } from '../../src/wallet/keys/extended-key.ts';
import type { ApiClient } from '../lib/node-client.ts';
import { cleanUpAfterTests, type NodeProcess, startNode, tempDir } from '../lib/node-process.ts';

cleanUpAfterTests();

/** Number of addresses that take some seconds to derive, and some tenths of a second to look up. */
const RANGE = 12_000;
const STOP_MS = 5000;
const XPUB = formatExtendedPublicKey(ExtendedPrivateKey.fromSeed(new Uint8Array(32).fill(3)).neuter(), regtest.bip32);

interface WalletInfo {
  readonly keypoolsize: number;
  readonly scanning: false | { readonly progress: number };
}

async function stopped(node: NodeProcess): Promise<void> {
  const { status, signal, ms } = await node.stop('SIGTERM');
  expect([status, signal]).toEqual([0, null]);
  expect(ms).toBeLessThan(STOP_MS);
}

/** Starts rescans until one is found running, and leaves it. */
async function rescanning(api: ApiClient): Promise<void> {
  for (;;) {
    let done = false;
    const rescan = api.rpc('rescanblockchain').then(
      () => (done = true),
      // The node ends while it answers.
      () => (done = true),
    );
    while (!done) if ((await api.rpc<WalletInfo>('getwalletinfo')).scanning) return;
    await rescan;
  }
}

test('SIGTERM ends a node that imports a descriptor, and one that rescans, within seconds', async () => {
  const datadir = tempDir();
  const args = ['--wallet.autocreate=false'];
  const node = await startNode({ datadir, args });
  await node.api.rpc('createwallet', ['watch', true, true, '', false, true, true]);
  const desc = addChecksum(`wpkh(${XPUB}/*)`);
  const request = { desc, range: RANGE, timestamp: 0, active: true };
  const importing = node.api.rpc('importdescriptors', [[request]]).then(
    () => 'imported',
    () => 'cut off',
  );
  await node.until('the descriptor', async () => {
    const { descriptors } = await node.api.rpc<{ descriptors: unknown[] }>('listdescriptors');
    return descriptors.length === 1;
  });
  await stopped(node);
  expect(await importing).toBe('cut off');

  // The remaining addresses are derived after the start.
  const again = await startNode({ datadir, args });
  await again.until('the wallet', async () => (await again.api.rpc<string[]>('listwallets')).includes('watch'));
  await again.until('all addresses', async () => {
    const { keypoolsize, scanning } = await again.api.rpc<WalletInfo>('getwalletinfo');
    return keypoolsize > RANGE && scanning === false;
  });
  await rescanning(again.api);
  await stopped(again);
});
