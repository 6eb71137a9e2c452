import { expect, setDefaultTimeout, test } from 'bun:test';
import type { Transaction } from '../../src/primitives/transaction.ts';
import { LiveChain } from '../feed/live-chain.ts';
import { chainWithCoins } from '../lib/chain-builder.ts';
import { mine, nodeWith } from '../lib/mempool-node.ts';
import { cleanUpAfterTests, TEST_KEY } from '../lib/node-process.ts';
import { recentChain } from '../lib/sample-chains.ts';
import { coinOf, spend } from '../lib/tx-builder.ts';

setDefaultTimeout(600_000);

cleanUpAfterTests();

const CONNECTIONS = 2000;
const KEY = 'a-key-for-tests-that-is-long-enough';

/** Opens WebSockets in its own process, and reports when the first and the last of them received each newBlock. */
const CLIENTS = `
const [url, key, count] = process.argv.slice(-3);
const arrivals = new Map();
let open = 0;
for (let i = 0; i < Number(count); i++) {
  const socket = new WebSocket(url, { headers: { authorization: 'Bearer ' + key } });
  socket.onopen = () => ++open === Number(count) && console.log('open');
  socket.onmessage = ({ data }) => {
    if (!data.startsWith('{"type":"mempoolUpdate"')) return;
    // The counted message is the last one of a block.
    const at = Date.now();
    const height = /"height":(\\d+)/.exec(data)[1];
    const seen = arrivals.get(height) ?? { n: 0 };
    arrivals.set(height, seen);
    if (++seen.n === Number(count)) console.log(height + ' ' + at);
  };
  if (i % 50 === 49) await Bun.sleep(5);
}
`;

async function* linesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  let rest = '';
  for await (const chunk of stream) {
    const lines = (rest + new TextDecoder().decode(chunk)).split('\n');
    rest = lines.pop()!;
    yield* lines;
  }
}

test(`${CONNECTIONS} connections to a running node have a block's events within 100 ms of its commit`, async () => {
  const chain = recentChain(110);
  const node = await nodeWith(chain, [
    `--ws.connections=${CONNECTIONS + 10}`,
    `--ws.connectionsPerKey=${CONNECTIONS + 10}`,
  ]);
  const clients = Bun.spawn(
    [process.execPath, '-e', CLIENTS, '--', `${node.api.url.replace('http', 'ws')}/ws`, TEST_KEY, String(CONNECTIONS)],
    { stdout: 'pipe', stderr: 'inherit' },
  );
  try {
    const lines = linesOf(clients.stdout);
    expect((await lines.next()).value).toBe('open');
    const took: number[] = [];
    for (let i = 0; i < 10; i++) {
      // The time is taken before the node validates and commits the block, so it is slightly longer than the limited
      // one.
      const before = Date.now();
      const block = await mine(node.api, chain);
      const [height, at] = (await lines.next()).value!.split(' ').map(Number);
      expect(height).toBe(block.height);
      took.push(at! - before);
    }
    took.sort((a, b) => a - b);
    console.log(`${CONNECTIONS} connections: median ${took[5]} ms, slowest ${took[9]} ms`);
    expect(took[5]).toBeLessThan(100);
  } finally {
    clients.kill();
    await node.stop();
  }
}, 60_000);

/** Returns the script `0014`, the number, zeros. */
function script(n: number): Uint8Array {
  const bytes = new Uint8Array(22);
  bytes.set([0x00, 0x14]);
  new DataView(bytes.buffer).setUint32(2, n);
  return bytes;
}

/** Watches 5,000 scripts from a number on, and reports when their first and last events arrived. */
const WATCHER = `
const [url, key, from, expected] = process.argv.slice(-4);
const socket = new WebSocket(url, { headers: { authorization: 'Bearer ' + key } });
let acks = 0, got = 0, first = 0;
socket.onopen = () => {
  for (let i = 0; i < 10; i++) {
    const scripts = Array.from({ length: 500 }, (_, n) => {
      const hex = (Number(from) + i * 500 + n).toString(16).padStart(8, '0');
      return '0014' + hex + '00'.repeat(16);
    });
    socket.send(JSON.stringify({ type: 'watch', data: { scripts, confirmations: [1] } }));
  }
};
socket.onmessage = ({ data }) => {
  if (data.startsWith('{"type":"ack"')) {
    if (++acks === 10) console.log('ready');
    return;
  }
  if (data.startsWith('{"type":"newBlock"')) return console.log('block ' + Date.now());
  got++;
  first ||= Date.now();
  if (got === Number(expected)) console.log(first + ' ' + Date.now());
};
`;

/** Requests /healthz repeatedly, and reports the longest time. A line on stdin ends it. */
const PROBE = `
const times = [];
let done = false;
process.stdin.once('data', () => { done = true; });
console.log('ready');
while (!done) {
  const before = performance.now();
  await (await fetch(process.argv.at(-1))).text();
  times.push(performance.now() - before);
  await Bun.sleep(1);
}
times.sort((a, b) => a - b);
console.log(times[times.length >> 1].toFixed(1) + ' ' + times[Math.floor(times.length * 0.99)].toFixed(1) + ' ' + times.at(-1).toFixed(1));
process.exit(0);
`;

test('a block of 4,000 transactions is matched against 10,000 scripts while others are answered', async () => {
  const chain = chainWithCoins(1, 'anyone');
  const fan = spend(
    chain.coin(1),
    Array.from({ length: 4000 }, () => ({ to: 'anyone', value: 1_0000n }) as const),
  );
  chain.mine(1, { txs: [fan] });
  await using it = await LiveChain.start(chain.blocks.slice(1));
  const txs: Transaction[] = Array.from({ length: 4000 }, (_, i) =>
    spend(coinOf(fan, i), [
      { to: script(i), value: 1000n },
      { to: script(1_000_000 + i), value: 1000n },
    ]),
  );
  const run = (code: string, ...args: string[]) =>
    Bun.spawn([process.execPath, '-e', code, '--', ...args], { stdin: 'pipe', stdout: 'pipe', stderr: 'inherit' });
  const url = `${it.api.url.replace('http', 'ws')}/ws`;
  // One client watches scripts that every transaction of the block pays, the other one scripts that none pays.
  const all = run(WATCHER, url, KEY, '0', '8000');
  const none = run(WATCHER, url, KEY, '500000', '0');
  const children = [all, none];
  try {
    const [allLines, noneLines] = children.map(({ stdout }) => linesOf(stdout));
    const next = async (lines = allLines!) => (await lines.next()).value!;
    expect([await next(), await next(noneLines)]).toEqual(['ready', 'ready']);
    // The first block starts the reader worker, and the second one is connected before any client is notified.
    await it.take(chain.mine());
    await next();
    await it.takeSilently(chain.mine(1, { txs }));
    const probe = run(PROBE, `${it.api.url}/healthz`);
    children.push(probe);
    const probeLines = linesOf(probe.stdout);
    expect(await next(probeLines)).toBe('ready');
    await Bun.sleep(300);
    const committed = Date.now();
    it.notify();
    const announcedAt = Number((await next()).split(' ')[1]);
    const [first, last] = (await next()).split(' ').map(Number);
    probe.stdin.write('done\n');
    probe.stdin.flush();
    const [median, high, slowest] = (await next(probeLines)).split(' ');
    console.log(
      `newBlock after ${announcedAt - committed} ms, first match after ${first! - committed} ms, ` +
        `all 8,000 messages after ${last! - committed} ms; ` +
        `healthz median ${median} ms, 99 % ${high} ms, slowest ${slowest} ms`,
    );
    expect(first! - committed).toBeLessThan(500);
  } finally {
    for (const child of children) child.kill();
  }
}, 120_000);
