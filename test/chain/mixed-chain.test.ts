import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { regtest } from '../../src/params/regtest.ts';
import { parseBlock } from '../../src/primitives/block.ts';
import { txPosition } from '../../src/primitives/coin.ts';
import { hashFromHex, hashToHex } from '../../src/primitives/hash.ts';
import { utxoStats } from '../../src/queries/utxo-stats.ts';
import { parseAddress } from '../../src/script/address.ts';
import { bytesToHex } from '../../src/util/bytes.ts';
import { chainFrom } from '../lib/block-editor.ts';
import { lateVerifier, mixedBlocks, TestNode, trustingVerifier } from '../lib/chain-fixture.ts';
import { type ChainState, differences, ModelChain, stateTip } from '../lib/chain-state.ts';
import { hasVectors, readVectorJson } from '../lib/vectors.ts';

interface CoreBlock {
  hash: string;
  version: number;
  merkleroot: string;
  time: number;
  mediantime: number;
  nonce: number;
  bits: string;
  chainwork: string;
  nTx: number;
  size: number;
  strippedsize: number;
  weight: number;
}

interface Expected {
  tip: string;
  txoutset: {
    hash_serialized_3: { txouts: number; bogosize: number; hash_serialized_3: string; transactions: number };
    muhash: string;
  };
  muhashByHeight: Record<string, string>;
  balances: { address: string; balance: number; utxos: number }[];
  blocks: Record<string, CoreBlock>;
  blockstats: Record<string, { totalfee: number; subsidy: number; txs: number }>;
  chaintxstats: { txcount: number };
  transactions: { txid: string; hex: string; blockhash: string; fee?: number }[];
}

function scriptOfAddress(address: string): Uint8Array {
  const parsed = parseAddress(address, regtest.address);
  if (!parsed.ok) throw new Error(`not an address: ${address}`);
  return parsed.script;
}

/** Limits of the coins cache with which it is emptied at each commit, or never. */
const SMALL_CACHE = 1;
const LARGE_CACHE = 256 * 1024 * 1024;

describe.skipIf(!hasVectors)('the chain of every standard kind of input', () => {
  let expected: Expected;
  let model: ModelChain;
  let state: ChainState;
  let imported: TestNode;

  beforeAll(async () => {
    expected = readVectorJson('chains/regtest-mixed-160.expected.json');
    model = new ModelChain(mixedBlocks());
    state = model.state();
    imported = new TestNode({ verifier: trustingVerifier });
    await imported.take(mixedBlocks());
  }, 180_000);
  afterAll(() => imported?.[Symbol.asyncDispose]());

  test('connects with all signatures verified and matches the data of Bitcoin Core', async () => {
    await using node = new TestNode({ verifier: lateVerifier(() => 1) });
    await node.take(mixedBlocks());
    expect(node.tip).toBe(expected.tip);
    expect(differences(node.state(), state)).toEqual([]);
    expect(node.chain.transactions).toBe(expected.chaintxstats.txcount);
    node.read((reads) => {
      const settings = {} as never;
      const env = {
        reads,
        tip: reads.tip(),
        params: regtest,
        settings,
        expectWork: () => {},
        mempool: undefined as never,
        mempoolSeq: null,
        state: reads.state(),
        texts: null,
      };
      const serialized = utxoStats(env, 'hash_serialized_3');
      const wanted = expected.txoutset.hash_serialized_3;
      expect(hashToHex(serialized.hash!)).toBe(wanted.hash_serialized_3);
      expect(serialized).toMatchObject({
        txouts: wanted.txouts,
        bogosize: wanted.bogosize,
        transactions: wanted.transactions,
        totalAmount: 7724_8712_3000n,
      });
      expect(hashToHex(utxoStats(env, 'muhash').hash!)).toBe(expected.txoutset.muhash);
      for (const { address, balance, utxos } of expected.balances) {
        const totals = reads.scripts.totals(scriptOfAddress(address))!;
        expect(Number(totals.received - totals.sent)).toBe(balance);
        expect(totals.utxos).toBe(utxos);
      }
      for (const [height, { hash, chainwork }] of Object.entries(expected.blocks)) {
        const header = reads.headers.byHeight(Number(height))!;
        expect(hashToHex(header.hash)).toBe(hash);
        expect(header.chainwork).toBe(BigInt(`0x${chainwork}`));
      }
      for (const { txid, hex, blockhash } of expected.transactions) {
        const record = reads.txs.byTxid(hashFromHex(txid))!;
        const { raw, block } = reads.rawTx(record);
        expect(bytesToHex(raw)).toBe(hex);
        expect(hashToHex(block.hash)).toBe(blockhash);
      }
    });
  }, 180_000);

  test('the index finds the encoding of every transaction and the coins that it spent', () => {
    const blocks = mixedBlocks();
    const wrong: string[] = [];
    imported.read((reads) => {
      for (const [i, raw] of blocks.entries()) {
        const header = reads.headers.byHeight(i + 1)!;
        expect(Buffer.compare(reads.rawBlock(header)!, raw)).toBe(0);
        // The last blocks contain every kind; all blocks would repeat the check 17,000 times.
        if (i < 150) continue;
        for (const [index, { txid, raw: bytes }] of parseBlock(raw).txs.entries()) {
          const record = reads.txs.byTxid(txid)!;
          const { parsed, spent } = reads.transaction(record);
          const good = record.position === txPosition(i + 1, index) && Buffer.compare(parsed.raw, bytes) === 0;
          if (!good || !Bun.deepEquals(spent, model.spent.get(record.position)!)) wrong.push(hashToHex(txid));
        }
      }
    });
    expect(wrong).toEqual([]);
  });

  test('the sums of coins equal the supply, and the sums of coins and history the totals of each script', () => {
    imported.read((reads) => {
      const totals = reads.headers.totals(160)!;
      let sum = 0n;
      const byScript = new Map<string, { script: Uint8Array; value: bigint; utxos: number }>();
      for (const { output } of reads.coins.all()) {
        sum += output.value;
        const key = bytesToHex(output.scriptPubKey);
        const row = byScript.get(key) ?? { script: output.scriptPubKey.slice(), value: 0n, utxos: 0 };
        byScript.set(key, { ...row, value: row.value + output.value, utxos: row.utxos + 1 });
      }
      expect(totals.circulating).toBe(Number(sum));
      expect([...byScript.values()].reduce((count, { utxos }) => count + utxos, 0)).toBe(totals.utxos);
      for (const { script, value, utxos } of byScript.values()) {
        const { key, received, sent, txs, utxos: counted } = reads.scripts.totals(script)!;
        expect([received - sent, counted]).toEqual([value, utxos]);
        const rows = reads.scripts.history(key, { above: -1, below: Infinity, order: 'asc', limit: 100_000 });
        expect(rows).toHaveLength(txs);
        expect(rows.reduce((total, row) => total + row.received - row.sent, 0)).toBe(Number(value));
        const coins = reads.scripts.coins(key, { position: -1, vout: 0 }, 100_000);
        expect(coins.reduce((total, coin) => total + coin.value, 0)).toBe(Number(value));
      }
    });
  });

  test('the event of each block matches the data of Bitcoin Core', () => {
    const payloads = new Map(imported.events().map(({ payload }) => [String(payload.height), payload]));
    expect(payloads.size).toBe(161);
    for (const [height, block] of Object.entries(expected.blocks)) {
      expect(payloads.get(height)).toMatchObject({
        hash: block.hash,
        version: block.version,
        merkleRoot: block.merkleroot,
        blockTime: block.time,
        medianTime: block.mediantime,
        nonce: block.nonce,
        bits: block.bits,
        chainwork: block.chainwork,
        txCount: block.nTx,
        size: block.size,
        strippedSize: block.strippedsize,
        weight: block.weight,
      });
    }
    for (const [height, stats] of Object.entries(expected.blockstats))
      expect(payloads.get(height)).toMatchObject({ fees: stats.totalfee, subsidy: stats.subsidy, txCount: stats.txs });
  });

  // Commits write differences, whose sum must not depend on the moments of the commits. The slow tests have more of them.
  const batchings: [string, number, (i: number) => 'go on' | 'settle' | 'restart'][] = [
    ['each block', SMALL_CACHE, () => 'settle'],
    ['a restart now and then', LARGE_CACHE, (i) => (i % 50 === 45 ? 'restart' : i % 3 === 0 ? 'settle' : 'go on')],
  ];
  let wanted: ChainState | undefined;
  for (const [title, coinsCacheBytes, after] of batchings)
    test(`the state does not depend on the commits: ${title}`, async () => {
      await using node = new TestNode({ verifier: trustingVerifier, coinsCacheBytes });
      // Three full blocks follow those that only mine coins; the slow tests have all of them.
      const blocks = mixedBlocks().slice(0, 108);
      wanted ??= new ModelChain(blocks).state();
      for (const [i, raw] of blocks.entries()) {
        await node.accept([raw]);
        const next = after(i);
        if (next === 'settle') await node.chain.settle();
        if (next === 'restart') await node.restart();
      }
      await node.chain.settle();
      expect(differences(node.state(), wanted)).toEqual([]);
    });

  test('a second submission of the blocks changes nothing', async () => {
    const { lastSeq } = imported.chain;
    for (const raw of mixedBlocks()) expect((await imported.chain.acceptBlock(raw)).status).toBe('known');
    await imported.chain.settle();
    expect(differences(imported.state(), state)).toEqual([]);
    expect(imported.chain.lastSeq).toBe(lastSeq);
  });

  test('the whole chain can be disconnected and connected again', async () => {
    await using node = new TestNode({ verifier: trustingVerifier });
    await node.take(mixedBlocks().slice(0, 109));
    expect(stateTip(node.state())).toBe(node.tip);
    // Empty blocks on another branch replace the four full ones.
    const fork = chainFrom(mixedBlocks().slice(0, 105)).fork();
    fork.mine(5);
    const rival = fork.blocks.slice(106);
    await node.take(rival);
    expect(node.chain.tip.height).toBe(110);
    const expectedState = new ModelChain([...mixedBlocks().slice(0, 105), ...rival]).state();
    expect(differences(node.state(), expectedState)).toEqual([]);
    await node.take(mixedBlocks().slice(109, 112));
    expect(differences(node.state(), new ModelChain(mixedBlocks().slice(0, 112)).state())).toEqual([]);
  });
});
