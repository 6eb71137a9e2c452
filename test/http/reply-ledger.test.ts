import { afterAll, expect, test } from 'bun:test';
import { ReplyLedger } from '../../src/http/reply-ledger.ts';
import { poll } from '../lib/node-process.ts';

const MIB = 1 << 20;
/** More than the system's buffers take for one connection. */
const LONG = 16 * MIB;
const IDLE_SECONDS = 1;
const page = new Uint8Array(LONG).fill(65);
const ledger = new ReplyLedger({ perOwner: 8 * MIB, total: 32 * MIB });
const server = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  idleTimeout: 120,
  fetch(request, self) {
    const { pathname: owner, search } = new URL(request.url);
    if (search === '?late') self.timeout(request, 0);
    if (search !== '') self.timeout(request, IDLE_SECONDS);
    try {
      ledger.admit(owner);
    } catch (error) {
      return new Response((error as { failure: string }).failure, { status: 429 });
    }
    return new Response(ledger.body(page, { owner, signal: request.signal }));
  },
});
afterAll(() => server.stop(true));

/** Asks for a reply and reads nothing of it. */
const ask = async (path: string) => {
  const socket = await Bun.connect({ hostname: '127.0.0.1', port: server.port!, socket: { data() {} } });
  socket.pause();
  socket.write(`GET ${path} HTTP/1.1\r\nhost: localhost\r\n\r\n`);
  socket.flush();
  return socket;
};

test('a client that reads gets every byte, and nothing is left on its account', async () => {
  const body = await (await fetch(`${server.url}reads`)).bytes();
  expect(Bun.hash(body)).toBe(Bun.hash(page));
  expect(ledger.unsent).toBe(0);
});

test('clients that do not read cost their key its room and no other key', async () => {
  const idle = [await ask('/slow')];
  await poll('an unread reply', () => ledger.unsent > 4 * MIB);
  expect(ledger.hasRoom('/slow')).toBe(false);
  // A reply that is being prepared at that moment is still sent.
  idle.push(await ask('/slow'));
  await poll('another unread reply', () => ledger.unsent > 16 * MIB);
  expect(await (await fetch(`${server.url}slow`)).text()).toBe('rate_limited');
  expect((await (await fetch(`${server.url}other`)).bytes()).length).toBe(LONG);
  let freed = 0;
  ledger.onRoom(() => freed++);
  for (const socket of idle) socket.terminate();
  await poll('the room of clients that left', () => ledger.unsent === 0);
  expect(freed).toBeGreaterThan(0);
  expect((await (await fetch(`${server.url}slow`)).bytes()).length).toBe(LONG);
});

test('a reply whose client has left before it was made is not counted', () => {
  const owner = 'gone';
  void ledger.body(page, { owner, signal: AbortSignal.abort() });
  const left = new AbortController();
  void ledger.body(page, { owner, signal: left.signal });
  expect(ledger.hasRoom(owner)).toBe(false);
  left.abort();
  expect(ledger.unsent).toBe(0);
});

test('a client that stops reading within a reply is closed after the idle time', async () => {
  // A reply that took long to make has had no idle time until then.
  const idle = [await ask('/stalls?early'), await ask('/stalls-late?late')];
  await poll('unread replies', () => !ledger.hasRoom('/stalls') && !ledger.hasRoom('/stalls-late'));
  const unsent = ledger.unsent;
  expect(unsent).toBeGreaterThan(8 * MIB);
  await poll('the end of both connections', () => ledger.unsent === 0);
  for (const socket of idle) socket.terminate();
});
