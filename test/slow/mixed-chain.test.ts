import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mixedDirectory } from '../lib/chain-directory.ts';
import { proofFault } from '../lib/merkle-proof.ts';
import type { AddressTx, Balance, BlockBody, Info, Page, Proof, TxBody, Utxo } from '../lib/node-client.ts';
import { cleanUpAfterTests, type NodeProcess, poll, startNode } from '../lib/node-process.ts';
import { rpcError } from '../lib/peer-node.ts';
import { hasVectors, readVectorJson } from '../lib/vectors.ts';

cleanUpAfterTests();

interface CoreScript {
  readonly asm: string;
  readonly hex: string;
  readonly type: string;
  readonly address?: string;
}

interface CoreTx {
  readonly txid: string;
  readonly hash: string;
  readonly version: number;
  readonly size: number;
  readonly vsize: number;
  readonly weight: number;
  readonly locktime: number;
  readonly vin: readonly {
    readonly txid?: string;
    readonly vout?: number;
    readonly coinbase?: string;
    readonly scriptSig?: { asm: string; hex: string };
    readonly txinwitness?: readonly string[];
    readonly prevout?: { generated: boolean; height: number; value: number; scriptPubKey: CoreScript };
    readonly sequence: number;
  }[];
  readonly vout: readonly { value: number; n: number; scriptPubKey: CoreScript }[];
  readonly fee?: number;
  readonly hex: string;
  readonly blockhash: string;
  readonly confirmations: number;
  readonly time: number;
}

interface CoreBlock {
  readonly hash: string;
  readonly confirmations: number;
  readonly height: number;
  readonly version: number;
  readonly versionHex: string;
  readonly merkleroot: string;
  readonly time: number;
  readonly mediantime: number;
  readonly nonce: number;
  readonly bits: string;
  readonly target: string;
  readonly difficulty: number;
  readonly chainwork: string;
  readonly nTx: number;
  readonly previousblockhash?: string;
  readonly nextblockhash?: string;
  readonly strippedsize: number;
  readonly size: number;
  readonly weight: number;
  readonly coinbase_tx: { coinbase: string };
  readonly tx: readonly string[];
}

interface Expected {
  readonly height: number;
  readonly tip: string;
  readonly txoutset: { hash_serialized_3: Record<string, number | string>; muhash: string };
  readonly blocks: Readonly<Record<string, CoreBlock>>;
  readonly tipBlockVerbosity3: Omit<CoreBlock, 'tx'> & { tx: readonly CoreTx[] };
  readonly blockstats: Readonly<Record<string, Record<string, number | string | number[]>>>;
  readonly transactions: readonly CoreTx[];
  readonly proofs: Readonly<Record<string, string>>;
  readonly balances: readonly {
    type: string;
    address: string;
    balance: number;
    utxos: number;
    coinbaseUtxos: number;
  }[];
  readonly chaintxstats: Record<string, unknown>;
}

const sat = (coins: number) => Math.round(coins * 100_000_000);
const scriptOf = ({ hex, asm, type, address = '' }: CoreScript) => ({ hex, asm, type, address: address || null });

/** Returns a transaction in the form of REST, from that of Core. */
function restTx(tx: CoreTx) {
  const values = tx.vin.map(({ prevout }) => (prevout ? sat(prevout.value) : 0));
  return {
    txid: tx.txid,
    wtxid: tx.hash,
    version: tx.version,
    locktime: tx.locktime,
    size: tx.size,
    vsize: tx.vsize,
    weight: tx.weight,
    isCoinbase: tx.vin[0]!.coinbase !== undefined,
    fee: tx.fee === undefined ? null : sat(tx.fee),
    valueOut: tx.vout.reduce((sum, { value }) => sum + sat(value), 0),
    ...(tx.fee !== undefined && { valueIn: values.reduce((sum, value) => sum + value, 0) }),
    vin: tx.vin.map((input) => ({
      txid: input.txid ?? null,
      vout: input.vout ?? null,
      sequence: input.sequence,
      coinbase: input.coinbase ?? null,
      witness: input.txinwitness ?? [],
      ...(input.scriptSig && { scriptSig: input.scriptSig }),
      prevout: input.prevout
        ? {
            value: sat(input.prevout.value),
            height: input.prevout.height,
            isCoinbase: input.prevout.generated,
            script: scriptOf(input.prevout.scriptPubKey),
          }
        : null,
    })),
    vout: tx.vout.map(({ n, value, scriptPubKey }) => ({ n, value: sat(value), script: scriptOf(scriptPubKey) })),
    hex: tx.hex,
  };
}

describe.skipIf(!hasVectors)('the mixed regtest chain matches Bitcoin Core', () => {
  const expected = hasVectors ? readVectorJson<Expected>('chains/regtest-mixed-160.expected.json') : ({} as Expected);
  const tip = { height: 160, hash: '395aca57cd18ec91737f277e9582545256d9e61c644b387372ba6f41c18d8067' };
  let node: NodeProcess;

  beforeAll(async () => {
    // The statistics of the coins are computed behind the chain that the directory has.
    node = await startNode({ datadir: await mixedDirectory(), args: ['--index.coinStats'] });
  }, 120_000);
  afterAll(async () => {
    await node?.stop();
  });

  test('tip', async () => {
    expect([expected.height, expected.tip]).toEqual([tip.height, tip.hash]);
    expect(await node.api.json<Info>('/api/info')).toMatchObject({
      height: tip.height,
      bestBlockHash: tip.hash,
      headers: tip.height,
    });
  });

  test('in balances, and in coins over all pages', async () => {
    expect(expected.balances.length).toBeGreaterThan(20);
    for (const { address, type, balance, utxos, coinbaseUtxos } of expected.balances) {
      const answer = await node.api.json<Balance>(`/api/balance/${address}`);
      expect(answer).toMatchObject({
        address,
        script: { type, address },
        confirmed: balance,
        total: balance,
        utxoCount: utxos,
        tip,
      });
      expect(answer.received - answer.sent).toBe(balance);
      const { items, first, pages } = await node.api.all<Utxo, Page<Utxo> & { total: object }>(
        `/api/address/${address}/utxos?limit=97`,
      );
      expect(first.total).toEqual({ count: utxos, value: balance });
      expect(pages).toBe(Math.max(1, Math.ceil(utxos / 97)));
      expect(items).toHaveLength(utxos);
      expect(new Set(items.map(({ txid, vout }) => `${txid}:${vout}`)).size).toBe(utxos);
      expect(items.reduce((sum, { value }) => sum + value, 0)).toBe(balance);
      expect(items.filter(({ isCoinbase }) => isCoinbase)).toHaveLength(coinbaseUtxos);
      const immature = items.filter(({ mature }) => !mature).reduce((sum, { value }) => sum + value, 0);
      expect(answer.immature).toBe(immature);
      const heights = items.map(({ height }) => height!);
      expect(heights).toEqual(heights.toSorted((a, b) => a - b));
      for (const item of items) expect(item.confirmations).toBe(160 - item.height! + 1);
    }
  }, 180_000);

  test('in histories that add up to the balances, in both directions', async () => {
    for (const { address, balance } of expected.balances) {
      const answer = await node.api.json<Balance>(`/api/balance/${address}`);
      const path = `/api/address/${address}/txs`;
      const { items } = await node.api.all<AddressTx>(`${path}?limit=499`);
      expect(items).toHaveLength(answer.txCount);
      expect(new Set(items.map(({ txid }) => txid)).size).toBe(answer.txCount);
      expect(items.reduce((sum, { net }) => sum + net, 0)).toBe(balance);
      expect(items.reduce((sum, { received }) => sum + received, 0)).toBe(answer.received);
      for (const { net, received, sent, inputs, outputs } of items) {
        expect(net).toBe(received - sent);
        expect(outputs.reduce((sum, { value }) => sum + value, 0)).toBe(received);
        expect(inputs.reduce((sum, { value }) => sum + value, 0)).toBe(sent);
      }
      const places = items.map(({ status }) => status.blockHeight! * 100_000 + status.blockIndex!);
      expect(places).toEqual(places.toSorted((a, b) => b - a));
      expect(answer.lastSeenHeight).toBe(items[0]?.status.blockHeight ?? null);
      expect(answer.firstSeenHeight).toBe(items.at(-1)?.status.blockHeight ?? null);
      if (items.length > 400) continue;
      const { items: ascending } = await node.api.all<AddressTx>(`${path}?limit=50&order=asc`);
      expect(ascending).toEqual(items.toReversed());
    }
  }, 180_000);

  test('in blocks, by height and by hash', async () => {
    for (const block of Object.values(expected.blocks)) {
      const answer = await node.api.json<BlockBody>(`/api/block-by-height/${block.height}`);
      expect(answer).toMatchObject({
        hash: block.hash,
        height: block.height,
        confirmations: block.confirmations,
        inActiveChain: true,
        previousHash: block.previousblockhash ?? null,
        nextHash: block.nextblockhash ?? null,
        version: block.version,
        versionHex: block.versionHex,
        merkleRoot: block.merkleroot,
        time: block.time,
        medianTime: block.mediantime,
        nonce: block.nonce,
        bits: block.bits,
        target: block.target,
        difficulty: block.difficulty,
        chainwork: block.chainwork,
        txCount: block.nTx,
        size: block.size,
        strippedSize: block.strippedsize,
        weight: block.weight,
        txids: block.tx as string[],
        coinbase: { txid: block.tx[0]!, scriptHex: block.coinbase_tx.coinbase },
      } as object);
      expect(await node.api.json<BlockBody>(`/api/block/${block.hash}`)).toEqual(answer);
      expect(await node.api.rpc<object>('getblock', [block.hash])).toEqual(block);
    }
  });

  test('in the statistics of blocks', async () => {
    for (const [height, stats] of Object.entries(expected.blockstats)) {
      expect(await node.api.rpc<object>('getblockstats', [Number(height)])).toEqual(stats);
      // Core counts no inputs of the coinbase, but its outputs.
      expect(await node.api.json<BlockBody>(`/api/block-by-height/${height}`)).toMatchObject({
        txCount: stats.txs as number,
        inputs: stats.ins as number,
        outputs: stats.outs as number,
        subsidy: stats.subsidy as number,
        fees: stats.totalfee as number,
        valueOut: stats.total_out as number,
        medianTime: stats.mediantime as number,
      });
    }
    expect(await node.api.rpc<object>('getchaintxstats', [50])).toEqual(expected.chaintxstats);
  });

  test('in transactions with the coins they spend', async () => {
    for (const tx of expected.transactions) {
      const answer = await node.api.json<TxBody>(`/api/tx/${tx.txid}`);
      expect(answer).toMatchObject(restTx(tx) as object);
      expect(answer.status).toMatchObject({
        confirmed: true,
        blockHash: tx.blockhash,
        blockTime: tx.time,
        confirmations: tx.confirmations,
      });
    }
  });

  test('in the last block, transaction by transaction', async () => {
    const { tx, ...block } = expected.tipBlockVerbosity3;
    const { items, pages } = await node.api.all<TxBody>(`/api/block/${tip.hash}/txs?limit=70`);
    expect(pages).toBe(Math.ceil(block.nTx / 70));
    expect(items.map(({ txid }) => txid)).toEqual(expected.blocks[160]!.tx as string[]);
    for (const [index, answer] of items.entries()) {
      const { blockHash, blockHeight, blockIndex, confirmations } = answer.status;
      expect([blockHash, blockHeight, blockIndex, confirmations]).toEqual([tip.hash, 160, index, 1]);
    }
    // Core's answer was kept for the first of them.
    expect(tx.length).toBeGreaterThan(0);
    for (const [index, wanted] of tx.entries()) expect(items[index]).toMatchObject(restTx(wanted) as object);
    const { tx: all, ...answer } = await node.api.rpc<{ tx: object[] }>('getblock', [tip.hash, 3]);
    expect(answer).toEqual(block);
    expect(all).toHaveLength(block.nTx);
    expect(all.slice(0, tx.length)).toEqual(tx as object[]);
  });

  test('in proofs, in our form and in that of Core', async () => {
    const { items: headers } = await node.api.json<{ items: string[] }>('/api/headers?from=0&count=2000');
    expect(headers).toHaveLength(161);
    expect(Object.keys(expected.proofs).length).toBeGreaterThan(0);
    for (const [txid, merkleBlock] of Object.entries(expected.proofs)) {
      const proof = await node.api.json<Proof>(`/api/tx/${txid}/proof`);
      expect(proof.merkleBlock).toBe(merkleBlock);
      expect(await node.api.rpc<string>('gettxoutproof', [[txid]])).toBe(merkleBlock);
      expect(await node.api.rpc<string[]>('verifytxoutproof', [merkleBlock])).toEqual([txid]);
    }
    const txids = expected.transactions.map(({ txid }) => txid);
    // Every position of a tree with odd levels: 295 leaves, 148, 74, 37, 19, 10, 5, 3, 2.
    txids.push(...expected.blocks[160]!.tx);
    for (const txid of txids) {
      const proof = await node.api.json<Proof>(`/api/tx/${txid}/proof`);
      expect(proof.txid).toBe(txid);
      expect(proofFault(proof)).toBeNull();
      expect(headers[proof.blockHeight]).toBe(proof.header);
    }
  }, 180_000);

  test('in the set of coins, by both hashes', async () => {
    const { disk_size: _, ...set } = expected.txoutset.hash_serialized_3;
    expect(await node.api.rpc<object>('gettxoutsetinfo')).toMatchObject(set);
    expect(await node.api.rpc<object>('gettxoutsetinfo', ['muhash', null, false])).toMatchObject({
      bestblock: tip.hash,
      muhash: expected.txoutset.muhash,
      txouts: set.txouts as number,
    });
  });

  test('in the statistics of the coins at an earlier block', async () => {
    const { api } = node;
    await poll('the statistics', async () => {
      const { coinstatsindex } = await api.rpc<{ coinstatsindex: { synced: boolean } }>('getindexinfo');
      return coinstatsindex.synced;
    });
    // The reply of Bitcoin Core with -coinstatsindex.
    const at150 = {
      height: 150,
      bestblock: '03da214cef4e2b82f64abbb85acc8b1c5023aca7d0c329b28fdcd12d8a2c29ab',
      txouts: 22435,
      bogosize: 1713099,
      muhash: 'faf4c0f1bbd3c124e3bb6365858c7c5a48d78a5243565059613a553ccde9d965',
      total_amount: 7474.893058,
      total_unspendable_amount: 50.106942,
      block_info: {
        prevout_spent: 76.73766539,
        coinbase: 25,
        new_outputs_ex_coinbase: 76.73551339,
        unspendable: 0.002152,
        unspendables: { genesis_block: 0, bip30: 0, scripts: 0, unclaimed_rewards: 0.002152 },
      },
    };
    expect(await api.rpc<object>('gettxoutsetinfo', ['muhash', 150])).toEqual(at150);
    expect(await api.rpc<object>('gettxoutsetinfo', ['muhash', at150.bestblock])).toEqual(at150);
    const { muhash: _, ...withoutHash } = at150;
    expect(await api.rpc<object>('gettxoutsetinfo', ['none', 150])).toEqual(withoutHash);
    expect(await api.rpc<object>('gettxoutsetinfo', ['muhash'])).toMatchObject({
      bestblock: tip.hash,
      muhash: expected.txoutset.muhash,
    });
    const failed = (...params: unknown[]) => rpcError(node, 'gettxoutsetinfo', params);
    expect(await failed('hash_serialized_3', 5)).toEqual({
      code: -8,
      message: 'hash_serialized_3 hash type cannot be queried for a specific block',
    });
    expect(await failed('none', 5, false)).toEqual({
      code: -8,
      message: 'Cannot set use_index to false when querying for a specific block',
    });
    expect(await failed('muhash', 1000)).toEqual({
      code: -8,
      message: 'Target block height 1000 after current tip 160',
    });
  });

  test('supply', async () => {
    const circulating = sat(expected.txoutset.hash_serialized_3.total_amount as number);
    // The subsidy halves at height 150.
    const issued = 150 * 50_0000_0000 + 11 * 25_0000_0000;
    const { supply } = await node.api.json<{ supply: Record<string, number> }>('/api/listing');
    expect(supply).toMatchObject({
      circulatingBase: circulating,
      issuedBase: issued,
      unspendableBase: issued - circulating,
      height: 160,
    });
    const text = async (path: string) => (await node.api.request<string>(path)).text;
    expect(await text('/api/supply/circulating')).toBe('7724.87123000');
    expect(await text('/api/supply/issued')).toBe('7775.00000000');
    expect(await text('/api/supply/max')).toBe('14999.99998350');
  });
});
