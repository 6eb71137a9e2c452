import { afterEach, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '../../src/config/load.ts';
import { reservedColumns } from '../../src/mempool/entry-columns.ts';
import { NodeClient } from '../../src/node/client.ts';

const PlainWorker = globalThis.Worker;

afterEach(() => {
  globalThis.Worker = PlainWorker;
});

test('a node thread that dies rejects pending calls, and close does not wait for it', async () => {
  const started: Worker[] = [];
  globalThis.Worker = class extends PlainWorker {
    constructor(url: string | URL) {
      super(url);
      started.push(this);
    }
  };
  const datadir = mkdtempSync(join(tmpdir(), 'obverse-client-'));
  try {
    const { config } = loadConfig(['--network', 'regtest', '--datadir', datadir]);
    const client = new NodeClient({ config, columns: reservedColumns(1_000_000) });
    client.open();
    await client.opened();
    // The thread expects no such message, so it throws.
    started[0]!.postMessage(null);
    await expect(client.failed()).rejects.toThrow('the node thread');
    await expect(client.call('submitBlock', new Uint8Array(80))).rejects.toThrow('the node thread');
    await client.close();
    await expect(client.call('submitBlock', new Uint8Array(80))).rejects.toThrow('the node is stopping');
  } finally {
    rmSync(datadir, { recursive: true, force: true });
  }
});
