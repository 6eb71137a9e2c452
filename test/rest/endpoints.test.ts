import { afterAll, expect, test } from 'bun:test';
import { hash256 } from '../../src/crypto/hash-functions.ts';
import { concatBytes, hexToBytes } from '../../src/util/bytes.ts';
import {
  API_KEY,
  type ApiFixture,
  describeWithVectors,
  expectedOfMixedChain,
  mixedChainBlocks,
  mixedChainDir,
  startTestApi,
} from '../lib/chain-api.ts';

const NOBODY = '00'.repeat(32);
const NEVER_USED = 'bcrt1qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqdku202';

interface Page<T> {
  tip: { height: number; hash: string };
  items: T[];
  nextCursor: string | null;
  next: string | null;
}

interface CoreOut {
  value: number;
  n: number;
  scriptPubKey: { hex: string; asm: string; type: string; address?: string };
}

const sats = (coins: number) => Math.round(coins * 1e8);
const scriptOf = ({ hex, asm, type, address = undefined }: CoreOut['scriptPubKey']) => ({
  hex,
  asm,
  type,
  address: address ?? null,
});

describeWithVectors('REST on a chain that Bitcoin Core has validated', () => {
  const expected = expectedOfMixedChain();
  const api: ApiFixture = startTestApi(mixedChainDir());
  afterAll(() => api.close());
  const tip = { height: 160, hash: expected.tip };
  const failure = async (path: string, headers?: Record<string, string>) => {
    const response = await api.get(path, headers);
    const { error } = (await response.json()) as { error: { code: string; details: unknown } };
    return [response.status, error.code, error.details] as const;
  };

  for (const [height, core] of Object.entries(expected.blocks))
    test(`block ${height} by hash and by height`, async () => {
      const block = await api.json(`/api/block/${core.hash.toUpperCase()}`);
      expect(await api.json(`/api/block-by-height/${height}`)).toEqual(block);
      const coinbase = core.coinbase_tx as { coinbase: string };
      const stats = expected.blockstats[height];
      expect(block).toMatchObject({
        hash: core.hash,
        height: Number(height),
        confirmations: core.confirmations,
        inActiveChain: true,
        previousHash: core.previousblockhash ?? null,
        nextHash: core.nextblockhash ?? null,
        version: core.version,
        versionHex: core.versionHex,
        merkleRoot: core.merkleroot,
        time: core.time,
        medianTime: core.mediantime,
        nonce: core.nonce,
        bits: core.bits,
        target: core.target,
        difficulty: core.difficulty,
        chainwork: core.chainwork,
        txCount: core.nTx,
        size: core.size,
        strippedSize: core.strippedsize,
        weight: core.weight,
        coinbase: { txid: core.tx![0]!, scriptHex: coinbase.coinbase },
        txids: core.tx,
        ...(stats && {
          subsidy: stats.subsidy,
          fees: stats.totalfee,
          inputs: stats.ins,
          outputs: stats.outs,
          valueOut: stats.total_out,
        }),
      });
      const { txids, ...summary } = block;
      expect(await api.json(`/api/block/${core.hash}?fields=summary`)).toEqual(summary);
      expect(txids).toEqual(await api.json(`/api/block/${core.hash}/txids`));
    });

  test('the members of a block, none left out', async () => {
    const names =
      'hash height confirmations inActiveChain previousHash nextHash version versionHex merkleRoot time medianTime nonce bits target difficulty chainwork txCount size strippedSize weight subsidy fees reward inputs outputs valueOut coinbase txids receivedAt';
    expect(Object.keys(await api.json('/api/block-by-height/0')).join(' ')).toBe(names);
    const { coinbase, reward } = await api.json<{ coinbase: { text: string }; reward: number }>(
      '/api/block-by-height/0',
    );
    expect(coinbase.text).toEndWith('The Times 03/Jan/2009 Chancellor on brink of second bailout for banks');
    expect(reward).toBe(5_000_000_000);
  });

  test('header, raw bytes, hex and status of a block; the first three never change', async () => {
    const [{ hash, tx }] = [expected.blocks[150]!];
    const raw = mixedChainBlocks().find((block) => hash256(block.subarray(0, 80)).toReversed().toHex() === hash)!;
    expect(await (await api.get(`/api/block/${hash}/header`)).text()).toBe(raw.subarray(0, 80).toHex());
    expect(await (await api.get(`/api/block/${hash}/hex`)).text()).toBe(raw.toHex());
    const response = await api.get(`/api/block/${hash}/raw`);
    expect(response.headers.get('content-type')).toBe('application/octet-stream');
    expect(response.headers.get('cache-control')).toBe('private, immutable, max-age=86400');
    expect(response.headers.get('etag')).toBe(`"${hash}"`);
    expect<Uint8Array>(new Uint8Array(await response.arrayBuffer())).toEqual(raw);
    const again = await api.get(`/api/block/${hash}/txids`, { 'if-none-match': `"${hash}"` });
    expect(again.status).toBe(304);
    const next = await api.rpc<string>('getblockhash', 151);
    expect(await api.json(`/api/block/${hash}/status`)).toEqual({
      inActiveChain: true,
      height: 150,
      confirmations: 11,
      nextHash: next,
    });
    expect(tx!.length).toBe(289);
  });

  for (const core of expected.transactions)
    test(`transaction ${core.txid.slice(0, 8)}`, async () => {
      const tx = await api.json<{ vin: unknown[]; vout: unknown[] }>(`/api/tx/${core.txid}`);
      const vin = core.vin as {
        txid?: string;
        vout?: number;
        coinbase?: string;
        sequence: number;
        txinwitness?: string[];
        scriptSig?: { asm: string; hex: string };
        prevout?: { generated: boolean; height: number; value: number; scriptPubKey: CoreOut['scriptPubKey'] };
      }[];
      const isCoinbase = vin[0]!.coinbase !== undefined;
      expect(tx).toMatchObject({
        txid: core.txid,
        wtxid: core.hash,
        version: core.version,
        locktime: core.locktime,
        size: core.size,
        vsize: core.vsize,
        weight: core.weight,
        isCoinbase,
        fee: isCoinbase ? null : sats(core.fee!),
        mempool: null,
        hex: core.hex,
        tip,
        status: {
          confirmed: true,
          blockHash: core.blockhash,
          blockTime: core.blocktime,
          confirmations: core.confirmations,
        },
      });
      for (const [i, input] of vin.entries()) {
        expect(tx.vin[i]).toMatchObject({
          txid: input.txid ?? null,
          vout: input.vout ?? null,
          coinbase: input.coinbase ?? null,
          sequence: input.sequence,
          witness: input.txinwitness ?? [],
          ...(input.scriptSig && { scriptSig: input.scriptSig }),
          prevout: input.prevout
            ? {
                value: sats(input.prevout.value),
                height: input.prevout.height,
                isCoinbase: input.prevout.generated,
                script: scriptOf(input.prevout.scriptPubKey),
              }
            : null,
        });
      }
      for (const { n, value, scriptPubKey } of core.vout as CoreOut[]) {
        const unspendable = scriptPubKey.type === 'nulldata';
        const coin = await api.rpc<object | null>('gettxout', core.txid, n);
        expect(tx.vout[n]).toEqual({
          n,
          value: sats(value),
          spent: unspendable ? null : coin === null,
          script: scriptOf(scriptPubKey),
        });
      }
      expect(await (await api.get(`/api/tx/${core.txid}/hex`)).text()).toBe(core.hex);
      const raw = await api.get(`/api/tx/${core.txid}/raw`);
      expect(new Uint8Array(await raw.arrayBuffer()).toHex()).toBe(core.hex);
      expect(raw.headers.get('etag')).toBe(`"${core.hash}"`);
    });

  test('status of one transaction and of many', async () => {
    const { txid } = expected.transactions[0]!;
    const status = await api.json(`/api/tx/${txid}/status`);
    expect(status).toMatchObject({ confirmed: true, blockHeight: 150, confirmations: 11 });
    const many = await api.post('/api/txs/status', JSON.stringify({ txids: [txid, NOBODY] }));
    expect(many.headers.get('cache-control')).toBe('no-store');
    expect(await many.json()).toEqual({ [txid]: status, [NOBODY]: null });
  });

  for (const [txid, merkleBlock] of Object.entries(expected.proofs))
    test(`proof of ${txid.slice(0, 8)}, followed to the header`, async () => {
      const proof = await api.json<{
        pos: number;
        merkle: string[];
        merkleRoot: string;
        header: string;
        blockHash: string;
        txCount: number;
        merkleBlock: string;
        coinbase: { txid: string; hex: string; merkle: string[] };
      }>(`/api/tx/${txid}/proof?coinbase=true`);
      const follow = (leaf: string, pos: number, merkle: string[]) => {
        let hash = hexToBytes(leaf).reverse();
        for (const [i, sibling] of merkle.entries()) {
          const other = hexToBytes(sibling).reverse();
          hash = hash256((pos >> i) & 1 ? concatBytes(other, hash) : concatBytes(hash, other));
        }
        expect(pos >> merkle.length).toBe(0);
        return hash.toReversed().toHex();
      };
      expect(proof.merkleBlock).toBe(merkleBlock);
      expect(follow(txid, proof.pos, proof.merkle)).toBe(proof.merkleRoot);
      expect(follow(proof.coinbase.txid, 0, proof.coinbase.merkle)).toBe(proof.merkleRoot);
      expect(proof.coinbase.merkle.length).toBe(proof.merkle.length);
      const header = hexToBytes(proof.header);
      expect(header.slice(36, 68).toReversed().toHex()).toBe(proof.merkleRoot);
      expect(hash256(header).toReversed().toHex()).toBe(proof.blockHash);
      expect(await api.json(`/api/tx/${txid}/proof`)).toMatchObject({ coinbase: null, tip });
    });

  test('proof of the only transaction of a block has no siblings', async () => {
    const [txid] = expected.blocks[1]!.tx!;
    expect(await api.json(`/api/tx/${txid}/proof`)).toMatchObject({ pos: 0, txCount: 1, merkle: [], merkleRoot: txid });
  });

  for (const { type, address, balance, utxos, coinbaseUtxos } of expected.balances)
    test(`balance and outputs of ${type} ${address.slice(-6)}`, async () => {
      const view = await api.json<Record<string, number>>(`/api/balance/${address}`);
      expect(view).toMatchObject({
        address,
        confirmed: balance,
        unconfirmed: 0,
        total: balance,
        utxoCount: utxos,
        tip,
      });
      expect(view.received! - view.sent!).toBe(balance);
      const page = await api.json<Page<{ value: number; isCoinbase: boolean; mature: boolean }>>(
        `/api/address/${address}/utxos`,
      );
      expect(page).toMatchObject({ address, tip, total: { count: utxos, value: balance }, nextCursor: null });
      expect(page.items.length).toBe(utxos);
      expect(page.items.reduce((sum, { value }) => sum + value, 0)).toBe(balance);
      expect(page.items.filter(({ isCoinbase }) => isCoinbase).length).toBe(coinbaseUtxos);
      const immature = page.items.filter(({ mature }) => !mature).reduce((sum, { value }) => sum + value, 0);
      expect(view.immature).toBe(immature);
      expect(await api.json(`/api/address/${address}/utxos?confirmed=true&limit=1`)).toMatchObject(
        utxos > 0 ? { items: [{ spentInMempool: null }] } : { items: [] },
      );
      expect(await api.json(`/api/address/${address}`)).toEqual({ ...view, isValid: true, type });
      const script = (view as unknown as { script: { hex: string } }).script.hex;
      expect(await api.json(`/api/balance/script:${script}`)).toEqual({ ...view, address: `script:${script}` });
    });

  test('a script that never occurred has zeros, not 404', async () => {
    expect(await api.json(`/api/balance/${NEVER_USED}`)).toEqual({
      address: NEVER_USED,
      script: {
        hex: `0014${'00'.repeat(20)}`,
        asm: `0 ${'00'.repeat(20)}`,
        type: 'witness_v0_keyhash',
        address: NEVER_USED,
      },
      confirmed: 0,
      unconfirmed: 0,
      total: 0,
      immature: 0,
      pendingReceived: 0,
      pendingSpent: 0,
      received: 0,
      sent: 0,
      txCount: 0,
      mempoolTxCount: 0,
      utxoCount: 0,
      firstSeenHeight: null,
      lastSeenHeight: null,
      tip,
    });
    const empty = { address: NEVER_USED, tip, items: [], nextCursor: null, next: null };
    expect(await api.json(`/api/address/${NEVER_USED}/txs`)).toEqual({ ...empty, total: { confirmed: 0, mempool: 0 } });
    expect(await api.json(`/api/address/${NEVER_USED}/utxos`)).toEqual({ ...empty, total: { count: 0, value: 0 } });
    expect(await api.json(`/api/mempool/address/${NEVER_USED}`)).toEqual({
      ...empty,
      count: 0,
      received: 0,
      sent: 0,
      net: 0,
    });
  });

  test('transactions of an address add up to its balance', async () => {
    const { address, balance } = expected.balances[5]!;
    let net = 0;
    let seen = 0;
    let path: string | null = `/api/address/${address}/txs?limit=37&order=asc`;
    while (path) {
      const page: Page<{
        net: number;
        received: number;
        sent: number;
        inputs: { value: number }[];
        outputs: { value: number }[];
      }> = await api.json(path);
      for (const item of page.items) {
        net += item.net;
        seen++;
        expect(item.outputs.reduce((sum, { value }) => sum + value, 0)).toBe(item.received);
        expect(item.inputs.reduce((sum, { value }) => sum + value, 0)).toBe(item.sent);
      }
      path = page.next;
    }
    expect(net).toBe(balance);
    expect(seen).toBe((await api.json<{ txCount: number }>(`/api/balance/${address}`)).txCount);
  });

  test('an AddressTx has all its members, and the whole transaction where asked for', async () => {
    const { address } = expected.balances[0]!;
    const [item] = (await api.json<Page<Record<string, unknown>>>(`/api/address/${address}/txs?limit=1&details=full`))
      .items;
    expect(Object.keys(item!)).toEqual([
      'txid',
      'status',
      'time',
      'received',
      'sent',
      'net',
      'fee',
      'vsize',
      'isCoinbase',
      'signalsRbf',
      'outputs',
      'inputs',
      'tx',
    ]);
    expect(item!.tx).toEqual(await api.json(`/api/tx/${item!.txid}`));
  });

  test('supply', async () => {
    const text = async (kind: string) => (await fetch(`${api.url}/api/supply/${kind}`)).text();
    expect(await text('circulating')).toBe('7724.87123000');
    expect(await text('total')).toBe('7724.87123000');
    // 150 blocks at 50 and 11 at 25.
    expect(await text('issued')).toBe('7775.00000000');
    expect(await text('max')).toBe('14999.99998350');
  });

  test('what is public needs no key, what is not does', async () => {
    for (const path of ['/api/info', '/api/supply/max']) expect((await fetch(api.url + path)).status).toBe(200);
    for (const path of ['/api/listing', '/api/peers', `/api/block/${expected.tip}`])
      expect((await fetch(api.url + path)).status).toBe(401);
    expect(API_KEY.length).toBeGreaterThan(15);
  });

  test('an empty mempool and a node without peers answer with all members', async () => {
    expect(await api.json('/api/peers')).toEqual({ count: 0, inbound: 0, outbound: 0, items: [] });
    expect(await api.json('/api/mempool')).toEqual({
      count: 0,
      vsize: 0,
      size: 0,
      usage: 0,
      maxUsage: 300_000_000,
      totalFee: 0,
      loaded: true,
      minFeeRate: 0.1,
      minRelayFeeRate: 0.1,
      incrementalFeeRate: 0.1,
      feeHistogram: [],
      unbroadcast: 0,
      oldest: null,
      seq: 1_000_000,
      clusterLimit: { count: 64, vsize: 101_000 },
      tip,
    });
    expect(await api.json('/api/mempool/txids')).toEqual({ tip, items: [], nextCursor: null, next: null });
    expect(await api.json<unknown[]>('/api/mempool/recent')).toEqual([]);
  });

  test('info', async () => {
    const info = await api.json('/api/info');
    expect(info).toMatchObject({
      service: 'obverse',
      network: 'regtest',
      height: 160,
      bestBlockHash: expected.tip,
      headers: 160,
      difficulty: 4.656542373906925e-10,
      bits: '207fffff',
      peers: 0,
      peersInbound: 0,
      peersOutbound: 0,
      synced: true,
      mempoolCount: 0,
      pruned: false,
      pruneHeight: null,
      indexes: { tx: { enabled: true, height: 160, synced: true }, spender: { enabled: false } },
      warnings: [],
    });
  });

  test('tip, headers, difficulty, fees, validate', async () => {
    expect(await api.json('/api/blocks/tip')).toEqual({ ...tip, time: 1_600_096_000, medianTime: 1_600_093_000 });
    const { items } = await api.json<Page<string>>('/api/headers?from=100&count=5');
    expect(items.length).toBe(5);
    expect(hash256(hexToBytes(items[1]!)).toReversed().toHex()).toBe(expected.blocks[101]!.hash);
    expect((await api.json<Page<string>>('/api/headers?from=161')).items).toEqual([]);
    expect(await api.json('/api/difficulty')).toMatchObject({
      height: 160,
      blocksToRetarget: 128,
      next: { height: 288, change: 0 },
    });
    expect(await api.json('/api/fees')).toMatchObject({
      fastest: 0.1,
      minimum: 0.1,
      estimator: 'floor',
      targets: { 1008: 0.1 },
    });
    expect(await api.json(`/api/validate/${NEVER_USED.toUpperCase()}`)).toMatchObject({
      isValid: true,
      type: 'witness_v0_keyhash',
      witnessVersion: 0,
      reason: null,
      errorLocations: [],
    });
    expect(await api.json('/api/validate/bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4')).toMatchObject({
      isValid: false,
      type: null,
      reason: 'wrong_network',
    });
    expect(await api.json('/api/validate/script:00')).toMatchObject({
      isValid: true,
      type: 'nonstandard',
      witnessVersion: null,
      script: { hex: '00', address: null },
    });
    expect(await api.json('/api/validate/script:0')).toMatchObject({ isValid: false, reason: 'malformed' });
  });

  test('a reply names its tip, and the same tip is not sent twice', async () => {
    for (const path of [
      `/api/block/${expected.tip}`,
      `/api/balance/${NEVER_USED}`,
      `/api/block/${expected.tip}/txs?limit=1000`,
    ]) {
      const first = await api.get(path);
      const etag = first.headers.get('etag')!;
      // A reply that shows the mempool also changes with it.
      const state = path === `/api/block/${expected.tip}` ? '' : '-1000000';
      expect(etag).toBe(`W/"${expected.tip.slice(-16)}${state}"`);
      expect([first.headers.get('x-chain-height'), first.headers.get('x-chain-hash')]).toEqual(['160', expected.tip]);
      const second = await api.get(path, { 'if-none-match': etag });
      expect([second.status, await second.text()]).toEqual([304, '']);
    }
    for (const path of ['/api/info', '/api/peers']) expect((await api.get(path)).headers.has('etag')).toBe(false);
  });

  test('a long answer is the same when it comes from the cache', async () => {
    const path = `/api/block/${expected.tip}/txs?limit=250`;
    const [first, second] = [await api.get(path), await api.get(path)];
    expect(await second.text()).toBe(await first.text());
    for (const name of ['content-type', 'etag', 'link', 'x-chain-hash'])
      expect(second.headers.get(name)).toBe(first.headers.get(name));
  });

  test('the description of the interface names every path', async () => {
    const { paths } = await api.json<{ paths: Record<string, object> }>('/docs/json');
    for (const path of [
      '/api/block/{hash}',
      '/api/tx/{txid}/proof',
      '/api/address/{address}/utxos',
      '/api/supply/max',
      '/',
    ])
      expect(Object.keys(paths)).toContain(path);
  });

  const refused: [string, number, string][] = [
    ['/api/block/xyz', 400, 'invalid_hash'],
    [`/api/block/${'g'.repeat(64)}`, 400, 'invalid_hash'],
    ['/api/block/xyz/txs', 400, 'invalid_hash'],
    ['/api/block/xyz/txids', 400, 'invalid_hash'],
    ['/api/block/xyz/raw', 400, 'invalid_hash'],
    ['/api/block/xyz/hex', 400, 'invalid_hash'],
    ['/api/block/xyz/header', 400, 'invalid_hash'],
    ['/api/block/xyz/status', 400, 'invalid_hash'],
    [`/api/block/${NOBODY}`, 404, 'block_not_found'],
    [`/api/block/${NOBODY}/raw`, 404, 'block_not_found'],
    [`/api/block/${NOBODY}/txs`, 404, 'block_not_found'],
    [`/api/block/${expected.tip}?fields=none`, 400, 'invalid_parameter'],
    ['/api/block-by-height/-1', 400, 'invalid_height'],
    ['/api/block-by-height/01', 400, 'invalid_height'],
    ['/api/block-by-height/1e2', 400, 'invalid_height'],
    ['/api/block-by-height/2147483648', 400, 'invalid_height'],
    ['/api/block-by-height/161', 404, 'block_not_found'],
    ['/api/blocks?limit=0', 400, 'invalid_parameter'],
    ['/api/blocks?limit=101', 400, 'invalid_parameter'],
    ['/api/blocks?before=x', 400, 'invalid_parameter'],
    ['/api/blocks?limit=2&limit=2', 400, 'invalid_parameter'],
    ['/api/blocks/?limit=2&color=red&l%69mit=3', 400, 'invalid_parameter'],
    ['/api/headers?count=2001', 400, 'invalid_parameter'],
    ['/api/tx/xyz', 400, 'invalid_txid'],
    ['/api/tx/xyz/proof', 400, 'invalid_txid'],
    ['/api/tx/xyz/status', 400, 'invalid_txid'],
    ['/api/tx/xyz/raw', 400, 'invalid_txid'],
    [`/api/tx/${NOBODY}`, 404, 'tx_not_found'],
    [`/api/tx/${NOBODY}/proof`, 404, 'tx_not_found'],
    [`/api/tx/${NOBODY}/hex`, 404, 'tx_not_found'],
    [`/api/tx/${NOBODY}/status`, 404, 'tx_not_found'],
    [`/api/tx/${NOBODY}/proof?coinbase=yes`, 400, 'invalid_parameter'],
    ['/api/balance/nonsense', 400, 'invalid_address'],
    ['/api/balance/script:', 400, 'invalid_address'],
    ['/api/balance/script:xx', 400, 'invalid_address'],
    ['/api/balance/%FF', 400, 'invalid_address'],
    ['/api/address/nonsense', 400, 'invalid_address'],
    ['/api/address/nonsense/txs', 400, 'invalid_address'],
    ['/api/address/nonsense/utxos', 400, 'invalid_address'],
    ['/api/mempool/address/nonsense', 400, 'invalid_address'],
    [`/api/address/${NEVER_USED}/txs?limit=501`, 400, 'invalid_parameter'],
    [`/api/address/${NEVER_USED}/txs?limit=1.5`, 400, 'invalid_parameter'],
    [`/api/address/${NEVER_USED}/txs?limit=`, 400, 'invalid_parameter'],
    [`/api/address/${NEVER_USED}/txs?order=up`, 400, 'invalid_parameter'],
    [`/api/address/${NEVER_USED}/txs?confirmed=1`, 400, 'invalid_parameter'],
    [`/api/address/${NEVER_USED}/txs?fromHeight=-1`, 400, 'invalid_parameter'],
    [`/api/address/${NEVER_USED}/txs?details=all`, 400, 'invalid_parameter'],
    [`/api/address/${NEVER_USED}/utxos?limit=5001`, 400, 'invalid_parameter'],
    [`/api/address/${NEVER_USED}/utxos?confirmed=maybe`, 400, 'invalid_parameter'],
    [`/api/address/${NEVER_USED}/utxos?cursor=x`, 400, 'invalid_cursor'],
    ['/api/supply/none', 404, 'not_found'],
  ];
  for (const [path, status, code] of refused)
    test(`${path.slice(0, 60)}: ${status} ${code}`, async () =>
      expect((await failure(path)).slice(0, 2)).toEqual([status, code]));

  test('errors name the invalid value', async () => {
    expect((await failure('/api/blocks?limit=101'))[2]).toEqual({
      parameter: 'limit',
      reason: 'must be a number from 1 to 100',
    });
    expect((await failure('/api/blocks?limit=2&limit=3'))[2]).toEqual({ parameter: 'limit', reason: 'is given twice' });
    expect((await failure('/api/block-by-height/161'))[2]).toEqual({ tipHeight: 160 });
    const cases = {
      bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4: 'wrong_network',
      '1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa': 'wrong_network',
      [NEVER_USED.replace(/2$/, '3')]: 'checksum',
      mvKzTaxno41mC3emBPPUj4Ubti5BbVH6Xh: 'checksum',
      '-': 'malformed',
    };
    for (const [address, reason] of Object.entries(cases))
      expect((await failure(`/api/balance/${address}`))[2]).toEqual({ reason, network: 'regtest' });
  });

  test('unknown parameters are ignored', async () => {
    for (const query of ['color=red', 'color=red&color=blue'])
      expect(await api.json(`/api/blocks?limit=1&${query}`)).toMatchObject({ items: [{ height: 160 }] });
  });

  test('broadcast accepts a confirmed transaction and rejects an invalid one', async () => {
    const { txid, hash, hex, fee, vsize, blockhash } = expected.transactions[0]!;
    const accepted = {
      txid,
      wtxid: hash,
      status: 'already_confirmed',
      vsize,
      fee: sats(fee!),
      feeRate: Math.round((sats(fee!) / (vsize as number)) * 1000) / 1000,
      replaced: [],
      blockHash: blockhash,
      confirmations: 11,
      relayedTo: 0,
    };
    const sent: [string | Uint8Array, string | null][] = [
      [JSON.stringify({ tx: hex }), 'application/json'],
      [JSON.stringify({ rawtx: hex, maxFeeRate: 0, maxBurn: 1 }), 'application/json; charset=utf-8'],
      [`${hex}\n`, 'text/plain'],
      [hexToBytes(hex), 'application/octet-stream'],
    ];
    for (const [body, type] of sent) {
      const response = await api.post('/api/tx', body, { 'content-type': type! });
      expect(response.headers.get('cache-control')).toBe('no-store');
      expect([response.status, await response.json()]).toEqual([200, accepted]);
    }
    const refusals: [string, string, number, string][] = [
      [JSON.stringify({ tx: `${hex}00` }), 'application/json', 400, 'tx_decode_failed'],
      ['zz', 'text/plain', 400, 'tx_decode_failed'],
      ['', 'text/plain', 400, 'tx_decode_failed'],
      ['{', 'application/json', 400, 'invalid_request'],
      ['[]', 'application/json', 400, 'invalid_request'],
      ['{}', 'application/json', 400, 'invalid_parameter'],
      [JSON.stringify({ tx: hex, maxFeeRate: -1 }), 'application/json', 400, 'invalid_parameter'],
      [JSON.stringify({ tx: hex, maxBurn: 0.5 }), 'application/json', 400, 'invalid_parameter'],
      [hex, 'image/png', 415, 'unsupported_media_type'],
      ['00'.repeat(1_100_000), 'text/plain', 413, 'payload_too_large'],
    ];
    for (const [body, type, status, code] of refusals) {
      const response = await api.post('/api/tx', body, { 'content-type': type });
      expect([response.status, await response.json()]).toMatchObject([status, { error: { code } }]);
    }
  });

  test('many statuses at once require a list of ids', async () => {
    for (const [body, code] of [
      ['{', 'invalid_request'],
      ['{}', 'invalid_parameter'],
      ['{"txids":["x"]}', 'invalid_txid'],
      [JSON.stringify({ txids: Array(1001).fill(NOBODY) }), 'invalid_parameter'],
    ] as const) {
      const response = await api.post('/api/txs/status', body);
      expect([response.status, await response.json()]).toMatchObject([400, { error: { code } }]);
    }
  });
});
