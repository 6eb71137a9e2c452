import { beforeAll, describe, expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { regtest } from '../../src/params/regtest.ts';
import { parseAddress } from '../../src/script/address.ts';
import { broadcast, idOf, nodeWith, submit } from '../lib/mempool-node.ts';
import type { ApiClient } from '../lib/node-client.ts';
import { cleanUpAfterTests, type NodeProcess, startNode } from '../lib/node-process.ts';
import { MINING_ADDRESS } from '../lib/peer-node.ts';
import { recentChain } from '../lib/sample-chains.ts';
import { sweep } from '../lib/tx-builder.ts';

cleanUpAfterTests();

const ARGS = ['--wallet.keypool=10'];

interface WalletTx {
  readonly confirmations: number;
  readonly trusted?: boolean;
  readonly blockheight?: number;
}

function scriptOf(address: string): Uint8Array {
  const parsed = parseAddress(address, regtest.address);
  if (!parsed.ok) throw new Error(parsed.error);
  return parsed.script;
}

/** Returns the whole state of the wallet. */
async function stateOf(api: ApiClient) {
  const all = { label: '*', count: 10_000 };
  const [balances, unspent, txs, list] = await Promise.all([
    api.rpc<{ mine: unknown }>('getbalances'),
    api.rpc<{ txid: string; vout: number }[]>('listunspent', [0]),
    api.rpc<{ txcount: number }>('getwalletinfo'),
    api.rpc<{ txid: string; confirmations: number; amount: number }[]>('listtransactions', all),
  ]);
  return {
    balances: balances.mine,
    unspent: unspent.map(({ txid, vout }) => `${txid}:${vout}`).sort(),
    count: txs.txcount,
    list: list.map(({ txid, confirmations, amount }) => `${txid} ${confirmations} ${amount}`).sort(),
  };
}

describe('a wallet that was unloaded', () => {
  let chain = recentChain(140);
  let node: NodeProcess;
  let api: ApiClient;
  let next = 1;
  const coin = () => chain.coin(next++);
  const shown = (txid: string) => api.rpc<WalletTx>('gettransaction', [txid]);
  const own = async () => scriptOf(await api.rpc<string>('getnewaddress'));
  beforeAll(async () => {
    node = await nodeWith(chain, ARGS);
    api = node.api;
  });

  test('finds payments received in the meantime, and spends that conflict with its own', async () => {
    const shared = coin();
    const doomed = sweep(shared, await own());
    await broadcast(api, doomed);
    const pending = sweep(coin(), await own());
    await broadcast(api, pending);
    const [later, missed] = [await own(), await own()];
    await api.rpc('unloadwallet', ['default']);
    // None of the wallet's scripts has a part in the rival.
    const rival = sweep(shared, 'p2wpkh', 9000n);
    await submit(api, chain.mine(1, { txs: [rival, sweep(coin(), later)] }));
    await submit(api, chain.mine(1, { txs: [pending] }));
    const waiting = sweep(coin(), missed);
    await broadcast(api, waiting);
    await api.rpc('loadwallet', ['default']);
    expect(await shown(idOf(doomed))).toMatchObject({ confirmations: -2, trusted: false });
    expect(await shown(idOf(pending))).toMatchObject({ confirmations: 1 });
    expect(await shown(idOf(waiting))).toMatchObject({ confirmations: 0, trusted: false });
    expect(await api.rpc('getbalances')).toMatchObject({ mine: { trusted: 99.99998, untrusted_pending: 49.99999 } });
  });

  test('finds in the mempool a payment to an address that it derives only now', async () => {
    const { descriptors } = await api.rpc<{
      descriptors: { desc: string; internal: boolean; next_index: number }[];
    }>('listdescriptors');
    const { desc, next_index: index } = descriptors.find((each) => !each.internal && each.desc.startsWith('wpkh('))!;
    const addressAt = async (n: number) => (await api.rpc<string[]>('deriveaddresses', [desc, [n, n]]))[0]!;
    const [near, far] = [await addressAt(index + 5), await addressAt(index + 12)];
    const isOwn = async (address: string) => (await api.rpc<{ ismine: boolean }>('getaddressinfo', [address])).ismine;
    // A new wallet derives its addresses bit by bit.
    await node.until('the addresses', () => isOwn(near));
    expect(await isOwn(far)).toBe(false);
    const waiting = sweep(coin(), scriptOf(far));
    await broadcast(api, waiting);
    // More blocks in one move than the wallet is notified of: it has to read them. The payment brings the other into
    // reach.
    const branch = chain.fork();
    const payment = sweep(coin(), scriptOf(near));
    for (let i = 0; i < 9; i++) await submit(api, chain.mine(1));
    await submit(api, branch.mine(1, { txs: [payment] }));
    for (let i = 0; i < 9; i++) await submit(api, branch.mine(1));
    chain = branch;
    await node.until('the wallet', async () => (await shown(idOf(payment)).catch(() => null))?.confirmations === 10);
    await node.until('the mempool', async () => (await shown(idOf(waiting)).catch(() => null))?.confirmations === 0);
  });

  test('drops blocks that were reorganized away', async () => {
    const before = await stateOf(api);
    const payment = sweep(coin(), await own());
    const branch = chain.fork();
    await submit(api, chain.mine(1, { txs: [payment] }));
    expect(await shown(idOf(payment))).toMatchObject({ confirmations: 1 });
    await api.rpc('unloadwallet', ['default']);
    const elsewhere = branch.mine(1);
    await submit(api, elsewhere);
    const tip = branch.mine(1);
    await submit(api, tip);
    await api.rpc('loadwallet', ['default']);
    expect(await shown(idOf(payment))).toMatchObject({ confirmations: 0, trusted: false });
    const info = await api.rpc<{ lastprocessedblock: { height: number } }>('getwalletinfo');
    expect(info.lastprocessedblock.height).toBe(tip.height);
    await submit(api, branch.mine(1, { txs: [payment] }));
    expect(await shown(idOf(payment))).toMatchObject({ confirmations: 1, blockheight: tip.height + 1 });
    expect((await stateOf(api)).count).toBe(before.count + 1);
  });
});

test('a killed node comes back with a wallet that knows its own transactions', async () => {
  let node = await startNode({ args: ARGS });
  const address = await node.api.rpc<string>('getnewaddress');
  await node.api.rpc('generatetoaddress', [3, address]);
  await node.api.rpc('generatetoaddress', [100, MINING_ADDRESS]);
  const sent: string[] = [];
  for (let i = 0; i < 4; i++) {
    sent.push(await node.api.rpc<string>('sendtoaddress', { address: MINING_ADDRESS, amount: 1, request_id: `r${i}` }));
    if (i === 1) await node.api.rpc('generatetoaddress', [1, MINING_ADDRESS]);
  }
  const before = await stateOf(node.api);
  const fresh = await node.api.rpc<string>('getnewaddress', ['last']);
  await node.stop('SIGKILL');
  node = await startNode({ datadir: node.datadir, args: ARGS });
  // Transactions that waited are submitted again.
  await node.until('the mempool', async () => (await node.api.rpc<string[]>('getrawmempool')).length === 2);
  expect(await stateOf(node.api)).toEqual(before);
  expect(await node.api.rpc<string[]>('getaddressesbylabel', ['last'])).toEqual({
    [fresh]: { purpose: 'receive' },
  } as never);
  expect(await node.api.rpc<string>('getnewaddress')).not.toBe(fresh);
  const again = { address: MINING_ADDRESS, amount: 1, request_id: 'r3' };
  expect(await node.api.rpc<string>('sendtoaddress', again)).toBe(sent[3]!);

  // The backup, restored elsewhere, finds everything that can be derived from its keys.
  await node.api.rpc('generatetoaddress', [1, MINING_ADDRESS]);
  const settled = await stateOf(node.api);
  await node.api.rpcBody({ jsonrpc: '2.0', id: 1, method: 'backupwallet', params: ['b'] });
  await node.stop();
  for (const suffix of ['', '-wal', '-shm'])
    rmSync(join(node.networkDir, `wallets/default.db${suffix}`), { force: true });
  node = await startNode({ datadir: node.datadir, args: [...ARGS, '--wallet.autocreate=false'] });
  expect(await node.api.rpc('listwallets')).toEqual([]);
  await node.api.rpc('restorewallet', ['default', 'b']);
  expect(await stateOf(node.api)).toEqual(settled);
});

test('a damaged wallet file stops only its own wallet', async () => {
  let node = await startNode({ args: ARGS });
  await node.stop();
  await Bun.write(join(node.networkDir, 'wallets/default.db'), 'not a wallet at all, but long enough to be read');
  node = await startNode({ datadir: node.datadir, args: ARGS });
  expect(await node.api.rpc('listwallets')).toEqual([]);
  expect(await node.api.rpc('getblockcount')).toBe(0);
  const ready = await node.api.request<{ checks: { wallet: { status: string } } }>('/readyz');
  expect(ready.body.checks.wallet.status).toBe('fail');
  expect(node.stderr).toContain('a wallet cannot be opened');
});
