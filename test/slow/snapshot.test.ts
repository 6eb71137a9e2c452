import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer } from 'node:net';
import { join } from 'node:path';
import { coinsOf, directoryOf, fillNode, settingsOf } from '../lib/backup-commands.ts';
import {
  cleanUpAfterTests,
  type NodeProcess as Node,
  Program,
  type ProgramOptions,
  poll,
  startNode,
  tempDir,
  WITH_WALLET,
} from '../lib/node-process.ts';
import { ObjectServer } from '../lib/object-server.ts';
import { runCommand } from '../lib/run-command.ts';

cleanUpAfterTests();

const PLACE = 's3://snapshots/nodes/regtest';
const KEY = 'nodes/regtest';
let server: ObjectServer;
let node: Node;
/** Texts of the source that no object may have. */
let secrets: string[];
let address: string;
/** Everything that the commands have written. */
let output = '';

beforeAll(async () => {
  server = await ObjectServer.start();
  node = await startNode({
    args: [WITH_WALLET, '--index.filter', '--webhooks.allowedNetworks=127.0.0.0/8', '--wallet.autocreate=true'],
  });
  const data = await fillNode(node);
  address = data.address;
  const { descriptors } = await node.api.rpc<{ descriptors: { desc: string }[] }>('listdescriptors', [true]);
  const { items: events } = await node.api.json<{ items: { type: string }[] }>('/api/events?after=0&limit=100');
  expect(events.map(({ type }) => type)).toContain('newBlock');
  secrets = [
    ...descriptors.map(({ desc }) => /[xt]prv[0-9A-Za-z]+/.exec(desc)![0]),
    ...[data.key.key, data.key.id, 'http://127.0.0.1:9/hook', 'newBlock'],
  ];
});
afterAll(() => server[Symbol.asyncDispose]());

async function snapshot(args: readonly string[], options: ProgramOptions = {}) {
  const result = await runCommand(['snapshot', ...args], { ...options, env: { ...server.env, ...options.env } });
  output += result.stdout + result.stderr;
  return result;
}

/** Forwards each connection to the port that `portOf` returns when it begins. */
function forwardTo(portOf: () => number): Disposable & { readonly url: Promise<string> } {
  const listener = createServer((client) => {
    const target = connect(portOf(), '127.0.0.1');
    client.on('error', () => target.destroy()).pipe(target);
    target.on('error', () => client.destroy()).pipe(client);
    target.on('close', () => client.destroy());
  }).listen(0, '127.0.0.1');
  const listening = new Promise<void>((resolve) => listener.once('listening', resolve));
  return {
    url: listening.then(() => `http://127.0.0.1:${(listener.address() as AddressInfo).port}`),
    [Symbol.dispose]: () => void listener.close(),
  };
}

const push = (...flags: string[]) => snapshot(['push', PLACE, ...flags, ...settingsOf(node)]);
const pull = (datadir: string, ...flags: string[]) => snapshot(['pull', PLACE, ...flags, ...directoryOf(datadir)]);

interface Manifest {
  readonly tip: { readonly height: number; readonly hash: string };
  readonly files: readonly { readonly path: string; readonly bytes: number; readonly sha256: string }[];
}

function newestManifest(): Manifest {
  return JSON.parse(readFileSync(server.fileOf(`${KEY}/manifest.json`), 'utf8'));
}

describe('obverse snapshot push beside a running node', () => {
  test('sends the files of the chain, and a manifest with the tip and the SHA-256 of each', async () => {
    const { status, stdout } = await push('--json');
    expect(status).toBe(0);
    const tip = { height: 106, hash: await node.api.rpc<string>('getbestblockhash', []) };
    const report = JSON.parse(stdout);
    expect(report).toEqual({
      place: PLACE,
      network: 'regtest',
      tip,
      files: 4,
      bytes: report.bytes,
      moved: report.bytes,
    });
    const manifest = newestManifest();
    expect(manifest.tip).toEqual(tip);
    expect(manifest.files.map(({ path }) => path).sort()).toEqual([
      ...['blocks/blk00000.dat', 'blocks/rev00000.dat', 'chain.db', 'filters/flt00000.dat'],
    ]);
    for (const { bytes, sha256 } of manifest.files) {
      const object = readFileSync(server.fileOf(`${KEY}/files/${sha256}`));
      expect(object.length).toBe(bytes);
      expect(new Bun.CryptoHasher('sha256').update(object).digest('hex')).toBe(sha256);
    }
  });

  test('sends no wallet, key, watch, webhook, setting or event, and chain.db has no other table and value', () => {
    const { files } = newestManifest();
    for (const { sha256 } of files) {
      const object = readFileSync(server.fileOf(`${KEY}/files/${sha256}`));
      for (const secret of secrets) expect([secret, object.includes(secret)]).toEqual([secret, false]);
    }
    // The check itself finds a text where it is: that of an event is in chain.db or its WAL.
    const chain = join(node.networkDir, 'chain');
    const stored = ['chain.db', 'chain.db-wal'].map((name) => readFileSync(join(chain, name)));
    expect(stored.some((bytes) => bytes.includes('newBlock'))).toBe(true);
    const { sha256 } = files.find(({ path }) => path === 'chain.db')!;
    const copy = join(tempDir(), 'chain.db');
    writeFileSync(copy, readFileSync(server.fileOf(`${KEY}/files/${sha256}`)));
    using db = new Database(copy, { readonly: true });
    const namesOf = (sql: string) =>
      db
        .query<{ name: string }, []>(sql)
        .all()
        .map(({ name }) => name);
    expect(namesOf("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")).toEqual([
      ...['chain', 'coin_stats', 'coin_stats_value', 'event_ranges', 'events', 'filters', 'headers', 'indexes'],
      ...['loaded_set', 'meta', 'runs', 'txs'],
    ]);
    expect(namesOf('SELECT key AS name FROM meta ORDER BY key')).toEqual([
      ...['bestHeaderHeight', 'filterEnd', 'filterFile', 'genesis', 'network', 'runsVersion', 'schema', 'scriptSalt'],
      'segwitHeight',
    ]);
    for (const table of ['events', 'event_ranges'])
      expect(db.query<{ rows: number }, []>(`SELECT count(*) AS rows FROM ${table}`).get()!.rows).toBe(0);
  });

  test('sends only what is new after further blocks, and keeps the snapshot of the former height', async () => {
    await server.newRequests();
    const again = await push('--json');
    expect(JSON.parse(again.stdout).moved).toBe(0);
    expect(await server.writtenKeys()).toEqual([`${KEY}/manifest-106.json`, `${KEY}/manifest.json`]);
    await node.api.rpc('generatetoaddress', [1, address]);
    const { bytes, moved } = JSON.parse((await push('--json')).stdout);
    // All four files have grown, and each of them is one part here.
    expect(moved).toBe(bytes);
    expect(newestManifest().tip.height).toBe(107);
    expect(existsSync(server.fileOf(`${KEY}/manifest-106.json`))).toBe(true);
  });
});

describe('obverse snapshot pull', () => {
  test('makes a node with the tip, the coins and the indexes of the source, and without its wallets and keys', async () => {
    const datadir = tempDir();
    const { status, stdout, stderr } = await pull(datadir);
    expect([status, stderr.split('\n').at(-2)]).toEqual([0, expect.stringMatching(/^100% {2}/)]);
    const { tip, files } = newestManifest();
    expect(stdout).toMatch(
      new RegExp(`^${PLACE}: 4 files of regtest, .* received; the chain up to height 107, ${tip.hash}\n$`),
    );
    expect(readdirSync(join(datadir, 'regtest')).sort()).toEqual(['chain', 'lock']);
    expect(readdirSync(join(datadir, 'regtest', 'chain'), { recursive: true }).length).toBe(files.length + 2);
    const verified = await runCommand(['verify', ...directoryOf(datadir)]);
    expect([verified.status, verified.stderr.includes('damage')]).toEqual([0, false]);
    expect(verified.stdout).toStartWith(`full check: no damage; tip at height 107, ${tip.hash}`);
    const pulled = await startNode({ datadir, args: ['--index.filter'] });
    expect(await coinsOf(pulled)).toEqual(await coinsOf(node));
    const setOf = ({ api }: Node) => api.rpc<{ hash_serialized_3: string }>('gettxoutsetinfo', ['hash_serialized_3']);
    expect((await setOf(pulled)).hash_serialized_3).toBe((await setOf(node)).hash_serialized_3);
    const blocks = [1, 60, 107];
    for (const height of blocks) {
      const hash = await node.api.rpc<string>('getblockhash', [height]);
      for (const [method, params] of [
        ['getblock', [hash, 2]],
        ['getblockfilter', [hash]],
      ] as const)
        expect(await pulled.api.rpc<unknown>(method, params)).toEqual(await node.api.rpc<unknown>(method, params));
    }
    expect(await pulled.api.rpc<string[]>('listwallets', [])).toEqual([]);
    // It mines on, and its events are those of a log of its own.
    await pulled.api.rpc('generatetoaddress', [1, address]);
    const { items } = await pulled.api.json<{ items: { type: string; data: { height: number } }[] }>(
      '/api/events?after=0',
    );
    expect(items.filter(({ type }) => type === 'newBlock').map(({ data }) => data.height)).toEqual([108]);
    await pulled.stop();
    const second = await pull(datadir);
    expect([second.status, second.stderr]).toEqual([
      1,
      `obverse: ${join(datadir, 'regtest')} already has chain data: name an empty data directory with --datadir\n`,
    ]);
  });

  test('continues when another server answers after the death of the first, and by the next command after a kill', async () => {
    const datadir = tempDir();
    const dying = await ObjectServer.start({ directory: server.directory, killAt: ['GET', 2] });
    let isDead = false;
    void dying.exited.then(() => (isDead = true));
    using forwarder = forwardTo(() => (isDead ? server.port : dying.port));
    const env = { ...server.env, S3_ENDPOINT: await forwarder.url };
    const running = new Program(['snapshot', 'pull', PLACE, ...directoryOf(datadir)], { env });
    await dying.exited;
    expect((await running.end()).status).toBe(0);
    output += running.stderr;

    const killed = tempDir();
    const hanging = await ObjectServer.start({ directory: server.directory, killAt: ['GET', 2] });
    const cut = new Program(['snapshot', 'pull', PLACE, ...directoryOf(killed)], {
      env: { ...server.env, S3_ENDPOINT: hanging.url },
    });
    await hanging.exited;
    await poll('a part', () => existsSync(join(killed, 'regtest', 'chain.pull', 'chain.db')));
    cut.kill('SIGKILL');
    await cut.end();
    expect(existsSync(join(killed, 'regtest', 'chain'))).toBe(false);
    expect((await pull(killed)).status).toBe(0);
    for (const dir of [datadir, killed]) {
      const { status } = await runCommand(['verify', '--level', 'quick', ...directoryOf(dir)]);
      expect(status).toBe(0);
    }
  });
});

describe('obverse snapshot refuses', () => {
  const unset = ['S3', 'AWS'].flatMap((prefix) =>
    ['ACCESS_KEY_ID', 'SECRET_ACCESS_KEY', 'SESSION_TOKEN', 'ENDPOINT', 'REGION'].map((name) => `${prefix}_${name}`),
  );

  test.each([
    [
      ['pull', PLACE],
      { S3_ACCESS_KEY_ID: undefined },
      'the environment has no credentials for object storage: set S3_ACCESS_KEY_ID or AWS_ACCESS_KEY_ID',
    ],
    [
      ['pull', PLACE],
      { S3_SECRET_ACCESS_KEY: '' },
      'the environment has no credentials for object storage: set S3_SECRET_ACCESS_KEY or AWS_SECRET_ACCESS_KEY',
    ],
    [
      ['pull', PLACE],
      { S3_ENDPOINT: 'http://user:hidden@127.0.0.1' },
      'S3_ENDPOINT or AWS_ENDPOINT is an http or https URL without credentials, such as https://s3.example.com',
    ],
    [
      ['pull', PLACE, '--endpoint', 'ftp://x'],
      {},
      '--endpoint is an http or https URL without credentials, such as https://s3.example.com',
    ],
    [
      ['pull', PLACE, '--region', 'Frankfurt am Main'],
      {},
      '--region is the name of a region, such as eu-central-1, not Frankfurt am Main',
    ],
    [
      ['pull', '/mnt/backup'],
      {},
      'the place is s3://BUCKET/PREFIX, where PREFIX has letters, digits, _, -, . and /, not /mnt/backup',
    ],
    [
      ['pull', 's3://snapshots/../x'],
      {},
      'the place is s3://BUCKET/PREFIX, where PREFIX has letters, digits, _, -, . and /, not s3://snapshots/../x',
    ],
    [['pull', PLACE, '--height', '-5'], {}, '--height is a height, not -5'],
    [['push', PLACE, '--height', '5'], {}, '--height goes with snapshot pull alone'],
    [['pull'], {}, 'snapshot pull needs a place: obverse snapshot pull s3://BUCKET/PREFIX'],
    [['pul', PLACE], {}, 'snapshot needs push or pull (did you mean pull?)'],
  ] as const)('a wrong command line or environment with exit status 2: %j %j', async (args, env, problem) => {
    const without = Object.fromEntries(unset.map((name) => [name, undefined]));
    const { status, stderr } = await snapshot([...args, ...directoryOf(tempDir())], {
      env: { ...without, ...server.env, ...env },
    });
    expect([status, stderr.split('\n')[0]]).toEqual([2, `obverse: ${problem}`]);
    expect(stderr).not.toContain('hidden');
  });

  test('a snapshot of another network, a place without one, a missing bucket and a wrong secret with exit status 1', async () => {
    const datadir = tempDir();
    const inNetwork = (place: string, env = {}) =>
      snapshot(['pull', place, '--network', 'signet', '--datadir', datadir], { env });
    expect(await inNetwork(PLACE)).toMatchObject({
      status: 1,
      stderr: `obverse: ${PLACE}/manifest.json is a snapshot of the network regtest, and the settings name signet\n`,
    });
    expect(await inNetwork('s3://snapshots/other')).toMatchObject({
      status: 1,
      stderr: 'obverse: s3://snapshots/other holds no snapshot: it has no manifest.json\n',
    });
    expect(await inNetwork('s3://missing/other')).toMatchObject({
      status: 1,
      stderr: 'obverse: s3://missing: the bucket does not exist\n',
    });
    const wrong = await inNetwork(PLACE, { S3_SECRET_ACCESS_KEY: 'a-wrong-secret' });
    expect([wrong.status, wrong.stderr]).toEqual([
      1,
      expect.stringMatching(
        /^obverse: s3:\/\/snapshots\/nodes\/regtest\/manifest\.json: access is denied \(SignatureDoesNotMatch\): [^\n]+\n$/,
      ),
    ]);
    expect(wrong.stderr).not.toContain('a-wrong-secret');
    expect(existsSync(join(datadir, 'signet'))).toBe(false);
  });

  test('and shows no credential and no signed URL in any output', () => {
    expect(output).toContain('access is denied');
    for (const secret of ['S3RVER', 'X-Amz', 'Signature=']) expect(output).not.toContain(secret);
  });
});
