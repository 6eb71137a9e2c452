import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { jsonSchema } from '../../src/rpc/engine/schema.ts';
import { RPC_METHODS } from '../../src/rpc/methods/methods.ts';
import { type JsonSchema, schemaProblems } from '../lib/json-schema.ts';
import { MemberSightings } from '../lib/member-sightings.ts';
import { cleanUpAfterTests, type NodeProcess, startNode } from '../lib/node-process.ts';
import { MINING_ADDRESS } from '../lib/peer-node.ts';
import { holdRecordedCall } from '../lib/recorded-calls.ts';
import { hasVectors, readVectorJson } from '../lib/vectors.ts';
import { SignerProgram } from '../wallet/signer/signer-program.ts';

cleanUpAfterTests();

interface Structure {
  readonly methods: readonly { readonly name: string; readonly result: { readonly schema: JsonSchema } }[];
}

interface Output {
  readonly txid: string;
  readonly vout: number;
}

interface Entry extends Output {
  readonly category: string;
  readonly confirmations: number;
}

interface Described {
  readonly descriptors: readonly { readonly desc: string; readonly internal?: boolean; readonly range?: number[] }[];
}

/** Optional members that no result here has, and why. */
const NEVER_THERE: Readonly<Record<string, string>> = {
  'getaddressinfo.embedded.embedded.hex': 'two scripts deep there is a key alone',
  'getaddressinfo.embedded.embedded.pubkeys': 'two scripts deep there is a key alone',
  'getaddressinfo.embedded.embedded.script': 'two scripts deep there is a key alone',
  'getaddressinfo.embedded.embedded.sigsrequired': 'two scripts deep there is a key alone',
  'getaddressinfo.embedded.embedded.witness_program': 'two scripts deep there is a key alone',
  'getaddressinfo.embedded.embedded.witness_version': 'two scripts deep there is a key alone',
  'gettransaction.bip125-replaceable': 'rpc.deprecated does not keep it',
  'getwalletinfo.warnings': 'no wallet here is tampered with, and on regtest none must be encrypted',
  'listsinceblock.removed[].bip125-replaceable': 'rpc.deprecated does not keep it',
  'listsinceblock.removed[].replaced_by_txid': 'what was replaced was in no block',
  'listsinceblock.transactions[].bip125-replaceable': 'rpc.deprecated does not keep it',
  'listtransactions[].bip125-replaceable': 'rpc.deprecated does not keep it',
};

/** Optional members that no result here lacks, and why. */
const ALWAYS_THERE: Readonly<Record<string, string>> = {
  'getaddressinfo.embedded.embedded.iscompressed': 'two scripts deep there is a key alone',
  'getaddressinfo.embedded.embedded.isscript': 'two scripts deep there is a key alone',
  'getaddressinfo.embedded.embedded.pubkey': 'two scripts deep there is a key alone',
  'getaddressinfo.embedded.isscript': 'no unknown witness version stands in a script',
};

const coreSchemas = new Map(
  hasVectors
    ? readVectorJson<Structure>('core-rpc/openrpc-structure.json').methods.map(({ name, result }) => [
        name,
        withoutPatterns(result.schema),
      ])
    : [],
);

/** Core's own patterns do not fit the empty texts that it returns. */
function withoutPatterns(schema: JsonSchema): JsonSchema {
  return JSON.parse(JSON.stringify(schema), (key, value) => (key === 'pattern' ? undefined : value)) as JsonSchema;
}

// Results as they are declared here, and as Bitcoin Core declares them where its structure is at hand.
describe('results of wallet methods fit their schemas', () => {
  const sightings = new MemberSightings();
  const run = new Set<string>();
  const device = new SignerProgram();
  let node: NodeProcess;
  beforeAll(async () => {
    const args = ['--wallet.keypool=10', '--rpc.deprecated=removeprunedfunds', `--wallet.signer=${device.command}`];
    node = await startNode({ args });
  });
  afterAll(() => device[Symbol.dispose]());

  type Params = readonly unknown[] | Readonly<Record<string, unknown>>;

  /** A call to a wallet of this name, or to none; its result fits what is declared here. */
  async function ours<T>(wallet: string | null, method: string, params: Params = []): Promise<T> {
    const { body, text } = await node.api.request<{ result: T; error?: unknown }>(
      wallet === null ? '/' : `/wallet/${wallet}`,
      { method: 'POST', body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }) },
    );
    if (body.error) throw new Error(`${method} ${JSON.stringify(params)}: ${text.slice(0, 500)}`);
    const { result } = body;
    const known = RPC_METHODS.get(method)!;
    const declared = JSON.parse(JSON.stringify(jsonSchema(known.result))) as JsonSchema;
    expect({ method, params, problems: schemaProblems(declared, result) }).toEqual({ method, params, problems: [] });
    holdRecordedCall(known, { params, result }, node.datadir);
    sightings.add(declared, result, method);
    run.add(method);
    return result;
  }

  /** Calls a method and checks that its result fits what Core declares. */
  async function call<T>(wallet: string | null, method: string, params: Params = []): Promise<T> {
    const result = await ours<T>(wallet, method, params);
    const cores = coreSchemas.get(method);
    const problems = cores ? schemaProblems(cores, result) : [];
    expect({ method, params, cores: problems }).toEqual({ method, params, cores: [] });
    return result;
  }

  const main = <T>(method: string, params?: Params) => call<T>('default', method, params);
  const generate = (count: number, address = MINING_ADDRESS) =>
    node.api.rpc<string[]>('generatetoaddress', [count, address]);
  const withChecksum = async (desc: string) =>
    `${desc}#${(await node.api.rpc<{ checksum: string }>('getdescriptorinfo', [desc])).checksum}`;
  const submitted = (hex: string) => node.api.rpc<string>('sendrawtransaction', [hex]);
  const addresses: Record<string, string> = {};

  test('for an empty wallet', async () => {
    expect(await call<string[]>(null, 'listwallets')).toEqual(['default']);
    await call(null, 'createwallet', ['blank', true, true]);
    for (const wallet of ['default', 'blank']) {
      for (const method of ['getbalances', 'getbalance', 'listtransactions', 'listunspent']) await call(wallet, method);
      for (const method of ['listsinceblock', 'listlockunspent', 'listdescriptors', 'listlabels'])
        await call(wallet, method);
      for (const method of ['listreceivedbyaddress', 'listreceivedbylabel']) await call(wallet, method);
      await call(wallet, 'rescanblockchain');
      // A wallet without keys has no birth time.
      expect('birthtime' in (await call<object>(wallet, 'getwalletinfo'))).toBe(wallet === 'default');
      expect(await call<boolean>(wallet, 'abortrescan')).toBe(false);
    }
    await main('listdescriptors', [true]);
    await main('keypoolrefill');
  });

  test('for addresses', async () => {
    for (const type of ['legacy', 'p2sh-segwit', 'bech32', 'bech32m']) {
      addresses[type] = await main<string>('getnewaddress', [type, type]);
      await main('getaddressinfo', [addresses[type]]);
      await main('getaddressinfo', [await main<string>('getrawchangeaddress', [type])]);
      await generate(2, addresses[type]);
    }
    // An address of another wallet, an anchor, and an unknown witness version.
    for (const address of [MINING_ADDRESS, 'bcrt1pfeesnyr2tx', 'bcrt1zw508d6qejxtdg4y5r3zarvaryv2wuatf'])
      await main('getaddressinfo', [address]);
    await main('setlabel', [MINING_ADDRESS, 'theirs']);
    await main('listlabels', ['send']);
    await main('getaddressesbylabel', ['theirs']);
    await main('getaddressesbylabel', ['bech32']);
    await generate(102);
    await main('signmessage', [addresses.legacy, 'text']);
    await main('getreceivedbyaddress', [addresses.legacy]);
    await main('getreceivedbylabel', ['legacy']);
    await main('listreceivedbyaddress', [0, true]);
    await main('listreceivedbylabel', [0, true]);
  });

  let paid = '';

  test('for payments', async () => {
    paid = await main<string>('sendtoaddress', [addresses.bech32, 3]);
    await generate(1);
    const verbose = { address: MINING_ADDRESS, amount: 1, comment: 'c', comment_to: 't', verbose: true };
    const { txid } = await main<Output>('sendtoaddress', { ...verbose, request_id: 'once' });
    expect(await ours<object>('default', 'sendtoaddress', { ...verbose, request_id: 'once' })).toEqual({ txid });
    await main('sendmany', { amounts: { [MINING_ADDRESS]: 0.1 } });
    await main('sendmany', { amounts: { [MINING_ADDRESS]: 0.1 }, verbose: true, request_id: 'many' });
    await ours('default', 'sendmany', { amounts: { [MINING_ADDRESS]: 0.1 }, verbose: true, request_id: 'many' });
    const outputs = [{ [MINING_ADDRESS]: 0.1 }, { data: '00' }];
    const { txid: noted } = await main<Output>('send', { outputs });
    for (const more of [{ psbt: true }, { add_to_wallet: false }]) await main('send', { outputs, ...more });
    // A receipt, a coinbase and a payment, each in the form with all members.
    const listed = await main<Entry[]>('listtransactions', ['*', 100]);
    const mined = listed.find(({ category }) => category === 'generate')!;
    for (const shown of [paid, txid, noted, mined.txid]) {
      await main('gettransaction', [shown]);
      await main('gettransaction', [shown, true, true]);
    }
    await main('listtransactions', ['bech32']);
    await main('listunspent', [0]);
    await main('getbalances');
  });

  test('for replacements', async () => {
    const first = await main<string>('sendtoaddress', [MINING_ADDRESS, 1]);
    await main('psbtbumpfee', [first]);
    const { txid } = await main<Output>('bumpfee', [first]);
    expect(await main<object>('gettransaction', [first])).toMatchObject({
      replaced_by_txid: txid,
      walletconflicts: [txid],
    });
    expect(await main<object>('gettransaction', [txid])).toMatchObject({ replaces_txid: first });
    await main('listtransactions', ['*', 100]);
    await main('abandontransaction', [first]);
    expect(await main<object>('gettransaction', [first])).toMatchObject({ details: [{ abandoned: true }] });
  });

  test('for transactions with conflicts, and for disconnected blocks', async () => {
    const [coin] = await main<Output[]>('listunspent', [100]);
    const options = { inputs: [{ txid: coin!.txid, vout: coin!.vout }], add_to_wallet: false };
    const rival = async (address: string, fee_rate: number) =>
      main<Output & { hex: string }>('sendall', { recipients: [address], options: { ...options, fee_rate } });
    const [kept, mined] = [await rival(addresses.legacy!, 5), await rival(MINING_ADDRESS, 50)];
    await submitted(kept.hex);
    await submitted(mined.hex);
    await main('listtransactions', ['*', 100]);
    const [stale] = await generate(1);
    const [top] = await generate(1, addresses.bech32m);
    expect(await main<Entry>('gettransaction', [kept.txid])).toMatchObject({ confirmations: -2, trusted: false });
    await node.api.rpcBody({ jsonrpc: '2.0', id: 1, method: 'invalidateblock', params: [stale] });
    const { removed } = await main<{ removed: Entry[] }>('listsinceblock', [top]);
    expect(removed.map(({ txid }) => txid)).toContain(mined.txid);
    const { transactions } = await main<{ transactions: Entry[] }>('listsinceblock', {
      include_removed: false,
      include_change: true,
    });
    expect(transactions.map(({ category }) => category)).toContain('orphan');
    await main('listsinceblock', ['', 1, true, true, true, 'bech32']);
    // Not to the same address: it would be the same block, which is not to be had again.
    await generate(1, addresses.legacy);
    expect((await main<{ removed: Entry[] }>('listsinceblock', [top])).removed).toContainEqual(
      expect.objectContaining({ txid: mined.txid, confirmations: 1 }),
    );
  });

  test('for locked coins', async () => {
    const [coin] = await main<Output[]>('listunspent');
    const outpoints = [{ txid: coin!.txid, vout: coin!.vout }];
    await main('lockunspent', [false, outpoints]);
    await main('lockunspent', [true]);
    // As listunspent returns it: further members have no effect.
    await main('lockunspent', [false, [coin]]);
    expect(await main<Output[]>('listlockunspent')).toEqual(outpoints);
    await main('lockunspent', [true]);
  });

  test('for drafted and signed transactions', async () => {
    const draft = '0200000000010100000000000000016a00000000';
    const { hex } = await main<{ hex: string }>('fundrawtransaction', [draft]);
    const signed = await main<{ complete: boolean }>('signrawtransactionwithwallet', [hex]);
    expect(signed.complete).toBe(true);
    const unknown = [{ txid: '11'.repeat(32), vout: 0 }];
    const foreign = await node.api.rpc<string>('createrawtransaction', [unknown, { [MINING_ADDRESS]: 1 }]);
    expect(await main<object>('signrawtransactionwithwallet', [foreign])).toMatchObject({ complete: false });
    const { psbt } = await main<{ psbt: string }>('walletcreatefundedpsbt', [[], { [MINING_ADDRESS]: 0.1 }]);
    expect(await main<object>('walletprocesspsbt', [psbt, false])).toMatchObject({ complete: false });
    expect(await main<object>('walletprocesspsbt', [psbt])).toMatchObject({ complete: true });
  });

  test('for a watch-only wallet', async () => {
    const { descriptors } = await main<Described>('listdescriptors');
    const imports = descriptors.map(({ desc, internal, range }) => ({ desc, internal, range, active: true }));
    const watch = <T>(method: string, params?: Params) => call<T>('blank', method, params);
    await watch('importdescriptors', [imports.map((each) => ({ ...each, timestamp: 0 }))]);
    for (const method of ['getwalletinfo', 'getbalances', 'listdescriptors', 'listtransactions']) await watch(method);
    expect(await watch<object>('send', [{ [MINING_ADDRESS]: 0.1 }])).toMatchObject({ complete: false });
    expect(await watch<object>('sendall', [[MINING_ADDRESS]])).toMatchObject({ complete: false });
    const key = '0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798';
    const xpub = /(tpub\w+)/.exec(descriptors[0]!.desc)![1]!;
    const scripts = [
      ...[`sh(wsh(pkh(${key})))`, `sh(wsh(multi(1,${key})))`, `sh(pkh(${key}))`, `sh(multi(1,${key}))`],
      ...[`wsh(multi(1,${key}))`, `wsh(pk(${key}))`, `pk(${key})`, `addr(${MINING_ADDRESS})`],
    ];
    const requests: object[] = [{ desc: await withChecksum(`wpkh(${xpub}/7/*)`), timestamp: 'now' }];
    for (const desc of scripts) requests.push({ desc: await withChecksum(desc), timestamp: 'now' });
    requests.push({ desc: 'pk(nonsense)', timestamp: 'now' });
    const outcomes = await watch<{ success: boolean }[]>('importdescriptors', [requests]);
    expect(outcomes.map(({ success }) => success)).toEqual(requests.map((_, i) => i < requests.length - 1));
    await watch('listdescriptors');
    for (const desc of scripts) {
      if (desc.startsWith('pk(')) {
        await node.api.rpc('generatetodescriptor', [1, desc]);
        continue;
      }
      const [address] = await node.api.rpc<string[]>('deriveaddresses', [await withChecksum(desc)]);
      await watch('getaddressinfo', [address]);
      await generate(1, address);
    }
    await watch('listtransactions', ['*', 100]);
    await watch('listunspent', [0, 9_999_999, [], true, { include_immature_coinbase: true }]);
  });

  test('for a wallet that keeps used addresses apart', async () => {
    const { warnings } = await main<{ warnings?: string }>('setwalletflag', ['avoid_reuse']);
    expect(warnings).toBeString();
    await main('getbalances');
    await main('listunspent', [0]);
    await main('getwalletinfo');
    await main('setwalletflag', ['avoid_reuse', false]);
  });

  test('for wallets that are created, kept, and encrypted', async () => {
    await call(null, 'createwallet', ['plain', false, false, '']);
    await call(null, 'unloadwallet', ['plain']);
    await call(null, 'listwalletdir');
    await call(null, 'loadwallet', ['plain']);
    await call('plain', 'backupwallet', ['plain.db']);
    await call(null, 'restorewallet', ['copy', 'plain.db']);
    const plain = <T>(method: string, params?: Params) => call<T>('plain', method, params);
    await plain('encryptwallet', ['before']);
    expect(await plain<object>('getwalletinfo')).toMatchObject({ unlocked_until: 0 });
    await plain('walletpassphrasechange', ['before', 'after']);
    await plain('walletpassphrase', ['after', 60]);
    await plain('getwalletinfo');
    await plain('listdescriptors', [true]);
    await plain('walletlock');
  });

  test('for a wallet of an external signer', async () => {
    const { descriptors } = await main<Described>('listdescriptors');
    const texts = (internal: boolean) => descriptors.filter((of) => of.internal === internal).map(({ desc }) => desc);
    device.answer('getdescriptors', { receive: texts(false), internal: texts(true) });
    await call(null, 'enumeratesigners');
    await call(null, 'createwallet', { wallet_name: 'device', disable_private_keys: true, external_signer: true });
    expect(await call<object>('device', 'getwalletinfo')).toMatchObject({ external_signer: true });
    const address = await call<string>('device', 'getnewaddress');
    device.answer('displayaddress', { address });
    expect(await call<object>('device', 'walletdisplayaddress', [address])).toEqual({ address });
    await call(null, 'unloadwallet', ['device']);
  });

  test('for an added descriptor', async () => {
    const { descriptors } = await main<Described>('listdescriptors', [true]);
    const master = /(tprv\w+)/.exec(descriptors[0]!.desc)![1]!;
    await call(null, 'createwallet', ['bare', false, true]);
    const desc = await withChecksum(`wpkh(${master}/84h/1h/0h/0/*)`);
    await call('bare', 'importdescriptors', [[{ desc, active: true, timestamp: 'now' }]]);
    await call('bare', 'createwalletdescriptor', ['bech32m']);
    await call('bare', 'createwalletdescriptor', ['legacy', { internal: true }]);
  });

  test('for keys, pruned funds, and backups', async () => {
    await main('gethdkeys');
    await main('gethdkeys', [{ private: true, active_only: true }]);
    await main('derivehdkey', ['m/87h/1h/0h']);
    await main('derivehdkey', ['m/87h/1h/0h', { private: true }]);
    await main('addhdkey');
    // Core's document wants a label, which Core itself leaves out where there is none.
    await ours('default', 'listaddressgroupings');
    await main('simulaterawtransaction', [[]]);
    await main('exportwatchonlywallet', ['watch.db']);
    const { hex } = await main<{ hex: string }>('gettransaction', [paid]);
    const proof = await node.api.rpc<string>('gettxoutproof', [[paid]]);
    await main('removeprunedfunds', [paid]);
    await main('importprunedfunds', [hex, proof]);
  });

  test('for a payment of the whole balance', async () => {
    await main('sendall', [[MINING_ADDRESS]]);
  });

  test('and every method was run', () => {
    const methods = [...RPC_METHODS.values()].filter(({ category }) => category === 'wallet').map(({ name }) => name);
    expect([...methods, 'fundrawtransaction'].filter((name) => !run.has(name))).toEqual([]);
  });

  test('and every optional member was both present and absent', () => {
    expect(sightings.neverThere()).toEqual(Object.keys(NEVER_THERE).sort());
    expect(sightings.alwaysThere()).toEqual(Object.keys(ALWAYS_THERE).sort());
  });
});
