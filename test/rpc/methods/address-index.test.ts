import { afterAll, expect, test } from 'bun:test';
import { describeWithVectors, expectedOfMixedChain, mixedChainDir, startTestApi } from '../../lib/chain-api.ts';

interface Balance {
  balance: number;
  balance_immature: number;
  balance_spendable: number;
  received: number;
}
interface Utxo {
  txid: string;
  outputIndex: number;
  satoshis: number;
  height: number;
}
interface Scan {
  success: boolean;
  txouts: number;
  total_amount: number;
  unspents: { txid: string; vout: number; desc: string; amount: number; coinbase: boolean; height: number }[];
}
interface Delta {
  satoshis: number;
  txid: string;
  height: number;
  blockindex: number;
}

const satoshis = (coins: number) => Math.round(coins * 1e8);

describeWithVectors('address methods agree with Bitcoin Core', () => {
  const { balances, tip, txoutset } = expectedOfMixedChain();
  const withAddress = balances.filter(({ address }) => address);
  const addresses = withAddress.map(({ address }) => address);
  const api = startTestApi(mixedChainDir());
  afterAll(() => api.close());

  const errorOf = async (method: string, ...params: unknown[]) => {
    const response = await api.post('/', JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }));
    const { error } = (await response.json()) as { error?: { code: number; message: string } };
    return error && [error.code, error.message];
  };

  for (const { type, address, balance, utxos, coinbaseUtxos } of withAddress)
    test(`${type}: balance, coins and history agree`, async () => {
      const held = await api.rpc<Balance>('getaddressbalance', address);
      expect(held.balance).toBe(balance);
      expect(held.balance_spendable + held.balance_immature).toBe(held.balance);
      const coins = await api.rpc<Utxo[]>('getaddressutxos', { addresses: [address] });
      expect(coins).toHaveLength(utxos);
      expect(coins.reduce((sum, coin) => sum + coin.satoshis, 0)).toBe(held.balance);
      const found = await api.rpc<Scan>('scantxoutset', 'start', [`addr(${address})`]);
      expect(found).toMatchObject({ success: true, txouts: txoutset.hash_serialized_3.txouts, bestblock: tip });
      expect(satoshis(found.total_amount)).toBe(held.balance);
      expect(found.unspents.filter(({ coinbase }) => coinbase)).toHaveLength(coinbaseUtxos);
      expect(new Set(found.unspents.map(({ txid, vout }) => `${txid}:${vout}`))).toEqual(
        new Set(coins.map(({ txid, outputIndex }) => `${txid}:${outputIndex}`)),
      );
      const deltas = await api.rpc<Delta[]>('getaddressdeltas', { addresses: [address] });
      expect(deltas.reduce((sum, delta) => sum + delta.satoshis, 0)).toBe(held.balance);
      expect(deltas.filter((delta) => delta.satoshis > 0).reduce((sum, delta) => sum + delta.satoshis, 0)).toBe(
        held.received,
      );
      const txids = await api.rpc<string[]>('getaddresstxids', { addresses: [address] });
      expect(txids).toEqual([...new Set(deltas.map(({ txid }) => txid))]);
    });

  test('several addresses are combined, each once', async () => {
    const sum = withAddress.reduce((all, { balance }) => all + balance, 0);
    expect((await api.rpc<Balance>('getaddressbalance', { addresses })).balance).toBe(sum);
    const twice = { addresses: [addresses[0], addresses[0]] };
    expect(await api.rpc<Balance>('getaddressbalance', twice)).toEqual(
      await api.rpc('getaddressbalance', addresses[0]),
    );
    const coins = await api.rpc<Utxo[]>('getaddressutxos', { addresses });
    expect(coins.map(({ height }) => height)).toEqual(coins.map(({ height }) => height).sort((a, b) => a - b));
  });

  test('a range of heights limits the result, and chainInfo adds its blocks', async () => {
    const [address] = addresses;
    const all = await api.rpc<Delta[]>('getaddressdeltas', address);
    const { height } = all[Math.floor(all.length / 2)]!;
    const some = { addresses: [address], start: height, end: height };
    const deltas = all.filter((delta) => delta.height === height);
    expect(await api.rpc<Delta[]>('getaddressdeltas', some)).toEqual(deltas);
    expect(await api.rpc<string[]>('getaddresstxids', some)).toEqual([...new Set(deltas.map(({ txid }) => txid))]);
    const hash = await api.rpc('getblockhash', height);
    expect(await api.rpc<object>('getaddressdeltas', { ...some, chainInfo: true })).toEqual({
      deltas,
      start: { hash, height },
      end: { hash, height },
    });
    expect(await api.rpc<object>('getaddressutxos', { addresses: [address], chainInfo: true })).toMatchObject({
      hash: tip,
      height: 160,
    });
  });

  test('invalid arguments are rejected', async () => {
    expect(await errorOf('getaddressbalance', 'nope')).toEqual([-5, 'Invalid address']);
    expect(await errorOf('getaddressbalance', 5)).toEqual([-5, 'Invalid address']);
    expect(await errorOf('getaddressbalance', {})).toEqual([-5, 'Addresses is expected to be an array']);
    expect(await errorOf('getaddresstxids', { addresses: [addresses[0]], start: 0, end: 5 })).toEqual([
      -5,
      'Start and end is expected to be greater than zero',
    ]);
    expect(await errorOf('getaddresstxids', { addresses: [addresses[0]], start: 6, end: 5 })).toEqual([
      -5,
      'End value is expected to be greater than start',
    ]);
    expect(await errorOf('getaddressdeltas', { addresses: [], start: 1, end: 900, chainInfo: true })).toEqual([
      -5,
      'Start or end is outside chain range',
    ]);
  });

  const scans: [unknown[], number, string][] = [
    [['x'], -8, "Invalid action 'x'"],
    [['start'], -1, 'scanobjects argument is required for the start action'],
    [['start', [1]], -8, 'Scan object needs to be either a string or an object'],
    [['start', [{}]], -8, 'Descriptor needs to be provided in scan object'],
    [['start', ['addr(nope)']], -5, 'Address is not valid'],
    [['start', ['raw(51)#8lvh9jxx']], -5, "Provided checksum '8lvh9jxx' does not match computed checksum '8lvh9jxk'"],
  ];
  for (const [params, code, message] of scans)
    test(`scantxoutset ${JSON.stringify(params)}: ${code}`, async () =>
      expect(await errorOf('scantxoutset', ...params)).toEqual([code, message]));

  test('status and abort never find a scan', async () => {
    expect(await api.rpc('scantxoutset', 'status')).toBeNull();
    expect(await api.rpc<boolean>('scantxoutset', 'abort')).toBe(false);
    expect(await api.rpc<Scan>('scantxoutset', 'start', [])).toMatchObject({ unspents: [], total_amount: 0 });
  });

  test('verifychain accepts an intact chain at every level', async () => {
    for (const level of [0, 1, 2, 3, 4]) expect(await api.rpc<boolean>('verifychain', level, 2)).toBe(true);
    expect(await api.rpc<boolean>('verifychain', 3, 0)).toBe(true);
  }, 180_000);
});
