import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { blocksOfFile } from '../lib/chain-filler.ts';
import { proofFault } from '../lib/merkle-proof.ts';
import type { AddressTx, Balance, BlockBody, Info, Page, Proof, Readiness, TxBody, Utxo } from '../lib/node-client.ts';
import {
  cleanUpAfterTests,
  importFiles,
  MAINNET_FILE,
  type NodeProcess,
  type RunResult,
  runProgram,
  startNode,
  tempDir,
} from '../lib/node-process.ts';
import { hasVectors } from '../lib/vectors.ts';

cleanUpAfterTests();

const TIP = { height: 438, hash: '0000000025c6b644f8add734be7e666fa4afa43ca0204d623a0c0b1fd2104c7a' };
const COIN = 100_000_000;
/** The first payment from one person to another, and the coinbase it spends. */
const FIRST_PAYMENT = 'f4184fc596403b9d638783cf57adfe4c75c605f6356fbc91338530e9831e9e16';
const COINBASE_9 = '0437cd7f8525ceed2324359c2d0ba26006d92d856a9c20fa0241106ee5a597c9';
const BLOCK_170 = '00000000d1145790a8694403d4063f323d499e655c83426834d4ce2f8dd4a2ee';
const SCRIPT_9 =
  '410411db93e1dcdb8a016b49840f8c53bc1eb68a382e97b1482ecad7b148a6909a5cb2e0eaddfb84ccf9744464f82e160bfa9b8b64f9d4c03f999b8643f656b412a3ac';
const PAYEE_170 =
  '4104ae1a62fe09c5f51b13905f07f06b99a2f7159b2225f374cd378d71302fa28414e7aab37397f554a7df5f142c21c1b7303b8a0626f1baded5c72a704f7e6cd84cac';
/** Every transaction of these blocks that is no coinbase: height and txid. */
const PAYMENTS: readonly [number, string][] = [
  [170, FIRST_PAYMENT],
  [181, 'a16f3ce4dd5deb92d98ef5cf8afeaf0775ebca408f708b2146c4fb42b41e14be'],
  [182, '591e91f809d716912ca1d4a9295e70c3e78bab077683f79350f101da64588073'],
  [183, '12b5633bad1f9c167d523ad1aa1947b2732a865bf5414eab2f9e5ae5d5c191ba'],
  [187, '4385fcf8b14497d0659adccfe06ae7e38e0b5dc95ff8a13d7c62035994a0cd79'],
  [221, '298ca2045d174f8a158961806ffc4ef96fad02d71a6b84d9fa0491813a776160'],
  [248, '828ef3b079f9c23829c56fe86e85b4a69d9e06e5b54ea597eef5fb3ffef509fe'],
];

describe.skipIf(!hasVectors)('the first blocks of mainnet', () => {
  const datadir = tempDir();
  const args = ['import', '--network', 'main', '--datadir', datadir, MAINNET_FILE];
  let imported: RunResult;
  let node: NodeProcess;

  beforeAll(async () => {
    imported = await runProgram(args);
    if (imported.status !== 0) throw new Error(imported.stderr);
    node = await startNode({ network: 'main', datadir, args: ['--p2p.enabled=false'] });
  }, 180_000);
  afterAll(async () => {
    await node?.stop();
  });

  test('are imported up to block 438', () => {
    expect(imported).toMatchObject({ status: 0, signal: null });
    expect(imported.stdout).toContain(`tip at height ${TIP.height}, ${TIP.hash}`);
  });

  test('make the tip', async () => {
    const info = await node.api.json<Info & Record<string, unknown>>('/api/info');
    expect(info).toMatchObject({
      network: 'main',
      height: 438,
      bestBlockHash: TIP.hash,
      headers: 438,
      difficulty: 1,
      bits: '1d00ffff',
      // Each of the 439 blocks counts for 0x100010001 hashes.
      chainwork: (439n * 0x1_0001_0001n).toString(16).padStart(64, '0'),
      initialBlockDownload: true,
      synced: false,
    });
    const { headers } = await node.api.request('/api/balance/1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa');
    expect(headers.get('x-chain-height')).toBe('438');
    expect(headers.get('x-chain-hash')).toBe(TIP.hash);
    expect(headers.get('x-node-syncing')).toBe('1');
    const ready = await node.api.request<Readiness>('/readyz');
    expect(ready.status).toBe(503);
    expect(ready.body).toMatchObject({
      status: 'degraded',
      checks: { chain: { status: 'degraded' }, database: { status: 'ok' } },
    });
  });

  test('have the headers of the file, in order', async () => {
    const headers = blocksOfFile(new Uint8Array(readFileSync(MAINNET_FILE))).map((raw) => raw.subarray(0, 80).toHex());
    const { items } = await node.api.json<{ items: string[] }>('/api/headers?from=0&count=2000');
    expect(items).toEqual(headers);
  });

  test('are found by hash and by height', async () => {
    const byHeight = await node.api.json<BlockBody>('/api/block-by-height/170');
    expect(byHeight).toMatchObject({
      hash: BLOCK_170,
      height: 170,
      confirmations: 438 - 170 + 1,
      inActiveChain: true,
      previousHash: '000000002a22cfee1f2c846adbd12b3e183d4f97683f85dad08a79780a84bd55',
      merkleRoot: '7dac2c5666815c17a3b36427de37bb9d2e2c5ccec3f8633eb91a4205cb4c10ff',
      time: 1_231_731_025,
      nonce: 1_889_418_792,
      bits: '1d00ffff',
      txCount: 2,
      size: 490,
      strippedSize: 490,
      weight: 1960,
      subsidy: 50 * COIN,
      fees: 0,
      reward: 50 * COIN,
      txids: ['b1fea52486ce0c62bb442b530a3f0132b826c74e473d1f2c220bfa78111c5082', FIRST_PAYMENT],
    });
    expect(await node.api.json<BlockBody>(`/api/block/${BLOCK_170}`)).toEqual(byHeight);
    const genesis = await node.api.json<BlockBody>('/api/block-by-height/0');
    expect(genesis.previousHash).toBeNull();
    expect(genesis.coinbase.text).toContain('The Times 03/Jan/2009 Chancellor on brink of second bailout for banks');
    const tip = await node.api.json<BlockBody>(`/api/block/${TIP.hash}`);
    expect(tip).toMatchObject({ height: 438, confirmations: 1, nextHash: null });
  });

  test('hold the first payment, with the coin it spends', async () => {
    expect(await node.api.json<TxBody>(`/api/tx/${FIRST_PAYMENT}`)).toMatchObject({
      txid: FIRST_PAYMENT,
      wtxid: FIRST_PAYMENT,
      version: 1,
      size: 275,
      vsize: 275,
      weight: 1100,
      isCoinbase: false,
      fee: 0,
      valueIn: 50 * COIN,
      valueOut: 50 * COIN,
      vin: [
        {
          txid: COINBASE_9,
          vout: 0,
          prevout: {
            value: 50 * COIN,
            height: 9,
            isCoinbase: true,
            script: { hex: SCRIPT_9, type: 'pubkey', address: null },
          },
        },
      ],
      vout: [
        { n: 0, value: 10 * COIN, spent: false, script: { hex: PAYEE_170 } },
        { n: 1, value: 40 * COIN, spent: true, script: { hex: SCRIPT_9 } },
      ],
      status: {
        confirmed: true,
        blockHash: BLOCK_170,
        blockHeight: 170,
        blockIndex: 1,
        blockTime: 1_231_731_025,
        confirmations: 269,
      },
      mempool: null,
      tip: TIP,
    } as object);
  });

  test('prove every payment and every coinbase', async () => {
    const txids = PAYMENTS.map(([, txid]) => txid);
    for (const height of [1, 9, 170, 248, 438])
      txids.push((await node.api.json<BlockBody>(`/api/block-by-height/${height}`)).coinbase.txid);
    for (const txid of txids) {
      const proof = await node.api.json<Proof>(`/api/tx/${txid}/proof`);
      expect(proof.txid).toBe(txid);
      expect(proofFault(proof)).toBeNull();
      const { items } = await node.api.json<{ items: string[] }>(`/api/headers?from=${proof.blockHeight}&count=1`);
      expect(items).toEqual([proof.header]);
    }
    const proof = await node.api.json<Proof>(`/api/tx/${FIRST_PAYMENT}/proof`);
    expect(proof).toMatchObject({ blockHash: BLOCK_170, pos: 1, txCount: 2 });
    // The check itself can fail.
    expect(proofFault({ ...proof, pos: 0 })).not.toBeNull();
    expect(await node.api.rpc<string[]>('verifytxoutproof', [proof.merkleBlock])).toEqual([FIRST_PAYMENT]);
  });

  test('give the script of block 9, which has no address, its balance', async () => {
    const path = `/api/balance/script:${SCRIPT_9}`;
    // 50 mined; change of 40, 30, 29, 28 and 18 came back, and all but the last was spent.
    expect(await node.api.json<Balance>(path)).toMatchObject({
      script: { hex: SCRIPT_9, type: 'pubkey', address: null },
      confirmed: 18 * COIN,
      unconfirmed: 0,
      total: 18 * COIN,
      immature: 0,
      received: 195 * COIN,
      sent: 177 * COIN,
      txCount: 6,
      utxoCount: 1,
      firstSeenHeight: 9,
      lastSeenHeight: 248,
      tip: TIP,
    });
    expect(await node.api.json<Balance>(`/api/balance/script:${PAYEE_170}`)).toMatchObject({
      confirmed: 10 * COIN,
      received: 10 * COIN,
      sent: 0,
      txCount: 1,
      utxoCount: 1,
    });
    // The address of the same key was never paid.
    expect(await node.api.json<Balance>('/api/balance/12cbQLTFMXRnSzktFkuoG3eHoMeFtpTu3S')).toMatchObject({
      script: { type: 'pubkeyhash' },
      confirmed: 0,
      received: 0,
      txCount: 0,
      firstSeenHeight: null,
      lastSeenHeight: null,
    });
    // The output of the genesis block is no coin.
    expect((await node.api.json<Balance>('/api/balance/1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa')).confirmed).toBe(0);
  });

  test('give that script its history and coins, page by page', async () => {
    const path = `/api/address/script:${SCRIPT_9}`;
    const { items, first, pages } = await node.api.all<AddressTx, Page<AddressTx> & { total: object }>(
      `${path}/txs?limit=2`,
    );
    expect(first.total).toEqual({ confirmed: 6, mempool: 0 });
    expect(pages).toBe(3);
    const heights = [248, 183, 182, 181, 170, 9];
    expect(items.map(({ status }) => status.blockHeight)).toEqual(heights);
    expect(items.map(({ net }) => net / COIN)).toEqual([-10, -1, -1, -10, -10, 50]);
    expect(items[4]).toMatchObject({
      txid: FIRST_PAYMENT,
      received: 40 * COIN,
      sent: 50 * COIN,
      outputs: [{ n: 1, value: 40 * COIN }],
      inputs: [{ n: 0, txid: COINBASE_9, vout: 0, value: 50 * COIN }],
    });
    expect(items[5]).toMatchObject({ txid: COINBASE_9, isCoinbase: true, fee: null });
    const ascending = await node.api.all<AddressTx>(`${path}/txs?limit=4&order=asc`);
    expect(ascending.items).toEqual(items.toReversed());

    const utxos = await node.api.json<Page<Utxo>>(`${path}/utxos`);
    expect(utxos).toMatchObject({ total: { count: 1, value: 18 * COIN }, nextCursor: null } as object);
    expect(utxos.items).toMatchObject([
      {
        txid: PAYMENTS[6]![1],
        vout: 1,
        value: 18 * COIN,
        script: SCRIPT_9,
        height: 248,
        isCoinbase: false,
        mature: true,
      },
    ]);
  });

  test('have no other payments', async () => {
    const blocks = await Promise.all(
      Array.from({ length: 439 }, (_, height) => node.api.json<BlockBody>(`/api/block-by-height/${height}`)),
    );
    expect(blocks.flatMap(({ height, txids }) => txids.slice(1).map((txid) => [height, txid]))).toEqual(
      PAYMENTS as [number, string][],
    );
    for (const [height, block] of blocks.entries()) expect(block.previousHash).toBe(blocks[height - 1]?.hash ?? null);
  });

  test('give the supply and listing of 438 coinbases, without that of genesis', async () => {
    const text = async (path: string) => (await node.api.request<string>(path)).text;
    expect(await text('/api/supply/circulating')).toBe('21900.00000000');
    expect(await text('/api/supply/issued')).toBe('21950.00000000');
    expect(await text('/api/supply/total')).toBe('21900.00000000');
    expect(await text('/api/supply/max')).toBe('20999999.97690000');
    const listing = await node.api.json<Record<string, unknown>>('/api/listing');
    expect(listing).toMatchObject({
      network: 'main',
      isTestnet: false,
      supply: {
        circulatingBase: 21_900 * COIN,
        issuedBase: 21_950 * COIN,
        unspendableBase: 50 * COIN,
        height: 438,
        blockHash: TIP.hash,
      },
      emission: { nextHalvingHeight: 210_000, blocksToHalving: 210_000 - 438 },
      status: { height: 438, synced: false, tipTime: 1_231_927_782 },
    });
    expect(await node.api.rpc<object>('getlistingmetadata')).toEqual(listing);
  });

  test('answer through JSON-RPC', async () => {
    const { api } = node;
    expect(await api.rpc<number>('getblockcount')).toBe(438);
    expect(await api.rpc<string>('getbestblockhash')).toBe(TIP.hash);
    expect(await api.rpc<string>('getblockhash', [170])).toBe(BLOCK_170);
    expect(await api.rpc<object>('getblock', [BLOCK_170])).toMatchObject({
      height: 170,
      nTx: 2,
      tx: [expect.any(String), FIRST_PAYMENT],
    });
    expect(await api.rpc<object>('getrawtransaction', [FIRST_PAYMENT, 1])).toMatchObject({
      blockhash: BLOCK_170,
      confirmations: 269,
    });
    expect(await api.rpc<object>('gettxout', [FIRST_PAYMENT, 0])).toMatchObject({
      bestblock: TIP.hash,
      confirmations: 269,
      value: 10,
      coinbase: false,
      scriptPubKey: { hex: PAYEE_170 },
    });
    expect(
      (await api.rpcBody<{ result: null }>({ jsonrpc: '2.0', id: 1, method: 'gettxout', params: [COINBASE_9, 0] })).body
        .result,
    ).toBeNull();
    expect(await api.rpc<object>('getblockchaininfo')).toMatchObject({
      chain: 'main',
      blocks: 438,
      headers: 438,
      initialblockdownload: true,
    });
    expect(await api.rpc<object>('getmininginfo')).toMatchObject({ blocks: 438, chain: 'main', difficulty: 1 });
    expect(await api.rpc<object>('gettxoutsetinfo', ['none'])).toMatchObject({
      height: 438,
      txouts: 438 + 5,
      total_amount: 21_900,
    });
    for (const method of ['getpeerinfo', 'getconnectioncount', 'getnetworkinfo', 'getmempoolinfo', 'estimatesmartfee'])
      expect(
        (await api.rpcBody({ jsonrpc: '2.0', id: 1, method, params: method === 'estimatesmartfee' ? [6] : [] })).status,
      ).toBe(200);
  });

  test('are not changed by a second import', async () => {
    const directory = tempDir();
    await importFiles('main', directory, [MAINNET_FILE]);
    const again = await runProgram(['import', '--network', 'main', '--datadir', directory, MAINNET_FILE]);
    expect(again).toMatchObject({ status: 0 });
    expect(again.stdout).toBe(`0 blocks connected, 439 known before; tip at height 438, ${TIP.hash}\n`);
    const after = await startNode({ network: 'main', datadir: directory, args: ['--p2p.enabled=false'] });
    const path = `/api/address/script:${SCRIPT_9}/txs`;
    expect(await after.api.json<object>(path)).toEqual(await node.api.json<object>(path));
    expect(await after.api.rpc<object>('gettxoutsetinfo', ['muhash'])).toMatchObject({
      muhash: (await node.api.rpc<{ muhash: string }>('gettxoutsetinfo', ['muhash'])).muhash,
    });
    await after.stop();
  });
});
