import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { hashToHex } from '../../src/primitives/hash.ts';
import { mixedDirectory } from '../lib/chain-directory.ts';
import { mixedBlocks } from '../lib/chain-fixture.ts';
import { broadcast, idOf, nodeWith } from '../lib/mempool-node.ts';
import { cleanUpAfterTests, type NodeProcess, poll, startNode } from '../lib/node-process.ts';
import { recentChain } from '../lib/sample-chains.ts';
import { sweep } from '../lib/tx-builder.ts';
import { hasVectors, readVectorJson } from '../lib/vectors.ts';

cleanUpAfterTests();

interface Shown {
  readonly status: number;
  readonly type: string | null;
  readonly bytes: Buffer;
  readonly text: string;
  readonly headers: Headers;
}

async function fetchRest(node: NodeProcess, path: string, init: RequestInit = {}): Promise<Shown> {
  const reply = await fetch(`${node.api.url}/rest/${path}`, init);
  const bytes = Buffer.from(await reply.arrayBuffer());
  const { status, headers } = reply;
  return { status, type: headers.get('content-type'), bytes, text: bytes.toString('latin1'), headers };
}

interface CoreTx {
  readonly vin: readonly { readonly prevout: { readonly value: number; readonly scriptPubKey: object } }[];
}

interface Expected {
  readonly tip: string;
  readonly blocks: Readonly<Record<string, { readonly tx: readonly string[] } & Record<string, unknown>>>;
  /** With the first transactions alone. */
  readonly tipBlockVerbosity3: { readonly tx: readonly CoreTx[] } & Record<string, unknown>;
  readonly transactions: readonly Record<string, unknown>[];
  readonly deployments: Record<string, unknown>;
}

const HASH_OF_5 = '14dbbf06fc5be0df755f1a26c38a59cafb110a8f8490c6f7e5c4cfd1cc56b21d';
const UNKNOWN = '22'.repeat(32);

describe.skipIf(!hasVectors)("Core's REST interface on the mixed regtest chain", () => {
  let node: NodeProcess;
  const expected = hasVectors ? readVectorJson<Expected>('chains/regtest-mixed-160.expected.json') : null!;
  const get = (path: string, init?: RequestInit) => fetchRest(node, path, init);
  const blockAt = (height: number) => Buffer.from(mixedBlocks()[height - 1]!);

  beforeAll(async () => {
    node = await startNode({ datadir: await mixedDirectory(), args: ['--http.coreRest=public', '--index.filter'] });
  }, 120_000);
  afterAll(async () => {
    await node?.stop();
  });

  test('a block is sent as bytes, hex and the JSON of Core', async () => {
    const { tip, tipBlockVerbosity3 } = expected;
    const bin = await get(`block/${tip}.bin`);
    expect([bin.status, bin.type]).toEqual([200, 'application/octet-stream']);
    expect(bin.bytes.equals(blockAt(160))).toBe(true);
    const hex = await get(`block/${tip}.hex`);
    expect([hex.status, hex.type]).toEqual([200, 'text/plain']);
    expect(hex.text === `${blockAt(160).toString('hex')}\n`).toBe(true);
    const json = await get(`block/${tip}.json`);
    expect([json.status, json.type]).toEqual([200, 'application/json']);
    const shown = JSON.parse(json.text) as { tx: readonly CoreTx[] };
    const { length } = tipBlockVerbosity3.tx;
    expect<object>({ ...shown, tx: shown.tx.slice(0, length) }).toEqual(tipBlockVerbosity3);
    expect(JSON.parse((await get(`block/notxdetails/${tip}.json`)).text)).toEqual(expected.blocks[160]!);
    expect((await get(`block/${tip.toUpperCase()}.bin`)).bytes.equals(blockAt(160))).toBe(true);
    expect((await get(`blockpart/${tip}.bin?offset=10&size=70`)).bytes.equals(blockAt(160).subarray(10, 80))).toBe(
      true,
    );
    // A key would be needed for another copy, so no shared cache may keep it.
    expect(bin.headers.get('cache-control')).toBe('private, immutable, max-age=86400');
    expect(json.headers.get('cache-control')).toBe('no-store');
  });

  test('headers, hashes and transactions are those of Core', async () => {
    const headers = await get(`headers/${HASH_OF_5}.bin?count=3`);
    const wanted = Buffer.concat([5, 6, 7].map((height) => blockAt(height).subarray(0, 80)));
    expect(headers.bytes.equals(wanted)).toBe(true);
    expect((await get(`headers/3/${HASH_OF_5}.hex`)).text).toBe(`${wanted.toString('hex')}\n`);
    const { tx: _, strippedsize, size, weight, coinbase_tx, ...header } = expected.blocks[160]!;
    expect(JSON.parse((await get(`headers/${expected.tip}.json`)).text)).toEqual([header]);
    const badEscape = await get(`headers/${HASH_OF_5}%`);
    expect([badEscape.status, badEscape.text.trimEnd()]).toEqual([400, `Invalid hash: ${HASH_OF_5}%`]);
    expect((await get('blockhashbyheight/160.hex')).text).toBe(`${expected.tip}\n`);
    expect((await get('blockhashbyheight/160.json')).text).toBe(`{"blockhash":"${expected.tip}"}\n`);
    expect((await get('blockhashbyheight/160.bin')).bytes.reverse().toString('hex')).toBe(expected.tip);
    for (const { blockhash, confirmations, time, blocktime, fee, ...tx } of expected.transactions) {
      const shown = JSON.parse((await get(`tx/${tx.txid}.json`)).text) as Record<string, unknown>;
      const vin = (tx.vin as Record<string, unknown>[]).map(({ prevout, ...input }) => input);
      expect(shown).toEqual({ ...tx, vin, blockhash });
      expect((await get(`tx/${tx.txid}.bin`)).bytes.toString('hex')).toBe(tx.hex as string);
      expect((await get(`tx/${tx.txid}.hex`)).text).toBe(`${tx.hex}\n`);
    }
    expect(JSON.parse((await get('deploymentinfo.json')).text)).toEqual(expected.deployments);
    expect(JSON.parse((await get(`deploymentinfo/${expected.tip}.json`)).text)).toEqual(expected.deployments);
    expect(JSON.parse((await get('chaininfo.json')).text)).toEqual(await node.api.rpc<object>('getblockchaininfo'));
  });

  test('filters are those of getblockfilter, and spent outputs those of the block', async () => {
    await poll('the filters', async () => {
      const info = await node.api.rpc<Record<string, { synced: boolean }>>('getindexinfo');
      return info['basic block filter index']!.synced;
    });
    const { filter, header } = await node.api.rpc<Record<string, string>>('getblockfilter', [expected.tip]);
    expect((await get(`blockfilter/basic/${expected.tip}.json`)).text).toBe(`{"filter":"${filter}"}\n`);
    const bin = await get(`blockfilter/basic/${expected.tip}.bin`);
    // Type and block hash precede the filter, which has its length of three bytes.
    expect(bin.text[0]).toBe('\0');
    expect(Buffer.from(bin.bytes.subarray(1, 33)).reverse().toString('hex')).toBe(expected.tip);
    expect(bin.bytes.subarray(36).toString('hex')).toBe(filter!);
    expect((await get(`blockfilterheaders/basic/${expected.tip}.json`)).text).toBe(`["${header}"]\n`);
    const spent = JSON.parse((await get(`spenttxouts/${expected.tip}.json`)).text) as unknown[][];
    const { tx } = expected.tipBlockVerbosity3;
    expect(spent.slice(0, tx.length)).toEqual(
      tx.map(({ vin }, i) =>
        i === 0 ? [] : vin.map(({ prevout: { value, scriptPubKey } }) => ({ value, scriptPubKey })),
      ),
    );
  });

  test('getutxos reads at most 15 outpoints', async () => {
    const asked = (count: number) => get(`getutxos/${Array(count).fill(`${HASH_OF_5}-1`).join('/')}.bin`);
    expect((await asked(16)).text).toBe('Error: max outpoints exceeded (max: 15, tried: 16)\r\n');
    expect((await asked(15)).status).toBe(200);
  });

  // Texts and statuses as a node of Core replied.
  test.each([
    ['tx/abc.json', 400, 'Invalid hash: abc'],
    [`tx/${UNKNOWN}.json`, 404, `${UNKNOWN} not found`],
    [`tx/${UNKNOWN}.xml`, 400, `Invalid hash: ${UNKNOWN}.xml`],
    [`block/${UNKNOWN}.bin`, 404, `${UNKNOWN} not found`],
    [`block/${HASH_OF_5}`, 404, 'output format not found (available: .bin, .hex, .json)'],
    [`blockpart/${HASH_OF_5}.bin`, 400, 'Block part offset missing or invalid'],
    [`blockpart/${HASH_OF_5}.bin?offset=1`, 400, 'Block part size missing or invalid'],
    [`blockpart/${HASH_OF_5}.bin?offset=9&size=0`, 400, `Bad block part offset/size 9/0 for ${HASH_OF_5}`],
    [`blockpart/${HASH_OF_5}.json?offset=9&size=1`, 400, 'JSON output is not supported for this request type'],
    [`headers/0/${HASH_OF_5}.bin`, 400, 'Header count is invalid or out of acceptable range (1-2000): 0'],
    ['headers/a/b/c.bin', 400, 'Invalid URI format. Expected /rest/headers/<hash>.<ext>?count=<count>'],
    [`blockfilter/${HASH_OF_5}.bin`, 400, 'Invalid URI format. Expected /rest/blockfilter/<filtertype>/<blockhash>'],
    [`blockfilter/other/${HASH_OF_5}.bin`, 400, 'Unknown filtertype other'],
    ['blockhashbyheight/161.json', 404, 'Block height out of range'],
    ['blockhashbyheight/-1.json', 400, 'Invalid height: -1'],
    ['mempool/x.json', 400, 'Invalid URI format. Expected /rest/mempool/<info|contents>.json'],
    ['mempool/info.hex', 404, 'output format not found (available: json)'],
    ['mempool/contents.json?verbose=1', 400, 'The "verbose" query parameter must be either "true" or "false".'],
    [
      'mempool/contents.json?mempool_sequence=true',
      400,
      'Verbose results cannot contain mempool sequence values. (hint: set "verbose=false")',
    ],
    ['chaininfo.hex', 404, 'output format not found (available: json)'],
    [`deploymentinfo/${UNKNOWN}.json`, 400, 'Block not found'],
    ['getutxos.json', 400, 'Error: empty request'],
    [`getutxos/${HASH_OF_5}-x.json`, 400, 'Parse error'],
    [`spenttxouts/a/${HASH_OF_5}.bin`, 400, 'Invalid URI format. Expected /rest/spenttxouts/<hash>.<ext>'],
  ])('%s fails with %d and the text of Core', async (path, status, text) => {
    const reply = await get(path);
    expect([reply.status, reply.type, reply.text]).toEqual([status, 'text/plain', `${text}\r\n`]);
    expect(reply.headers.get('cache-control')).toBe('no-store');
  });

  test('the routes are in the OpenAPI document and have templates in the metrics', async () => {
    const document = await node.api.json<{ paths: Record<string, object> }>('/docs/openapi.json');
    expect(Object.keys(document.paths)).toEqual(expect.arrayContaining(['/rest/block/{file}', '/rest/{file}']));
    const { text } = await node.api.request<string>('/metrics');
    expect(text).toContain('route="/rest/block/{file}"');
    expect((await get('x')).status).toBe(404);
    expect((await get('chaininfo.json', { method: 'POST' })).status).toBe(405);
    expect((await get(`block/${HASH_OF_5}.bin`, { method: 'HEAD' })).status).toBe(200);
  });
});

test('getutxos reads the coins of the chain and of the mempool, from the path and from a body', async () => {
  const chain = recentChain(105, {});
  const node = await nodeWith(chain, ['--http.coreRest=keyed', '--relay.nonStandard']);
  const spent = chain.coin(1);
  const tx = sweep(spent, 'p2wpkh');
  await broadcast(node.api, tx);
  expect((await fetchRest(node, 'chaininfo.json')).status).toBe(401);
  const headers = { authorization: `Bearer ${node.api.key}` };
  const get = (path: string, init: RequestInit = {}) => fetchRest(node, path, { ...init, headers });
  const hex = await node.api.rpc<string>('getblockhash', [105]);
  const txid = idOf(tx);
  const old = `${hashToHex(spent.outpoint.txid)}-${spent.outpoint.vout}`;
  const shown = JSON.parse((await get(`getutxos/checkmempool/${old}/${txid}-0/${UNKNOWN}-0.json`)).text) as object;
  expect(shown).toMatchObject({
    chainHeight: 105,
    chaintipHash: hex,
    bitmap: '010',
    utxos: [{ height: 0x7fff_ffff, value: Number(spent.output.value - 1000n) / 1e8 }],
  });
  expect(JSON.parse((await get(`getutxos/${old}/${txid}-0.json`)).text)).toMatchObject({
    bitmap: '10',
    utxos: [{ height: 1 }],
  });
  const index = Buffer.alloc(4);
  const outpoints = [Buffer.from(spent.outpoint.txid), index, Buffer.from(txid, 'hex').reverse(), index];
  // The number of outpoints; Core reads the length of the body as the flag for the mempool.
  const body = Buffer.concat([Buffer.from([2]), ...outpoints]);
  const bin = await get('getutxos.bin', { method: 'POST', body });
  const script = Buffer.from(tx.outputs[0]!.scriptPubKey);
  const value = Buffer.alloc(8);
  value.writeBigUInt64LE(spent.output.value - 1000n);
  const reply = Buffer.concat([
    Buffer.from([105, 0, 0, 0]),
    Buffer.from(hex, 'hex').reverse(),
    // The bitmap has its second bit, and one output follows, at the height of the mempool.
    Buffer.from([1, 0b10, 1, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0x7f]),
    value,
    Buffer.from([script.length]),
    script,
  ]);
  expect(bin.bytes.toString('hex')).toBe(reply.toString('hex'));
  const inHex = await get('getutxos.hex', { method: 'POST', body: body.toString('hex') });
  expect(inHex.text).toBe(`${reply.toString('hex')}\n`);
  expect((await get(`getutxos/${old}.bin`, { method: 'POST', body })).text).toBe(
    'Combination of URI scheme inputs and raw post data is not allowed\r\n',
  );
  expect((await get('mempool/contents.json?verbose=false')).text).toBe(`["${txid}"]\n`);
  expect(JSON.parse((await get('mempool/info.json')).text)).toMatchObject({ size: 1 });
  expect((await get(`tx/${txid}.json`)).text).not.toContain('blockhash');
  await node.stop();
});

test('the interface is off by default', async () => {
  const node = await startNode();
  expect((await fetchRest(node, 'chaininfo.json')).status).toBe(404);
  await node.stop();
});
