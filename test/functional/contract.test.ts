import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type RouteExample, routeExamples } from '../../src/server/docs/route-examples.ts';
import { ExampleNode } from '../lib/example-node.ts';
import { EventSocket } from '../lib/node-client.ts';
import { cleanUpAfterTests, TEST_KEY } from '../lib/node-process.ts';
import { OpenApi } from '../lib/open-api.ts';
import { isRecording, recordExample } from '../lib/recorded-examples.ts';

cleanUpAfterTests();

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
        const request = { ...example, ...(await it.prepare(example)) };
        expect(api.requestProblems(route, request)).toEqual([]);
        const { status = 200 } = example;
        const reply = status === 101 ? null : await send(route, request);
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

  async function send(route: string, request: RouteExample): Promise<Response> {
    const [method, path] = call(route, request);
    const sent = await fetch(it.node.api.url + path, {
      method,
      headers: { authorization: `Bearer ${TEST_KEY}`, 'content-type': 'application/json' },
      ...(request.body !== undefined && { body: JSON.stringify(request.body) }),
    });
    return sent.headers.get('content-type') === 'text/event-stream' ? firstPart(sent) : sent;
  }
});

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
