import { Database } from 'bun:sqlite';
import { beforeAll, describe, expect, test } from 'bun:test';
import { rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { ApiClient } from '../lib/node-client.ts';
import { cleanUpAfterTests, type NodeProcess, startNode } from '../lib/node-process.ts';
import { MINING_ADDRESS } from '../lib/peer-node.ts';

cleanUpAfterTests();

const PASSPHRASE = 'a passphrase';

interface Reply {
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string };
}

/** The key of the node that last vouched for a wallet. */
function voucherOf(path: string): string {
  const db = new Database(path, { readonly: true });
  try {
    return db.query<{ value: string }, []>("SELECT value FROM meta WHERE key = 'vouchedBy'").get()!.value;
  } finally {
    db.close();
  }
}

describe('the file of an encrypted wallet', () => {
  let node: NodeProcess;
  let api: ApiClient;
  beforeAll(async () => {
    node = await startNode({ args: ['--wallet.keypool=10'] });
    api = node.api;
    await api.rpc('createwallet', { wallet_name: 'victim', passphrase: PASSPHRASE });
    await api.rpc('createwallet', ['attacker']);
    const { result: address } = await on('victim', 'getnewaddress');
    await api.rpc('generatetoaddress', [2, address]);
    await api.rpc('generatetoaddress', [100, MINING_ADDRESS]);
  }, 180_000);

  const on = async (wallet: string, method: string, params: unknown = []) => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
    return (await api.request<Reply>(`/wallet/${wallet}`, { method: 'POST', body })).body;
  };
  const pathOf = (wallet: string) => join(node.networkDir, 'wallets', `${wallet}.db`);
  const walletCheck = async () =>
    (await api.request<{ checks: Record<string, { status: string; message?: string }> }>('/readyz')).body.checks.wallet;

  /** Replaces the victim's descriptors of change by those of the attacker, with the same ids. */
  const replaceChange = () => {
    const db = new Database(pathOf('victim'));
    db.query('ATTACH DATABASE ? AS theirs').run(pathOf('attacker'));
    for (const type of ['bech32', 'bech32m']) {
      const source = `active = '${type}' AND internal = 1`;
      const { id } = db.query<{ id: number }, []>(`SELECT id FROM main.descriptors WHERE ${source}`).get()!;
      const { his } = db.query<{ his: number }, []>(`SELECT id AS his FROM theirs.descriptors WHERE ${source}`).get()!;
      db.run(
        `UPDATE main.descriptors SET (key, text, normalized) =
           (SELECT key, text, normalized FROM theirs.descriptors WHERE id = ${his}) WHERE id = ${id}`,
      );
      db.run(`DELETE FROM main.descriptor_cache WHERE descriptor = ${id}`);
      db.run(
        `INSERT INTO main.descriptor_cache SELECT ${id}, kind, expression, position, key FROM theirs.descriptor_cache
         WHERE descriptor = ${his}`,
      );
    }
    db.close();
  };

  test('pays no change to an attacker who replaced descriptors, and the node reports it', async () => {
    expect(statSync(join(node.networkDir, 'wallet-mac.key'))).toMatchObject({ size: 32, mode: 0o100600 });
    expect(await on('victim', 'backupwallet', ['good'])).toMatchObject({ result: null });
    await api.rpc('unloadwallet', ['victim']);
    replaceChange();
    await api.rpc('loadwallet', ['victim']);
    expect(await on('victim', 'getnewaddress')).toMatchObject({ error: { code: -4 } });
    expect(await on('victim', 'walletpassphrase', [PASSPHRASE, 600])).toMatchObject({ result: null });
    for (const [method, params] of [
      ['sendtoaddress', [MINING_ADDRESS, 0.1]],
      ['send', [{ [MINING_ADDRESS]: 0.1 }]],
      ['sendall', [[MINING_ADDRESS]]],
      ['walletcreatefundedpsbt', [[], [{ [MINING_ADDRESS]: 0.1 }]]],
      ['getrawchangeaddress', []],
      ['keypoolrefill', [20]],
    ] as const)
      expect({ method, ...(await on('victim', method, params)) }).toMatchObject({
        method,
        error: { code: -4, message: expect.stringContaining('The wallet fails its integrity check') },
      });
    const { result: info } = await on('victim', 'getwalletinfo');
    expect(info).toMatchObject({ warnings: [expect.stringContaining('Restore it from a backup')] });
    expect(await walletCheck()).toMatchObject({ status: 'fail', message: 'a wallet fails its integrity check' });
    expect(node.stderr).toContain('a wallet fails its integrity check');
    // The descriptors can still be read, for a rescue.
    expect(await on('victim', 'listdescriptors', [true])).toMatchObject({ result: { wallet_name: 'victim' } });
    await api.rpc('unloadwallet', ['victim']);
  });

  test('is not loaded where its rows contradict each other', async () => {
    const db = new Database(pathOf('victim'));
    db.run("UPDATE descriptors SET key = zeroblob(32) WHERE active = 'bech32' AND internal = 1");
    db.close();
    const { error } = await on('', 'loadwallet', ['victim']);
    expect(error).toMatchObject({ code: -18, message: expect.stringMatching(/"victim" is not loaded: .*its id/) });
  });

  test('that is restored gives addresses once it was unlocked, also after a restart, and with another key of the node', async () => {
    await api.rpc('restorewallet', { wallet_name: 'restored', backup_file: 'good', load_on_startup: true });
    expect(await on('restored', 'getnewaddress')).toMatchObject({ error: { code: -13 } });
    expect(await walletCheck()).toMatchObject({ status: 'degraded' });
    expect(await on('restored', 'walletpassphrase', [PASSPHRASE, 600])).toMatchObject({ result: null });
    expect(await on('restored', 'sendtoaddress', [MINING_ADDRESS, 0.1])).toMatchObject({
      result: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    expect(await walletCheck()).toMatchObject({ status: 'ok' });
    // In the background, when its scripts are checked; then it is sound while it is locked.
    await node.until('the node to vouch', () => voucherOf(pathOf('restored')) !== voucherOf(pathOf('victim')));
    expect(await on('restored', 'walletlock')).toMatchObject({ result: null });
    await node.stop();
    const { datadir } = node;
    node = await startNode({ datadir, args: ['--wallet.keypool=10'] });
    api = node.api;
    await node.until('the wallet', async () => (await walletCheck())?.status === 'ok');
    expect(await on('restored', 'getnewaddress')).toMatchObject({ result: expect.stringContaining('bcrt1') });
    await node.stop();
    rmSync(join(node.networkDir, 'wallet-mac.key'));
    node = await startNode({ datadir, args: ['--wallet.keypool=10'] });
    api = node.api;
    expect(await on('restored', 'getnewaddress')).toMatchObject({ error: { code: -13 } });
    expect(await on('restored', 'walletpassphrase', [PASSPHRASE, 600])).toMatchObject({ result: null });
    expect(await on('restored', 'getnewaddress')).toMatchObject({ result: expect.stringContaining('bcrt1') });
  }, 180_000);
});
