import { describe, expect, test } from 'bun:test';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ApiClient, type Info, type Readiness, type WsMessage } from '../lib/node-client.ts';
import { cleanUpAfterTests, freePort, MIXED_FILE, NodeProcess, TEST_KEY, tempDir } from '../lib/node-process.ts';
import { hasVectors } from '../lib/vectors.ts';

cleanUpAfterTests();

const HEIGHT = 130;
const HEADER_SIZE = 80;

/** Writes the first blocks of the mixed chain to a file of their own: 25 full ones take some seconds. */
function firstBlocks(): { file: string; tip: { height: number; hash: string } } {
  const bytes = readFileSync(MIXED_FILE);
  let last = 0;
  let end = 0;
  for (let height = 1; height <= HEIGHT; height++) {
    // Magic and size.
    last = end + 8;
    end = last + bytes.readUInt32LE(end + 4);
  }
  const file = join(tempDir(), 'blocks.dat');
  writeFileSync(file, bytes.subarray(0, end));
  return { file, tip: { height: HEIGHT, hash: hash256Hex(bytes.toString('hex', last, last + HEADER_SIZE)) } };
}

interface Sample {
  readonly status: number;
  readonly ms: number;
  readonly text: string;
}

/** Requests one path again and again until it is stopped; every request counts from the first that is answered. */
function sampler(url: string, path: string, pauseMs: number) {
  const samples: Sample[] = [];
  const failures: string[] = [];
  let stopped = false;
  const api = new ApiClient(url, null);
  const done = (async () => {
    while (!stopped) {
      const from = performance.now();
      try {
        const { status, text } = await api.request(path);
        samples.push({ status, ms: performance.now() - from, text });
      } catch (error) {
        // Before the listener is there, connections are refused.
        if (samples.length > 0 && !stopped) failures.push(String(error));
      }
      // Leaves time for the node on machines with few cores.
      await Bun.sleep(pauseMs);
    }
  })();
  const stop = async () => {
    stopped = true;
    await done;
    return { samples, failures };
  };
  return { stop };
}

function percentiles(samples: readonly Sample[]): string {
  const sorted = samples.map(({ ms }) => ms).toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!.toFixed(2);
  return `${sorted.length} answers, p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, longest ${at(1)} ms`;
}

const newBlocks = (messages: readonly WsMessage[]) =>
  messages.filter(({ type }) => type === 'newBlock').map(({ data }) => data);

describe.skipIf(!hasVectors)('start --import', () => {
  const { file, tip: TIP } = hasVectors ? firstBlocks() : { file: '', tip: { height: 0, hash: '' } };

  test('a node answers while it imports, and ends at the tip of the file', async () => {
    const port = await freePort();
    const node = new NodeProcess({ port, args: ['--import', file] });
    const health = sampler(`http://127.0.0.1:${port}`, '/healthz', 10);
    const info = sampler(`http://127.0.0.1:${port}`, '/api/info', 20);
    const readiness = sampler(`http://127.0.0.1:${port}`, '/readyz', 100);
    await node.ready();

    const socket = await node.api.socket();
    const during = await node.api.request<{ tip: { height: number } }>(
      '/api/balance/mvKzTaxno41mC3emBPPUj4Ubti5BbVH6Xg',
    );
    expect(during.status).toBe(200);
    expect(during.headers.get('x-node-syncing')).toBe('1');
    expect(Number(during.headers.get('x-chain-height'))).toBe(during.body.tip.height);
    expect(during.body.tip.height).toBeLessThan(TIP.height);
    const broadcast = await node.api.request('/api/tx', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"tx":"00"}',
    });
    expect([400, 422, 503]).toContain(broadcast.status);

    await node.height(TIP.height, 90_000);
    const [live, informed, ready] = await Promise.all([health.stop(), info.stop(), readiness.stop()]);
    await node.output('stderr', /"msg":"import done"/);

    expect([...live.failures, ...informed.failures, ...ready.failures]).toEqual([]);
    for (const { status, text } of live.samples)
      expect([status, text]).toEqual([200, '{"status":"ok","service":"obverse"}']);
    // Until the data is open there is nothing to report; from then on there always is.
    const statuses = informed.samples.map(({ status }) => status);
    expect(new Set(statuses).difference(new Set([200, 503]))).toEqual(new Set());
    expect(statuses.lastIndexOf(503)).toBeLessThan(statuses.indexOf(200));
    const answers = informed.samples.filter(({ status }) => status === 200).map(({ text }) => JSON.parse(text) as Info);
    const heights = answers.map(({ height }) => height);
    expect(heights).toEqual(heights.toSorted((a, b) => a - b));
    expect(answers.every(({ initialBlockDownload, synced }) => initialBlockDownload && !synced)).toBe(true);
    // Blocks of 2020 are no recent tip, so it stays in initial sync.
    const states = ready.samples.map(({ status, text }) => [status, (JSON.parse(text) as Readiness).status]);
    expect(states.filter(([status]) => status !== 503)).toEqual([]);
    expect(new Set(states.map(([, state]) => state)).difference(new Set(['fail', 'degraded']))).toEqual(new Set());
    expect(states.at(-1)![1]).toBe('degraded');
    console.info(`while importing: /healthz ${percentiles(live.samples)}; /api/info ${percentiles(informed.samples)}`);

    expect(await node.api.json<Info>('/api/info')).toMatchObject({ height: TIP.height, bestBlockHash: TIP.hash });
    await socket.until('the last block', ({ type, data }) => type === 'newBlock' && data.height === TIP.height);
    const seen = newBlocks(socket.messages);
    expect(seen.length).toBeGreaterThan(0);
    for (const [index, block] of seen.entries()) {
      if (index === 0) continue;
      const before = seen[index - 1]!;
      expect(block.seq as number).toBeGreaterThan(before.seq as number);
      expect(block.height).toBe((before.height as number) + 1);
      expect(block.previousHash).toBe(before.hash);
    }
    for (const block of seen) expect(block).toMatchObject({ reorg: false, initialSync: true, confirmations: 1 });

    // The log has them all, and the same.
    const replay = await node.api.socket();
    replay.send({ type: 'resume', id: 'all', data: { after: 0 } });
    await replay.until('the whole log', ({ type, data }) => type === 'newBlock' && data.height === TIP.height);
    expect(replay.messages[0]).toMatchObject({ type: 'ack', id: 'all' });
    const logged = newBlocks(replay.messages).filter(({ height }) => height !== 0);
    expect(logged.map(({ height }) => height)).toEqual(Array.from({ length: HEIGHT }, (_, i) => i + 1));
    expect(logged.slice(-seen.length)).toEqual(seen);
    const { items } = await node.api.json<{ items: string[] }>('/api/headers?from=1&count=2000');
    const hashes = items.map((header) => hash256Hex(header));
    expect(logged.map(({ hash }) => hash)).toEqual(hashes);

    socket.close();
    replay.close();
    expect(await node.stop()).toMatchObject({ status: 0, signal: null });
  }, 150_000);

  test('requests need keys while a node imports', async () => {
    const node = await new NodeProcess({ args: ['--import', file] }).ready();
    const without = new ApiClient(node.api.url, null);
    expect((await without.request('/api/peers')).status).toBe(401);
    expect((await new ApiClient(node.api.url, TEST_KEY).request('/api/peers')).status).toBe(200);
    await node.stop('SIGKILL');
  }, 180_000);
});

function hash256Hex(hex: string): string {
  const sha256 = (bytes: Uint8Array) => new Bun.CryptoHasher('sha256').update(bytes).digest();
  return Buffer.from(sha256(sha256(Buffer.from(hex, 'hex'))))
    .reverse()
    .toString('hex');
}
