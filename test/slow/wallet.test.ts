import { beforeAll, describe, expect, test } from 'bun:test';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { regtest } from '../../src/params/regtest.ts';
import { hashToHex } from '../../src/primitives/hash.ts';
import { parseAddress } from '../../src/script/address.ts';
import type { RegtestChain } from '../lib/chain-builder.ts';
import { broadcast, idOf, mine, nodeWith, submit } from '../lib/mempool-node.ts';
import type { ApiClient } from '../lib/node-client.ts';
import { cleanUpAfterTests, type NodeProcess, startNode, WITH_WALLET } from '../lib/node-process.ts';
import { recentChain } from '../lib/sample-chains.ts';
import { spend, sweep } from '../lib/tx-builder.ts';

cleanUpAfterTests();

const COIN = 100_000_000n;

interface RpcFailure {
  readonly error: { readonly code: number; readonly message: string };
}

/** A call to one wallet of a node; the whole reply. */
async function walletCall<T>(api: ApiClient, wallet: string, method: string, params: unknown = []) {
  const { body } = await api.request<{ result: T } & RpcFailure>(`/wallet/${encodeURIComponent(wallet)}`, {
    method: 'POST',
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  });
  return body;
}

async function failure(api: ApiClient, method: string, params: unknown = []): Promise<[number, string]> {
  const { body } = await api.rpcBody<RpcFailure>({ jsonrpc: '2.0', id: 1, method, params });
  return [body.error?.code, body.error?.message];
}

function scriptOf(address: string): Uint8Array {
  const parsed = parseAddress(address, regtest.address);
  if (!parsed.ok) throw new Error(parsed.error);
  return parsed.script;
}

interface Entry {
  readonly txid: string;
  readonly category: string;
  readonly amount: number;
  readonly confirmations: number;
  readonly address: string;
  readonly label?: string;
  readonly abandoned: boolean;
  readonly walletconflicts: readonly string[];
  readonly mempoolconflicts: readonly string[];
  readonly trusted?: boolean;
}

describe('the first wallet of a node', () => {
  const chain = recentChain(130);
  let node: NodeProcess;
  let api: ApiClient;
  let next = 1;
  beforeAll(async () => {
    node = await nodeWith(chain, [WITH_WALLET]);
    api = node.api;
  });

  const coin = () => chain.coin(next++);
  const balances = async () =>
    (await api.rpc<{ mine: Record<string, number> }>('getbalances')).mine as Record<string, number>;

  test('has addresses of every type and an empty balance, with no parameters at all', async () => {
    expect(await api.rpc<string>('getnewaddress', [])).toStartWith('bcrt1q');
    expect(await api.rpc('getbalance', [])).toBe(0);
    const types = { legacy: /^[mn]/, 'p2sh-segwit': /^2/, bech32: /^bcrt1q/, bech32m: /^bcrt1p/ };
    for (const [type, form] of Object.entries(types)) {
      const address = await api.rpc<string>('getnewaddress', ['of a type', type]);
      expect(address).toMatch(form);
      const info = await api.rpc<Record<string, unknown>>('getaddressinfo', [address]);
      expect(info).toMatchObject({ address, ismine: true, solvable: true, ischange: false, labels: ['of a type'] });
      const change = await api.rpc<string>('getrawchangeaddress', [type]);
      expect(await api.rpc('getaddressinfo', [change])).toMatchObject({ ismine: true, ischange: true, labels: [] });
    }
    expect(await failure(api, 'getnewaddress', ['', 'x'])).toEqual([-5, "Unknown address type 'x'"]);
    expect(await failure(api, 'getnewaddress', ['*'])).toEqual([-11, 'Invalid label name']);
    expect(await failure(api, 'getbalance', ['x'])).toEqual([
      -32,
      'dummy first argument must be excluded or set to "*".',
    ]);
    const file = join(node.networkDir, 'wallets/default.db');
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  test('a payment is pending, then confirmed, in every method', async () => {
    const address = await api.rpc<string>('getnewaddress', ['invoice 7', 'bech32m']);
    const payment = spend(coin(), [
      { to: scriptOf(address), value: 3n * COIN },
      { to: 'p2wpkh', value: 47n * COIN - 10_000n },
    ]);
    await broadcast(api, payment);
    expect(await balances()).toMatchObject({ trusted: 0, untrusted_pending: 3, immature: 0, nonmempool: 0 });
    expect(await api.rpc('getbalance')).toBe(0);
    const [waiting] = await api.rpc<Entry[]>('listtransactions');
    expect(waiting).toMatchObject({ address, category: 'receive', amount: 3, confirmations: 0, trusted: false });
    expect(await api.rpc('listunspent')).toEqual([]);
    expect(await api.rpc('listunspent', [0])).toMatchObject([
      { txid: idOf(payment), vout: 0, address, label: 'invoice 7', amount: 3, safe: false, ancestorcount: 1 },
    ]);
    const block = await mine(api, chain, [payment]);
    expect(await balances()).toMatchObject({ trusted: 3, untrusted_pending: 0 });
    expect(await api.rpc('getbalance', ['*', 2])).toBe(0);
    const details = await api.rpc<Record<string, unknown>>('gettransaction', [idOf(payment), false, true]);
    expect(details).toMatchObject({
      amount: 3,
      confirmations: 1,
      blockhash: hashToHex(block.hash),
      blockheight: block.height,
      txid: idOf(payment),
      details: [{ address, category: 'receive', amount: 3, label: 'invoice 7', vout: 0, abandoned: false }],
      decoded: { txid: idOf(payment) },
    });
    expect(details.fee).toBeUndefined();
    expect(await api.rpc('getreceivedbyaddress', [address])).toBe(3);
    expect(await api.rpc('getreceivedbylabel', ['invoice 7'])).toBe(3);
    expect(await api.rpc('listreceivedbylabel')).toContainEqual({ amount: 3, confirmations: 1, label: 'invoice 7' });
    expect(await api.rpc('listreceivedbyaddress', [1, false, true, address])).toEqual([
      { address, amount: 3, confirmations: 1, label: 'invoice 7', txids: [idOf(payment)] },
    ]);
    expect(await api.rpc<string[]>('listlabels')).toContain('invoice 7');
    expect(await api.rpc<Record<string, unknown>>('getaddressesbylabel', ['invoice 7'])).toEqual({
      [address]: { purpose: 'receive' },
    });
    await api.rpcBody({ jsonrpc: '2.0', id: 1, method: 'setlabel', params: [address, 'paid'] });
    expect(await api.rpc<Entry[]>('listtransactions', ['paid'])).toHaveLength(1);
  });

  test('listsinceblock lists a transaction that a reorg unconfirmed, and it is pending again', async () => {
    const before = chain.tip;
    const address = await api.rpc<string>('getnewaddress');
    const payment = sweep(coin(), scriptOf(address));
    const confirmed = await mine(api, chain, [payment]);
    const had = (await balances()).trusted!;
    const since = await api.rpc<{ transactions: Entry[]; removed: Entry[]; lastblock: string }>('listsinceblock', [
      hashToHex(before.hash),
    ]);
    expect(since.transactions.map(({ txid }) => txid)).toEqual([idOf(payment)]);
    expect(since.lastblock).toBe(hashToHex(confirmed.hash));
    // Two blocks without it replace the one that had it.
    const other: RegtestChain = chain.fork(before.height);
    for (let i = 0; i < 2; i++) await submit(api, other.mine(1));
    const after = await api.rpc<{ transactions: Entry[]; removed: Entry[] }>('listsinceblock', [since.lastblock]);
    expect(after.removed.map(({ txid }) => txid)).toEqual([idOf(payment)]);
    expect(after.transactions).toMatchObject([{ txid: idOf(payment), confirmations: 0, trusted: false }]);
    expect((await balances()).trusted).toBe(had - 49.99999);
    expect((await balances()).untrusted_pending).toBe(49.99999);
    // And a block of the new branch has it.
    const again = other.mine(1, { txs: [payment] });
    await submit(api, again);
    expect((await balances()).trusted).toBe(had);
    expect(await api.rpc<Entry>('gettransaction', [idOf(payment)])).toMatchObject({
      confirmations: 1,
      blockhash: hashToHex(again.hash),
    });
    // The following tests continue from there.
    branch = other;
  });
  let branch: RegtestChain = chain;

  test('a double spend in a block shows as a conflict with as many negative confirmations', async () => {
    const address = await api.rpc<string>('getnewaddress');
    const spent = coin();
    const first = sweep(spent, scriptOf(address), 1000n);
    const rival = sweep(spent, 'p2wpkh', 5000n);
    await broadcast(api, first);
    expect((await balances()).untrusted_pending).toBeGreaterThan(0);
    await submit(api, branch.mine(1, { txs: [rival] }));
    await submit(api, branch.mine(1));
    expect((await balances()).untrusted_pending).toBe(0);
    // The rival is none of ours, so it is in no list of conflicts.
    expect(await api.rpc<Entry>('gettransaction', [idOf(first)])).toMatchObject({
      confirmations: -2,
      trusted: false,
      walletconflicts: [],
    });
    expect(await failure(api, 'abandontransaction', [idOf(first)])).toEqual([
      -5,
      'Transaction not eligible for abandonment',
    ]);
  });

  test('a replacement by another wallet shows as a conflict in the mempool', async () => {
    const address = await api.rpc<string>('getnewaddress');
    const spent = coin();
    const first = sweep(spent, scriptOf(address), 1000n);
    await broadcast(api, first);
    const rival = sweep(spent, 'p2wpkh', 50_000n);
    await broadcast(api, rival);
    const shown = await api.rpc<Entry>('gettransaction', [idOf(first)]);
    expect(shown).toMatchObject({ confirmations: 0, trusted: false, mempoolconflicts: [idOf(rival)] });
    expect((await balances()).untrusted_pending).toBe(0);
    await api.rpcBody({ jsonrpc: '2.0', id: 1, method: 'abandontransaction', params: [idOf(first)] });
    expect(await api.rpc<{ details: Entry[] }>('gettransaction', [idOf(first)])).toMatchObject({
      details: [{ abandoned: true }],
    });
  });

  test('coins can be locked, for as long as the node runs or longer', async () => {
    const [unspent] = await api.rpc<{ txid: string; vout: number }[]>('listunspent');
    const { txid, vout } = unspent!;
    expect(await api.rpc('lockunspent', [false, [{ txid, vout }]])).toBe(true);
    expect(await api.rpc('listlockunspent')).toEqual([{ txid, vout }]);
    expect(await api.rpc<unknown[]>('listunspent')).not.toContainEqual(expect.objectContaining({ txid, vout }));
    expect(await failure(api, 'lockunspent', [false, [{ txid, vout }]])).toEqual([
      -8,
      'Invalid parameter, output already locked',
    ]);
    expect(await failure(api, 'lockunspent', [false, [{ txid, vout: 99 }]])).toEqual([
      -8,
      'Invalid parameter, vout index out of bounds',
    ]);
    expect(await api.rpc('lockunspent', [true])).toBe(true);
    expect(await api.rpc('listlockunspent')).toEqual([]);
    expect(await api.rpc('lockunspent', [false, [{ txid, vout }], true])).toBe(true);
  });

  test('the state is the same after a restart', async () => {
    const info = await api.rpc<Record<string, unknown>>('getwalletinfo');
    const list = await api.rpc<Entry[]>('listtransactions', ['*', 1000]);
    const had = await balances();
    await node.stop();
    node = await startNode({ datadir: node.datadir });
    api = node.api;
    const { lastprocessedblock, ...rest } = await api.rpc<Record<string, unknown>>('getwalletinfo');
    expect(lastprocessedblock).toEqual(info.lastprocessedblock);
    expect(rest).toMatchObject({ txcount: info.txcount, birthtime: info.birthtime, flags: info.flags });
    expect(await node.until('the mempool', async () => (await balances()).trusted === had.trusted)).toBe(true);
    expect((await api.rpc<Entry[]>('listtransactions', ['*', 1000])).map(({ txid }) => txid)).toEqual(
      list.map(({ txid }) => txid),
    );
    expect(await api.rpc<unknown[]>('listlockunspent')).toHaveLength(1);
  });
});

describe('wallets', () => {
  let node: NodeProcess;
  let api: ApiClient;
  beforeAll(async () => {
    node = await startNode({ args: ['--wallet.keypool=20'] });
    api = node.api;
  });

  test('are made, loaded and unloaded by name', async () => {
    expect(await api.rpc('createwallet', ['hot'])).toEqual({ name: 'hot' });
    expect(await api.rpc('listwallets')).toEqual(['default', 'hot']);
    expect(await failure(api, 'getbalance')).toEqual([
      -19,
      'Multiple wallets are loaded. Please select which wallet to use by requesting the RPC through the /wallet/<walletname> URI path.',
    ]);
    expect((await walletCall(api, 'hot', 'getbalance')).result).toBe(0);
    expect((await walletCall(api, 'no', 'getbalance')).error).toMatchObject({
      code: -18,
      message: 'Requested wallet does not exist or is not loaded',
    });
    expect(await failure(api, 'createwallet', ['hot'])).toEqual([
      -4,
      `Wallet file verification failed. Failed to create database path '${join(node.networkDir, 'wallets/hot')}'. Database already exists.`,
    ]);
    expect(await failure(api, 'loadwallet', ['hot'])).toEqual([-35, 'Wallet "hot" is already loaded.']);
    expect(await failure(api, 'loadwallet', ['nope'])).toEqual([
      -18,
      `Wallet file verification failed. Failed to load database path '${join(node.networkDir, 'wallets/nope')}'. Path does not exist.`,
    ]);
    for (const name of ['../x', 'a/b', '.hidden', 'nul\0'])
      expect((await failure(api, 'createwallet', [name]))[0]).toBe(-8);
    expect(await api.rpc('unloadwallet', ['hot'])).toEqual({});
    expect(await api.rpc('listwallets')).toEqual(['default']);
    expect(await api.rpc('listwalletdir')).toEqual({
      wallets: [
        { name: 'default', warnings: [] },
        { name: 'hot', warnings: [] },
      ],
    });
    expect(await api.rpc('loadwallet', ['hot', true])).toEqual({ name: 'hot' });
    await node.stop();
    node = await startNode({ datadir: node.datadir, args: ['--wallet.keypool=20'] });
    api = node.api;
    expect(await api.rpc('listwallets')).toEqual(['default', 'hot']);
  });

  test('are encrypted, unlocked for a while, and keep their keys secret', async () => {
    const passphrase = 'correct horse battery staple';
    const call = <T>(method: string, params: unknown = []) => walletCall<T>(api, 'hot', method, params);
    const secrets = (await call<{ descriptors: { desc: string }[] }>('listdescriptors', [true])).result.descriptors;
    expect(secrets.every(({ desc }) => desc.includes('tprv'))).toBe(true);
    expect((await call('walletlock')).error).toMatchObject({ code: -15 });
    expect((await call('encryptwallet', [''])).error).toMatchObject({ code: -8 });
    expect((await call<string>('encryptwallet', [passphrase])).result).toStartWith('wallet encrypted; The keypool');
    expect((await call('encryptwallet', [passphrase])).error).toMatchObject({ code: -15 });
    expect((await call<Record<string, unknown>>('getwalletinfo')).result).toMatchObject({ unlocked_until: 0 });
    // Addresses need no key; what shows one does.
    expect((await call<string>('getnewaddress')).result).toStartWith('bcrt1q');
    expect((await call('listdescriptors', [true])).error).toMatchObject({
      code: -13,
      message: 'Error: Please enter the wallet passphrase with walletpassphrase first.',
    });
    const from = performance.now();
    expect((await call('walletpassphrase', ['wrong', 60])).error).toMatchObject({
      code: -14,
      message: 'Error: The wallet passphrase entered was incorrect.',
    });
    expect(performance.now() - from).toBeGreaterThan(250);
    expect((await call('walletpassphrase', [passphrase, -1])).error).toMatchObject({ code: -8 });
    expect((await call('walletpassphrase', [passphrase, 60])).error).toBeUndefined();
    const until = (await call<{ unlocked_until: number }>('getwalletinfo')).result.unlocked_until;
    expect(until).toBeGreaterThan(Date.now() / 1000 + 50);
    const after = (await call<{ descriptors: { desc: string; active: boolean }[] }>('listdescriptors', [true])).result;
    // New keys since it is encrypted; those of before are still there.
    expect(after.descriptors).toHaveLength(16);
    expect(after.descriptors.filter(({ active }) => active)).toHaveLength(8);
    await call('walletlock');
    expect((await call('listdescriptors', [true])).error).toMatchObject({ code: -13 });
    expect((await call('walletpassphrasechange', [passphrase, 'another'])).error).toBeUndefined();
    expect((await call('walletpassphrase', [passphrase, 60])).error).toMatchObject({ code: -14 });
    expect((await call('walletpassphrase', ['another', 1])).error).toBeUndefined();
    await node.until(
      'the lock',
      async () => (await call<{ unlocked_until: number }>('getwalletinfo')).result.unlocked_until === 0,
    );
    // Neither the passphrase nor an unsealed key is anywhere on the disk or in the log.
    const keys = secrets.map(({ desc }) => /tprv\w+/.exec(desc)![0]);
    const files = readdirSync(join(node.networkDir, 'wallets')).filter((name) => name.startsWith('hot'));
    for (const name of files) {
      const content = readFileSync(join(node.networkDir, 'wallets', name)).toString('latin1');
      for (const secret of [passphrase, 'another', ...keys]) expect(content).not.toContain(secret);
    }
    for (const secret of [passphrase, 'wrong', ...keys]) expect(node.stderr).not.toContain(secret);
  });

  test('are backed up while they are used, and restored under another name', async () => {
    await walletCall(api, 'default', 'getnewaddress', ['kept']);
    expect((await walletCall(api, 'default', 'backupwallet', ['monday.db'])).error).toBeUndefined();
    const backup = join(node.datadir, 'backups/monday.db');
    expect(existsSync(backup)).toBe(true);
    expect(statSync(backup).mode & 0o777).toBe(0o600);
    expect((await walletCall(api, 'default', 'backupwallet', ['../x.db'])).error).toMatchObject({ code: -8 });
    expect(await failure(api, 'restorewallet', ['copy', 'tuesday.db'])).toEqual([-8, 'Backup file does not exist']);
    expect((await failure(api, 'restorewallet', ['default', 'monday.db']))[0]).toBe(-36);
    expect(await api.rpc('restorewallet', ['copy', 'monday.db'])).toEqual({ name: 'copy' });
    const [own, copied] = await Promise.all(
      ['default', 'copy'].map(
        async (name) => (await walletCall<{ descriptors: unknown }>(api, name, 'listdescriptors')).result.descriptors,
      ),
    );
    expect(copied).toEqual(own);
    expect((await walletCall<string[]>(api, 'copy', 'listlabels')).result).toContain('kept');
  });

  test('with the same keys find the same coins, however they were created', async () => {
    const address = (await walletCall<string>(api, 'copy', 'getnewaddress')).result;
    await api.rpc('generatetoaddress', [103, address]);
    const balancesOf = async (name: string) =>
      (await walletCall<{ mine: unknown }>(api, name, 'getbalances')).result.mine;
    const copy = await balancesOf('copy');
    expect(copy).toMatchObject({ trusted: 150, immature: 5000 });
    // It has not given the address out itself, but looks ahead.
    expect(await balancesOf('default')).toEqual(copy);
    const { descriptors } = (
      await walletCall<{ descriptors: { desc: string; internal: boolean; range: number[] }[] }>(
        api,
        'copy',
        'listdescriptors',
      )
    ).result;
    await api.rpc('createwallet', ['watch', true, true]);
    const imports = descriptors.map(({ desc, internal, range }) => ({
      desc,
      internal,
      range,
      active: true,
      timestamp: 0,
    }));
    const from = performance.now();
    const { result } = await walletCall<{ success: boolean }[]>(api, 'watch', 'importdescriptors', [imports]);
    expect(result.map(({ success }) => success)).toEqual(descriptors.map(() => true));
    expect(performance.now() - from).toBeLessThan(20_000);
    expect(await balancesOf('watch')).toEqual(copy);
    expect((await walletCall(api, 'watch', 'listdescriptors', [true])).error).toMatchObject({ code: -4 });
    // Without what came before, nothing is found.
    await api.rpc('createwallet', ['late', true, true]);
    const [first] = imports;
    await walletCall(api, 'late', 'importdescriptors', [[{ ...first, timestamp: 'now' }]]);
    expect((await walletCall<{ txcount: number }>(api, 'watch', 'getwalletinfo')).result.txcount).toBe(103);
    const rescan = await walletCall(api, 'late', 'rescanblockchain');
    expect(rescan.result).toEqual({ start_height: 0, stop_height: 103 });
    await api.rpc('unloadwallet', ['copy']);
    await api.rpc('generatetoaddress', [5, address]);
    await api.rpc('loadwallet', ['copy']);
    expect(await balancesOf('copy')).toEqual(await balancesOf('watch'));
  });

  test('report errors of their descriptors on import', async () => {
    const call = async (request: object) =>
      (
        await walletCall<{ success: boolean; error?: { code: number; message: string } }[]>(
          api,
          'watch',
          'importdescriptors',
          [[request]],
        )
      ).result[0]!;
    const key = '02'.padEnd(66, '1');
    expect(await call({ desc: `pkh(${key})`, timestamp: 'now' })).toMatchObject({
      success: false,
      error: { code: -5, message: 'Missing checksum' },
    });
    expect(await call({ timestamp: 'now' })).toMatchObject({
      success: false,
      error: { code: -8, message: 'Descriptor not found.' },
    });
    expect((await walletCall(api, 'watch', 'importdescriptors', [[{ desc: 'x' }]])).error).toMatchObject({
      code: -3,
      message: 'Missing required timestamp field for key',
    });
  });
});

test('every method reports that there are no wallets where wallets are off', async () => {
  const node = await startNode({ args: ['--wallet.enabled=false'] });
  expect((await failure(node.api, 'getbalance'))[0]).toBe(-32601);
  expect((await failure(node.api, 'createwallet', ['x']))[0]).toBe(-18);
  expect(await node.api.rpc('listwallets')).toEqual([]);
  expect(existsSync(join(node.networkDir, 'wallets'))).toBe(false);
});
