import { beforeAll, expect, test } from 'bun:test';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { cleanUpAfterTests, NodeProcess, TEST_KEY, tempDir } from '../lib/node-process.ts';
import { renewedCertificate, renewTlsFiles } from '../lib/renewed-certificate.ts';
import { tlsFiles } from '../lib/self-signed.ts';

cleanUpAfterTests();

const folder = tempDir();
const settings = join(folder, 'obverse.toml');
const files = tlsFiles(folder);
/** Enough that each of two fronts gets some: all go to one of them in one of 2^31 runs. */
const CONNECTIONS = 32;
const USED = 'settings were read again';
let node: NodeProcess;

interface Line {
  readonly level: string;
  readonly msg: string;
  readonly [field: string]: unknown;
}

const linesOf = (msg: string): Line[] =>
  node.stderr
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line))
    .filter((line) => line.msg === msg);

/** Sends SIGHUP and returns the line at the end of the reload. */
async function reload(): Promise<Line> {
  const before = linesOf(USED).length;
  node.kill('SIGHUP');
  return node.until('the end of the reload', () => linesOf(USED)[before] ?? null, 10_000);
}

function writeSettings(http: readonly string[], ...more: string[]): void {
  const tls = [`tls.cert = ${JSON.stringify(files.cert)}`, `tls.key = ${JSON.stringify(files.key)}`];
  writeFileSync(settings, ['[http]', ...tls, ...http, ...more].join('\n'));
}

/** Sends a request on a connection of its own. Returns the name in the certificate and the first line of the reply. */
function asked(path: string): Promise<{ name: string; status: string }> {
  const { hostname: host, port } = new URL(node.api.url);
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port: Number(port), rejectUnauthorized: false }, () => {
      socket.write(
        `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${TEST_KEY}\r\nConnection: close\r\n\r\n`,
      );
    });
    let text = '';
    socket.on('data', (bytes) => {
      text += bytes;
      if (!text.includes('\r\n')) return;
      resolve({ name: String(socket.getPeerCertificate().subject.CN), status: text.split(' ')[1]! });
      socket.destroy();
    });
    socket.on('error', reject);
    socket.on('close', () => reject(new Error('closed without a reply')));
  });
}

/** Returns each different answer of many connections once. */
async function answers(path = '/healthz'): Promise<string[]> {
  const all = await Promise.all(Array.from({ length: CONNECTIONS }, () => asked(path)));
  return [...new Set(all.map(({ name, status }) => `${name} ${status}`))];
}

beforeAll(async () => {
  writeSettings([]);
  node = await new NodeProcess({ args: ['--config', settings, '--workers.front=2'] }).ready();
});

test('new connections to all fronts use the renewed certificate, and an open WebSocket continues', async () => {
  expect(await answers()).toEqual(['localhost 200']);
  const socket = new WebSocket(`${node.api.url.replace('http', 'ws')}/ws`, {
    headers: { authorization: `Bearer ${TEST_KEY}` },
    tls: { rejectUnauthorized: false },
  } as unknown as string[]);
  const messages: string[] = [];
  socket.onmessage = ({ data }) => messages.push(String(data));
  await node.until('the open WebSocket', () => socket.readyState === WebSocket.OPEN, 10_000);
  renewTlsFiles(files);
  expect(await reload()).not.toHaveProperty('applied');
  expect(linesOf('new connections use the new TLS certificate')).toEqual([
    expect.objectContaining({ level: 'info', file: files.cert, validTo: expect.stringContaining('2126') }),
  ]);
  expect(await answers()).toEqual(['renewed 200']);
  const seen = messages.length;
  socket.send(JSON.stringify({ type: 'ping' }));
  await node.until('a message on the open WebSocket', () => messages.length > seen, 10_000);
  expect(socket.readyState).toBe(WebSocket.OPEN);
  socket.close();
  // Unchanged files are not used again.
  await reload();
  expect(linesOf('new connections use the new TLS certificate')).toHaveLength(1);
});

test('a certificate that cannot be used is refused by its name, and the earlier one stays', async () => {
  const refusals = () => linesOf('the TLS certificate cannot be used, and the earlier one stays in use');
  writeFileSync(files.cert, 'not a certificate');
  await reload();
  writeFileSync(files.cert, renewedCertificate);
  const other = join(folder, 'other');
  rmSync(files.key);
  writeSettings([]);
  await reload();
  writeFileSync(settings, `[http]\ntls.cert = ${JSON.stringify(other)}\ntls.key = ${JSON.stringify(files.key)}\n`);
  const line = await reload();
  expect(line).not.toHaveProperty('applied');
  expect(line).not.toHaveProperty('needRestart');
  expect(refusals().map(({ level, reason }) => [level, reason])).toEqual([
    ['error', `http.tls.cert: ${files.cert} does not hold a certificate in PEM form`],
    ['error', `http.tls.key: ${files.key} cannot be read: ENOENT`],
    ['error', `http.tls.cert: ${other} cannot be read: ENOENT`],
  ]);
  expect(await answers()).toEqual(['renewed 200']);
  renewTlsFiles(files);
});

test('limits apply on all fronts, and what needs a restart is named until it applies', async () => {
  const long = `/api/info?${'a'.repeat(400)}`;
  const before = await answers(long);
  writeSettings(['limits.urlBytes = 300', 'pages.blocks.max = 25', 'limits.keepAlive = 9'], '[rpc]', 'maxBatch = 2');
  expect(await reload()).toMatchObject({
    applied: ['http.limits.urlBytes', 'http.pages.blocks.max', 'rpc.maxBatch'],
    needRestart: ['http.limits.keepAlive'],
  });
  expect(await answers(long)).toEqual(['renewed 400']);
  expect(await answers('/api/blocks?limit=25')).toEqual(['renewed 200']);
  expect(await answers('/api/blocks?limit=26')).toEqual(['renewed 400']);
  const again = await reload();
  expect(again).not.toHaveProperty('applied');
  expect(again).toMatchObject({ needRestart: ['http.limits.keepAlive'] });
  writeSettings([]);
  expect(await reload()).toMatchObject({ applied: ['http.limits.urlBytes', 'http.pages.blocks.max', 'rpc.maxBatch'] });
  expect(await answers(long)).toEqual(before);
});

test('switching TLS off needs a restart', async () => {
  writeFileSync(settings, '');
  const line = await reload();
  expect(line).toMatchObject({ needRestart: ['http.tls.cert', 'http.tls.key'] });
  expect(await answers()).toEqual(['renewed 200']);
  expect(await node.stop()).toMatchObject({ status: 0, signal: null });
});

test('the limit of the bytes that are sent to peers in a day changes without a restart', async () => {
  writeFileSync(settings, '[p2p]\nmaxUpload = 10\n');
  node = await new NodeProcess({ args: ['--config', settings, '--p2p.listen=127.0.0.1:0'] }).ready();
  const target = async () =>
    (await node.api.rpc<{ uploadtarget: { target: number } }>('getnettotals')).uploadtarget.target;
  expect(await target()).toBe(10 * 2 ** 20);
  writeFileSync(settings, '[p2p]\nmaxUpload = 500\n');
  const line = await reload();
  expect(line).toMatchObject({ applied: ['p2p.maxUpload'] });
  expect(line).not.toHaveProperty('needRestart');
  expect(await target()).toBe(500 * 2 ** 20);
  writeFileSync(settings, '');
  expect(await reload()).toMatchObject({ applied: ['p2p.maxUpload'] });
  expect(await target()).toBe(0);
});
