import { afterAll, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { mainnet } from '../../src/params/mainnet.ts';
import { describeWithVectors, idleNode, mixedChainDir, startTestApi } from '../lib/chain-api.ts';
import { fillChain } from '../lib/chain-filler.ts';

const dir = mkdtempSync(join(tmpdir(), 'obverse-listing-'));
fillChain(dir, mainnet, []);
const api = startTestApi(dir, { params: mainnet, node: idleNode({ headers: 0, initialBlockDownload: true }) });
afterAll(async () => {
  await api.close();
  rmSync(dir, { recursive: true, force: true });
});

// Every number can be checked by hand: the main network with nothing but its first block.
const AT_GENESIS = `{"schema":1,"name":"Bitcoin","symbol":"BTC","decimals":8,
 "unit":{"name":"BTC","baseName":"satoshi","basePerCoin":100000000},
 "network":"main","isTestnet":false,"genesisHash":"000000000019d6689c085ae165831e934ff763ae46a2a6c172b3f1b60a8ce26f","genesisTime":1231006505,"networkMagic":"f9beb4d9",
 "consensus":{"type":"proof-of-work","algorithm":"SHA-256d","targetBlockTime":600,"retargetInterval":2016,"maxBlockWeight":4000000,"coinbaseMaturity":100},
 "supply":{"max":"20999999.97690000","maxBase":2099999997690000,"issued":"50.00000000","issuedBase":5000000000,
   "circulating":"0.00000000","circulatingBase":0,"unspendable":"50.00000000","unspendableBase":5000000000,"height":0,"blockHash":"000000000019d6689c085ae165831e934ff763ae46a2a6c172b3f1b60a8ce26f","time":1231006505},
 "emission":{"initialSubsidy":"50.00000000","currentSubsidy":"50.00000000","halvingInterval":210000,"nextHalvingHeight":210000,"blocksToHalving":210000,"estimatedHalvingTime":1357006505},
 "addresses":{"formats":[{"type":"p2pkh","encoding":"base58check","version":0,"prefix":"1"},{"type":"p2sh","encoding":"base58check","version":5,"prefix":"3"},{"type":"p2wpkh","encoding":"bech32","prefix":"bc1q"},{"type":"p2wsh","encoding":"bech32","prefix":"bc1q"},{"type":"p2tr","encoding":"bech32m","prefix":"bc1p"}],"bech32Hrp":"bc","wifPrefix":128,"memoRequired":false},
 "hd":{"slip44":0,"bip32Public":"0488b21e","bip32Private":"0488ade4","purposes":[44,49,84,86]},
 "ports":{"p2p":8333,"http":8332},
 "fees":{"minRelayFeeRate":0.1,"incrementalFeeRate":0.1,"dustRelayFeeRate":3,"unit":"sat/vB"},
 "confirmations":{"deposit":3,"depositLarge":6,"withdrawal":1,"coinbase":100},
 "software":{"name":"obverse","version":"0.1.0","userAgent":"/Obverse:0.1.0/","protocolVersion":70017,"license":null},
 "links":{"website":null,"explorer":null,"explorerTx":null,"explorerAddress":null,"source":null,"whitepaper":null,"support":null},
 "endpoints":{"rest":"/api","rpc":"/","websocket":"/ws","health":"/healthz","ready":"/readyz","metrics":"/metrics","openapi":"/docs/json","circulatingSupply":"/api/supply/circulating","maxSupply":"/api/supply/max"},
 "features":{"segwit":true,"taproot":true,"rbf":true,"addressIndex":true,"eventReplay":true},
 "status":{"height":0,"synced":false,"tipTime":1231006505}}`.replace(/\n\s*/g, '');

test('the listing record of the main network at its first block, member by member', async () => {
  expect(await (await api.get('/api/listing')).text()).toBe(AT_GENESIS);
});

test('REST and JSON-RPC give the same record, and its tag follows its text', async () => {
  expect(await api.rpc<object>('getlistingmetadata')).toEqual(JSON.parse(AT_GENESIS));
  const first = await api.get('/api/listing');
  const again = await api.get('/api/listing', { 'if-none-match': first.headers.get('etag')! });
  expect(first.headers.get('etag')).toMatch(/^(?:W\/)?"[0-9a-f]{32}"$/);
  expect(again.status).toBe(304);
});

test('the first block alone', async () => {
  const { hash, txids } = await api.json<{ hash: string; txids: string[] }>('/api/block-by-height/0');
  expect(hash).toBe('000000000019d6689c085ae165831e934ff763ae46a2a6c172b3f1b60a8ce26f');
  expect(await api.json(`/api/tx/${txids[0]}`)).toMatchObject({
    isCoinbase: true,
    fee: null,
    valueIn: null,
    valueOut: 5_000_000_000,
    // It cannot be spent: it never entered the set.
    vout: [{ spent: null, script: { type: 'pubkey', address: null } }],
  });
  expect(await api.json('/api/balance/1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa')).toMatchObject({ confirmed: 0, txCount: 0 });
  expect(await api.json('/api/blocks')).toMatchObject({
    items: [{ height: 0, previousHash: null, nextHash: null }],
    next: null,
  });
});

describeWithVectors('on another network', () => {
  const overrides = { http: { publicUrl: 'https://node.example' } };
  const regtestApi = startTestApi(mixedChainDir(), { overrides });
  afterAll(() => regtestApi.close());

  test('the record says what is different', async () => {
    expect(await regtestApi.json('/api/listing')).toMatchObject({
      network: 'regtest',
      isTestnet: true,
      networkMagic: 'fabfb5da',
      consensus: { retargetInterval: 144 },
      supply: {
        max: '14999.99998350',
        issuedBase: 777_500_000_000,
        circulatingBase: 772_487_123_000,
        unspendableBase: 5_012_877_000,
      },
      emission: { currentSubsidy: '25.00000000', nextHalvingHeight: 300, blocksToHalving: 140 },
      addresses: {
        bech32Hrp: 'bcrt',
        wifPrefix: 239,
        formats: [{ version: 111 }, { version: 196 }, { prefix: 'bcrt1q' }, {}, { prefix: 'bcrt1p' }],
      },
      hd: { slip44: 1, bip32Public: '043587cf', bip32Private: '04358394' },
      ports: { p2p: 18444, http: 18443 },
      endpoints: { rest: 'https://node.example/api', websocket: 'wss://node.example/ws' },
      status: { height: 160, synced: true },
    });
  });
});
