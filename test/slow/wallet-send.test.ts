import { beforeAll, describe, expect, test } from 'bun:test';
import { mempoolLoaded } from '../lib/mempool-node.ts';
import type { ApiClient } from '../lib/node-client.ts';
import { cleanUpAfterTests, type NodeProcess, startNode } from '../lib/node-process.ts';
import { MINING_ADDRESS } from '../lib/peer-node.ts';

cleanUpAfterTests();

interface RpcReply<T> {
  readonly result: T;
  readonly error?: { readonly code: number; readonly message: string };
}

interface Detail {
  readonly category: string;
  readonly amount: number;
  readonly fee?: number;
  readonly address: string;
}

interface WalletTx {
  readonly txid: string;
  readonly amount: number;
  readonly fee: number;
  readonly confirmations: number;
  readonly hex: string;
  readonly details: readonly Detail[];
  readonly replaced_by_txid?: string;
  readonly replaces_txid?: string;
  readonly walletconflicts: readonly string[];
  readonly decoded: {
    readonly vsize: number;
    readonly locktime: number;
    readonly vin: readonly { readonly txid: string; readonly vout: number; readonly sequence: number }[];
    readonly vout: readonly { readonly n: number; readonly value: number; readonly ischange?: boolean }[];
  };
}

const TYPES = ['legacy', 'p2sh-segwit', 'bech32', 'bech32m'] as const;
const NO_WITNESS_ADDRESS = 'mkHS9ne12qx9pS9VojpwU5xtRd4T7X7ZUt';

describe('a wallet with coins', () => {
  let node: NodeProcess;
  let api: ApiClient;
  beforeAll(async () => {
    node = await startNode({ args: ['--wallet.keypool=20'] });
    api = node.api;
    const [first] = await Promise.all([api.rpc<string>('getnewaddress')]);
    await api.rpc('generatetoaddress', [6, first]);
    await api.rpc('generatetoaddress', [100, MINING_ADDRESS]);
  });

  const call = async <T>(method: string, params: unknown = []): Promise<RpcReply<T>> =>
    (await api.rpcBody<RpcReply<T>>({ jsonrpc: '2.0', id: 1, method, params })).body;
  const failure = async (method: string, params: unknown = []) => {
    const { error } = await call(method, params);
    return [error?.code, error?.message];
  };
  const mine = () => api.rpc('generatetoaddress', [1, MINING_ADDRESS]);
  const shown = (txid: string) => api.rpc<WalletTx>('gettransaction', [txid, false, true]);

  test('pays every type of address, from coins of every type', async () => {
    for (const type of TYPES) {
      const own = await api.rpc<string>('getnewaddress', ['', type]);
      const txid = await api.rpc<string>('sendtoaddress', [own, 7]);
      expect(await api.rpc<string[]>('getrawmempool')).toContain(txid);
      const tx = await shown(txid);
      expect(tx.amount).toBe(0);
      expect(tx.fee).toBeLessThan(0);
      expect(tx.details.map(({ category, amount, address }) => [category, amount, address])).toEqual([
        ['send', -7, own],
        ['receive', 7, own],
      ]);
    }
    expect(await api.rpc('getbalance')).toBeGreaterThan(299.99);
    await mine();
    // All of it at once: the signatures of every type are good.
    const { result } = await call<{ txid: string; complete: boolean }>('sendall', [[MINING_ADDRESS]]);
    expect(result.complete).toBe(true);
    expect(await api.rpc<string[]>('getrawmempool')).toEqual([result.txid]);
    expect(await api.rpc('getbalance')).toBe(0);
    await mine();
    expect((await shown(result.txid)).confirmations).toBe(1);
    // The next tests have coins again.
    const address = await api.rpc<string>('getnewaddress');
    await api.rpc('generatetoaddress', [8, address]);
    await api.rpc('generatetoaddress', [100, MINING_ADDRESS]);
  });

  test('uses the given feerate, and subtracts the fee from the amount on request', async () => {
    const txid = await api.rpc<string>('sendtoaddress', { address: MINING_ADDRESS, amount: '1.5', fee_rate: 25.5 });
    const tx = await shown(txid);
    const feerate = (-tx.fee * 1e8) / tx.decoded.vsize;
    expect(feerate).toBeGreaterThanOrEqual(25.5);
    expect(feerate).toBeLessThan(26);
    expect(tx.decoded.locktime).toBeGreaterThan(0);
    expect(tx.decoded.vin.every(({ sequence }) => sequence === 0xffff_fffd)).toBe(true);
    const less = await shown(
      await api.rpc<string>('sendtoaddress', { address: MINING_ADDRESS, amount: 2, subtractfeefromamount: true }),
    );
    expect(less.amount - less.fee * -1).toBeCloseTo(-2, 8);
    const verbose = await api.rpc<{ txid: string; fee_reason: string }>('sendtoaddress', {
      address: MINING_ADDRESS,
      amount: 1,
      fee_rate: 3,
      verbose: true,
    });
    expect(verbose.fee_reason).toBe('User Specified Fee');
    expect(await failure('sendtoaddress', [MINING_ADDRESS, 100_000])).toEqual([-6, 'Insufficient funds']);
    expect(await failure('sendtoaddress', [MINING_ADDRESS, 0.00000001])).toEqual([-6, 'Transaction amount too small']);
    expect(await failure('sendtoaddress', ['no-address', 1])).toEqual([-5, 'Invalid Bitcoin address: no-address']);
    expect(await failure('sendtoaddress', [MINING_ADDRESS, -1])).toEqual([-3, 'Amount out of range']);
    expect((await failure('sendtoaddress', { address: MINING_ADDRESS, amount: 1, fee_rate: 0.01 }))[0]).toBe(-6);
  });

  test('pays many recipients at once', async () => {
    const others = await Promise.all(TYPES.map((type) => api.rpc<string>('getnewaddress', ['', type])));
    const amounts = Object.fromEntries(others.map((address, i) => [address, 0.5 + i / 10]));
    const txid = await api.rpc<string>('sendmany', ['', amounts]);
    const { details } = await shown(txid);
    const sent = details.filter(({ category }) => category === 'send');
    expect(Object.fromEntries(sent.map(({ address, amount }) => [address, -amount]))).toEqual(amounts);
    expect(await failure('sendmany', ['x', amounts])).toEqual([-8, 'Dummy value must be set to ""']);
  });

  test('sends the same request once', async () => {
    const request = { address: MINING_ADDRESS, amount: 0.1, request_id: 'withdrawal 4711' };
    const txid = await api.rpc<string>('sendtoaddress', request);
    const count = (await api.rpc<string[]>('getrawmempool')).length;
    expect(await api.rpc<string>('sendtoaddress', request)).toBe(txid);
    expect(
      await api.rpc<string>('sendmany', { amounts: { [MINING_ADDRESS]: 0.1 }, request_id: 'withdrawal 4711' }),
    ).toBe(txid);
    // Another payment is not confused with this one.
    const used = [-8, `request_id was used for another payment, ${txid}`];
    expect(await failure('sendtoaddress', { ...request, amount: 0.2 })).toEqual(used);
    expect(await failure('sendtoaddress', { ...request, address: await api.rpc('getnewaddress') })).toEqual(used);
    expect(
      await failure('sendmany', {
        amounts: { [MINING_ADDRESS]: 0.1, [await api.rpc<string>('getnewaddress')]: 0.1 },
        request_id: request.request_id,
      }),
    ).toEqual(used);
    const length = [-8, 'Invalid parameter, request_id must have 1 to 256 bytes'];
    for (const id of ['', 'x'.repeat(257)])
      expect(await failure('sendtoaddress', { ...request, request_id: id })).toEqual(length);
    const whole = { ...request, amount: 0.3, subtractfeefromamount: true, request_id: 'fee included' };
    const second = await api.rpc<string>('sendtoaddress', whole);
    expect(await api.rpc<string>('sendtoaddress', whole)).toBe(second);
    expect((await api.rpc<string[]>('getrawmempool')).length).toBe(count + 1);
    await node.stop();
    node = await startNode({ datadir: node.datadir, args: ['--wallet.keypool=20'] });
    api = node.api;
    // The level of fees is known once the mempool is loaded.
    await mempoolLoaded(node);
    expect(await api.rpc<string>('sendtoaddress', request)).toBe(txid);
    expect(await api.rpc<string>('sendtoaddress', { ...request, request_id: 'another' })).not.toBe(txid);
  });

  test('a transaction that is repeated keeps its position', async () => {
    const address = await api.rpc<string>('getnewaddress');
    const [coin] = await api.rpc<{ txid: string; vout: number; amount: number }[]>('listunspent', [101]);
    const again = {
      outputs: [{ [address]: coin!.amount }],
      options: {
        inputs: [{ txid: coin!.txid, vout: coin!.vout }],
        subtract_fee_from_outputs: [0],
        locktime: 0,
        fee_rate: 2,
      },
    };
    const balance = () => api.rpc<{ mine: object }>('getbalances').then(({ mine }) => mine);
    const { txid } = await api.rpc<{ txid: string }>('send', again);
    const waiting = await balance();
    expect(await api.rpc<{ txid: string }>('send', again)).toMatchObject({ txid });
    expect(await balance()).toEqual(waiting);
    await mine();
    const confirmed = await balance();
    expect(await api.rpc<{ txid: string }>('send', again)).toMatchObject({ txid });
    expect(await balance()).toEqual(confirmed);
    expect((await shown(txid)).confirmations).toBe(1);
  });

  test('a coin that is named twice is spent once', async () => {
    const [coin] = await api.rpc<{ txid: string; vout: number }[]>('listunspent', [1]);
    const input = { txid: coin!.txid, vout: coin!.vout };
    const { psbt } = await api.rpc<{ psbt: string }>('walletcreatefundedpsbt', [
      [input, input],
      [{ [MINING_ADDRESS]: 0.1 }],
    ]);
    expect((await api.rpc<{ inputs: unknown[] }>('decodepsbt', [psbt])).inputs).toHaveLength(1);
    expect(await failure('sendall', { recipients: [MINING_ADDRESS], options: { inputs: [input, input] } })).toEqual([
      -8,
      `Invalid parameter, duplicated input: ${coin!.txid}:${coin!.vout}`,
    ]);
  });

  test('bumps the fee of a payment, and shows both', async () => {
    const address = await api.rpc<string>('getnewaddress');
    const original = await api.rpc<string>('sendtoaddress', { address, amount: 3, fee_rate: 2, comment: 'rent' });
    const bumped = await api.rpc<{ txid: string; origfee: number; fee: number; errors: string[] }>('bumpfee', [
      original,
    ]);
    expect(bumped.fee).toBeGreaterThan(bumped.origfee);
    expect(bumped.errors).toEqual([]);
    const pool = await api.rpc<string[]>('getrawmempool');
    expect(pool).toContain(bumped.txid);
    expect(pool).not.toContain(original);
    expect(await shown(bumped.txid)).toMatchObject({
      replaces_txid: original,
      comment: 'rent',
      walletconflicts: [original],
    });
    expect(await shown(original)).toMatchObject({ replaced_by_txid: bumped.txid, mempoolconflicts: [bumped.txid] });
    expect(await failure('bumpfee', [original])).toEqual([
      -4,
      `Cannot bump transaction ${original} which was already bumped by transaction ${bumped.txid}`,
    ]);
    await mine();
    expect(await shown(original)).toMatchObject({ confirmations: -1, walletconflicts: [bumped.txid] });
    const { decoded } = await api.rpc<{ decoded: { vin: { txid: string; vout: number }[] } }>('gettransaction', [
      bumped.txid,
      true,
      true,
    ]);
    expect(await failure('bumpfee', [bumped.txid])).toEqual([
      -1,
      `${decoded.vin[0]!.txid}:${decoded.vin[0]!.vout} is already spent`,
    ]);
  });

  test('a replacement is final on request, and may not pay less than the transaction that it replaces', async () => {
    const address = await api.rpc<string>('getnewaddress');
    const original = await api.rpc<string>('sendtoaddress', { address, amount: 3, fee_rate: 2 });
    const { psbt } = await api.rpc<{ psbt: string }>('psbtbumpfee', [original, { fee_rate: 20, replaceable: false }]);
    const { inputs } = await api.rpc<{ inputs: { sequence: number }[] }>('decodepsbt', [psbt]);
    expect(new Set(inputs.map(({ sequence }) => sequence))).toEqual(new Set([0xffff_fffe]));
    const [code, message] = await failure('bumpfee', [original, { fee_rate: 0 }]);
    expect(code).toBe(-8);
    expect(message).toStartWith('Insufficient total fee 0.00, must be at least ');
    await mine();
  });

  test('send makes a transaction, or a PSBT that another wallet signs', async () => {
    const outputs = [{ [MINING_ADDRESS]: 1 }, { data: '00ff' }];
    const sent = await api.rpc<{ txid: string; complete: boolean }>('send', { outputs, fee_rate: 4 });
    expect(sent.complete).toBe(true);
    expect(await api.rpc<string[]>('getrawmempool')).toContain(sent.txid);
    const held = await api.rpc<{ txid: string; psbt: string; hex: string }>('send', {
      outputs,
      fee_rate: 4,
      add_to_wallet: false,
    });
    expect(await api.rpc<string[]>('getrawmempool')).not.toContain(held.txid);
    expect(held.hex).toMatch(/^02/);
    const [accepted] = await api.rpc<{ allowed: boolean }[]>('testmempoolaccept', [[held.hex]]);
    expect(accepted!.allowed).toBe(true);
    const created = await api.rpc<{ psbt: string; fee: number; changepos: number }>('walletcreatefundedpsbt', [
      [],
      [{ [NO_WITNESS_ADDRESS]: 2 }],
      0,
      { fee_rate: 5, changePosition: 1 },
    ]);
    expect(created.changepos).toBe(1);
    const refusal = [-8, 'Input weights should be specified in inputs rather than in options.'];
    const weighed = { input_weights: [] };
    expect(await failure('send', { outputs, options: weighed })).toEqual(refusal);
    expect(await failure('walletcreatefundedpsbt', [[], outputs, 0, weighed])).toEqual(refusal);
    const signed = await api.rpc<{ psbt: string; complete: boolean; hex: string }>('walletprocesspsbt', [created.psbt]);
    expect(signed.complete).toBe(true);
    expect(await api.rpc<string>('sendrawtransaction', [signed.hex])).toHaveLength(64);
    // Options of sendall alone.
    expect(await failure('send', { outputs, options: { version: 3 } })).toEqual([-3, 'Unexpected key version']);
    expect(await failure('send', { outputs, options: { send_max: true } })).toEqual([-3, 'Unexpected key send_max']);
    const nowhere = { inputs: [{ txid: '00'.repeat(32), vout: 0 }], add_inputs: true };
    expect(await failure('send', { outputs, options: nowhere })).toEqual([
      -4,
      'Unable to find UTXO for external input',
    ]);
    expect(await failure('sendall', { recipients: [MINING_ADDRESS], options: { minconf: -1 } })).toEqual([
      -8,
      'Invalid minconf (minconf cannot be negative): -1',
    ]);
  });

  test('an unconfirmed output of version 3 is spent by transactions of version 3 alone', async () => {
    const [coin] = await api.rpc<{ txid: string; vout: number }[]>('listunspent', [1]);
    const parent = await api.rpc<{ txid: string }>('send', {
      outputs: [{ [MINING_ADDRESS]: 0.1 }],
      options: { inputs: [{ txid: coin!.txid, vout: coin!.vout }], change_position: 1, fee_rate: 3 },
      version: 3,
    });
    const sweep = (version: number) => ({
      recipients: [MINING_ADDRESS],
      options: { inputs: [{ txid: parent.txid, vout: 1 }], fee_rate: 3, add_to_wallet: false, version },
    });
    expect(await failure('sendall', sweep(2))).toEqual([
      -8,
      "Can't spend unconfirmed version 3 pre-selected input with a version 2 tx",
    ]);
    expect(await api.rpc<{ complete: boolean }>('sendall', sweep(3))).toMatchObject({ complete: true });
    await mine();
    expect(await api.rpc<{ complete: boolean }>('sendall', sweep(2))).toMatchObject({ complete: true });
  });

  test('funds and signs drafts of others', async () => {
    // Version 2, no inputs, one output to a script of ours, no locktime.
    const { scriptPubKey } = await api.rpc<{ scriptPubKey: string }>('getaddressinfo', [
      await api.rpc<string>('getnewaddress'),
    ]);
    const length = (scriptPubKey.length / 2).toString(16).padStart(2, '0');
    const draft = `02000000000180f0fa0200000000${length}${scriptPubKey}00000000`;
    const funded = await api.rpc<{ hex: string; fee: number; changepos: number }>('fundrawtransaction', [draft]);
    expect(funded.changepos).toBeGreaterThanOrEqual(0);
    const signed = await api.rpc<{ hex: string; complete: boolean }>('signrawtransactionwithwallet', [funded.hex]);
    expect(signed.complete).toBe(true);
    expect(await api.rpc<string>('sendrawtransaction', [signed.hex])).toHaveLength(64);
  });

  test('a funded transaction keeps the scriptSigs of its inputs', async () => {
    const [coin] = await api.rpc<{ txid: string; vout: number; amount: number }[]>('listunspent');
    const made = await api.rpc<string>('createrawtransaction', [
      [{ txid: coin!.txid, vout: coin!.vout, sequence: 7 }],
      { [MINING_ADDRESS]: 0.2 },
    ]);
    // Version, number of inputs and outpoint are 41 bytes; an empty scriptSig follows.
    const draft = `${made.slice(0, 82)}0151${made.slice(84)}`;
    const { hex } = await api.rpc<{ hex: string }>('fundrawtransaction', [draft]);
    const { vin } = await api.rpc<{ vin: object[] }>('decoderawtransaction', [hex]);
    expect(vin[0]).toMatchObject({ txid: coin!.txid, vout: coin!.vout, sequence: 7, scriptSig: { hex: '51' } });
  });

  test('a transaction that is not in the mempool can be abandoned', async () => {
    const [coin] = await api.rpc<{ txid: string; vout: number; amount: number }[]>('listunspent');
    const made = await api.rpc<{ txid: string; hex: string }>('send', {
      outputs: [{ [MINING_ADDRESS]: 0.2 }],
      inputs: [{ txid: coin!.txid, vout: coin!.vout }],
      add_inputs: true,
      fee_rate: 3,
    });
    expect(await failure('abandontransaction', [made.txid])).toEqual([-5, 'Transaction not eligible for abandonment']);
    await mine();
    expect(await failure('abandontransaction', ['00'.repeat(32)])).toEqual([
      -5,
      'Invalid or non-wallet transaction id',
    ]);
  });

  test('signs messages, and nothing while it is locked', async () => {
    const address = await api.rpc<string>('getnewaddress', ['', 'legacy']);
    expect(await api.rpc<string>('signmessage', [address, 'it is me'])).toMatch(/^[A-Za-z0-9+/]{87}=$/);
    expect(await failure('signmessage', [MINING_ADDRESS, 'x'])).toEqual([-3, 'Address does not refer to key']);
    await api.rpc('encryptwallet', ['secret']);
    const locked = [-13, 'Error: Please enter the wallet passphrase with walletpassphrase first.'];
    expect(await failure('signmessage', [address, 'it is me'])).toEqual(locked);
    expect(await failure('sendtoaddress', [MINING_ADDRESS, 1])).toEqual(locked);
    expect(await call('walletpassphrase', ['secret', 60])).toMatchObject({ result: null });
    expect(await api.rpc<string>('sendtoaddress', [MINING_ADDRESS, 1])).toHaveLength(64);
    const { descriptors } = await api.rpc<{ descriptors: { active: boolean }[] }>('listdescriptors');
    expect(descriptors.filter(({ active }) => !active)).toHaveLength(8);
  });
});
