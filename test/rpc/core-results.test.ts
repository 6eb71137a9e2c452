import { afterAll, expect, test } from 'bun:test';
import {
  type ApiFixture,
  describeWithVectors,
  expectedOfMixedChain,
  mixedChainDir,
  startTestApi,
} from '../lib/chain-api.ts';

interface CoreTx {
  txid: string;
  vin: Record<string, unknown>[];
}

// The results of Bitcoin Core for the same chain. Texts are compared, so that the order of members counts as well.
describeWithVectors('results are those of Bitcoin Core', () => {
  const expected = expectedOfMixedChain();
  const api: ApiFixture = startTestApi(mixedChainDir());
  afterAll(() => api.close());
  const same = (ours: unknown, cores: unknown) => expect(JSON.stringify(ours)).toBe(JSON.stringify(cores));

  for (const [height, block] of Object.entries(expected.blocks))
    test(`getblock and getblockheader at height ${height}`, async () => {
      expect(await api.rpc<string>('getblockhash', Number(height))).toBe(block.hash);
      same(await api.rpc('getblock', block.hash, 1), block);
      const { strippedsize, size, weight, coinbase_tx, tx, ...header } = block;
      same(await api.rpc('getblockheader', block.hash), header);
      const raw = await api.rpc<string>('getblock', block.hash, 0);
      expect(raw.length).toBe((size as number) * 2);
      expect(await api.rpc<string>('getblockheader', block.hash, false)).toBe(raw.slice(0, 160));
      expect([strippedsize, weight, coinbase_tx, tx].includes(undefined)).toBe(false);
    });

  test('getblock at verbosity 3, and at 2 the same without the spent outputs', async () => {
    // The file holds only some of its transactions.
    const { tx: chosen, ...rest } = expected.tipBlockVerbosity3 as { tx: CoreTx[] };
    for (const verbosity of [2, 3]) {
      const { tx: all, ...block } = await api.rpc<{ tx: CoreTx[] }>('getblock', expected.tip, verbosity);
      same(block, rest);
      expect(all.length).toBe(expected.blocks[160]!.nTx);
      for (const tx of chosen) {
        const vin = verbosity === 3 ? tx.vin : tx.vin.map(({ prevout, ...input }) => input);
        same(
          all.find(({ txid }) => txid === tx.txid),
          { ...tx, vin },
        );
      }
    }
  });

  for (const tx of expected.transactions)
    test(`getrawtransaction ${tx.txid.slice(0, 8)}`, async () => {
      same(await api.rpc('getrawtransaction', tx.txid, 2), tx);
      expect(await api.rpc<string>('getrawtransaction', tx.txid)).toBe(tx.hex);
      const { in_active_chain, ...inBlock } = await api.rpc<Record<string, unknown>>(
        'getrawtransaction',
        tx.txid,
        2,
        tx.blockhash,
      );
      expect(in_active_chain).toBe(true);
      same(inBlock, tx);
      const { fee, ...plain } = tx;
      const vin = (tx.vin as Record<string, unknown>[]).map(({ prevout, ...input }) => input);
      same(await api.rpc('getrawtransaction', tx.txid, true), { ...plain, vin });
      expect(fee === undefined).toBe('coinbase' in vin[0]!);
    });

  for (const [txid, proof] of Object.entries(expected.proofs))
    test(`gettxoutproof and verifytxoutproof ${txid.slice(0, 8)}`, async () => {
      expect(await api.rpc<string>('gettxoutproof', [txid])).toBe(proof);
      expect(await api.rpc<string[]>('verifytxoutproof', proof)).toEqual([txid]);
    });

  test('a proof of several transactions shows them in block order; a changed one shows none', async () => {
    const txids = Object.keys(expected.proofs);
    const block = Object.values(expected.blocks).find(({ tx }) => tx?.includes(txids[0]!))!;
    const together = txids.filter((txid) => block.tx!.includes(txid));
    const proof = await api.rpc<string>('gettxoutproof', together.toReversed(), block.hash);
    expect(await api.rpc<string[]>('verifytxoutproof', proof)).toEqual(
      together.toSorted((a, b) => block.tx!.indexOf(a) - block.tx!.indexOf(b)),
    );
    const flipped = `${proof.slice(0, 200)}${proof[200] === '0' ? '1' : '0'}${proof.slice(201)}`;
    expect(await api.rpc<string[]>('verifytxoutproof', flipped)).toEqual([]);
  });

  for (const [height, stats] of Object.entries(expected.blockstats))
    test(`getblockstats ${height}`, async () => {
      same(await api.rpc('getblockstats', Number(height)), stats);
      same(await api.rpc('getblockstats', stats.blockhash, ['txs', 'avgfee']), {
        avgfee: stats.avgfee,
        txs: stats.txs,
      });
    });

  test('getdeploymentinfo', async () => {
    expect(await api.rpc<object>('getdeploymentinfo')).toEqual(expected.deployments);
  });

  test('getchaintxstats', async () => same(await api.rpc('getchaintxstats', 50), expected.chaintxstats));

  test('gettxoutsetinfo', async () => {
    // disk_size depends on the database.
    const withoutDisk = ({ disk_size, ...rest }: Record<string, unknown>) => rest;
    const serialized = withoutDisk(expected.txoutset.hash_serialized_3);
    same(withoutDisk(await api.rpc('gettxoutsetinfo')), serialized);
    const { hash_serialized_3, ...rest } = serialized;
    const muhash = await api.rpc<Record<string, unknown>>('gettxoutsetinfo', 'muhash');
    expect(muhash.muhash).toBe(expected.txoutset.muhash);
    expect(withoutDisk(await api.rpc('gettxoutsetinfo', 'none'))).toEqual(rest);
    expect(typeof hash_serialized_3).toBe('string');
  });

  test('gettxout of every output of a transaction', async () => {
    const tx = expected.transactions[0]!;
    for (const { n, value, scriptPubKey } of tx.vout as { n: number; value: number; scriptPubKey: unknown }[]) {
      const out = await api.rpc<Record<string, unknown> | null>('gettxout', tx.txid, n);
      if (out === null) continue;
      expect(Object.keys(out)).toEqual(['bestblock', 'confirmations', 'value', 'scriptPubKey', 'coinbase']);
      expect(out).toEqual({ bestblock: expected.tip, confirmations: 11, value, scriptPubKey, coinbase: false });
    }
    expect(await api.rpc<null>('gettxout', tx.txid, 4_294_967_295)).toBeNull();
  });
});
