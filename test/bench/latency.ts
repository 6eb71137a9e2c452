import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { grouped, percentile, printTable } from './report.ts';

const MAIN = join(import.meta.dir, '../../src/main.ts');
const PORT = 18_943;
const URL_BASE = `http://127.0.0.1:${PORT}`;
const BARE_URL = `http://127.0.0.1:${PORT + 1}/`;
/** Bounds of the pause between two requests of one kind, so that the kinds do not stay queued behind each other. */
const PAUSE_MS = [10, 20] as const;
/** Server that only replies: the latency of a process on this machine during such work. */
const BARE_SERVER = `Bun.serve({ hostname: '127.0.0.1', port: ${PORT + 1}, fetch: () => new Response('ok') })`;

/** Measures requests to a node from its start until the chain is imported. */
export async function benchLatency(chain: string): Promise<void> {
  const datadir = mkdtempSync(join(tmpdir(), 'obverse-bench-'));
  const child = Bun.spawn(
    [
      process.execPath,
      MAIN,
      'start',
      '--network',
      'regtest',
      '--datadir',
      datadir,
      '--http.listen',
      `127.0.0.1:${PORT}`,
      '--http.limits.publicRate=100000',
      '--http.limits.publicBurst=100000',
      '--import',
      chain,
    ],
    {
      stdout: 'ignore',
      stderr: 'pipe',
      env: { ...process.env, OBVERSE_API_KEY: 'a-key-for-the-bench-of-latency-only' },
    },
  );
  const bare = Bun.spawn([process.execPath, '-e', BARE_SERVER]);
  const done = imported(child.stderr);
  try {
    await listening(`${URL_BASE}/healthz`);
    await listening(BARE_URL);
    const running = { now: true };
    const first = await timed(`${URL_BASE}/healthz`);
    const samples = Promise.all(
      ['/healthz', '/api/info', '/api/block-by-height/100'].map((path) => sample(path, URL_BASE + path, running)),
    );
    const floor = sample('a bare server', BARE_URL, running);
    await done;
    running.now = false;
    const rows: [string, string][] = [['first /healthz', `${grouped(first, 2)} ms`]];
    for (const { path, times, failed } of [...(await samples), await floor]) {
      const sorted = times.sort((a, b) => a - b);
      const [p50, p99, worst] = [percentile(sorted, 0.5), percentile(sorted, 0.99), percentile(sorted, 1)];
      rows.push([
        path,
        `p50 ${grouped(p50, 2)}  p99 ${grouped(p99, 2)}  worst ${grouped(worst, 2)} ms  (${times.length}, ${failed} failed)`,
      ]);
    }
    printTable('answers while the chain is imported', rows);
  } finally {
    bare.kill();
    child.kill();
    await Promise.all([bare.exited, child.exited]);
    rmSync(datadir, { recursive: true, force: true });
  }
}

async function imported(stderr: ReadableStream<Uint8Array>): Promise<void> {
  let text = '';
  for await (const chunk of stderr) {
    text += new TextDecoder().decode(chunk);
    if (text.includes('import done')) return;
  }
  throw new Error(`the node ended:\n${text}`);
}

async function listening(url: string): Promise<void> {
  for (let tries = 0; tries < 500; tries++) {
    try {
      await fetch(url);
      return;
    } catch {
      await Bun.sleep(10);
    }
  }
  throw new Error(`no server listens at ${url}`);
}

async function timed(url: string): Promise<number> {
  const start = performance.now();
  const response = await fetch(url, { headers: { authorization: 'Bearer a-key-for-the-bench-of-latency-only' } });
  await response.arrayBuffer();
  return response.ok ? performance.now() - start : Number.NaN;
}

async function sample(path: string, url: string, running: { now: boolean }) {
  const times: number[] = [];
  let failed = 0;
  while (running.now) {
    const ms = await timed(url);
    if (Number.isNaN(ms)) failed++;
    else times.push(ms);
    await Bun.sleep(PAUSE_MS[0] + Math.random() * (PAUSE_MS[1] - PAUSE_MS[0]));
  }
  return { path, times, failed };
}
