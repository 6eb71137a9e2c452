import { afterEach, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '../../src/config/load.ts';
import { NodeClient } from '../../src/node/client.ts';

const PlainWorker = globalThis.Worker;

afterEach(() => {
  globalThis.Worker = PlainWorker;
});

test('a node thread that dies is told of, and does not keep anybody waiting for its end', async () => {
  const started: Worker[] = [];
  globalThis.Worker = class extends PlainWorker {
    constructor(url: string | URL) {
      super(url);
      started.push(this);
    }
  };
  const datadir = mkdtempSync(join(tmpdir(), 'obverse-client-'));
  try {
    const client = new NodeClient(loadConfig(['--network', 'regtest', '--datadir', datadir]).config);
    await client.opened();
    // No message looks like this; it stands for whatever the thread does not expect.
    started[0]!.postMessage(null);
    await expect(client.failed()).rejects.toThrow('the node thread');
    await expect(client.submitBlock(new Uint8Array(80))).rejects.toThrow('the node thread');
    await client.close();
    await expect(client.submitBlock(new Uint8Array(80))).rejects.toThrow('the node is stopping');
  } finally {
    rmSync(datadir, { recursive: true, force: true });
  }
});
