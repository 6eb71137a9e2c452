import { beforeAll, describe, expect, test } from 'bun:test';
import { existsSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { jsonSchema } from '../../src/rpc/engine/schema.ts';
import { RPC_METHODS } from '../../src/rpc/methods/methods.ts';
import { schemaProblems } from '../lib/json-schema.ts';
import type { ApiClient } from '../lib/node-client.ts';
import { cleanUpAfterTests, type NodeProcess, startNode } from '../lib/node-process.ts';
import { MINING_ADDRESS } from '../lib/peer-node.ts';

cleanUpAfterTests();

type Grouping = [address: string, amount: number, label?: string][];
interface HdKey {
  readonly xpub: string;
  readonly xprv?: string;
  readonly descriptors: readonly { readonly desc: string; readonly active: boolean }[];
}
interface Descriptors {
  readonly descriptors: readonly { readonly desc: string; readonly active: boolean }[];
}

describe('further methods of wallets', () => {
  let node: NodeProcess;
  let api: ApiClient;
  const addresses: string[] = [];
  let payment = '';
  let tip = '';

  const call = async <T>(wallet: string, method: string, params: unknown = []) => {
    const { body } = await api.request<{ result: T; error: { code: number; message: string } | null }>(
      `/wallet/${wallet}`,
      { method: 'POST', body: JSON.stringify({ jsonrpc: '1.0', id: 1, method, params }) },
    );
    return body;
  };
  const on = async <T>(wallet: string, method: string, params: unknown = []) => {
    const { result, error } = await call<T>(wallet, method, params);
    if (error) throw new Error(`${method}: ${error.message}`);
    const { result: declared } = RPC_METHODS.get(method)!;
    if (typeof declared !== 'string')
      expect(schemaProblems(JSON.parse(JSON.stringify(jsonSchema(declared))), result)).toEqual([]);
    return result;
  };
  const failure = async (wallet: string, method: string, params: unknown = []) => {
    const { error } = await call(wallet, method, params);
    return [error?.code, error?.message];
  };

  beforeAll(async () => {
    node = await startNode({ args: ['--wallet.keypool=5', '--rpc.deprecated=removeprunedfunds'] });
    api = node.api;
    for (const label of ['a', 'b', 'c']) addresses.push(await on('default', 'getnewaddress', [label]));
    for (const address of addresses) await on('default', 'generatetoaddress', [1, address]);
    await on('default', 'generatetoaddress', [99, MINING_ADDRESS]);
    // The first two coins of 50 are mature; both are spent, with change.
    payment = await on<string>('default', 'sendtoaddress', [MINING_ADDRESS, 60]);
    [tip] = (await on<string[]>('default', 'generatetoaddress', [1, MINING_ADDRESS])) as [string];
  });

  test('addresses that were spent from together are one group', async () => {
    const groups = await on<Grouping[]>('default', 'listaddressgroupings');
    const [together, alone] = [3, 1].map((size) => groups.find(({ length }) => length === size)!);
    expect(groups).toHaveLength(2);
    expect(together!.map(([address]) => address)).toEqual(expect.arrayContaining(addresses.slice(0, 2)));
    expect(together!.find(([address]) => address === addresses[0])).toEqual([addresses[0]!, 0, 'a']);
    const change = together!.find(([address]) => !addresses.includes(address))!;
    expect(change).toHaveLength(2);
    expect(change[1]).toBeGreaterThan(39);
    expect(change[1]).toBeLessThan(40);
    // Mature since the last block.
    expect(alone).toEqual([[addresses[2]!, 50, 'c']]);
  });

  test('the effect of transactions on the balance is simulated', async () => {
    const [coin] = await on<{ txid: string; vout: number; amount: number }[]>('default', 'listunspent', [
      1,
      9_999_999,
      [addresses[2]],
    ]);
    const own = await on<string>('default', 'getnewaddress', ['d']);
    const first = await on<string>('default', 'createrawtransaction', [
      [coin],
      [{ [own]: 30 }, { [MINING_ADDRESS]: 19 }],
    ]);
    const { txid } = await on<{ txid: string }>('default', 'decoderawtransaction', [first]);
    const second = await on<string>('default', 'createrawtransaction', [[{ txid, vout: 0 }], { [MINING_ADDRESS]: 29 }]);
    const simulate = (...txs: string[]) => on('default', 'simulaterawtransaction', [txs]);
    expect(await simulate(first)).toEqual({ balance_change: -20 });
    expect(await simulate(first, second)).toEqual({ balance_change: -50 });
    expect(await simulate()).toEqual({ balance_change: 0 });
    const fails = (...txs: string[]) => failure('default', 'simulaterawtransaction', [txs]);
    expect(await fails(first, first)).toEqual([-8, 'Transaction(s) are spending the same output more than once']);
    expect(await fails(second)).toEqual([-8, 'One or more transaction inputs are missing or have been spent already']);
    expect(await fails('00')).toEqual([-22, 'Transaction hex string decoding failure.']);
    expect(await failure('default', 'simulaterawtransaction')).toEqual([
      -3,
      'JSON value of type null is not of expected type array',
    ]);
    // A coin that waits in the mempool can be spent as well.
    const waiting = await on<string>('default', 'sendtoaddress', [own, 1]);
    const { vout } = (
      await on<{ details: { vout: number; category: string }[] }>('default', 'gettransaction', [waiting])
    ).details[0]!;
    const third = await on<string>('default', 'createrawtransaction', [
      [{ txid: waiting, vout }],
      { [MINING_ADDRESS]: 0.9 },
    ]);
    expect(await simulate(third)).toEqual({ balance_change: -1 });
    const { activity } = await on<{ activity: object[] }>('default', 'getdescriptoractivity', [
      [tip],
      [`addr(${own})`],
    ]);
    expect(activity).toMatchObject([{ type: 'receive', amount: 1, txid: waiting, vout }]);
    expect(activity[0]).not.toHaveProperty('height');
    await on('default', 'generatetoaddress', [1, MINING_ADDRESS]);
  });

  test('a watch-only copy has no private key', async () => {
    const { exported_file: file } = await on<{ exported_file: string }>('default', 'exportwatchonlywallet', [
      'watch.db',
    ]);
    expect(file).toBe(join(node.datadir, 'backups', 'watch.db'));
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(existsSync(`${file}.part`) || existsSync(`${file}-wal`)).toBe(false);
    const bytes = readFileSync(file).toString('latin1');
    const [{ xpub, xprv }] = (await on<HdKey[]>('default', 'gethdkeys', [{ private: true }])) as [HdKey];
    expect(bytes).not.toContain(xprv!);
    expect(bytes).not.toContain(xpub);
    expect(await on('watching', 'restorewallet', ['watching', 'watch.db'])).toMatchObject({ name: 'watching' });
    expect(await on('watching', 'getwalletinfo')).toMatchObject({ private_keys_enabled: false, blank: false });
    expect(await on('watching', 'getbalances')).toMatchObject(await on<object>('default', 'getbalances'));
    const texts = async (wallet: string) => (await on<Descriptors>(wallet, 'listdescriptors')).descriptors;
    expect(await texts('watching')).toEqual(await texts('default'));
    expect(await on('watching', 'listtransactions')).toEqual(await on('default', 'listtransactions'));
    expect(await on('watching', 'listlabels')).toEqual(await on('default', 'listlabels'));
    // Both continue alike.
    for (const type of ['legacy', 'p2sh-segwit', 'bech32', 'bech32m'])
      expect(await on('watching', 'getnewaddress', ['', type])).toBe(await on('default', 'getnewaddress', ['', type]));
    expect(await failure('watching', 'gethdkeys', [{ private: true }])).toEqual([undefined, undefined]);
    expect(await failure('watching', 'sendtoaddress', [MINING_ADDRESS, 1])).toEqual([
      -4,
      'Error: Private keys are disabled for this wallet',
    ]);
    expect(await failure('default', 'exportwatchonlywallet', ['watch.db'])).toEqual([
      -4,
      `Error: Export destination '${file}' already exists`,
    ]);
    expect(await failure('default', 'exportwatchonlywallet', [''])).toEqual([
      -4,
      'Error: Export destination cannot be empty',
    ]);
    expect((await failure('default', 'exportwatchonlywallet', ['../watch.db']))[0]).toBe(-8);
    await on('default', 'createwallet', ['empty', true]);
    expect(await failure('empty', 'exportwatchonlywallet', ['empty.db'])).toEqual([
      -4,
      'Error: Wallet has no descriptors to export',
    ]);
    expect(existsSync(join(node.datadir, 'backups', 'empty.db'))).toBe(false);
  });

  test('a removed transaction is imported again with a proof', async () => {
    const before = await on('watching', 'getbalances');
    const { hex } = await on<{ hex: string }>('default', 'gettransaction', [payment]);
    const proof = await on<string>('default', 'gettxoutproof', [[payment]]);
    await on('watching', 'removeprunedfunds', [payment]);
    expect((await failure('watching', 'gettransaction', [payment]))[0]).toBe(-5);
    // Its inputs are unspent again, its change is removed, and the transaction that spent the change spends nothing.
    expect(await on('watching', 'getbalances')).not.toEqual(before);
    expect(await failure('watching', 'removeprunedfunds', [payment])).toEqual([
      -4,
      `Transaction ${payment} does not belong to this wallet`,
    ]);
    expect(await on('watching', 'importprunedfunds', [hex, proof])).toBeNull();
    expect(await on('watching', 'getbalances')).toEqual(before);
    const known = (wallet: string) => on<Record<string, unknown>>(wallet, 'gettransaction', [payment]);
    const { timereceived, time, ...rest } = await known('default');
    expect(await known('watching')).toMatchObject(rest);

    const fails = (...params: string[]) => failure('empty', 'importprunedfunds', params);
    expect(await fails('00', proof)).toEqual([-22, 'TX decode failed. Make sure the tx has at least one input.']);
    expect(await fails(hex, 'x')).toEqual([-8, "proof must be hexadecimal string (not 'x')"]);
    // Another byte of the Merkle root, which is random.
    const changed = proof.slice(72, 74) === 'ff' ? '00' : 'ff';
    expect(await fails(hex, `${proof.slice(0, 72)}${changed}${proof.slice(74)}`)).toEqual([
      -5,
      'Something wrong with merkleblock',
    ]);
    expect(await fails(hex, proof)).toEqual([-5, 'No addresses in wallet correspond to included transaction']);
    const other = (await on<{ tx: string[] }>('default', 'getblock', [tip])).tx[0]!;
    const otherProof = await on<string>('default', 'gettxoutproof', [[other], tip]);
    expect(await fails(hex, otherProof)).toEqual([-5, "Transaction given doesn't exist in proof"]);
    await on('default', 'invalidateblock', [tip]);
    expect(await fails(hex, proof)).toEqual([-5, 'Block not found in chain']);
    await on('default', 'reconsiderblock', [tip]);
  });

  test('HD keys are listed', async () => {
    const [{ xpub }] = (await on<HdKey[]>('default', 'gethdkeys')) as [HdKey];
    const derived = await on<{ origin: string; xpub: string }>('default', 'derivehdkey', ['m/87h/1h/0h']);
    expect(derived).not.toHaveProperty('xprv');
    expect(await on('default', 'derivehdkey', ['m/87h/1h/0h', { private: true, hdkey: xpub }])).toMatchObject(derived);
    const added = await on<{ xpub: string }>('default', 'addhdkey');
    expect((await on<HdKey[]>('default', 'gethdkeys')).map((key) => key.xpub)).toContain(added.xpub);
    expect(await on<HdKey[]>('default', 'gethdkeys', [{ active_only: true }])).toMatchObject([{ xpub }]);
    expect(await failure('watching', 'addhdkey')).toEqual([
      -4,
      'addhdkey is not available for wallets without private keys',
    ]);
    expect(await failure('default', 'derivehdkey', ['m/87'])).toEqual([
      -8,
      'Derivation path requires at least one hardened step',
    ]);
  });

  test('a mempool file is found by its name alone', async () => {
    const unable = [-1, 'Unable to import mempool file, see debug log for details.'];
    const fails = (name: string) => failure('default', 'importmempool', [name]);
    expect((await fails('/etc/passwd'))[0]).toBe(-8);
    expect((await fails('../mempool.dat'))[0]).toBe(-8);
    expect(await fails('mempool.dat')).toEqual(unable);
    writeFileSync(join(node.datadir, 'backups', 'mempool.dat'), 'nonsense of some length');
    expect(await fails('mempool.dat')).toEqual(unable);
    symlinkSync('/dev/zero', join(node.datadir, 'backups', 'endless.dat'));
    expect(await fails('endless.dat')).toEqual(unable);
    expect(await fails('wallets')).toEqual(unable);
  });

  test('coins of combo() are spent, whichever of its scripts they pay', async () => {
    const wif = 'cUeKHd5orzT3mz8P9pxyREHfsWtVfgsfDjiZZBcjUBAaGk1BTj7N';
    await on('default', 'createwallet', ['combo', false, true]);
    const { descriptor, checksum } = await on<{ descriptor: string; checksum: string }>(
      'default',
      'getdescriptorinfo',
      [`combo(${wif})`],
    );
    await on('combo', 'importdescriptors', [[{ desc: `combo(${wif})#${checksum}`, timestamp: 'now' }]]);
    const scripts = await on<string[]>('default', 'deriveaddresses', [descriptor]);
    // P2PK has no address: a block pays to it.
    await on('default', 'generatetodescriptor', [1, descriptor.replace('combo', 'pk').replace(/#.*/, '')]);
    for (const address of new Set(scripts)) await on('default', 'sendtoaddress', [address, 1]);
    await on('default', 'generatetoaddress', [100, MINING_ADDRESS]);
    const unspent = await on<{ desc: string }[]>('combo', 'listunspent');
    expect(unspent.map(({ desc }) => desc.split('(')[0]).toSorted()).toEqual(['pk', 'pkh', 'sh', 'wpkh']);
    const { complete } = await on<{ complete: boolean }>('combo', 'sendall', [[MINING_ADDRESS]]);
    expect(complete).toBe(true);
    expect(await on<object[]>('combo', 'listunspent', [0])).toEqual([]);
  });
});
