import { expect, test } from 'bun:test';
import { readdirSync } from 'node:fs';
import type { Socket } from 'bun';
import { runLoad } from '../bench/http/load.ts';
import { ConnectionFlood, type FloodTarget } from '../lib/connection-flood.ts';
import { cleanUpAfterTests, freePort, type NodeProcess, runProgram, startNode, tempDir } from '../lib/node-process.ts';

cleanUpAfterTests();

const ADDRESS = 'bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080';
const RECOVERY_MS = 10_000;

/** The program under a limit of open files, as the shell's `ulimit -n` sets it. */
const limited = (files: number) => ['sh', '-c', `ulimit -n ${files} && exec "$@"`, 'sh'];

/** A client with a key is answered within a bounded time, and the node validates and writes a block for it. */
async function serves(node: NodeProcess): Promise<void> {
  const before = await node.until('an answer', () => node.api.rpc<number>('getblockcount'), RECOVERY_MS);
  await node.until('a block', () => node.api.rpc<string[]>('generatetoaddress', [1, ADDRESS]), RECOVERY_MS);
  const after = await node.until('an answer', () => node.api.rpc<number>('getblockcount'), RECOVERY_MS);
  expect(after).toBeGreaterThan(before);
}

test('connections that use up the descriptors never end the node', async () => {
  const [p2p, ops] = await Promise.all([freePort(), freePort()]);
  const args = [`--p2p.listen=127.0.0.1:${p2p}`, '--p2p.dnsSeeds=false', `--ops.listen=127.0.0.1:${ops}`];
  const node = await startNode({ prefix: limited(400), args });
  const http = Number(new URL(node.api.url).port);
  await serves(node);
  const waves: Record<string, FloodTarget> = {
    'keep-alive': { port: http, text: 'GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n' },
    silent: { port: http },
    'half a header': { port: http, text: 'GET /healthz HTTP/1.1\r\nhost: loc' },
    peers: { port: p2p },
    ops: { port: ops, text: 'GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n' },
  };
  for (const [name, target] of Object.entries(waves)) {
    const flood = await ConnectionFlood.start({ ...target, persistent: true }, 500);
    // The node serves during the flood, for longer than the timers of both threads need to find no free descriptor.
    const until = performance.now() + 1200;
    do await serves(node);
    while (performance.now() < until);
    if (node.exit) throw new Error(`${name}: ${node.describe()}`);
    flood.stop();
    await serves(node);
    await node.until('room again', () => readdirSync(`/proc/${node.pid}/fd`).length < 150);
  }
  await node.stop();
});

test('a flood closes neither the connections of a key with many short requests, nor those of its requests that wait', async () => {
  const node = await startNode({ prefix: limited(400) });
  const port = Number(new URL(node.api.url).port);
  await serves(node);
  const text = (method: string, params: unknown[]) => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
    const head = `POST / HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${node.api.key}\r\ncontent-length: ${body.length}`;
    return { texts: [Buffer.from(`${head}\r\n\r\n${body}`)], status: 200, connectionEach: false };
  };
  const short = { ...text('getblockcount', []), atMost: Number.POSITIVE_INFINITY };
  const long = { ...text('waitfornewblock', [0]), atMost: 4 };
  // Both reject if the node closes one of their connections. The long requests arrive in the middle of the short ones.
  await runLoad(port, short, 4, 1000);
  const shortOnes = runLoad(port, short, 4, 4000);
  const waiting = runLoad(port, long, 4, 0);
  let answered = false;
  void waiting.finally(() => (answered = true));
  await node.until('four waiting calls', async () => (await active(node)) === 4);
  const flood = await ConnectionFlood.start({ port, persistent: true }, 500);
  const { requests } = await shortOnes;
  expect(requests).toBeGreaterThan(0);
  expect(flood.dropped).toBeGreaterThan(0);
  expect(answered).toBe(false);
  await serves(node);
  expect((await waiting).requests).toBe(4);
  flood.stop();
  await node.stop();
});

test('made-up credentials and requests that wait do not make the guard close the connections of a key', async () => {
  const node = await startNode({ prefix: limited(400) });
  const port = Number(new URL(node.api.url).port);
  await serves(node);
  const slowKey = (rate: object) => node.api.rpc<{ key: string }>('createapikey', ['slow', ['read'], { rate }]);
  const { key: paced } = await slowKey({ perSecond: 1, burst: 1 });
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'getblockcount' });
  const headOf = (key: string) =>
    `POST / HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${key}\r\ncontent-length: ${body.length}\r\n\r\n`;
  const open = (count: number) => Promise.all(Array.from({ length: count }, () => HeldConnection.open(port)));
  const wrong = 'GET /healthz HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer x\r\n\r\n';
  const wrongs = { texts: [Buffer.from(wrong)], status: 200, connectionEach: false, atMost: Number.POSITIVE_INFINITY };
  await runLoad(port, wrongs, 8, 500);
  const attack = runLoad(port, wrongs, 8, 1500);
  // Each of them sends one request, and is idle from then on.
  const idle = await open(10);
  for (const connection of idle) connection.send(headOf(node.api.key!) + body);
  for (const connection of idle) await connection.until(/"result":\d+/);
  const late = await open(10);
  for (const connection of late) connection.send(headOf(node.api.key!));
  await attack;
  const refused = await open(10);
  for (const connection of refused) connection.send(headOf(paced) + body);
  const flood = await ConnectionFlood.start({ port, persistent: true }, 500);
  await node.until('connections that the guard has closed', async () => flood.dropped > 500);
  for (const connection of refused) await connection.until(/^HTTP\/1\.1 (?:200|429) /);
  for (const connection of late) connection.send(body);
  for (const connection of late) await connection.until(/"result":\d+/);
  expect([...idle, ...late].filter(({ isClosed }) => isClosed)).toEqual([]);
  flood.stop();
  for (const connection of [...idle, ...late, ...refused]) connection.end();
  await node.stop();
});

/** A connection that stays open until the node closes it. */
class HeldConnection {
  #received = '';
  #socket: Socket | null = null;
  #onData = () => {};
  isClosed = false;

  static async open(port: number): Promise<HeldConnection> {
    const connection = new HeldConnection();
    const close = () => {
      connection.isClosed = true;
      connection.#onData();
    };
    connection.#socket = await Bun.connect({
      hostname: '127.0.0.1',
      port,
      socket: {
        data: (_, bytes) => {
          connection.#received += bytes.toString();
          connection.#onData();
        },
        end: close,
        close,
        error: close,
      },
    });
    return connection;
  }

  send(text: string): void {
    this.#socket!.write(text);
  }

  /** Resolves when the received text matches. Rejects when the node closes the connection before that. */
  until(pattern: RegExp): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#onData = () => {
      if (pattern.test(this.#received)) resolve();
      else if (this.isClosed) reject(new Error(`closed before ${pattern}: ${this.#received}`));
    };
    this.#onData();
    return promise;
  }

  end(): void {
    this.#socket!.terminate();
  }
}

/** Returns the number of calls of waitfornewblock that are running. */
async function active(node: NodeProcess): Promise<number> {
  const { active_commands: commands } = await node.api.rpc<{ active_commands: { method: string }[] }>('getrpcinfo');
  return commands.filter(({ method }) => method === 'waitfornewblock').length;
}

test('a limit of open files that is too low for a node stops the start with one line', async () => {
  const args = ['start', '--network', 'regtest', '--datadir', tempDir(), '--http.listen=127.0.0.1:0'];
  const { status, stderr } = await runProgram(args, { prefix: limited(200) });
  expect(status).toBe(1);
  expect(stderr.trim()).toBe(
    'obverse: the limit of open files is 200, and the node needs at least 256: raise it (ulimit -n, or LimitNOFILE= of the service)',
  );
});
