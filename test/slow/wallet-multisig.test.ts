import { beforeAll, describe, expect, test } from 'bun:test';
import type { ApiClient } from '../lib/node-client.ts';
import { cleanUpAfterTests, type NodeProcess, startNode } from '../lib/node-process.ts';
import { MINING_ADDRESS } from '../lib/peer-node.ts';

cleanUpAfterTests();

interface Listed {
  readonly descriptors: readonly { readonly desc: string; readonly active: boolean; readonly internal?: boolean }[];
}

interface Imported {
  readonly success: boolean;
  readonly error?: { readonly code: number; readonly message: string };
  readonly warnings?: readonly string[];
}

interface Coin {
  readonly txid: string;
  readonly vout: number;
  readonly amount: number;
  readonly desc: string;
}

interface Known {
  readonly pubkey?: string;
  readonly embedded?: { readonly pubkey: string };
}

/** Two wallets that share an account of which each has one key. */
describe('a shared account', () => {
  let node: NodeProcess;
  let api: ApiClient;
  beforeAll(async () => {
    node = await startNode({ args: ['--wallet.keypool=8'] });
    api = node.api;
    for (const name of ['alice', 'bob']) await api.rpc('createwallet', [name]);
    for (const name of ['shared-alice', 'shared-bob']) await api.rpc('createwallet', [name, false, true]);
  });

  const call = async <T>(wallet: string, method: string, params: unknown = []): Promise<T> => {
    const { body, text } = await api.request<{ result: T; error?: unknown }>(`/wallet/${wallet}`, {
      method: 'POST',
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    });
    if (body.error) throw new Error(`${method}: ${text}`);
    return body.result;
  };
  const withChecksum = async (text: string) => {
    const { checksum } = await api.rpc<{ checksum: string }>('getdescriptorinfo', [text]);
    return `${text}#${checksum}`;
  };
  /** The key of a wallet's own account, private and public. */
  const accountOf = async (wallet: string) => {
    const find = async (withKeys: boolean) => {
      const { descriptors } = await call<Listed>(wallet, 'listdescriptors', [withKeys]);
      return descriptors.find(({ desc, internal }) => desc.startsWith('wpkh(') && internal === false)!.desc;
    };
    const secret = /^wpkh\((.*)\/0\/\*\)/.exec(await find(true))![1]!;
    const known = /^wpkh\((.*)\/0\/\*\)/.exec(await find(false))![1]!;
    return { secret, known };
  };

  test('is imported with one private key each, receives, and is spent from by both', async () => {
    const [alice, bob] = await Promise.all(['alice', 'bob'].map(accountOf));
    const keys = {
      'shared-alice': `${alice!.secret}/7/<0;1>/*,${bob!.known}/7/<0;1>/*`,
      'shared-bob': `${alice!.known}/7/<0;1>/*,${bob!.secret}/7/<0;1>/*`,
    };
    for (const [wallet, pair] of Object.entries(keys)) {
      const desc = await withChecksum(`wsh(sortedmulti(2,${pair}))`);
      const [imported] = await call<Imported[]>(wallet, 'importdescriptors', [
        [{ desc, active: true, timestamp: 'now', range: [0, 9] }],
      ]);
      expect(imported).toMatchObject({ success: true });
      expect(imported!.warnings).toContain(
        'Not all private keys provided. Some wallet functionality may return unexpected errors',
      );
    }
    const address = await call<string>('shared-alice', 'getnewaddress');
    expect(await call<string>('shared-bob', 'getnewaddress')).toBe(address);
    const info = await call<Record<string, unknown>>('shared-bob', 'getaddressinfo', [address]);
    expect(info).toMatchObject({ ismine: true, solvable: true, script: 'multisig', sigsrequired: 2, iswitness: true });
    await api.rpc('generatetoaddress', [1, address]);
    await api.rpc('generatetoaddress', [100, MINING_ADDRESS]);
    for (const wallet of Object.keys(keys)) expect(await call<number>(wallet, 'getbalance')).toBe(50);
    const [coin] = await call<Record<string, unknown>[]>('shared-alice', 'listunspent');
    expect(coin).toMatchObject({ solvable: true, witnessScript: expect.stringMatching(/^52/) });

    const made = await call<{ psbt: string }>('shared-alice', 'walletcreatefundedpsbt', [
      [],
      { [MINING_ADDRESS]: 20 },
      0,
      { fee_rate: 10 },
    ]);
    const first = await call<{ psbt: string; complete: boolean }>('shared-alice', 'walletprocesspsbt', [made.psbt]);
    expect(first.complete).toBe(false);
    const both = await call<{ complete: boolean; hex: string }>('shared-bob', 'walletprocesspsbt', [first.psbt]);
    expect(both.complete).toBe(true);
    await api.rpc('sendrawtransaction', [both.hex]);
    await api.rpc('generatetoaddress', [1, MINING_ADDRESS]);
    for (const wallet of Object.keys(keys)) {
      const balance = await call<number>(wallet, 'getbalance');
      expect(balance).toBeLessThan(30);
      expect(balance).toBeGreaterThan(29.999);
    }
    // No participant can send alone.
    const alone = await call<{ complete: boolean; psbt: string }>('shared-bob', 'send', [{ [MINING_ADDRESS]: 1 }]);
    expect(alone.complete).toBe(false);
    expect(alone.psbt).toBeString();
  });

  test('is found again in seconds when it is watched without keys, and is not spent', async () => {
    const address = await call<string>('alice', 'getnewaddress', ['', 'p2sh-segwit']);
    await api.rpc('generatetoaddress', [2, address]);
    await api.rpc('generatetoaddress', [100, MINING_ADDRESS]);
    await api.rpc('createwallet', ['watch', true, true]);
    const desc = await withChecksum(`addr(${address})`);
    const [imported] = await call<Imported[]>('watch', 'importdescriptors', [
      [{ desc, timestamp: 0, label: 'theirs' }],
    ]);
    expect(imported).toMatchObject({ success: true });
    expect(await call<number>('watch', 'getbalance')).toBe(100);
    expect(await call<Record<string, unknown>>('watch', 'getaddressinfo', [address])).toMatchObject({
      ismine: true,
      solvable: false,
      labels: ['theirs'],
    });
    expect(await call<Record<string, unknown>[]>('watch', 'listunspent')).toMatchObject([
      { address, label: 'theirs', solvable: false },
      { address, label: 'theirs', solvable: false },
    ]);
    const keyed = await withChecksum(`wpkh(${(await accountOf('alice')).secret}/9/*)`);
    const [refused] = await call<Imported[]>('watch', 'importdescriptors', [[{ desc: keyed, timestamp: 'now' }]]);
    expect(refused!.error).toMatchObject({
      code: -4,
      message: 'Cannot import private keys to a wallet with private keys disabled',
    });
    const known = await withChecksum(`wpkh(${(await accountOf('alice')).known}/9/*)`);
    const [keyless] = await call<Imported[]>('alice', 'importdescriptors', [[{ desc: known, timestamp: 'now' }]]);
    expect(keyless!.error).toMatchObject({ code: -4 });
  });

  test('the fee of a wallet without keys is enough for every signer', async () => {
    const [alice, bob] = await Promise.all(['alice', 'bob'].map(accountOf));
    await api.rpc('createwallet', ['shared-watch', true, true]);
    const watched = await withChecksum(`sh(multi(2,${alice!.known}/8/*,${bob!.known}/8/*))`);
    await call('shared-watch', 'importdescriptors', [[{ desc: watched, timestamp: 'now', range: [0, 0] }]]);
    const [legacy] = await api.rpc<string[]>('deriveaddresses', [watched, [0, 0]]);
    const txid = await call<string>('alice', 'sendtoaddress', { address: legacy, amount: 1, fee_rate: 2 });
    await api.rpc('generatetoaddress', [1, MINING_ADDRESS]);
    const [theirs] = await call<{ txid: string; vout: number }[]>('shared-watch', 'listunspent');
    expect(theirs!.txid).toBe(txid);
    const drafted = await call<{ fee: number }>('shared-watch', 'walletcreatefundedpsbt', [
      [{ txid, vout: theirs!.vout }],
      { [MINING_ADDRESS]: 1 },
      0,
      { fee_rate: 10, add_inputs: false, subtractFeeFromOutputs: [0] },
    ]);
    // 10 bytes and an output of 31; an input of 41 with an item of nothing, two signatures of 72, and a script of 71.
    expect(drafted.fee).toBeCloseTo((10 * (10 + 31 + 41 + 1 + 2 * 73 + 1 + 71)) / 1e8, 8);
  });

  test('a wallet gets a descriptor of a type that it lacks', async () => {
    await api.rpc('createwallet', ['bare', false, true]);
    const { secret } = await accountOf('bob');
    const master = secret.slice(0, secret.indexOf('/'));
    const desc = await withChecksum(`wpkh(${master}/84h/1h/0h/0/*)`);
    await call('bare', 'importdescriptors', [[{ desc, active: true, timestamp: 'now' }]]);
    const { descs } = await call<{ descs: string[] }>('bare', 'createwalletdescriptor', ['bech32m']);
    expect(descs).toHaveLength(2);
    const own = await call<Listed>('bob', 'listdescriptors');
    for (const text of descs) expect(own.descriptors.map(({ desc: each }) => each)).toContain(text);
    expect(await call<string>('bare', 'getnewaddress', ['', 'bech32m'])).toStartWith('bcrt1p');
  });

  test('one participant pays with a coin of the other beside its own, with the descriptor that spends it', async () => {
    const [own] = await Promise.all([call<string>('alice', 'getnewaddress')]);
    await api.rpc('generatetoaddress', [1, own]);
    const types = ['legacy', 'p2sh-segwit', 'bech32', 'bech32m'];
    const theirs: string[] = [];
    for (const type of types) theirs.push(await call<string>('bob', 'getnewaddress', ['', type]));
    for (const address of theirs) await api.rpc('generatetoaddress', [1, address]);
    await api.rpc('generatetoaddress', [100, MINING_ADDRESS]);
    for (const address of theirs) {
      const [coin] = await call<Coin[]>('bob', 'listunspent', [1, 999, [address]]);
      const { txid, vout, amount, desc } = coin!;
      const fund = (solving_data: object) =>
        call<{ psbt: string; fee: number }>('alice', 'walletcreatefundedpsbt', [
          [{ txid, vout }],
          [{ [MINING_ADDRESS]: amount + 1 }],
          0,
          { add_inputs: true, fee_rate: 10, solving_data },
        ]);
      // A taproot output shows its key.
      if (address !== theirs.at(-1)) await expect(fund({})).rejects.toThrow('Not solvable pre-selected input');
      const { psbt, fee } = await fund({ descriptors: [desc] });
      const info = await call<Known>('bob', 'getaddressinfo', [address]);
      const pubkey = info.pubkey ?? info.embedded?.pubkey;
      if (pubkey) expect(await fund({ pubkeys: [pubkey] })).toMatchObject({ fee });
      const half = await call<{ psbt: string }>('bob', 'walletprocesspsbt', [psbt]);
      const signed = await call<{ hex: string; complete: boolean }>('alice', 'walletprocesspsbt', [half.psbt]);
      expect(signed.complete).toBe(true);
      const { vsize } = await api.rpc<{ vsize: number }>('decoderawtransaction', [signed.hex]);
      const feerate = (fee * 1e8) / vsize;
      expect(feerate).toBeGreaterThanOrEqual(10);
      expect(feerate).toBeLessThan(10.2);
      await api.rpc('sendrawtransaction', [signed.hex]);
      await api.rpc('generatetoaddress', [1, own]);
    }
    for (const [solving_data, text] of [
      [{ pubkeys: ['02'] }, 'Pubkey \\"02\\" must have a length of either 33 or 65 bytes'],
      [{ scripts: ['xy'] }, "'xy' is not hex"],
      [{ descriptors: ['raw(51)'] }, "Unable to parse descriptor 'raw(51)': Missing checksum"],
    ] as const)
      await expect(
        call('alice', 'walletcreatefundedpsbt', [[], [{ [MINING_ADDRESS]: 1 }], 0, { solving_data }]),
      ).rejects.toThrow(text);
  }, 180_000);
});
