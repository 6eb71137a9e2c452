import { beforeAll, describe, expect, test } from 'bun:test';
import type { ApiClient } from '../lib/node-client.ts';
import { cleanUpAfterTests, startNode } from '../lib/node-process.ts';
import { MINING_ADDRESS } from '../lib/peer-node.ts';

cleanUpAfterTests();

interface WalletTx {
  readonly txid: string;
  readonly hex: string;
  readonly fee: number;
  readonly trusted?: boolean;
}

/** Sequence of an input that signals neither replaceability (BIP-125) nor a relative locktime. */
const NOT_REPLACEABLE = 0xfffffffe;

async function startFunded(args: readonly string[], coins: number): Promise<ApiClient> {
  const { api } = await startNode({ args: ['--wallet.keypool=5', ...args] });
  const address = await api.rpc<string>('getnewaddress');
  await api.rpc('generatetoaddress', [coins, address]);
  await api.rpc('generatetoaddress', [100, MINING_ADDRESS]);
  return api;
}

describe('a wallet that neither broadcasts nor signals', () => {
  let api: ApiClient;
  beforeAll(async () => {
    const args = ['--wallet.broadcast=false', '--wallet.replaceable=false', '--wallet.minFeeRate=7'];
    api = await startFunded([...args, '--wallet.maxFee=5000'], 3);
  });

  test('a transaction stays in the wallet until it is submitted', async () => {
    const txid = await api.rpc<string>('sendtoaddress', [MINING_ADDRESS, 1]);
    expect(await api.rpc<string[]>('getrawmempool')).toEqual([]);
    const { hex, fee } = await api.rpc<WalletTx>('gettransaction', [txid]);
    const { vin, vsize } = await api.rpc<{ vin: { sequence: number }[]; vsize: number }>('decoderawtransaction', [hex]);
    expect(vin.map(({ sequence }) => sequence)).toEqual([NOT_REPLACEABLE]);
    // The minimum feerate of the wallet, 7 sat/vB; a signature may be a byte shorter than expected.
    const satoshis = Math.round(-fee * 1e8);
    expect(satoshis).toBeGreaterThanOrEqual(vsize * 7);
    expect(satoshis).toBeLessThanOrEqual((vsize + 1) * 7);
    expect(await api.rpc<string>('sendrawtransaction', [hex])).toBe(txid);
    expect(await api.rpc<string[]>('getrawmempool')).toEqual([txid]);
  });

  test('send and walletcreatefundedpsbt follow the setting, and a caller may decide otherwise', async () => {
    const sequences = async (options: object) => {
      const { psbt } = await api.rpc<{ psbt: string }>('walletcreatefundedpsbt', [
        [],
        [{ [MINING_ADDRESS]: 1 }],
        0,
        options,
      ]);
      const { inputs } = await api.rpc<{ inputs: { sequence: number }[] }>('decodepsbt', [psbt]);
      return inputs.map(({ sequence }) => sequence);
    };
    expect(await sequences({})).toEqual([NOT_REPLACEABLE]);
    expect(await sequences({ replaceable: true })).toEqual([0xfffffffd]);
    const { psbt } = await api.rpc<{ psbt: string }>('send', {
      outputs: [{ [MINING_ADDRESS]: 1 }],
      options: { add_to_wallet: false },
    });
    const { inputs } = await api.rpc<{ inputs: { sequence: number }[] }>('decodepsbt', [psbt]);
    expect(inputs.map(({ sequence }) => sequence)).toEqual([NOT_REPLACEABLE]);
  });

  test('fundrawtransaction spends an output that input_weights alone names, and refuses null as a change type', async () => {
    const raw = await api.rpc<string>('createrawtransaction', [[], [{ [MINING_ADDRESS]: 1 }]]);
    await expect(api.rpc('fundrawtransaction', [raw, { change_type: null }])).rejects.toThrow(
      'JSON value of type null is not of expected type string',
    );
    for (const { txid, vout } of await api.rpc<{ txid: string; vout: number }[]>('listunspent')) {
      const options = { input_weights: [{ txid, vout, weight: 300 }] };
      const { hex } = await api.rpc<{ hex: string }>('fundrawtransaction', [raw, options]);
      const { vin } = await api.rpc<{ vin: object[] }>('decoderawtransaction', [hex]);
      expect(vin).toMatchObject([{ txid, vout }]);
    }
  });

  test('a fee above the limit is refused', () => {
    const params = { address: MINING_ADDRESS, amount: 1, fee_rate: 100 };
    return expect(api.rpc('sendtoaddress', params)).rejects.toThrow(
      'Fee exceeds maximum configured by user (e.g. -maxtxfee, maxfeerate)',
    );
  });
});

describe('a wallet that keeps unconfirmed change, and transactions that the mempool rejects', () => {
  let api: ApiClient;
  beforeAll(async () => {
    const args = ['--wallet.spendUnconfirmedChange=false', '--wallet.rejectLongChains=false'];
    api = await startFunded([...args, '--mempool.clusterCount=2'], 1);
  });

  test('unconfirmed change is neither trusted nor spent', async () => {
    const txid = await api.rpc<string>('sendtoaddress', [MINING_ADDRESS, 1]);
    const { mine } = await api.rpc<{ mine: { trusted: number; untrusted_pending: number } }>('getbalances');
    expect(mine.trusted).toBe(0);
    expect(mine.untrusted_pending).toBeGreaterThan(48.9);
    expect((await api.rpc<WalletTx>('gettransaction', [txid])).trusted).toBe(false);
    await expect(api.rpc('sendtoaddress', [MINING_ADDRESS, 1])).rejects.toThrow('Insufficient funds');
  });

  test('a transaction beyond the limits of the mempool is kept', async () => {
    const spend = async () => {
      const [coin] = await api.rpc<{ txid: string; vout: number }[]>('listunspent', [0, 10, [], true]);
      const { txid } = await api.rpc<{ txid: string }>('send', {
        outputs: [{ [MINING_ADDRESS]: 1 }],
        options: { inputs: [{ txid: coin!.txid, vout: coin!.vout }], add_inputs: false },
      });
      return txid;
    };
    const second = await spend();
    expect(await api.rpc<string[]>('getrawmempool')).toContain(second);
    const third = await spend();
    expect(await api.rpc<string[]>('getrawmempool')).not.toContain(third);
    expect((await api.rpc<WalletTx>('gettransaction', [third])).txid).toBe(third);
  });
});

describe('a wallet without a fallback fee', () => {
  test('payments without an estimate are refused on test networks as well', async () => {
    const api = await startFunded(['--wallet.fallbackFee=0'], 1);
    const refused = (code: number) => `"code":${code},"message":"Fee estimation failed. Fallbackfee is disabled.`;
    await expect(api.rpc('sendtoaddress', [MINING_ADDRESS, 1])).rejects.toThrow(refused(-6));
    await expect(api.rpc('sendmany', ['', { [MINING_ADDRESS]: 1 }])).rejects.toThrow(refused(-6));
    const raw = await api.rpc<string>('createrawtransaction', [[], [{ [MINING_ADDRESS]: 1 }]]);
    await expect(api.rpc('fundrawtransaction', [raw])).rejects.toThrow(refused(-4));
    await api.rpc('sendtoaddress', { address: MINING_ADDRESS, amount: 1, fee_rate: 2 });
  });
});
