import { afterEach, expect, test } from 'bun:test';
import { ApiError } from '../../src/http/errors.ts';
import { SubmitNodes } from '../../src/serve/submit-nodes.ts';
import { type Clock, hostClock } from '../../src/util/clock.ts';
import { silentLog } from '../lib/chain-fixture.ts';
import { ManualClock } from '../lib/manual-clock.ts';
import { freePort } from '../lib/node-process.ts';

interface Seen {
  readonly path: string;
  readonly key: string | null;
  readonly type: string | null;
  readonly body: string;
}

const running: Bun.Server<undefined>[] = [];
afterEach(async () => {
  await Promise.all(running.splice(0).map((server) => server.stop(true)));
});

/** A node that gives one reply to all requests. */
function nodeThat(status: number, text: string): { url: string; seen: Seen[] } {
  const seen: Seen[] = [];
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const { headers, url } = request;
      const [key, type] = [headers.get('authorization'), headers.get('content-type')];
      seen.push({ path: new URL(url).pathname, key, type, body: await request.text() });
      return new Response(text, { status, headers: { 'content-type': 'application/json; charset=utf-8' } });
    },
  });
  running.push(server);
  return { url: server.url.href.replace(/\/$/, ''), seen };
}

const submission = () =>
  new Request('http://server/api/tx', {
    method: 'POST',
    body: '{"tx":"00"}',
    headers: { 'content-type': 'application/json' },
  });

function submitsTo(urls: readonly string[], clock: Clock = hostClock): SubmitNodes {
  return new SubmitNodes({ nodes: urls.map((url, i) => ({ url, key: `key-${i}` })), log: silentLog, clock });
}

test('nodes that are dead, not ready or refuse the key are skipped, and the first verdict is final', async () => {
  const dead = `http://127.0.0.1:${await freePort()}`;
  const [starting, refusing, right, unused] = [
    nodeThat(503, '{}'),
    nodeThat(401, '{}'),
    nodeThat(422, '{"error":{"code":"tx_rejected"}}'),
    nodeThat(200, '{}'),
  ];
  const nodes = submitsTo([dead, starting.url, refusing.url, right.url, unused.url]);
  const reply = await nodes.forward('/api/tx', submission());
  expect([reply.status, await reply.text()]).toEqual([422, '{"error":{"code":"tx_rejected"}}']);
  expect(right.seen).toEqual([{ path: '/api/tx', key: 'Bearer key-3', type: 'application/json', body: '{"tx":"00"}' }]);
  expect(unused.seen).toEqual([]);
});

test('a node that failed is tried after the others for a while, and first again afterwards', async () => {
  const clock = new ManualClock(0);
  const [failing, other] = [nodeThat(503, '{}'), nodeThat(200, '{}')];
  const nodes = submitsTo([failing.url, other.url], clock);
  await nodes.forward('/api/tx', submission());
  await nodes.forward('/api/tx', submission());
  expect([failing.seen.length, other.seen.length]).toEqual([1, 2]);
  clock.advance(5001);
  await nodes.forward('/api/tx', submission());
  expect([failing.seen.length, other.seen.length]).toEqual([2, 3]);
});

test('without any verdict the answer is overloaded, and a node that rests is tried all the same', async () => {
  const failing = nodeThat(500, '{}');
  const nodes = submitsTo([failing.url]);
  for (let i = 0; i < 2; i++) {
    const error = await nodes.forward('/api/tx', submission()).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ApiError);
    expect((error as ApiError).failure).toBe('overloaded');
  }
  expect(failing.seen.length).toBe(2);
});

test('a reply without an end is refused at the limit, and the next node is asked', async () => {
  const chunk = new Uint8Array(1 << 20);
  let sent = 0;
  const endless = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: () =>
      new Response(
        new ReadableStream({
          pull(controller) {
            sent++;
            controller.enqueue(chunk);
          },
        }),
      ),
  });
  running.push(endless);
  const right = nodeThat(200, '{}');
  const nodes = submitsTo([endless.url.href.replace(/\/$/, ''), right.url]);
  const startedAt = performance.now();
  const reply = await nodes.forward('/api/tx', submission());
  expect([reply.status, await reply.text(), right.seen.length]).toEqual([200, '{}', 1]);
  // The time limit of a node has not passed: the limit of bytes has ended the reply.
  expect(performance.now() - startedAt).toBeLessThan(7000);
  expect(sent).toBeGreaterThan(4);
});
