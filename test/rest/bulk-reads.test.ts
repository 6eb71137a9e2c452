import { afterAll, expect, test } from 'bun:test';
import { genesisBlock } from '../../src/params/genesis.ts';
import { regtest } from '../../src/params/regtest.ts';
import { describeWithVectors, mixedChainBlocks, mixedChainDir, startTestApi } from '../lib/chain-api.ts';
import { ALL_INDEXES } from '../lib/chain-fixture.ts';
import { ChainModel } from '../lib/chain-model.ts';
import { defaultReadSources } from '../lib/default-options.ts';

describeWithVectors('bulk reads of a chain that Bitcoin Core has validated', () => {
  const blocks = mixedChainBlocks();
  const model = new ChainModel(blocks.length === 160 ? [genesisBlock(regtest), ...blocks] : blocks);
  const api = startTestApi(mixedChainDir(), { sources: defaultReadSources(regtest, { indexes: ALL_INDEXES }) });
  afterAll(() => api.close());

  test('the spenders of all outputs', async () => {
    let spent = 0;
    for (const [txid, { outputs }] of model.txs) {
      const expected = model.outspends(txid);
      expect(await api.json<object[]>(`/api/tx/${txid}/outspends`)).toEqual(expected);
      const last = outputs.length - 1;
      expect(await api.json<object>(`/api/tx/${txid}/outspend/${last}`)).toEqual(expected[last]!);
      spent += outputs.filter(({ spentBy }) => spentBy).length;
    }
    expect(spent).toBeGreaterThan(300);
  });
});
