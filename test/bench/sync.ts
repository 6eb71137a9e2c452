import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { grouped, printTable } from './report.ts';

const MAIN = join(import.meta.dir, '../../src/main.ts');
const KEY = 'a-key-for-the-bench-of-the-sync-only';
const [SERVER_HTTP, SERVER_P2P, CLIENT_HTTP] = [18_943, 18_944, 18_945];
const POLL_MS = 100;

/** Measures an import of the chain, and the download of it from that node by another one on this machine. */
export async function benchSync(chain: string): Promise<void> {
  const [server, v2, v1] = ['server', 'v2', 'v1'].map((name) => mkdtempSync(join(tmpdir(), `obverse-bench-${name}-`)));
  const dirs = [server!, v2!, v1!];
  try {
    const start = performance.now();
    const importing = run(['import', ...common(server!), chain]);
    if ((await importing.exited) !== 0) throw new Error('the import failed');
    const importSeconds = (performance.now() - start) / 1000;
    const rows: [string, string][] = [['import, s', grouped(importSeconds, 1)]];
    const serving = node(server!, SERVER_HTTP, [`--p2p.listen=127.0.0.1:${SERVER_P2P}`, '--p2p.connect=127.0.0.1:1']);
    try {
      const tip = await tipOf(SERVER_HTTP, null);
      for (const [name, dir] of [['v2', v2!] as const, ['v1', v1!] as const]) {
        const seconds = await syncSeconds(dir, tip, name === 'v2');
        rows.push([`sync over ${name}, s`, grouped(seconds, 1)]);
        rows.push(['  times the import', grouped(seconds / importSeconds, 2)]);
      }
    } finally {
      serving.kill();
      await serving.exited;
    }
    printTable('a node fetches the chain from another, both on this machine', rows);
  } finally {
    for (const dir of dirs) rmSync(dir, { recursive: true, force: true });
  }
}

async function syncSeconds(dir: string, tip: string, v2: boolean): Promise<number> {
  const start = performance.now();
  const client = node(dir, CLIENT_HTTP, ['--p2p.listen=', `--p2p.connect=127.0.0.1:${SERVER_P2P}`, `--p2p.v2=${v2}`]);
  try {
    await tipOf(CLIENT_HTTP, tip);
    return (performance.now() - start) / 1000;
  } finally {
    client.kill();
    await client.exited;
  }
}

function common(dir: string): string[] {
  return ['--network', 'regtest', '--datadir', dir, '--log.level', 'error'];
}

function node(dir: string, http: number, args: readonly string[]) {
  return run(['start', ...common(dir), '--http.listen', `127.0.0.1:${http}`, ...args]);
}

function run(args: readonly string[]) {
  const env = { ...process.env, OBVERSE_API_KEY: KEY };
  return Bun.spawn([process.execPath, MAIN, ...args], { stdout: 'ignore', stderr: 'inherit', env });
}

/** Resolves with the tip of a node once it answers; if `wanted` is given, once the tip is that. */
async function tipOf(port: number, wanted: string | null): Promise<string> {
  for (;;) {
    try {
      const response = await fetch(`http://127.0.0.1:${port}/`, {
        method: 'POST',
        headers: { authorization: `Bearer ${KEY}` },
        body: JSON.stringify({ id: 1, method: 'getbestblockhash', params: [] }),
      });
      const { result } = (await response.json()) as { result: string | null };
      if (result && (wanted === null || result === wanted)) return result;
    } catch {
      // The node does not listen yet.
    }
    await Bun.sleep(POLL_MS);
  }
}
