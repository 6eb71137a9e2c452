import { expect, test } from 'bun:test';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { decodeMessage, encodeMessage, type MessageType, type ValueOf } from '../../src/p2p/messages/messages.ts';
import { V1Transport } from '../../src/p2p/transport/v1-transport.ts';
import { directoryWith } from '../lib/chain-directory.ts';
import { FilterModel } from '../lib/filter-model.ts';
import { cleanUpAfterTests, poll, runProgram, startNode, tempDir } from '../lib/node-process.ts';
import { generate, startPeer } from '../lib/peer-node.ts';
import { recentChain, tipHash } from '../lib/sample-chains.ts';

cleanUpAfterTests();

const NAME = 'basic block filter index';
type IndexInfo = Record<string, { synced: boolean; best_block_height: number }>;
const MAGIC = Uint8Array.of(0xfa, 0xbf, 0xb5, 0xda);

/** A light client on a socket, without encryption. */
class Client {
  readonly #transport = new V1Transport(MAGIC);
  readonly #received: { type: string; payload: Uint8Array }[] = [];
  #socket: Awaited<ReturnType<typeof Bun.connect>> | null = null;
  closed = false;

  async connect(port: number): Promise<this> {
    this.#socket = await Bun.connect({
      hostname: '127.0.0.1',
      port,
      socket: {
        data: (_socket, bytes) => {
          for (const event of this.#transport.receive(new Uint8Array(bytes)))
            if (event.kind === 'message') this.#received.push(event.message);
        },
        close: () => void (this.closed = true),
      },
    });
    const receiver = { address: { network: 'ipv4', bytes: Uint8Array.of(127, 0, 0, 1) }, port } as const;
    const time = BigInt(Math.floor(Date.now() / 1000));
    const hello = { version: 70016, services: 0n, time, receiverServices: 0n, receiver, nonce: 5n };
    this.send('version', { ...hello, userAgent: '/client/', startHeight: 0, relay: false });
    this.send('verack', null);
    await this.all('verack', 1);
    return this;
  }

  send<K extends MessageType>(type: K, value: ValueOf<K>): void {
    this.#socket!.write(this.#transport.encode(type, encodeMessage(type, value)));
  }

  /** Waits for `count` messages of a type. */
  async all<K extends MessageType>(type: K, count: number): Promise<ValueOf<K>[]> {
    const found = await poll(`${count} ${type}`, () => {
      const messages = this.#received.filter((message) => message.type === type);
      return messages.length >= count && messages;
    });
    return found.map(({ payload }) => decodeMessage(type, payload)!.value as ValueOf<K>);
  }

  end(): void {
    this.#socket?.end();
  }
}

test('filters of an existing chain are built, kept up to date, and served', async () => {
  const chain = recentChain(300, { payments: 3 });
  const model = new FilterModel(chain.blocks.map(({ raw }) => raw)).filters;
  const datadir = await directoryWith(chain);
  expect(existsSync(join(datadir, 'regtest/chain/filters'))).toBe(false);
  const { node, address } = await startPeer([], { datadir, args: ['--index.filter', '--p2p.filters'] });
  const info = () => node.api.rpc<IndexInfo>('getindexinfo', [NAME]);
  await node.until('the index', async () => (await info())[NAME]!.synced);
  await node.output('stderr', /"msg":"block filters are built"/);
  const last = await node.api.rpc<object>('getblockfilter', [tipHash(chain)]);
  expect(last).toEqual({ filter: model[300]!.filter, header: model[300]!.header });
  const { localservicesnames } = await node.api.rpc<{ localservicesnames: string[] }>('getnetworkinfo');
  expect(localservicesnames).toContain('COMPACT_FILTERS');

  const client = await new Client().connect(Number(address.split(':')[1]));
  expect((await client.all('version', 1))[0]!.services & 64n).toBe(64n);
  client.send('getcfilters', { filterType: 0, startHeight: 0, stopHash: chain.tip.hash });
  const filters = await client.all('cfilter', 301);
  expect(filters.map(({ filter }) => filter.toHex())).toEqual(model.map(({ filter }) => filter));
  client.send('getcfheaders', { filterType: 0, startHeight: 1, stopHash: chain.tip.hash });
  const [headers] = await client.all('cfheaders', 1);
  expect(headers!.hashes.map((hash) => hash.toReversed().toHex())).toEqual(model.slice(1).map(({ hash }) => hash));
  client.send('getcfcheckpt', { filterType: 7, stopHash: chain.tip.hash });
  await poll('the end of the connection', () => client.closed);
  client.end();

  const [mined] = await generate(node, 1);
  expect(await info()).toEqual({ [NAME]: { synced: true, best_block_height: 301 } });
  expect(Object.keys(await node.api.rpc<object>('getblockfilter', [mined]))).toEqual(['filter', 'header']);
  await node.stop();

  const without = await startNode({ datadir });
  expect(await without.api.rpc<IndexInfo>('getindexinfo')).toEqual({
    txindex: { synced: true, best_block_height: 301 },
  });
  await without.stop();
});

test('an import builds the filters as well', async () => {
  const chain = recentChain(50);
  const file = join(tempDir(), 'chain.dat');
  chain.writeBootstrap(file, 1);
  const datadir = tempDir();
  const env = { OBVERSE_INDEX_FILTER: 'true' };
  expect(await runProgram(['import', '--network', 'regtest', '--datadir', datadir, file], { env })).toMatchObject({
    status: 0,
  });
  const node = await startNode({ datadir, env });
  expect(await node.api.rpc<IndexInfo>('getindexinfo', [NAME])).toEqual({
    [NAME]: { synced: true, best_block_height: 50 },
  });
  await node.stop();
});

test('serving filters without the index is refused', async () => {
  const { status, stderr } = await runProgram([
    'start',
    '--network',
    'regtest',
    '--datadir',
    tempDir(),
    '--p2p.filters',
  ]);
  expect(status).toBe(2);
  expect(stderr).toContain('p2p.filters: needs index.filter');
});
