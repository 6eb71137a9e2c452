import { afterAll, describe, expect, test } from 'bun:test';
import asyncApiSchemas from '@asyncapi/specs';
import openRpcSchema from '@open-rpc/spec/1_4/schema.json';
import Ajv from 'ajv';
import { restRoutes } from '../../src/rest/rest-routes.ts';
import { RPC_METHODS } from '../../src/rpc/methods/methods.ts';
import { rpcRoutes } from '../../src/rpc/rpc-routes.ts';
import { messageExamples } from '../../src/server/docs/route-examples.ts';
import { BEARER, startTestApi } from '../lib/api-fixture.ts';
import { AsyncApi } from '../lib/async-api.ts';
import { OpenApi } from '../lib/open-api.ts';
import { WsClient } from '../ws/ws-client.ts';

const EVENTS = [
  ...['newBlock', 'newTransaction', 'mempoolUpdate', 'blockDisconnected', 'reorg', 'transactionRemoved'],
  ...['addressTransaction', 'confirmation', 'walletTransaction', 'feeUpdate', 'mempoolBlocks', 'syncStatus'],
  ...['peerConnected', 'peerDisconnected', 'webhookDisabled', 'gap', 'heartbeat'],
];
const DRAFT_7 = 'http://json-schema.org/draft-07/schema#';
const REQUESTS = ['subscribe', 'unsubscribe', 'watch', 'unwatch', 'filter', 'resume', 'status', 'ping'];

/** Returns the errors of a document by a schema of draft 7. */
function schemaErrors(schema: object, document: object): unknown {
  const ajv = new Ajv({ unknownFormats: 'ignore', logger: false });
  return ajv.validate(schema, document) ? null : ajv.errors;
}

/** The schema of OpenRPC names a copy of the schema of draft 7, and uses it for the schemas within a document. */
function withoutOwnDialect(schema: object): object {
  const { $schema: _, $id: __, ...rest } = schema as Record<string, unknown>;
  return JSON.parse(JSON.stringify(rest).replaceAll(/https:\/\/meta\.json-schema\.tools\/?[^"]*/g, DRAFT_7)) as object;
}

describe('the documents beside OpenAPI', async () => {
  const it = startTestApi({ plugins: [restRoutes, rpcRoutes] });
  afterAll(() => it[Symbol.asyncDispose]());
  const read = async (path: string) => (await (await fetch(`${it.api.url}${path}`)).json()) as object;
  const document = await read('/docs/asyncapi.json');
  const api = new AsyncApi(document);

  test('the AsyncAPI document is valid 3.0', () => {
    const { asyncapi } = document as { asyncapi: string };
    expect(asyncapi).toBe('3.0.0');
    expect(schemaErrors(asyncApiSchemas.schemasWithoutId['3.0.0'], document)).toBeNull();
  });

  test('every reference of the AsyncAPI document has a target', () => {
    const targets = JSON.stringify(document).matchAll(/"\$ref":"#\/([^"]+)"/g);
    for (const [, path] of targets) {
      const target = path!.split('/').reduce<unknown>((at, key) => (at as Record<string, unknown>)?.[key], document);
      expect([path, typeof target]).toEqual([path, 'object']);
    }
  });

  test('every event and every message of a client is described', async () => {
    expect(api.messages).toEqual(expect.arrayContaining([...EVENTS, 'webhookDelivery']));
    expect(api.messages).toEqual(
      expect.arrayContaining(REQUESTS.flatMap((type) => [`${type}Message`, `${type}Reply`])),
    );
    using client = new WsClient(it.api.url, { headers: BEARER });
    await client.opened;
    const { data } = await client.ask('subscribe', { events: EVENTS, replace: true });
    expect((data.events as string[]).toSorted()).toEqual(EVENTS.toSorted());
    const { type } = await client.ask('weather');
    expect(type).toBe('error');
  });

  test('requests and replies are as described', async () => {
    it.node.mine();
    const script = '0014751e76e8199196d454941c45d1b3a323f1433bd6';
    using client = new WsClient(it.api.url, { headers: BEARER });
    await client.opened;
    const asked: readonly (readonly [string, object])[] = [
      ['subscribe', { events: ['reorg'] }],
      ['subscribe', { events: ['reorg'], replace: true, details: 'full', after: 0 }],
      ['unsubscribe', { events: ['reorg'] }],
      ['watch', { scripts: [script], txids: ['ab'.repeat(32)], confirmations: [1, 6], snapshot: false }],
      ['unwatch', { outpoints: [`${'ab'.repeat(32)}:0`], all: false }],
      ['filter', { onlyWatched: true, minFeeRate: 1.5 }],
      ['resume', { after: 1 }],
      ['status', {}],
      ['ping', { any: 'data' }],
    ];
    for (const [type, data] of asked) {
      if (type !== 'ping') expect(api.problems({ type, id: 1, data: { ...data } }, `${type}Message`)).toEqual([]);
      const reply = await client.ask(type, data);
      expect(reply.type).not.toBe('error');
      if (type !== 'ping') expect(api.problems(reply, `${type}Reply`)).toEqual([]);
    }
    for (const [type, data] of [
      ['weather', {}],
      ['subscribe', { events: 'newBlock' }],
      ['resume', { after: 'x' }],
    ] as const)
      expect(api.problems(await client.ask(type, data))).toEqual([]);
  });

  test('the schemas of events are valid for ajv, and every recorded event fits the one of its type', async () => {
    const schema = (await read('/docs/events.json')) as { definitions: Record<string, object> };
    const ajv = new Ajv({ unknownFormats: 'ignore', logger: false });
    expect(ajv.validateSchema(schema)).toBe(true);
    const isEvent = ajv.compile(schema);
    const names = [...EVENTS, 'addressTransactionSnapshot', 'confirmationSnapshot', 'closed'];
    for (const name of names) {
      const example = messageExamples()[name]!;
      const ownName = name[0]!.toUpperCase() + name.slice(1);
      expect([name, Object.hasOwn(schema.definitions, ownName)]).toEqual([name, true]);
      const isOwn = ajv.compile({ $ref: `urn:obverse:events#/definitions/${ownName}` });
      expect([name, isOwn(example), isOwn.errors]).toEqual([name, true, null]);
      expect([name, isEvent(example)]).toEqual([name, true]);
      expect([name, isEvent({ ...example, data: {} })]).toEqual([name, false]);
    }
    expect(isEvent({ type: 'weather', data: {} })).toBe(false);
  });

  test('the items of a page are the events that are kept and gaps among them, each with its own schema', async () => {
    const openApi = await OpenApi.of(it.api.url);
    const { schemas } = openApi.document.components as unknown as {
      schemas: { EventsPage: { properties: { items: { items: { anyOf: { $ref: string }[] } } } } };
    };
    const items = schemas.EventsPage.properties.items.items.anyOf.map(({ $ref }) => $ref.split('/').at(-1)!);
    const names = items.map((name) => name[0]!.toLowerCase() + name.slice(1));
    expect(names).toEqual([...EVENTS.slice(0, 9), 'gap']);
  });

  test('the OpenRPC document is valid and has every method that is not hidden', async () => {
    const openRpc = (await read('/docs/openrpc.json')) as { methods: { name: string }[] };
    expect(schemaErrors(withoutOwnDialect(openRpcSchema), openRpc)).toBeNull();
    const visible = [...RPC_METHODS.values()].filter(({ hidden }) => !hidden).map(({ name }) => name);
    expect(openRpc.methods.map(({ name }) => name)).toEqual(visible.toSorted());
  });
});
