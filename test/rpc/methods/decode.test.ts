import { afterAll, expect, test } from 'bun:test';
import { describeWithVectors, mixedChainDir, startTestApi } from '../../lib/chain-api.ts';
import { readVectorJson } from '../../lib/vectors.ts';

describeWithVectors('decoding as Bitcoin Core does it', () => {
  const api = startTestApi(mixedChainDir());
  afterAll(() => api.close());

  const answer = async (method: string, ...params: unknown[]): Promise<unknown> => {
    const response = await api.post('/', JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }));
    const { result, error } = (await response.json()) as {
      result?: Record<string, unknown>;
      error?: { code: number; message: string };
    };
    return error ? [error.code, error.message] : result;
  };

  for (const [hex, expected] of readVectorJson<[string, object][]>('functional/rpc_decodescript.json'))
    test(`decodescript ${hex.slice(0, 40)}`, async () => expect(await answer('decodescript', hex)).toEqual(expected));

  test('decodescript rejects text that is not hex, and decodes an empty script', async () => {
    expect(await answer('decodescript', 'zz')).toEqual([-8, "argument must be hexadecimal string (not 'zz')"]);
    expect(await answer('decodescript', '')).toMatchObject({ asm: '', desc: 'raw()#58lrscpx', type: 'nonstandard' });
  });

  // No inputs and one output: the bytes of an empty list of inputs are also the marker of witnesses (BIP-144).
  const empty = '0200000000010000000000000000016a00000000';
  test('decoderawtransaction tries both serializations and selects the one with sane scripts', async () => {
    const read = { version: 2, vin: [], vout: [{ value: 0, n: 0, scriptPubKey: { asm: 'OP_RETURN' } }], locktime: 0 };
    expect(await answer('decoderawtransaction', empty)).toMatchObject(read);
    expect(await answer('decoderawtransaction', empty, false)).toMatchObject(read);
    expect(await answer('decoderawtransaction', empty, true)).toEqual([-22, 'TX decode failed']);
  });

  test('decoderawtransaction shows everything except the data of the chain', async () => {
    const tx = (await answer('decoderawtransaction', empty)) as Record<string, unknown>;
    expect(Object.keys(tx)).toEqual([
      ...['txid', 'hash', 'version', 'size', 'vsize', 'weight', 'locktime', 'vin', 'vout'],
    ]);
    for (const hex of ['', '00', 'zz', `${empty}00`])
      expect(await answer('decoderawtransaction', hex)).toEqual([-22, 'TX decode failed']);
  });
});
