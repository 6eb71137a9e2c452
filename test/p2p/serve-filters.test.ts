import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { PeerLogic } from '../../src/p2p/connections/peer-link.ts';
import { decodeMessage, type MessageType, type ValueOf } from '../../src/p2p/messages/messages.ts';
import { SERVICES } from '../../src/p2p/services.ts';
import { type BlockHash, hashToHex } from '../../src/primitives/hash.ts';
import type { RegtestChain } from '../lib/chain-builder.ts';
import { TestNode } from '../lib/chain-fixture.ts';
import { FilterModel, type ModelFilter } from '../lib/filter-model.ts';
import { recentChain } from '../lib/sample-chains.ts';
import { LinkedNode, MemoryLink, OUR_SERVICES } from './lib/linked-net.ts';

/** A light client: completes the handshake and records what it receives. */
class Client implements PeerLogic {
  readonly received: { type: string; payload: Uint8Array }[] = [];
  readonly link: MemoryLink;
  readonly inbound: MemoryLink;
  #pings = 0n;

  constructor(node: LinkedNode) {
    this.link = new MemoryLink(this, 'outbound-full-relay', node.service);
    this.inbound = new MemoryLink(node.peers, 'inbound', this.link.service);
    this.link.other = this.inbound;
    this.inbound.other = this.link;
    this.inbound.open();
    const receiver = node.service;
    this.link.send('version', {
      version: 70016,
      services: 0n,
      time: BigInt(Math.floor(Date.now() / 1000)),
      receiverServices: 0n,
      receiver,
      nonce: 77n,
      userAgent: '/client/',
      startHeight: 0,
      relay: false,
    });
    this.link.send('verack', null);
  }

  opened(): void {}
  closed(): void {}
  message(_link: unknown, { type, payload }: { type: string; payload: Uint8Array }): void {
    this.received.push({ type, payload });
  }

  of<K extends MessageType>(type: K): ValueOf<K>[] {
    return this.received
      .filter((message) => message.type === type)
      .map(({ payload }) => decodeMessage(type, payload)!.value as ValueOf<K>);
  }

  /** Resolves when all earlier requests are answered or the link is closed: with null, or the close reason. */
  async answered(): Promise<string | null> {
    const nonce = ++this.#pings;
    this.link.send('ping', { nonce });
    const end = performance.now() + 20_000;
    while (this.inbound.reason === null && !this.of('pong').some((pong) => pong.nonce === nonce)) {
      if (performance.now() > end) throw new Error('no answer to a ping');
      await new Promise(setImmediate);
    }
    return this.inbound.reason;
  }
}

const SERVING = OUR_SERVICES | SERVICES.compactFilters;
const modelOf = (chain: RegtestChain) => new FilterModel(chain.blocks.map(({ raw }) => raw)).filters;
const display = (bytes: Uint8Array) => bytes.toReversed().toHex();

describe('block filters for peers (BIP-157)', () => {
  const chain = recentChain(2003);
  const branch = chain.fork(2000);
  branch.mine(5);
  let node: LinkedNode;
  let model: readonly ModelFilter[];
  const hashAt = (height: number): BlockHash => chain.at(height).hash;

  beforeAll(async () => {
    model = modelOf(chain);
    node = await LinkedNode.with(chain.params, chain.blocks.slice(1), { filters: true, services: SERVING });
  }, 120_000);
  afterAll(() => node?.[Symbol.asyncDispose]());

  const ask = async (
    type: 'getcfilters' | 'getcfheaders',
    startHeight: number,
    stopHash: BlockHash,
    { filterType = 0, from = node } = {},
  ) => {
    const client = new Client(from);
    client.link.send(type, { filterType, startHeight, stopHash });
    return { client, reason: await client.answered() };
  };

  test('the compact filters service bit is announced', async () => {
    const client = new Client(node);
    expect(await client.answered()).toBeNull();
    expect(client.of('version')[0]!.services & 64n).toBe(64n);
  });

  test('getcfilters returns at most a thousand filters in order', async () => {
    const { client, reason } = await ask('getcfilters', 1001, hashAt(2000));
    expect(reason).toBeNull();
    const filters = client.of('cfilter');
    expect(filters.length).toBe(1000);
    for (const [i, { filterType, blockHash, filter }] of filters.entries()) {
      expect(filterType).toBe(0);
      expect(hashToHex(blockHash)).toBe(hashToHex(hashAt(1001 + i)));
      expect(filter.toHex()).toBe(model[1001 + i]!.filter);
    }
    expect((await ask('getcfilters', 1000, hashAt(2000))).reason).toBe('too many block filters requested');
    expect((await ask('getcfilters', 0, hashAt(2003))).client.of('cfilter')).toEqual([]);
  });

  test('getcfilters returns single filters, including that of the genesis block', async () => {
    const tip = (await ask('getcfilters', 2003, hashAt(2003))).client.of('cfilter');
    expect(tip.map(({ filter }) => filter.toHex())).toEqual([model[2003]!.filter]);
    const genesis = (await ask('getcfilters', 0, hashAt(0))).client.of('cfilter');
    expect(genesis.map(({ filter }) => filter.toHex())).toEqual([model[0]!.filter]);
  });

  test('getcfheaders returns at most two thousand hashes and the previous header', async () => {
    const { client, reason } = await ask('getcfheaders', 1, hashAt(2000));
    expect(reason).toBeNull();
    const [message] = client.of('cfheaders');
    expect(message!.filterType).toBe(0);
    expect(hashToHex(message!.stopHash)).toBe(hashToHex(hashAt(2000)));
    expect(display(message!.previousHeader)).toBe(model[0]!.header);
    expect(message!.hashes.map(display)).toEqual(model.slice(1, 2001).map(({ hash }) => hash));
    const first = (await ask('getcfheaders', 0, hashAt(1999))).client.of('cfheaders')[0]!;
    expect(display(first.previousHeader)).toBe('00'.repeat(32));
    expect(first.hashes.length).toBe(2000);
    expect((await ask('getcfheaders', 0, hashAt(2000))).reason).toBe('too many block filters requested');
  });

  test('getcfcheckpt returns the filter header of every thousandth block', async () => {
    const client = new Client(node);
    client.link.send('getcfcheckpt', { filterType: 0, stopHash: hashAt(2003) });
    client.link.send('getcfcheckpt', { filterType: 0, stopHash: hashAt(1999) });
    client.link.send('getcfcheckpt', { filterType: 0, stopHash: hashAt(999) });
    expect(await client.answered()).toBeNull();
    expect(client.of('cfcheckpt').map(({ headers }) => headers.map(display))).toEqual([
      [model[1000]!.header, model[2000]!.header],
      [model[1000]!.header],
      [],
    ]);
  });

  test('a request that violates the protocol disconnects the peer', async () => {
    const nowhere = new Uint8Array(32).fill(7) as BlockHash;
    const client = new Client(node);
    client.link.send('getcfcheckpt', { filterType: 1, stopHash: hashAt(5) });
    expect(await client.answered()).toBe('block filters requested without the service');
    for (const type of ['getcfilters', 'getcfheaders'] as const) {
      expect((await ask(type, 1, hashAt(5), { filterType: 1 })).reason).toBe(
        'block filters requested without the service',
      );
      expect((await ask(type, 1, nowhere)).reason).toBe('block filters of an unknown block requested');
      expect((await ask(type, 6, hashAt(5))).reason).toBe('block filters of no blocks requested');
      expect((await ask(type, 2 ** 32 - 1, hashAt(5))).reason).toBe('block filters of no blocks requested');
    }
    expect(node.discouraged).toEqual([]);
  });

  test('without the service no request is answered, with or without the index', async () => {
    const small = chain.blocks.slice(1, 5);
    for (const filters of [true, false]) {
      await using other = await LinkedNode.with(chain.params, small, { filters });
      const { client, reason } = await ask('getcfilters', 0, hashAt(3), { from: other });
      expect(reason).toBe('block filters requested without the service');
      expect(client.of('version')[0]!.services & 64n).toBe(0n);
    }
  });

  test('nothing is sent to a disconnected peer', async () => {
    const client = new Client(node);
    client.link.send('getcfilters', { filterType: 0, startHeight: 0, stopHash: hashAt(999) });
    while (client.of('cfilter').length === 0) await new Promise(setImmediate);
    client.inbound.disconnect('enough');
    for (let i = 0; i < 200; i++) await new Promise(setImmediate);
    expect(client.inbound.sentTypes.filter((type) => type === 'cfilter').length).toBeLessThan(500);
  });

  test('other peers are served while a thousand filters are sent', async () => {
    const greedy = new Client(node);
    const patient = new Client(node);
    expect(await greedy.answered()).toBeNull();
    expect(await patient.answered()).toBeNull();
    greedy.link.send('getcfilters', { filterType: 0, startHeight: 0, stopHash: hashAt(999) });
    while (greedy.of('cfilter').length === 0) await new Promise(setImmediate);
    expect(await patient.answered()).toBeNull();
    expect(greedy.inbound.sentTypes.filter((type) => type === 'cfilter').length).toBeLessThan(1000);
    expect(await greedy.answered()).toBeNull();
    expect(greedy.of('cfilter').length).toBe(1000);
  });

  test('a peer that does not read is sent no more than its queue holds', async () => {
    const client = new Client(node);
    expect(await client.answered()).toBeNull();
    const sent = () => client.inbound.sentTypes.filter((type) => type === 'cfilter').length;
    let taken = 0;
    let wake = () => {};
    Object.defineProperty(client.inbound, 'sendQueueFull', { get: () => sent() - taken >= 100 });
    client.inbound.whenWritable = () => new Promise((resolve) => (wake = resolve));
    client.link.send('getcfilters', { filterType: 0, startHeight: 0, stopHash: hashAt(999) });
    for (; taken < 1000; taken += 100) {
      for (let i = 0; i < 100; i++) await new Promise(setImmediate);
      expect(sent()).toBe(Math.min(taken + 100, 1000));
      setImmediate(() => wake());
    }
    expect(await client.answered()).toBeNull();
  });

  test('filters of recently disconnected blocks are served', async () => {
    const stale = chain.tip.hash;
    await node.node.take(branch.blocks.slice(2001));
    expect(node.node.chain.tip.height).toBe(2005);
    const { client, reason } = await ask('getcfilters', 1999, stale);
    expect(reason).toBeNull();
    expect(client.of('cfilter').map(({ filter }) => filter.toHex())).toEqual(
      model.slice(1999).map(({ filter }) => filter),
    );
    const headers = (await ask('getcfheaders', 2001, stale)).client.of('cfheaders')[0]!;
    expect(headers.hashes.map(display)).toEqual(model.slice(2001).map(({ hash }) => hash));
    const active = (await ask('getcfheaders', 2001, branch.tip.hash)).client.of('cfheaders')[0]!;
    expect(active.hashes.map(display)).toEqual(
      modelOf(branch)
        .slice(2001)
        .map(({ hash }) => hash),
    );
  });

  test('filters that are not built yet are not answered, and the peer stays connected', async () => {
    await using plain = new TestNode({ params: chain.params });
    await plain.take(chain.blocks.slice(1, 20));
    await plain.close();
    await using other = await LinkedNode.with(chain.params, [], { filters: true, services: SERVING, from: plain.dir });
    const { filters } = other.node.chain;
    for (let i = 0; i < 10; i++) filters!.buildMissing(0, other.node.clock);
    const client = new Client(other);
    client.link.send('getcfilters', { filterType: 0, startHeight: 0, stopHash: hashAt(15) });
    client.link.send('getcfheaders', { filterType: 0, startHeight: 0, stopHash: hashAt(15) });
    client.link.send('getcfcheckpt', { filterType: 0, stopHash: hashAt(15) });
    expect(await client.answered()).toBeNull();
    expect(client.received.filter(({ type }) => type.startsWith('cf'))).toEqual([]);
    filters!.buildMissing(1, other.node.clock);
    client.link.send('getcfilters', { filterType: 0, startHeight: 10, stopHash: hashAt(15) });
    expect(await client.answered()).toBeNull();
    expect(client.of('cfilter').map(({ filter }) => filter.toHex())).toEqual(
      model.slice(10, 16).map(({ filter }) => filter),
    );
  });
});
