import { Database } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { publicKeyOf } from '../../src/crypto/keys.ts';
import { addChecksum } from '../../src/wallet/descriptor/checksum.ts';
import { cleanUpAfterTests, type NodeProcess, startNode, tempDir } from '../lib/node-process.ts';
import { MINING_ADDRESS } from '../lib/peer-node.ts';

cleanUpAfterTests();

const STOP_MS = 5000;
/** Descriptors that take some tenths of a second to load. */
const DESCRIPTORS = 1000;
/** Coins that take about half a second to spend. */
const COINS = 500;

interface RpcInfo {
  readonly active_commands: readonly { readonly method: string; readonly duration: number }[];
}

/**
 * Makes a call and stops the node once the call has run for a number of milliseconds, or at once when it has ended.
 * Returns whether the stop interrupted the call.
 */
async function stopDuring(node: NodeProcess, runMs: number, method: string, params: unknown[]): Promise<boolean> {
  const { api } = node;
  let outcome: 'running' | 'done' | 'interrupted' = 'running';
  const call = api.rpc(method, params).then(
    () => (outcome = 'done'),
    () => (outcome = 'interrupted'),
  );
  await node.until(
    `${method} to run`,
    async () => {
      if (outcome !== 'running') return true;
      const { active_commands: commands } = await api.rpc<RpcInfo>('getrpcinfo');
      return commands.some((command) => command.method === method && command.duration >= runMs * 1000);
    },
    30_000,
    1,
  );
  const { status, signal, ms } = await node.stop('SIGTERM');
  expect([status, signal]).toEqual([0, null]);
  expect(ms).toBeLessThan(STOP_MS);
  await call;
  return outcome === ('interrupted' as string);
}

/** Throws where SQLite finds damage in a wallet's file; the node must not run. */
function checkFile(node: NodeProcess, wallet: string): void {
  const db = new Database(join(node.networkDir, `wallets/${wallet}.db`));
  try {
    expect(db.query('PRAGMA integrity_check').all()).toEqual([{ integrity_check: 'ok' }]);
  } finally {
    db.close();
  }
}

function publicKeyHex(seed: number): string {
  const secret = new Uint8Array(32).fill(1);
  new DataView(secret.buffer).setUint32(0, seed);
  return publicKeyOf(secret, true).toHex();
}

describe('SIGTERM', () => {
  test('during loadwallet ends the node within seconds, and the wallet loads whole afterwards', async () => {
    const datadir = tempDir();
    const args = ['--wallet.autocreate=false'];
    const node = await startNode({ datadir, args });
    await node.api.rpc('createwallet', ['watch', true, true]);
    const requests = Array.from({ length: DESCRIPTORS }, (_, i) => ({
      desc: addChecksum(`wpkh(${publicKeyHex(i)})`),
      timestamp: 'now',
    }));
    const imported = await node.api.rpc<{ success: boolean }[]>('importdescriptors', [requests]);
    expect(imported.filter(({ success }) => !success)).toEqual([]);
    const address = await node.api.rpc<string[]>('deriveaddresses', [requests[DESCRIPTORS - 1]!.desc]);
    await node.api.rpc('generatetoaddress', [3, address[0]]);
    const contents = async ({ api }: NodeProcess) => ({
      descriptors: await api.rpc<{ descriptors: unknown[] }>('listdescriptors'),
      balances: await api.rpc('getbalances'),
      transactions: await api.rpc<unknown[]>('listtransactions'),
    });
    const before = await contents(node);
    expect(before.descriptors.descriptors).toHaveLength(DESCRIPTORS);
    expect(before.transactions).toHaveLength(3);
    await node.api.rpc('unloadwallet', ['watch', false]);

    let interrupted = 0;
    let running = node;
    for (const runMs of [0, 30, 80]) {
      if (await stopDuring(running, runMs, 'loadwallet', ['watch'])) interrupted++;
      checkFile(running, 'watch');
      running = await startNode({ datadir, args });
      const loaded = await running.api.rpc<string[]>('listwallets');
      if (loaded.includes('watch')) await running.api.rpc('unloadwallet', ['watch', false]);
    }
    expect(interrupted).toBeGreaterThan(0);
    await running.api.rpc('loadwallet', ['watch']);
    expect(await contents(running)).toEqual(before);
    await running.stop();
  });

  test('during a send of many coins ends the node within seconds, and nothing is half sent', async () => {
    const datadir = tempDir();
    const args = ['--wallet.keypool=20'];
    let node = await startNode({ datadir, args });
    const fund = await node.api.rpc<string>('getnewaddress');
    await node.api.rpc('generatetoaddress', [2, fund]);
    await node.api.rpc('generatetoaddress', [100, MINING_ADDRESS]);
    const amounts: Record<string, number> = {};
    for (let i = 0; i < COINS; i++) amounts[await node.api.rpc<string>('getnewaddress')] = 0.01;
    await node.api.rpc('sendmany', ['', amounts]);
    await node.api.rpc('generatetoaddress', [1, MINING_ADDRESS]);
    interface Unspent {
      readonly txid: string;
      readonly vout: number;
    }
    const unspent = async () =>
      (await node.api.rpc<Unspent[]>('listunspent')).map(({ txid, vout }) => `${txid}:${vout}`).sort();
    const coins = await unspent();
    expect(coins.length).toBeGreaterThan(COINS);
    const balances = await node.api.rpc('getbalances');

    let interrupted = 0;
    for (const runMs of [0, 50, 200]) {
      const stopped = await stopDuring(node, runMs, 'sendall', [[MINING_ADDRESS]]);
      checkFile(node, 'default');
      node = await startNode({ datadir, args });
      await node.until('the wallet', async () => (await node.api.rpc<string[]>('listwallets')).includes('default'));
      const left = await unspent();
      // All coins are spent by one complete transaction, or none is.
      if (left.length === 0) break;
      expect(stopped).toBe(true);
      expect(left).toEqual(coins);
      expect(await node.api.rpc('getbalances')).toEqual(balances);
      interrupted++;
    }
    expect(interrupted).toBeGreaterThan(0);
    if ((await unspent()).length > 0) await node.api.rpc('sendall', [[MINING_ADDRESS]]);
    await node.until('the payment in the mempool', async () => {
      const [txid] = await node.api.rpc<string[]>('getrawmempool');
      if (!txid) return false;
      const { vin } = await node.api.rpc<{ vin: unknown[] }>('getrawtransaction', [txid, 1]);
      return vin.length === coins.length;
    });
    await node.api.rpc('generatetoaddress', [1, MINING_ADDRESS]);
    expect(await unspent()).toEqual([]);
    expect(await node.api.rpc('getbalance')).toBe(0);
    await node.stop();
  });
});
