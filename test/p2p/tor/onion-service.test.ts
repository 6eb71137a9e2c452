import { afterEach, expect, test } from 'bun:test';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { printService } from '../../../src/p2p/address/address-text.ts';
import { type DialTarget, targetText, tcpDial } from '../../../src/p2p/connections/dial.ts';
import { systemTiming } from '../../../src/p2p/connections/timing.ts';
import { keepOnionService, type OnionServiceOptions } from '../../../src/p2p/tor/onion-service.ts';
import { ManualTime, memoryLog, until } from '../connections/net-fixture.ts';
import { type LineClient, type LineServer, lineServer } from '../lib/line-server.ts';

const SERVICE = 'pg6mmjiyjmcrsslvykfwnntlaru7p5svn6y2ymmju6nubxndf4pscryd';
const KEY = `ED25519-V3:${'A'.repeat(86)}==`;
const COOKIE = Buffer.from('0123456789abcdef0123456789abcdef');

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'onion-'));
  cleanups.push(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

interface TorBehaviour {
  readonly auth?: string;
  /** Whether it knows the defences by proof of work. */
  readonly hasDefences?: boolean;
  readonly socks?: string;
  /** Replaces the reply to some command. */
  readonly replies?: (command: string) => string | null;
  readonly cookie?: Uint8Array;
}

/** The part of Tor's control port that the node uses. */
function tor({
  auth = 'METHODS=NULL',
  hasDefences = true,
  socks = '"127.0.0.1:9150"',
  replies = () => null,
  cookie = COOKIE,
}: TorBehaviour = {}): LineServer {
  const proof = (key: string, client: Uint8Array, server: Uint8Array) =>
    new Bun.CryptoHasher('sha256', key).update(cookie).update(client).update(server).digest('hex');
  const nonces = new Map<LineClient, [Uint8Array, Uint8Array]>();
  const answer = (client: LineClient, command: string): string => {
    const [word, first, second] = command.split(' ');
    if (word === 'PROTOCOLINFO') return `250-PROTOCOLINFO 1\r\n250-AUTH ${auth}\r\n250-VERSION Tor="0.4.8.1"\r\n250 OK`;
    if (word === 'AUTHCHALLENGE') {
      const pair: [Uint8Array, Uint8Array] = [Uint8Array.fromHex(second!), new Uint8Array(32).fill(5)];
      nonces.set(client, pair);
      const hash = proof('Tor safe cookie authentication server-to-controller hash', ...pair);
      return `250 AUTHCHALLENGE SERVERHASH=${hash.toUpperCase()} SERVERNONCE=${pair[1].toHex()}`;
    }
    if (word === 'AUTHENTICATE') {
      const pair = nonces.get(client);
      const wanted = pair ? proof('Tor safe cookie authentication controller-to-server hash', ...pair) : first;
      return wanted === first ? '250 OK' : '515 Bad authentication';
    }
    if (word === 'GETINFO') return `250-net/listeners/socks=${socks}\r\n250 OK`;
    if (command.includes('PoWDefensesEnabled') && !hasDefences) return '512 Unrecognized option';
    return `250-ServiceID=${SERVICE}\r\n${first!.startsWith('NEW:') ? `250-PrivateKey=${KEY}\r\n` : ''}250 OK`;
  };
  const server = lineServer((client, line) => client.send(`${replies(line) ?? answer(client, line)}\r\n`));
  cleanups.push(server.stop);
  return server;
}

function keep(server: { port: number }, options: Partial<OnionServiceOptions> = {}, timing = systemTiming) {
  const keyFile = join(folder(), 'key');
  const services: (string | null)[] = [];
  const proxies: string[] = [];
  const { log, lines } = memoryLog();
  const abort = new AbortController();
  const ended = keepOnionService(
    {
      control: { host: '127.0.0.1', port: server.port },
      password: null,
      keyFile,
      target: { host: '127.0.0.1', port: 8334 },
      port: 8333,
      wantsProxy: true,
      ...options,
    },
    {
      dial: tcpDial(systemTiming),
      timing,
      log,
      onService: (service) => services.push(service && printService(service)),
      onProxy: (proxy: DialTarget) => proxies.push(targetText(proxy)),
    },
    abort.signal,
  ).catch((error) => error);
  const stop = async () => {
    abort.abort(new Error('stopped'));
    expect(await ended).toHaveProperty('message', 'stopped');
  };
  cleanups.push(stop);
  return { keyFile, services, proxies, log: lines, stop };
}
const announced = `${SERVICE}.onion:8333`;

test('a service is made with a new key, which is kept for the next one with mode 600', async () => {
  const server = tor();
  const first = keep(server);
  await until(() => first.services.includes(announced));
  expect(server.lines).toEqual([
    'PROTOCOLINFO 1',
    'AUTHENTICATE',
    'GETINFO net/listeners/socks',
    'ADD_ONION NEW:ED25519-V3 PoWDefensesEnabled=1 Port=8333,127.0.0.1:8334',
  ]);
  expect([readFileSync(first.keyFile, 'utf8'), statSync(first.keyFile).mode & 0o777]).toEqual([KEY, 0o600]);
  expect(first.proxies).toEqual(['127.0.0.1:9150']);
  await first.stop();
  expect(first.services.at(-1)).toBeNull();
  const second = keep(server, { keyFile: first.keyFile, wantsProxy: false });
  await until(() => second.services.includes(announced));
  expect(server.lines.slice(4)).toEqual([
    'PROTOCOLINFO 1',
    'AUTHENTICATE',
    `ADD_ONION ${KEY} PoWDefensesEnabled=1 Port=8333,127.0.0.1:8334`,
  ]);
  expect(first.log().join('\n')).not.toContain(KEY);
});

test('a Tor without defences by proof of work makes the service without them', async () => {
  const server = tor({ hasDefences: false });
  const { services } = keep(server);
  await until(() => services.includes(announced));
  expect(server.lines.at(-1)).toBe('ADD_ONION NEW:ED25519-V3 Port=8333,127.0.0.1:8334');
});

test.each([
  ['"127.0.0.1:1"', '127.0.0.1:1'],
  ['"unix:/run/tor/socks" "[::1]:2"', '[::1]:2'],
  ['"10.0.0.1:3" "127.0.0.1:4"', '127.0.0.1:4'],
  ['"unix:/run/tor/socks"', '127.0.0.1:9050'],
  ['', '127.0.0.1:9050'],
])('of the proxies %s the node uses %s', async (socks, expected) => {
  const { services, proxies } = keep(tor({ socks }));
  await until(() => services.includes(announced));
  expect(proxies).toEqual([expected]);
});

test('both ends prove that they know the cookie file', async () => {
  const path = join(folder(), 'cookie with "quotes"');
  writeFileSync(path, COOKIE);
  const auth = `METHODS=COOKIE,SAFECOOKIE COOKIEFILE="${path.replaceAll('"', '\\"')}"`;
  const { services } = keep(tor({ auth }));
  await until(() => services.includes(announced));
  const liar = tor({ auth, cookie: new Uint8Array(32) });
  const { log } = keep(liar);
  await until(() => log().some((line) => line.includes('it does not know the content of its cookie file')));
  expect(liar.lines.some((line) => line.startsWith('AUTHENTICATE'))).toBe(false);
});

test.each([
  ['relative', 'the path of its cookie file is not absolute'],
  ['/dev/zero', 'its cookie file is not a file of 32 bytes'],
  ['/nowhere/cookie', 'its cookie file cannot be read: ENOENT'],
])('the cookie file %s is refused', async (path, reason) => {
  const { log } = keep(tor({ auth: `METHODS=SAFECOOKIE COOKIEFILE="${path}"` }));
  await until(() => log().some((line) => line.includes(reason)));
});

test('a password is submitted where Tor accepts one, and to no other Tor', async () => {
  const server = tor({ auth: 'METHODS=HASHEDPASSWORD' });
  const { services, log } = keep(server, { password: 'pass "word" \\' });
  await until(() => services.includes(announced));
  expect(server.lines[1]).toBe('AUTHENTICATE "pass \\"word\\" \\\\"');
  expect(log().join('\n')).not.toContain('pass');
  const other = tor();
  const refused = keep(other, { password: 'x' });
  await until(() => refused.log().some((line) => line.includes('it does not accept a password')));
  expect(other.lines).toEqual(['PROTOCOLINFO 1']);
  const without = keep(tor({ auth: 'METHODS=HASHEDPASSWORD' }));
  await until(() => without.log().some((line) => line.includes('p2p.torPasswordFile is not set')));
});

test('the service is announced as long as the connection lasts, and made again after a pause', async () => {
  const server = tor();
  const { services } = keep(server);
  await until(() => services.includes(announced));
  server.clients[0]!.close();
  await until(() => services.filter((service) => service === announced).length === 2);
  expect(services.filter((service, i) => service !== null || services[i - 1] !== null)).toEqual([
    announced,
    null,
    announced,
  ]);
});

test('the pauses between attempts grow from one second to ten minutes', async () => {
  const time = new ManualTime();
  const { log } = keep({ port: 1 }, {}, time);
  const pauses = () =>
    log().flatMap((line) => {
      const [, seconds] = /nextTryInSeconds=(\d+)/.exec(line) ?? [];
      return seconds === undefined ? [] : [Number(seconds)];
    });
  await until(() => pauses().length === 1 && time.sleeping === 1);
  for (let i = 2; i <= 18; i++) {
    await time.pass(600_000);
    await until(() => pauses().length >= i && time.sleeping === 1);
  }
  expect(pauses().slice(0, 5)).toEqual([1, 2, 2, 3, 5]);
  expect(pauses().at(-1)).toBe(600);
});

test('a reply is at most 1000 lines of 100,000 bytes', async () => {
  const long = `250-${'a'.repeat(100_000 - 5)}\r\n`;
  for (const [flood, isAllowed] of [
    [long, true],
    [`a${long}`, false],
    ['250-a\r\n'.repeat(999), true],
    ['250-a\r\n'.repeat(1001), false],
  ] as const) {
    const server = lineServer(
      () => {},
      (client) => client.send(flood),
    );
    cleanups.push(server.stop);
    const { log } = keep(server);
    await until(() => server.lines.length === 1);
    if (isAllowed) server.clients[0]!.send('250 OK\r\n');
    const reason = isAllowed ? 'it accepts none of' : 'exceeds';
    await until(() => log().some((line) => line.includes(reason)));
  }
});

test('a key file with other content is kept, and no service is made', async () => {
  const keyFile = join(folder(), 'key');
  writeFileSync(keyFile, 'ED25519-V3:x Port=1,10.0.0.1:1');
  const server = tor();
  const { log } = keep(server, { keyFile });
  await until(() => log().some((line) => line.includes('does not hold a key of an onion service')));
  expect(server.lines.some((line) => line.startsWith('ADD_ONION'))).toBe(false);
  expect(readFileSync(keyFile, 'utf8')).toStartWith('ED25519-V3:x');
});

test('no reply of a hostile server ends the node or writes a key that is not one', async () => {
  const piece = fc.constantFrom('250-', '250 ', '250+', '650 ', '\r\n', '\n', 'AUTH METHODS=', 'SAFECOOKIE', 'NULL', ' COOKIEFILE="', '/etc/passwd', '"', '\\', 'AUTHCHALLENGE SERVERHASH=', 'ServiceID=', SERVICE, 'PrivateKey=', 'ED25519-V3:', '\0', 'net/listeners/socks=', '127.0.0.1:99999', '='); // biome-ignore format: one list
  const hostile = fc.oneof(
    fc.array(piece, { maxLength: 12 }).map((pieces) => new TextEncoder().encode(pieces.join(''))),
    fc.uint8Array({ maxLength: 60 }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(hostile, { minLength: 1, maxLength: 6 }), fc.nat(4), async (replies, honest) => {
      let count = 0;
      const honestReplies = ['250-AUTH METHODS=NULL\r\n250 OK\r\n', '250 OK\r\n', '250 OK\r\n', '512 No\r\n'];
      const server = lineServer((client) => {
        const number = count++;
        if (number < honest) client.send(honestReplies[number]!);
        else {
          client.send(replies[(number - honest) % replies.length]!);
          client.send('\r\n250 OK\r\n');
          if (number > 8) client.close();
        }
      });
      const { keyFile, services, log, stop } = keep(server);
      await until(() => log().some((line) => line.includes('no onion service')) || services.includes(announced));
      await stop();
      server.stop();
      if (existsSync(keyFile)) expect(readFileSync(keyFile, 'utf8')).toMatch(/^ED25519-V3:[A-Za-z0-9+/]{86}==$/);
    }),
    { numRuns: 40 },
  );
});
