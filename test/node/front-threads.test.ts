import { afterEach, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '../../src/config/load.ts';
import { runNode } from '../../src/node/run-node.ts';
import { FrontConnection } from '../lib/front-connection.ts';
import { freePort, poll } from '../lib/node-process.ts';

const PlainWorker = globalThis.Worker;

afterEach(() => {
  globalThis.Worker = PlainWorker;
});

test('every front listens on all addresses of http.listen', async () => {
  const datadir = mkdtempSync(join(tmpdir(), 'obverse-fronts-'));
  const ports = [await freePort(), await freePort()];
  const listen = ports.map((port) => `127.0.0.1:${port}`).join();
  const abort = new AbortController();
  try {
    const { config } = loadConfig([
      ...['--network', 'regtest', '--datadir', datadir, '--http.listen', listen, '--log.level=error'],
      ...['--workers.front=2', '--workers.verify=1', '--p2p.enabled=false', '--wallet.autocreate=false'],
    ]);
    const ended = runNode(config, { readSettings: () => config, signal: abort.signal });
    for (const port of ports) {
      const connections = await poll('two fronts', () => FrontConnection.toEach(`http://127.0.0.1:${port}`, 2));
      for (const connection of connections) connection.close();
    }
    abort.abort();
    await ended;
  } finally {
    abort.abort();
    rmSync(datadir, { recursive: true, force: true });
  }
});

test('a front that fails ends the program with the reason', async () => {
  const fronts: Worker[] = [];
  globalThis.Worker = class extends PlainWorker {
    constructor(url: string | URL, options?: WorkerOptions) {
      super(url, options);
      if (String(url).endsWith('front-worker.ts')) fronts.push(this);
    }
  };
  const datadir = mkdtempSync(join(tmpdir(), 'obverse-fronts-'));
  const port = await freePort();
  const abort = new AbortController();
  try {
    const { config } = loadConfig([
      ...['--network', 'regtest', '--datadir', datadir, '--http.listen', `127.0.0.1:${port}`, '--log.level=error'],
      ...['--workers.front=3', '--workers.verify=1', '--p2p.enabled=false', '--wallet.autocreate=false'],
    ]);
    const ended = runNode(config, { readSettings: () => config, signal: abort.signal }).then(
      () => 'ended',
      (error: Error) => error.message,
    );
    const url = `http://127.0.0.1:${port}`;
    const connections = await poll('three fronts', () => FrontConnection.toEach(url, 3));
    for (const connection of connections) connection.close();
    expect(fronts.length).toBe(2);
    // The thread expects no such message, so it throws.
    fronts[1]!.postMessage(null);
    expect(await ended).toStartWith('a front');
  } finally {
    abort.abort();
    rmSync(datadir, { recursive: true, force: true });
  }
});
