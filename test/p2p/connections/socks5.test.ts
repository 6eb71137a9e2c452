import { afterEach, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { type ByteStream, type TcpStream, tcpHandlers } from '../../../src/p2p/connections/byte-stream.ts';
import { DialError, tcpDial } from '../../../src/p2p/connections/dial.ts';
import { isolatingCredentials, socks5Connect } from '../../../src/p2p/connections/socks5.ts';
import { systemTiming } from '../../../src/p2p/connections/timing.ts';
import { concatBytes } from '../../../src/util/bytes.ts';
import { listener, ManualTime, turns, until } from './net-fixture.ts';

const cleanups: (() => void)[] = [];
afterEach(() => {
  for (const cleanup of cleanups.splice(0)) cleanup();
});
const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

interface Behaviour {
  readonly method?: number;
  readonly authStatus?: number;
  /** The complete reply to the request. */
  readonly reply?: Uint8Array;
  /** Sent together with the reply. */
  readonly greeting?: Uint8Array;
  /** Replies that are never sent. */
  readonly silentAfter?: number;
  readonly closeAfter?: number;
}

const CONNECTED = Uint8Array.of(5, 0, 0, 1, 127, 0, 0, 1, 0, 80);

/** A proxy that connects to nothing and records its requests. */
function proxy(
  behaviour: Behaviour = {},
  write: (stream: ByteStream, bytes: Uint8Array) => void = (stream, bytes) => stream.write(bytes),
) {
  const { method = 2, authStatus = 0, reply = CONNECTED, greeting = new Uint8Array(0) } = behaviour;
  const { silentAfter = 9, closeAfter = 9 } = behaviour;
  const asked: Uint8Array[] = [];
  const echoed: Uint8Array[] = [];
  const server = listener((stream: TcpStream) => {
    const answers = [Uint8Array.of(5, method), Uint8Array.of(1, authStatus), concatBytes(reply, greeting)];
    if (method !== 2) answers.splice(1, 1);
    stream.attach({
      data: (bytes) => {
        if (answers.length === 0) return void echoed.push(bytes.slice());
        asked.push(bytes.slice());
        if (asked.length > closeAfter) return stream.close();
        if (asked.length <= silentAfter) write(stream, answers.shift()!);
      },
      drain: () => {},
      closed: () => {},
    });
  });
  cleanups.push(server.stop);
  return { asked, echoed, port: server.port };
}

async function connect(
  port: number,
  host = 'example.onion',
  time = systemTiming,
  credentials = isolatingCredentials(),
) {
  const abort = new AbortController();
  const stream = await tcpDial(systemTiming)({ host: '127.0.0.1', port }, abort.signal);
  cleanups.push(() => stream.close());
  const done = socks5Connect(stream, host, 8333, { timing: time, signal: abort.signal, credentials });
  return { stream, done, abort };
}

async function failure(promise: Promise<void>): Promise<DialError> {
  const error = await promise.then(
    () => null,
    (error) => error,
  );
  expect(error).toBeInstanceOf(DialError);
  return error;
}

test('socks5Connect uses its own credentials, lets the proxy resolve the name, and releases the stream', async () => {
  const { asked, echoed, port } = proxy({ greeting: new TextEncoder().encode('hello') });
  const { stream, done } = await connect(port, 'example.onion', systemTiming, { user: 'u1', password: 'pass' });
  await done;
  expect(asked).toEqual([
    Uint8Array.of(5, 2, 0, 2),
    Uint8Array.of(1, 2, 0x75, 0x31, 4, 0x70, 0x61, 0x73, 0x73),
    concatBytes(Uint8Array.of(5, 1, 0, 3, 13), new TextEncoder().encode('example.onion'), Uint8Array.of(0x20, 0x8d)),
  ]);
  let heard = '';
  stream.attach({ data: (bytes) => void (heard += text(bytes)), drain: () => {}, closed: () => {} });
  stream.write(new TextEncoder().encode('after'));
  await until(() => heard !== '' && echoed.length > 0);
  // Early bytes of the peer are preserved.
  expect([heard, text(echoed[0]!)]).toEqual(['hello', 'after']);
});

test('streams do not share credentials', () => {
  const drawn = Array.from({ length: 50 }, () => isolatingCredentials().user);
  expect(new Set(drawn).size).toBe(50);
});

test('no credentials are sent to a proxy without authentication', async () => {
  const { asked, port } = proxy({ method: 0 });
  await (await connect(port)).done;
  expect(asked.length).toBe(2);
});

const reply = (...bytes: number[]) => ({ reply: Uint8Array.from(bytes) });

test.each([
  ['an unknown method', { method: 1 }, 'proxy wants authentication method 1', true],
  ['no acceptable method', { method: 255 }, 'proxy wants authentication method 255', true],
  ['rejected credentials', { authStatus: 1 }, 'proxy refused our credentials', true],
  ['a general failure', reply(5, 1, 0, 1, 0, 0, 0, 0, 0, 0), 'proxy: general failure', false],
  ['a refused connection', reply(5, 5, 0, 1, 0, 0, 0, 0, 0, 0), 'proxy: connection refused', false],
  [
    'an onion service that does not exist',
    reply(5, 0xf0, 0, 1),
    'proxy: onion service descriptor can not be found',
    false,
  ],
  ['an unknown code', reply(5, 99, 0, 1), 'proxy: unknown reply 99', false],
  ['another version', reply(4, 0, 0, 1), 'proxy does not speak SOCKS5', true],
  ['a reserved byte that is set', reply(5, 0, 1, 1), 'proxy sent a malformed reply', true],
  ['an address of no kind', reply(5, 0, 0, 9), 'proxy sent a malformed reply', true],
  ['a proxy that disconnects at once', { closeAfter: 0 }, 'proxy closed the connection', true],
  ['a proxy that disconnects between replies', { closeAfter: 2 }, 'proxy closed the connection', true],
] as [string, Behaviour, string, boolean][])('%s is named', async (_, behaviour, message, proxyFailed) => {
  const { port } = proxy(behaviour);
  const error = await failure((await connect(port)).done);
  expect([error.message, error.proxyFailed]).toEqual([message, proxyFailed]);
});

test.each([
  ['IPv6', Uint8Array.of(5, 0, 0, 4, ...new Uint8Array(16), 1, 2)],
  ['name', Uint8Array.of(5, 0, 0, 3, 3, 0x61, 0x62, 0x63, 1, 2)],
  ['longest name', Uint8Array.of(5, 0, 0, 3, 255, ...new Uint8Array(255), 1, 2)],
])('the bound address in the reply of the proxy may be an %s', async (_, bytes) => {
  const { port } = proxy({ reply: bytes, greeting: Uint8Array.of(42) });
  const { stream, done } = await connect(port);
  await done;
  const heard: number[] = [];
  stream.attach({ data: (bytes) => void heard.push(...bytes), drain: () => {}, closed: () => {} });
  await until(() => heard.length > 0);
  expect(heard).toEqual([42]);
});

test.each([
  [0, 'method', true],
  [1, 'authentication', true],
  [2, 'connection', false],
])('after %d replies a silent proxy has 20 seconds for the %s', async (silentAfter, step, proxyFailed) => {
  const time = new ManualTime();
  const { port, asked } = proxy({ silentAfter });
  const { done } = await connect(port, 'a.onion', time);
  const failed = failure(done);
  await until(() => asked.length === silentAfter + 1 && time.sleeping === 1);
  await turns(5);
  await time.pass(19_999);
  expect(time.sleeping).toBe(1);
  await time.pass(1);
  const error = await failed;
  expect([error.message, error.proxyFailed, time.sleeping]).toEqual([`proxy timed out: ${step}`, proxyFailed, 0]);
});

test('the connection is given up when the signal aborts', async () => {
  const time = new ManualTime();
  const { port } = proxy({ silentAfter: 0 });
  const { done, abort } = await connect(port, 'a.onion', time);
  abort.abort(new Error('stopped'));
  expect(done).rejects.toThrow('stopped');
  await done.catch(() => {});
  expect(time.sleeping).toBe(0);
});

test('names up to the protocol limit are accepted', async () => {
  const { port } = proxy();
  expect((await failure((await connect(port, 'a'.repeat(256))).done)).message).toBe(
    'host name of 256 bytes for a proxy',
  );
});

test('replies may arrive in pieces of any size, and invalid ones are reported as DialError', async () => {
  const dribble = (sizes: readonly number[]) => async (stream: ByteStream, bytes: Uint8Array) => {
    for (let at = 0, i = 0; at < bytes.length; i++) {
      const size = sizes[i % sizes.length]!;
      stream.write(bytes.subarray(at, at + size));
      at += size;
      await turns(1);
    }
  };
  await fc.assert(
    fc.asyncProperty(fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1 }), async (sizes) => {
      const { port } = proxy({}, dribble(sizes));
      await (await connect(port)).done;
    }),
    { numRuns: 10 },
  );
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ minLength: 4, maxLength: 20 }), async (bytes) => {
      fc.pre(bytes[0] !== 5 || bytes[1] !== 0);
      const { port } = proxy({ reply: bytes });
      await failure((await connect(port)).done);
    }),
    { numRuns: 30 },
  );
});

test('a proxy may listen on a Unix socket', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'socks-'));
  const path = join(folder, 's');
  const asked: number[] = [];
  const server = Bun.listen<TcpStream>({
    unix: path,
    socket: tcpHandlers((stream) =>
      stream.attach({
        data: (bytes) => {
          asked.push(bytes.length);
          stream.write(asked.length === 1 ? Uint8Array.of(5, 0) : CONNECTED);
        },
        drain: () => {},
        closed: () => {},
      }),
    ),
  });
  cleanups.push(() => {
    server.stop(true);
    rmSync(folder, { recursive: true });
  });
  const { signal } = new AbortController();
  const stream = await tcpDial(systemTiming)({ host: `unix:${path}`, port: 0 }, signal);
  cleanups.push(() => stream.close());
  await socks5Connect(stream, '15.61.23.23', 1234, { timing: systemTiming, signal, credentials: null });
  expect([asked, stream.remote]).toEqual([[3, 18], null]);
  expect(tcpDial(systemTiming)({ host: `unix:${path}-absent`, port: 0 }, signal)).rejects.toThrow(DialError);
});
