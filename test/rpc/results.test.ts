import { beforeAll, describe, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { regtest } from '../../src/params/regtest.ts';
import { jsonSchema } from '../../src/rpc/engine/schema.ts';
import { RPC_METHODS } from '../../src/rpc/methods/methods.ts';
import { addressOf } from '../../src/script/address.ts';
import { chainWithCoins } from '../lib/chain-builder.ts';
import { directoryWith } from '../lib/chain-directory.ts';
import { schemaProblems } from '../lib/json-schema.ts';
import { hexOf, idOf, mempoolLoaded } from '../lib/mempool-node.ts';
import { cleanUpAfterTests, type NodeProcess } from '../lib/node-process.ts';
import { MINING_ADDRESS, peersOf, startPeer } from '../lib/peer-node.ts';
import { holdRecordedCall, TEST_WIF as WIF } from '../lib/recorded-calls.ts';
import { coinOf, spend, sweep, withoutWitness } from '../lib/tx-builder.ts';

cleanUpAfterTests();

/** Methods that cannot be run beside the others, and why. */
const NOT_RUN: Readonly<Record<string, string>> = {
  stop: 'ends the node',
  generate: 'fails, since it was removed',
  addconnection: 'needs a second node; test/functional/test-methods runs it',
  sendmsgtopeer: 'needs a peer; test/functional/test-methods runs it',
  getprivatebroadcastinfo: 'fails without p2p.privateBroadcast; test/functional/private-broadcast runs it',
  abortprivatebroadcast: 'fails without p2p.privateBroadcast; test/functional/private-broadcast runs it',
  pruneblockchain: 'fails without storage.prune',
  loadtxoutset: 'needs a chain that is known by the hash of its coins; test/functional/utxo-load runs it',
  fundrawtransaction: 'needs a wallet',
  enumeratesigners: 'needs wallet.signer; test/functional/wallet-results runs it',
  ...Object.fromEntries(['devpay', 'devreorg', 'devdoublespend', 'devflood'].map((name) => [name, 'developer mode'])),
};

const PUBLIC_KEY = '0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798';

const RESTRICTED = {
  expiresAt: 4_000_000_000,
  allowedIps: ['10.0.0.0/8'],
  rate: { perSecond: 0.5, burst: 2 },
  wallets: ['hot'],
};

type Params = readonly unknown[] | Readonly<Record<string, unknown>>;

describe('results fit the declared schemas', () => {
  const chain = chainWithCoins(6);
  const parent = spend(
    [chain.coin(1)],
    [
      { to: 'p2tr', value: 10_0000_0000n },
      { to: 'p2wsh-anyone', value: 39_9999_0000n },
    ],
  );
  const child = sweep(coinOf(parent, 1), 'p2pkh', 5000n);
  const mined = sweep(chain.coin(2), 'p2sh-p2wpkh');
  const spare = [3, 4, 5].map((height) => sweep(chain.coin(height), 'p2wpkh'));
  const txid = idOf(parent);
  const confirmed = idOf(mined);
  const coinbaseHex = hexOf(chain.tip.block.transactions[0]!);
  const payer = addressOf(chain.coin(1).output.scriptPubKey, regtest.address)!;
  const payee = addressOf(child.outputs[0]!.scriptPubKey, regtest.address)!;
  const unknownHash = '00'.repeat(32);
  const coin = { txid: idOf(chain.blocks[2]!.block.transactions[0]!), vout: 0 };
  let node: NodeProcess;
  let tip = '';
  let tipBlock = '';
  let proof = '';
  let psbt = '';
  let filled = '';
  let joined: string[] = [];
  let checksum = '';
  let apiKey = '';
  const spends = [[coin], [{ [MINING_ADDRESS]: 1 }, { data: '00' }]];
  /** A block that no node has. */
  let unseen = { hash: '', hex: '' };
  let stale = '';

  beforeAll(async () => {
    const first = await startPeer([], { datadir: await directoryWith(chain), args: ['--index.filter=true'] });
    node = first.node;
    await startPeer([first.address], { datadir: await directoryWith(chain) });
    await peersOf(node, 1);
    const { rpc } = asked();
    stale = (await rpc<string[]>('generatetoaddress', [1, MINING_ADDRESS]))[0]!;
    await mempoolLoaded(node);
    await rpc('invalidateblock', [stale]);
    await rpc('sendrawtransaction', [hexOf(mined)]);
    await rpc('generatetoaddress', [2, MINING_ADDRESS]);
    for (const tx of [parent, child]) await rpc('sendrawtransaction', [hexOf(tx)]);
    await rpc('prioritisetransaction', [txid, 0, 500]);
    tip = await rpc('getbestblockhash', []);
    tipBlock = await rpc('getblockhash', [106]);
    psbt = await rpc('converttopsbt', [hexOf(withoutWitness(spare[0]!))]);
    filled = await rpc('utxoupdatepsbt', [psbt]);
    joined = [
      await rpc('createpsbt', [...spends, 0, true, 2, 0]),
      await rpc('converttopsbt', [hexOf(withoutWitness(spare[1]!)), false, null, 0]),
    ];
    ({ checksum } = await rpc<{ checksum: string }>('getdescriptorinfo', [`addr(${MINING_ADDRESS})`]));
    unseen = await rpc('generateblock', [MINING_ADDRESS, [], false]);
    apiKey = (await rpc<{ id: string }>('createapikey', ['shown'])).id;
    proof = await rpc('gettxoutproof', [[confirmed]]);
    // An empty mempool.dat: the version, and no transactions, deltas and unbroadcast txids.
    writeFileSync(
      join(node.networkDir, 'mempool.dat'),
      Uint8Array.from({ length: 18 }, (_, i) => Number(i === 0)),
    );
  });

  /** Makes a call whose result may be null. */
  const asked = () => ({
    async rpc<T>(method: string, params: Params): Promise<T> {
      const { body, text } = await node.api.rpcBody<{ result: T; error?: unknown }>({
        jsonrpc: '2.0',
        id: 1,
        method,
        params,
      });
      if (body.error) throw new Error(`${method} ${JSON.stringify(params)}: ${text.slice(0, 500)}`);
      return body.result;
    },
  });

  /** In this order, since some calls change the results of others. */
  const calls: readonly [method: string, ...variants: (() => Params)[]][] = [
    ['help', () => [], () => ['getblock'], () => ({ command: 'nope' })],
    ['getopenrpcinfo', () => [], () => [true]],
    ['rpc.discover', () => []],
    ['uptime', () => []],
    ['getblockcount', () => []],
    ['getbestblockhash', () => []],
    ['getblockhash', () => [0], () => ({ height: 5 })],
    ['getblockheader', () => [tip], () => [tip, false], () => [stale]],
    [
      'getblock',
      ...[0, 1, 2, 3, false, true].map((verbosity) => () => [tipBlock, verbosity]),
      () => [stale],
      () => ({ blockhash: tip, verbose: 1 }),
    ],
    ['getdifficulty', () => []],
    [
      'gettxout',
      () => [txid, 0],
      () => [coin.txid, 0],
      () => [confirmed, 0, false],
      () => [unknownHash, 0],
      () => [idOf(chain.blocks[50]!.block.transactions[0]!), 0],
    ],
    ['gettxoutsetinfo', () => [], () => ['muhash'], () => ['none']],
    ['getblockstats', () => [106], () => [tip], () => [106, ['txs', 'feerate_percentiles', 'blockhash']]],
    ['getchaintxstats', () => [], () => [0], () => [10, tip]],
    ['getchaintips', () => []],
    ['getblockchaininfo', () => []],
    ['getmininginfo', () => []],
    ['getnetworkhashps', () => [], () => [-1], () => [5, 20]],
    ['getmempoolinfo', () => []],
    ['getrawmempool', () => [], () => [true], () => [false, true]],
    ['getmempoolentry', () => [txid]],
    ['getmempoolancestors', () => [idOf(child)], () => [idOf(child), true], () => [txid]],
    ['getmempooldescendants', () => [txid], () => [txid, true]],
    ['getmempoolcluster', () => [txid]],
    [
      'gettxspendingprevout',
      () => [[{ txid: idOf(chain.blocks[1]!.block.transactions[0]!), vout: 0 }]],
      () => [
        [
          { txid, vout: 1 },
          { txid: unknownHash, vout: 0 },
        ],
        { return_spending_tx: true },
      ],
    ],
    ['getprioritisedtransactions', () => []],
    ['prioritisetransaction', () => [unknownHash, 0, 1]],
    ['savemempool', () => []],
    [
      'getrawtransaction',
      ...[0, 1, 2].flatMap((verbosity) => [
        () => [txid, verbosity],
        () => [confirmed, verbosity],
        () => [confirmed, verbosity, tipBlock],
      ]),
      () => [coin.txid, 2],
    ],
    ['decoderawtransaction', () => [hexOf(child)], () => [hexOf(child), true], () => [coinbaseHex]],
    [
      'decodescript',
      () => [''],
      () => ['51'],
      () => [`76a914${'00'.repeat(20)}88ac`],
      () => [`512102${'11'.repeat(32)}51ae`],
      () => [`6a0100`],
    ],
    ['createrawtransaction', () => spends],
    ['combinerawtransaction', () => [[hexOf(spare[0]!), hexOf(spare[0]!)]]],
    ['signrawtransactionwithkey', () => [hexOf(spare[0]!), [WIF]], () => [hexOf(withoutWitness(spare[0]!)), [WIF]]],
    ['createpsbt', () => spends],
    ['converttopsbt', () => [hexOf(withoutWitness(spare[0]!))]],
    ['decodepsbt', () => [psbt], () => [filled]],
    ['analyzepsbt', () => [psbt], () => [filled]],
    ['combinepsbt', () => [[psbt, psbt]]],
    ['finalizepsbt', () => [psbt]],
    ['joinpsbts', () => [joined]],
    ['utxoupdatepsbt', () => [psbt, [`wpkh(${WIF})`]]],
    ['descriptorprocesspsbt', () => [psbt, [`wpkh(${WIF})`]]],
    ['createmultisig', () => [1, [PUBLIC_KEY]], () => [1, [PUBLIC_KEY], 'bech32']],
    ['deriveaddresses', () => ['raw(51)#8lvh9jxk'].slice(1).concat(`addr(${MINING_ADDRESS})#${checksum}`)],
    ['getdescriptorinfo', () => ['raw(51)'], () => [`wpkh(${WIF})`]],
    ['signmessagewithprivkey', () => [WIF, 'message']],
    ['verifymessage', () => ['mipcBbFg9gMiCh81Kj8tqqdgoZub1ZJRfn', `${'A'.repeat(87)}=`, 'message']],
    ['getblockfilter', () => [tip]],
    ['getdeploymentinfo', () => [], () => [stale]],
    ['getindexinfo', () => [], () => ['txindex'], () => ['nope']],
    ['getchainstates', () => []],
    ['verifychain', () => [], () => [4, 0]],
    ['dumptxoutset', () => ['utxo.dat', 'latest']],
    ['backupnode', () => ['small'], () => ['whole', { chain: true }]],
    [
      'scantxoutset',
      () => ['start', [`addr(${MINING_ADDRESS})`, { desc: 'raw(51)' }]],
      () => ['status'],
      () => ['abort'],
    ],
    ['scanblocks', () => ['start', [`addr(${MINING_ADDRESS})`], 0, 5], () => ['status'], () => ['abort']],
    [
      'getdescriptoractivity',
      () => [
        [tip, tipBlock],
        [`addr(${MINING_ADDRESS})`, `addr(${payer})`, `addr(${payee})`],
      ],
      () => ({ blockhashes: [], scanobjects: [], include_mempool: false }),
    ],
    ['importmempool', () => ['mempool.dat', { use_current_time: true }]],
    ['getaddressbalance', () => [MINING_ADDRESS], () => [{ addresses: [MINING_ADDRESS] }]],
    ['getaddresstxids', () => [MINING_ADDRESS], () => [{ addresses: [MINING_ADDRESS], start: 1, end: 107 }]],
    ['getaddressutxos', () => [MINING_ADDRESS], () => [{ addresses: [MINING_ADDRESS], chainInfo: true }]],
    [
      'getaddressdeltas',
      () => [MINING_ADDRESS],
      () => [{ addresses: [MINING_ADDRESS], start: 1, end: 106, chainInfo: true }],
    ],
    ['getaddressmempool', () => [{ addresses: [payer, payee] }]],
    ['getrpcinfo', () => []],
    ['getmemoryinfo', () => []],
    ['logging', () => [], () => [['all'], ['p2p']]],
    ['syncwithvalidationinterfacequeue', () => []],
    ['gettxoutproof', () => [[confirmed]], () => [[confirmed], tipBlock]],
    ['verifytxoutproof', () => [proof]],
    [
      'validateaddress',
      () => [MINING_ADDRESS],
      () => ['nonsense'],
      () => ['2N7xQnPuB6QdTtHBhXjo2eFyADsKA3srPHG'],
      () => ['mipcBbFg9gMiCh81Kj8tqqdgoZub1ZJRfn'],
      () => ['bcrt1pfeesnyr2tx'],
    ],
    ['getlistingmetadata', () => []],
    ['estimatesmartfee', () => [], () => [6, 'economical', { verbosity: 2 }], () => ({ conf_target: 2, strict: true })],
    ['estimatefee', () => []],
    ['estimaterawfee', () => [2], () => [100]],
    ['testmempoolaccept', () => [[hexOf(spare[0]!)]], () => [[hexOf(mined)]], () => [[hexOf(spare[0]!)], '0.00000001']],
    ['sendrawtransaction', () => [hexOf(spare[0]!)], () => [hexOf(spare[0]!), 0, 0]],
    ['submitpackage', () => [[hexOf(spare[1]!)]], () => [[hexOf(spare[1]!)]], () => [[hexOf(mined)]]],
    ['generatetoaddress', () => [1, MINING_ADDRESS]],
    ['generatetodescriptor', () => [1, `addr(${MINING_ADDRESS})`]],
    ['getblocktemplate', () => [{ rules: ['segwit'] }], () => [{ mode: 'proposal', data: hexOfBlock(2) }]],
    ['submitheader', () => [unseen.hex.slice(0, 160)], () => [chain.blocks[3]!.raw.subarray(0, 80).toHex()]],
    ['setmocktime', () => [0]],
    ['mockscheduler', () => [60]],
    ['addpeeraddress', () => ['8.8.8.8', 8333], () => ['8.8.8.8', 8333, true]],
    ['getrawaddrman', () => []],
    ['getmempoolfeeratediagram', () => []],
    ['getorphantxs', () => [], () => [2]],
    ['echo', () => [], () => ['text', 1, null]],
    ['echojson', () => [{ a: 1 }]],
    ['echoipc', () => ['text']],
    ['waitfornewblock', () => [1], () => [0, unknownHash]],
    ['waitforblock', () => [unknownHash, 1], () => ({ blockhash: tip, timeout: 1 })],
    ['waitforblockheight', () => [1], () => [100_000, 1]],
    ['generateblock', () => [MINING_ADDRESS, []], () => [MINING_ADDRESS, [hexOf(spare[2]!)], false]],
    ['submitblock', () => [hexOfBlock(1)]],
    ['preciousblock', () => [tip]],
    ['invalidateblock', () => [stale]],
    ['reconsiderblock', () => [stale]],
    ['getpeerinfo', () => []],
    ['getconnectioncount', () => []],
    ['getnetworkinfo', () => []],
    ['getnettotals', () => []],
    ['ping', () => []],
    ['addnode', () => ['192.0.2.7:1', 'add'], () => ({ node: '192.0.2.8:1', command: 'add' })],
    ['getaddednodeinfo', () => [], () => ['192.0.2.7:1']],
    ['getnodeaddresses', () => [], () => [0, 'ipv4']],
    ['getaddrmaninfo', () => []],
    ['setban', () => ['192.0.2.0/24', 'add', 100]],
    ['listbanned', () => []],
    ['clearbanned', () => []],
    ['getblockfrompeer', () => [unseen.hash, 0]],
    ['disconnectnode', () => ['', 0]],
    ['setnetworkactive', () => [false]],
    ['createapikey', () => ['plain'], () => ['bound', ['read'], RESTRICTED]],
    ['listapikeys', () => []],
    ['getapikey', () => [apiKey]],
    ['setapikey', () => [apiKey, { ...RESTRICTED, label: 'x', scopes: ['wallet'] }], () => [apiKey, { rate: null }]],
    ['rotateapikey', () => [apiKey], () => [apiKey, 0]],
    ['revokeapikey', () => [apiKey]],
    ['createlogincode', () => [], () => [['admin']]],
  ];
  const hexOfBlock = (height: number) => chain.blocks[height]!.raw.toHex();

  for (const [name, ...variants] of calls)
    test(name, async () => {
      const method = RPC_METHODS.get(name)!;
      const schema = JSON.parse(JSON.stringify(jsonSchema(method.result)));
      for (const variant of variants) {
        const params = variant();
        const result = await asked().rpc(name, params);
        expect({ params, problems: schemaProblems(schema, result) }).toEqual({ params, problems: [] });
        holdRecordedCall(method, { params, result }, node.datadir);
      }
    });

  test('every method that needs no wallet was run; test/functional/wallet-results runs the others', () => {
    const run = new Set([...calls.map(([name]) => name), ...Object.keys(NOT_RUN)]);
    const left = [...RPC_METHODS.values()].filter(({ name, category }) => category !== 'wallet' && !run.has(name));
    expect(left.map(({ name }) => name)).toEqual([]);
  });
});

test('the check finds unknown members, missing members and wrong types', () => {
  const schema = {
    type: 'object',
    properties: { a: { type: 'integer' } },
    additionalProperties: false,
    required: ['a'],
  };
  expect(schemaProblems(schema, { a: 1 })).toEqual([]);
  expect(schemaProblems(schema, { a: 1, b: 2 })).toEqual(['$.b: not in the schema']);
  expect(schemaProblems(schema, {})).toEqual(['$.a: missing']);
  expect(schemaProblems(schema, { a: 1.5 })).toEqual(['$.a: 1.5 is no integer']);
});
