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
    // The transaction index and the spender index are those of the route, which is requested for a part of them.
    const { outputs } = model;
    for (let from = 0; from < outputs.length; from += 5000) {
      const batch = outputs.slice(from, from + 5000);
      const outpoints = batch.map(({ txid, vout }) => ({ txid, vout }));
      const found = batch.map(({ spentBy }) =>
        spentBy ? { spendingtxid: spentBy.txid, blockhash: spentBy.place!.blockHash } : {},
      );
      const expected = outpoints.map((outpoint, i) => ({ ...outpoint, ...found[i] }));
      expect(await api.rpc<object[]>('gettxspendingprevout', outpoints)).toEqual(expected);
    }
    let spent = 0;
    for (const [txid, { place, outputs }] of model.txs) {
      const { index } = place!;
      if (index % 40 !== 0 && (outputs.length < 4 || index % 8 !== 0)) continue;
      const expected = model.outspends(txid);
      expect(await api.json<object[]>(`/api/tx/${txid}/outspends`)).toEqual(expected);
      const last = outputs.length - 1;
      expect(await api.json<object>(`/api/tx/${txid}/outspend/${last}`)).toEqual(expected[last]!);
      spent += outputs.filter(({ spentBy }) => spentBy).length;
    }
    expect(spent).toBeGreaterThan(300);
  });

  test('the balances and the unspent outputs of all scripts', async () => {
    const { scripts } = model;
    const addresses = scripts.slice(0, 1000).map((script) => `script:${script}`);
    const balances = await api.post('/api/balances', JSON.stringify({ addresses }));
    const { items, tip } = (await balances.json()) as { items: object[]; tip: object };
    expect(tip).toEqual(model.tip);
    expect(items).toHaveLength(addresses.length);
    for (const [i, item] of items.entries()) expect(item).toMatchObject(model.balance(scripts[i]!));
    const found: string[] = [];
    for (let path: string | null = '/api/utxos?limit=500'; path; ) {
      const reply = await api.post(path, JSON.stringify({ addresses }));
      type Item = { txid: string; vout: number; value: number; height: number };
      const page = (await reply.json()) as { items: Item[]; next: string | null };
      found.push(...page.items.map(({ txid, vout, value, height }) => `${txid}:${vout} ${value} ${height}`));
      path = page.next;
    }
    expect(found.length).toBeGreaterThan(150);
    expect(found.toSorted()).toEqual(
      scripts
        .slice(0, 1000)
        .flatMap((script) => model.utxos(script))
        .sort(),
    );
  });
});
