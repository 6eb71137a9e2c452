import { beforeAll, describe, expect, test } from 'bun:test';
import type { ApiClient } from '../lib/node-client.ts';
import { cleanUpAfterTests, startNode } from '../lib/node-process.ts';
import { MINING_ADDRESS } from '../lib/peer-node.ts';
import { hasVectors, readVectorJson } from '../lib/vectors.ts';

cleanUpAfterTests();

interface Schema {
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
  readonly items?: Schema | readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
}

interface Structure {
  readonly methods: readonly { readonly name: string; readonly result: { readonly schema: Schema } }[];
}

/** What of a value a schema does not have, or lacks; empty where it fits. */
function misfits(value: unknown, schema: Schema, path = '$'): string[] {
  const choices = schema.oneOf ?? schema.anyOf;
  if (choices) {
    const all = choices.map((choice) => misfits(value, choice, path));
    return all.find((found) => found.length === 0) ?? all.sort((a, b) => a.length - b.length)[0]!;
  }
  if (Array.isArray(value)) {
    const { items } = schema;
    if (!items) return schema.type === 'array' ? [] : [`${path} is an array`];
    return value.flatMap((item, i) => {
      const own = Array.isArray(items)
        ? (items as readonly Schema[])[Math.min(i, items.length - 1)]!
        : (items as Schema);
      return misfits(item, own, `${path}[${i}]`);
    });
  }
  if (value === null || typeof value !== 'object') return typeFits(value, schema.type) ? [] : [`${path} is ${value}`];
  if (schema.type !== undefined && schema.type !== 'object') return [`${path} is an object`];
  const { properties = {}, required = [], additionalProperties } = schema;
  const found = required.filter((key) => !Object.hasOwn(value, key)).map((key) => `${path}.${key} is missing`);
  for (const [key, member] of Object.entries(value)) {
    const own = properties[key] ?? (typeof additionalProperties === 'object' ? additionalProperties : null);
    if (own) found.push(...misfits(member, own, `${path}.${key}`));
    else if (additionalProperties !== true && Object.keys(properties).length > 0)
      found.push(`${path}.${key} is too much`);
  }
  return found;
}

function typeFits(value: unknown, type: Schema['type']): boolean {
  if (type === undefined) return true;
  const types = typeof type === 'string' ? [type] : type;
  const own = value === null ? 'null' : typeof value;
  return types.some((each) => each === own || (each === 'integer' && Number.isInteger(value)));
}

describe.skipIf(!hasVectors)('results of the wallet (needs vectors)', () => {
  const methods = hasVectors ? readVectorJson<Structure>('core-rpc/openrpc-structure.json').methods : [];
  let api: ApiClient;
  const addresses: Record<string, string> = {};
  let sent = '';
  let mined = '';
  beforeAll(async () => {
    const node = await startNode({ args: ['--wallet.keypool=10'] });
    api = node.api;
    for (const type of ['legacy', 'p2sh-segwit', 'bech32', 'bech32m']) {
      const address = await api.rpc<string>('getnewaddress', [type, type]);
      addresses[type] = address;
      await api.rpc('generatetoaddress', [1, address]);
    }
    await api.rpc('generatetoaddress', [102, MINING_ADDRESS]);
    mined = await api.rpc<string>('sendtoaddress', [addresses.bech32, 3]);
    await api.rpc('generatetoaddress', [1, MINING_ADDRESS]);
    sent = await api.rpc<string>('sendtoaddress', {
      address: MINING_ADDRESS,
      amount: 1,
      comment: 'c',
      comment_to: 't',
    });
  });

  const calls: readonly [string, () => unknown][] = [
    ['getbalances', () => []],
    ['getwalletinfo', () => []],
    ['listwalletdir', () => []],
    ['listwallets', () => []],
    ['listtransactions', () => ['*', 100]],
    ['listsinceblock', () => []],
    ['gettransaction', () => [sent, true, true]],
    ['gettransaction', () => [mined]],
    ['listunspent', () => [0]],
    ['listlockunspent', () => []],
    ['listdescriptors', () => []],
    ['listdescriptors', () => [true]],
    ['listreceivedbyaddress', () => [0, true]],
    ['listreceivedbylabel', () => [0, true]],
    ['listlabels', () => []],
    ['getaddressesbylabel', () => ['bech32']],
    ['getaddressinfo', () => [addresses.legacy]],
    ['getaddressinfo', () => [addresses['p2sh-segwit']]],
    ['getaddressinfo', () => [addresses.bech32]],
    ['getaddressinfo', () => [addresses.bech32m]],
    ['getaddressinfo', () => [MINING_ADDRESS]],
    ['createwallet', () => ['another', false, false, '']],
    ['unloadwallet', () => ['another']],
    ['loadwallet', () => ['another']],
    ['rescanblockchain', () => [1, 2]],
    ['sendtoaddress', () => ({ address: MINING_ADDRESS, amount: 0.1, verbose: true })],
    ['sendmany', () => ({ amounts: { [MINING_ADDRESS]: 0.1 }, verbose: true })],
    ['send', () => [{ [MINING_ADDRESS]: 0.1 }]],
    ['send', () => ({ outputs: { [MINING_ADDRESS]: 0.1 }, psbt: true })],
    ['bumpfee', () => [sent]],
    ['walletcreatefundedpsbt', () => [[], { [MINING_ADDRESS]: 0.1 }]],
    ['fundrawtransaction', () => ['0200000000010100000000000000016a00000000']],
    ['sendall', () => [[MINING_ADDRESS]]],
  ];
  for (const [method, params] of calls)
    test(`${method} has the form that Bitcoin Core gives it`, async () => {
      if (method !== 'createwallet' && (await api.rpc<string[]>('listwallets')).length > 1 && method !== 'unloadwallet')
        await api.rpc('unloadwallet', ['another']);
      const { schema } = methods.find(({ name }) => name === method)!.result;
      const reply = await api.rpcBody<{ result: unknown; error?: unknown }>({
        jsonrpc: '2.0',
        id: 1,
        method,
        params: params(),
      });
      expect(reply.body.error).toBeUndefined();
      expect(misfits(reply.body.result, schema)).toEqual([]);
    });
});
