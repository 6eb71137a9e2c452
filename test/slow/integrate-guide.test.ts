import { Database } from 'bun:sqlite';
import { beforeAll, describe, expect, test } from 'bun:test';
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { ERROR_CODES, FAILURES, type FailureCode } from '../../src/http/errors.ts';
import { ENDPOINTS } from '../../src/rest/endpoints.ts';
import { RPC_METHODS } from '../../src/rpc/methods/methods.ts';
import { post } from '../lib/mempool-node.ts';
import type { AddressTx } from '../lib/node-client.ts';
import { cleanUpAfterTests, freePort, NodeProcess, poll, startNode, TEST_KEY, tempDir } from '../lib/node-process.ts';
import { MINING_ADDRESS } from '../lib/peer-node.ts';
import { requireProgram, requirePython } from '../lib/programs.ts';

cleanUpAfterTests();

const root = resolve(import.meta.dir, '../..');
const guide = readFileSync(join(root, 'docs/integrate.md'), 'utf8');
const ARGS = [
  '--dev',
  '--dev.interval=86400',
  '--index.spender=true',
  '--wallet.keypool=20',
  '--webhooks.allowedNetworks=127.0.0.1',
];
const SEED_BLOCKS = 110;

interface Block {
  readonly language: string;
  readonly mark: string;
  readonly text: string;
}

const blocks: readonly Block[] = [...guide.matchAll(/^```(\w+)(?: (\w+))?\n([\s\S]*?)^```$/gm)].map(
  ([, language, mark = '', text]) => ({ language: language!, mark, text: text! }),
);
const textOf = (language: string) =>
  blocks
    .filter((block) => block.language === language && block.mark === 'run')
    .map(({ text }) => text)
    .join('\n');

/** The rows of the table whose header has these cells first. */
function tableWith(...header: readonly string[]): string[][] {
  const lines = guide.split('\n');
  const from = lines.findIndex((line) => line.startsWith(`| ${header.join(' | ')} |`));
  const end = lines.findIndex((line, i) => i > from && !line.startsWith('|'));
  return lines.slice(from + 2, end).map((line) =>
    line
      .slice(1, -1)
      .split('|')
      .map((cell) => cell.trim()),
  );
}

describe('docs/integrate.md', () => {
  test('has every error code with its status, and the retryable ones are those that the clients repeat', async () => {
    const rows = tableWith('code', 'HTTP', 'retry');
    const codes = rows.map(([code]) => code!.replaceAll('`', ''));
    expect(codes.toSorted()).toEqual(ERROR_CODES.toSorted());
    for (const [code, http] of rows) {
      const name = code!.replaceAll('`', '') as FailureCode;
      expect([name, Number(http)]).toEqual([name, FAILURES[name].http]);
    }
    const yes = rows.filter(([, , retry]) => retry === 'yes').map(([code]) => code!.replaceAll('`', ''));
    const { RETRYABLE_CODES } = await import('../../clients/typescript/client.ts');
    expect(yes.toSorted()).toEqual([...RETRYABLE_CODES].toSorted());
    const print =
      'import sys; sys.path.insert(0, "clients/python"); from obverse.client import *; import obverse.client as c; print(",".join(sorted(c.RETRYABLE_CODES)))';
    const python = Bun.spawnSync([requirePython(), '-c', print], { cwd: root });
    expect(python.stdout.toString().trim().split(',')).toEqual(yes.toSorted());
  });

  test('names only routes and methods that exist', () => {
    const routes = new Set(ENDPOINTS.map(({ method, path }) => `${method} ${path.replaceAll(/:(\w+)/g, '{$1}')}`));
    const own = /`(GET|POST|DELETE) (\/api\/[^`?\s]*)/g;
    const named = [...guide.matchAll(own)].map(([, method, path]) => `${method} ${path}`);
    const foreign = (route: string) => route.includes('/api/v2/') || route.startsWith('GET /api/health');
    expect(named.length).toBeGreaterThan(50);
    expect(named.filter((route) => !foreign(route) && !routes.has(route))).toEqual([]);
    const methods = tableWith('bitcoind', 'here').flatMap(([theirs, ours]) =>
      ours!.startsWith('the same') ? [...theirs!.matchAll(/`([a-z]+)`/g)].map(([, name]) => name!) : [],
    );
    expect(methods.length).toBeGreaterThan(8);
    expect(methods.filter((name) => !RPC_METHODS.has(name))).toEqual([]);
  });

  test('has no unmarked code but the variables of the sandbox', () => {
    expect(blocks.filter(({ mark }) => mark === '').map(({ text }) => text)).toEqual([
      'URL=http://127.0.0.1:18443\nADMIN=$(cat ~/.local/share/obverse/regtest/initial.key)\n',
    ]);
  });
});

describe('the code of docs/integrate.md', () => {
  let node: NodeProcess;
  let port: number;
  beforeAll(async () => {
    port = await freePort();
    node = await startNode({ args: ARGS, port });
    await node.height(SEED_BLOCKS);
  });
  const rpc = <T>(method: string, params: unknown[]) => node.api.rpc<T>(method, params);
  const mine = (count: number) => rpc('generatetoaddress', [count, MINING_ADDRESS]);

  test('runs in a shell, and replies have the members that are shown', async () => {
    for (const name of ['bash', 'curl', 'python3']) requireProgram(name);
    const shell = blocks.filter(({ language, mark }) => (language === 'sh' && mark === 'run') || mark === 'like');
    // Marks the end of the output of each block.
    const script = shell.map(({ language, text }) => (language === 'sh' ? `${text}\necho; echo @@\n` : '')).join('');
    const child = Bun.spawn(['bash', '-euo', 'pipefail', '-c', script], {
      env: { ...process.env, URL: node.api.url, ADMIN: TEST_KEY },
      stdout: 'pipe',
      stderr: 'pipe',
    });
    const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
    expect([await child.exited, err]).toEqual([0, '']);
    const outputs = out.split('@@\n');
    let ran = -1;
    let compared = 0;
    for (const { language, text } of shell) {
      if (language === 'sh') ran++;
      else {
        expect(shapeOf(JSON.parse(outputs[ran]!))).toEqual(shapeOf(JSON.parse(text)));
        compared++;
      }
    }
    expect(compared).toBeGreaterThanOrEqual(2);
    expect(out).toMatch(/sent once: [0-9a-f]{64}/);
    expect(out).toMatch(/replaced by [0-9a-f]{64}/);
    expect(out).not.toContain('"error"');
  });

  test('follows deposits on each way, over kills of the node and of the consumer, reorgs and a new chain', async () => {
    const dir = tempDir('guide');
    const program = join(dir, 'consumer.ts');
    writeFileSync(program, textOf('ts'));
    const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
    const PORT = String(await freePort());
    const ADDRESS = await rpc<string>('getnewaddress', []);
    await post(node.api, '/api/watches', { kind: 'address', value: ADDRESS });
    const hook = { url: `http://127.0.0.1:${PORT}/`, types: ['newBlock', 'addressTransaction'], secret: SECRET };
    expect((await post(node.api, '/api/webhooks', hook)).status).toBe(200);

    const ways = ['pages', 'websocket', 'stream', 'webhook'] as const;
    const ledgerOf = (way: string) => join(dir, `${way}.db`);
    const start = (way: string) =>
      Bun.spawn([process.execPath, program, way], {
        env: {
          PATH: process.env.PATH ?? '',
          URL: node.api.url,
          KEY: TEST_KEY,
          ADDRESS,
          LEDGER: ledgerOf(way),
          SECRET,
          PORT,
        },
        stderr: 'pipe',
      });
    let consumers = ways.map(start);
    const restart = async () => {
      for (const consumer of consumers) consumer.kill('SIGKILL');
      await Promise.all(consumers.map(({ exited }) => exited));
      expect(consumers.map(({ signalCode }) => signalCode)).toEqual(ways.map(() => 'SIGKILL'));
      consumers = ways.map(start);
    };
    const startAgain = async () => {
      node = await new NodeProcess({ args: ARGS, port, datadir: node.datadir }).ready();
    };
    const killNode = async () => {
      await node.stop('SIGKILL');
      await startAgain();
    };
    const ledger = (way: string) => {
      using db = new Database(ledgerOf(way), { readonly: true });
      return db
        .query<{ row: string }, []>("SELECT txid || ':' || n || ' ' || value AS row FROM deposits ORDER BY row")
        .all()
        .map(({ row }) => row);
    };
    const chain = async () => {
      const { items } = await node.api.all<AddressTx>(`/api/address/${ADDRESS}/txs?confirmed=true&limit=500`);
      return items.flatMap(({ txid, outputs }) => outputs.map(({ n, value }) => `${txid}:${n} ${value}`)).toSorted();
    };
    const equal = async (what: string) => {
      const rows = await chain();
      for (const way of ways)
        await poll(`${what} over ${way}`, () => ledger(way).join() === rows.join(), {
          state: () => `${ledger(way)}\n${rows}`,
        });
      return rows.length;
    };
    try {
      await rpc('devpay', [ADDRESS, 1]);
      await mine(1);
      expect(await equal('a deposit')).toBe(1);
      await rpc('devflood', [30, ADDRESS]);
      await Promise.all([mine(1), restart()]);
      expect(await equal('many deposits')).toBeGreaterThan(20);
      await killNode();
      await rpc('devdoublespend', [ADDRESS, 1, 1]);
      await Promise.all([rpc('devreorg', [2, true]), restart()]);
      await mine(1);
      await equal('reorgs');
      await node.stop('SIGKILL');
      // The log of the new chain knows no cursor of the old one; watches and webhooks are elsewhere.
      await Bun.$`rm -rf ${join(node.networkDir, 'chain')}`.quiet();
      await startAgain();
      await node.height(SEED_BLOCKS);
      await rpc('devpay', [ADDRESS, 3]);
      await mine(1);
      expect(await equal('a new chain')).toBe(1);
    } finally {
      for (const consumer of consumers) consumer.kill('SIGKILL');
    }
  });
});

/** The names of the members of a value, at all depths; of a list, those of its first element. */
function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.slice(0, 1).map(shapeOf);
  if (typeof value !== 'object' || value === null) return null;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, shapeOf(member)]));
}
