import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import openapiTypes from 'openapi-typescript';
import { type RouteExample, routeExamples } from '../../src/server/docs/route-examples.ts';
import { ExampleNode } from '../lib/example-node.ts';
import { EventSocket } from '../lib/node-client.ts';
import { cleanUpAfterTests, TEST_KEY, tempDir } from '../lib/node-process.ts';
import { OpenApi } from '../lib/open-api.ts';
import { isRecording, recordExample } from '../lib/recorded-examples.ts';

cleanUpAfterTests();

const BEARER = { authorization: `Bearer ${TEST_KEY}` };
const ROOT = resolve(import.meta.dir, '../..');
const HOW =
  'Add its request to the file of its tag in src/server/docs/examples/, with "needs" if it depends on data that ' +
  'test/lib/example-node.ts prepares, and run `RECORD_EXAMPLES=1 npx bun test ./test/functional/contract.test.ts`, ' +
  'which records the reply.';

/** Returns what has come first of a reply that has no end. */
async function firstPart(reply: Response): Promise<Response> {
  const reader = reply.body!.getReader();
  const { value } = await reader.read();
  await reader.cancel();
  return new Response(value, { status: reply.status, headers: reply.headers });
}

describe('the examples of the OpenAPI document', () => {
  let it: ExampleNode;
  let api: OpenApi;
  beforeAll(async () => {
    it = await ExampleNode.start();
    api = await OpenApi.of(it.node.api.url);
  });
  afterAll(() => it[Symbol.asyncDispose]());

  test('are there for every route', () => {
    const examples = routeExamples();
    const without = api.routes.filter((route) => Object.keys(examples[route] ?? {}).length === 0);
    if (without.length > 0) throw new Error(`${without.join(', ')} has no example. ${HOW}`);
    const stale = Object.keys(examples).filter((route) => !api.routes.includes(route));
    expect(stale).toEqual([]);
  });

  for (const [route, named] of Object.entries(routeExamples()))
    for (const [name, example] of Object.entries(named))
      test(`${route}: ${name}`, async () => {
        const { headers, ...prepared } = await it.prepare(example);
        const request = { ...example, ...prepared };
        expect(api.requestProblems(route, request)).toEqual([]);
        const { status = 200 } = example;
        const reply = status === 101 ? null : await send(route, request, headers);
        if (reply === null)
          (await EventSocket.open(it.node.api.url.replace(/^http/, 'ws') + target(route, request), {})).close();
        else
          expect([reply.status, await api.problems(...call(route, request), reply.clone() as Response)]).toEqual([
            status,
            [],
          ]);
        const problems = api.exampleProblems(route, example);
        if (problems.length > 0 && isRecording)
          recordExample(route, name, { ...request, ...(reply && { response: await bodyOf(reply) }) });
        else if (problems.length > 0) throw new Error(`${problems.join('; ')}. ${HOW}`);
      });

  test('a client of openapi-fetch compiles with the generated types, and reads the node', async () => {
    const dir = tempDir();
    symlinkSync(join(ROOT, 'node_modules'), join(dir, 'node_modules'));
    writeFileSync(join(dir, 'api.ts'), await openapiTypes(JSON.parse(JSON.stringify(api.document))));
    writeFileSync(join(dir, 'client.ts'), CLIENT);
    const options = {
      strict: true,
      noEmit: true,
      skipLibCheck: true,
      types: ['bun'],
      target: 'esnext',
      module: 'esnext',
    };
    const compilerOptions = { ...options, moduleResolution: 'bundler', allowImportingTsExtensions: true };
    writeFileSync(join(dir, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['client.ts'] }));
    const tsc = [process.execPath, join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', dir];
    expect(Bun.spawnSync(tsc).stdout.toString()).toBe('');
    const child = Bun.spawn([process.execPath, join(dir, 'client.ts')], {
      env: { ...process.env, URL: it.node.api.url, KEY: TEST_KEY },
      stdout: 'pipe',
      stderr: 'pipe',
    });
    const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
    expect([await child.exited, err]).toEqual([0, '']);
    expect(JSON.parse(out)).toEqual({
      genesis: '0f9188f13cb7b2c71f2a335e3a4fc328bf5beb436012afca590b1a11466e2206',
      values: 2,
      code: 'invalid_hash',
      rejected: 'tx_decode_failed',
    });
  });

  async function send(route: string, request: RouteExample, credentials: object = BEARER): Promise<Response> {
    const [method, path] = call(route, request);
    const sent = await fetch(it.node.api.url + path, {
      method,
      headers: { ...credentials, 'content-type': 'application/json' },
      ...(request.body !== undefined && { body: JSON.stringify(request.body) }),
    });
    return sent.headers.get('content-type') === 'text/event-stream' ? firstPart(sent) : sent;
  }
});

/** A program of an integrator. It does not compile if a name or a type of the document is another one. */
const CLIENT = `
import createClient from 'openapi-fetch';
import type { components, paths } from './api.ts';

const { URL: baseUrl = '', KEY = '' } = process.env;
const { GET, POST } = createClient<paths>({ baseUrl, headers: { authorization: 'Bearer ' + KEY } });
const { data: block } = await GET('/api/block-by-height/{height}', { params: { path: { height: 0 } } });
const address = 'bcrt1q60fvwfmzf9y96a04reepedwyvwk8ac8atzrdwt';
const { data: page } = await GET('/api/address/{address}/utxos', { params: { path: { address }, query: { limit: 2 } } });
const values: number[] = (page?.items ?? []).map(({ value }) => value);
const { error } = await GET('/api/block/{hash}', { params: { path: { hash: 'x' } } });
const code: components['schemas']['ErrorCode'] | undefined = error?.error.code;
const { error: rejected } = await POST('/api/tx', { body: { tx: '00' } });
// @ts-expect-error: there is no such route
await GET('/api/nothing');
console.log(JSON.stringify({ genesis: block?.hash, values: values.length, code, rejected: rejected?.error.code }));
`;

/** Returns the method and the target of a request. */
function call(route: string, request: RouteExample): [method: string, target: string] {
  return [route.split(' ', 1)[0]!, target(route, request)];
}

function target(route: string, { path = {}, query = {} }: RouteExample): string {
  const filled = route
    .slice(route.indexOf(' ') + 1)
    .replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(path[name])));
  const pairs = Object.entries(query).map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`);
  return filled + (pairs.length > 0 ? `?${pairs.join('&')}` : '');
}

/** Returns the body of a reply; undefined for bytes. */
async function bodyOf(reply: Response): Promise<unknown> {
  const type = reply.headers.get('content-type') ?? '';
  if (type.startsWith('application/octet-stream')) return undefined;
  return type.startsWith('application/json') ? reply.json() : reply.text();
}
