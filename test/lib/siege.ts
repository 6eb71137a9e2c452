import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { RegtestChain, TestBlock } from './chain-builder.ts';
import { directoryWith } from './chain-directory.ts';
import { mempoolLoaded, mine, submit } from './mempool-node.ts';
import { copyDatadir, type NodeProcess } from './node-process.ts';
import { hashOfTip, type PeerNode, peersOf, sameTip, startPeer } from './peer-node.ts';
import { type FromWatcher, memoryOf, type ToWatcher, type Watched } from './siege-watcher.ts';
import { type Introduction, TestPeer, type TestProtocol } from './test-peer.ts';

/** Its first addresses are derived a while after the start, and would be counted. */
const NO_WALLET = ['--wallet.enabled=false'];
/**
 * Bytes that a node may need beyond those of the idle node. A hundred peers made it grow by 75 to 177 MB, attack after attack,
 * up and down again: the heap between two collections, and queues that are full. One queue without a bound takes more than
 * this: a hundred unfinished messages, or unread replies, of 4 MB each.
 */
const MAX_GROWTH = 300_000_000;
/** Most of the answers come in 5 ms; this bound is for a machine that others use as well. */
const MAX_HEALTH_MEDIAN_MS = 50;
/** Answers of /healthz from which on their median is limited for one attack. */
const MIN_ANSWERS = 3;
/** Time limit for an answer to a good peer, milliseconds: beyond it, one attacker occupies the node alone. */
const MAX_PONG_MS = 15_000;
const MEGABYTE = 1_000_000;

/** As the product runs: the runner of the tests keeps freed memory in its processes, which would count as growth. */
const ALLOCATOR = { MIMALLOC_PURGE_DELAY: undefined };

/** Milliseconds and bytes. */
export interface Figures {
  /** Beyond the idle node. */
  readonly growth: number;
  /** Beyond the node before the attack. */
  readonly added: number;
  readonly health: Spread;
  readonly pong: Spread;
}

interface Spread {
  readonly median: number;
  readonly p99: number;
  readonly max: number;
}

type Neighbour = Pick<PeerNode, 'node' | 'address'>;

interface GoodPeer {
  readonly id: number;
}

/**
 * A node with three good peers: a node that it dials, one that dials it and speaks when the test says so, and a watcher
 * that is served all the time. Each attack is measured, and afterwards all must be as before.
 */
export class Siege implements AsyncDisposable {
  readonly chain: RegtestChain;
  readonly hub: Neighbour;
  readonly friend: Neighbour;
  readonly good: TestPeer;
  readonly #watcher: Watcher;
  readonly #idle: number;
  readonly #friends: readonly number[];
  readonly #evil = new Set<TestPeer>();
  readonly #health: number[] = [];

  private constructor(
    chain: RegtestChain,
    nodes: readonly [hub: Neighbour, friend: Neighbour],
    good: TestPeer,
    watcher: Watcher,
    friends: readonly number[],
  ) {
    this.chain = chain;
    [this.hub, this.friend] = nodes;
    this.good = good;
    this.#watcher = watcher;
    this.#friends = friends;
    this.#idle = memoryOf(this.hub.node.pid);
  }

  static async lay(chain: RegtestChain, args: readonly string[] = []): Promise<Siege> {
    const first = await directoryWith(chain);
    const second = copyDatadir(first);
    const friend = await startPeer([], { datadir: first, args: NO_WALLET });
    const hub = await startPeer([friend.address], {
      datadir: second,
      args: [...NO_WALLET, ...args],
      env: ALLOCATOR,
    });
    await peersOf(hub.node, 1);
    await Promise.all([mempoolLoaded(hub.node), mempoolLoaded(friend.node)]);
    const good = await TestPeer.join(hub.address, { agent: '/good:1/' });
    const watcher = await Watcher.open(hub);
    // Code that is compiled and memory that is allocated once are no growth; and the friend gets to send compact blocks
    // unasked.
    for (let i = 0; i < 3; i++) {
      await mine(friend.node.api, chain);
      await sameTip([hub.node, friend.node], hashOfTip(chain));
    }
    await watcher.during(() => Bun.sleep(200));
    const peers = await hub.node.api.rpc<GoodPeer[]>('getpeerinfo');
    return new Siege(
      chain,
      [hub, friend],
      good,
      watcher,
      peers.map(({ id }) => id),
    );
  }

  get node(): NodeProcess {
    return this.hub.node;
  }

  /** Connects a hostile peer that has introduced itself; the end of the attack closes it. */
  async join(introduction?: Introduction, protocol?: TestProtocol): Promise<TestPeer> {
    return this.#enlisted(await TestPeer.join(this.hub.address, introduction, protocol));
  }

  /** A bad peer that has only connected. */
  async dial(protocol?: TestProtocol): Promise<TestPeer> {
    return this.#enlisted(await TestPeer.dial(this.hub.address, protocol));
  }

  /** Carries out an attack, and sees that the node held. */
  async attack(name: string, act: () => Promise<unknown>): Promise<Figures> {
    const before = memoryOf(this.node.pid);
    const watched = await this.#watcher.during(act);
    for (const peer of this.#evil) peer.close();
    this.#evil.clear();
    const { memory, health, pongs } = watched;
    this.#health.push(...health);
    const figures: Figures = {
      growth: memory - this.#idle,
      added: memory - before,
      health: spreadOf(health),
      pong: spreadOf(pongs),
    };
    report(name, figures);
    if (figures.growth > MAX_GROWTH) throw new Error(`${name}: memory grew by ${figures.growth} bytes`);
    // The only answer of an attack that ends at once says little; it counts among those of all attacks.
    if (health.length >= MIN_ANSWERS && figures.health.median > MAX_HEALTH_MEDIAN_MS)
      throw new Error(`${name}: /healthz took ${figures.health.median} ms`);
    if (figures.pong.max > MAX_PONG_MS) throw new Error(`${name}: a good peer waited ${figures.pong.max} ms`);
    await this.stands();
    return figures;
  }

  /**
   * Checks that the good peers are connected, that the tip is right, and that it advances when the friend finds a
   * block.
   */
  async stands(): Promise<void> {
    const peers = await this.node.api.rpc<GoodPeer[]>('getpeerinfo');
    const lost = this.#friends.filter((id) => !peers.some((peer) => peer.id === id));
    if (lost.length > 0 || this.good.isClosed) throw new Error(`good peers are gone: ${this.node.describe()}`);
    await sameTip([this.node, this.friend.node], hashOfTip(this.chain), 20_000);
    await this.mine();
    const errors = this.node.stderr.split('\n').filter((line) => line.includes('"level":"error"'));
    if (errors.length > 0) throw new Error(`the node reports: ${errors.join('\n')}`);
  }

  /** The friend finds a block, and the node has it. */
  async mine(): Promise<TestBlock> {
    const block = await mine(this.friend.node.api, this.chain);
    await sameTip([this.node, this.friend.node], hashOfTip(this.chain), 20_000);
    return block;
  }

  /** Delivers a block through the friend that the other peers withhold, and waits until the node has it. */
  async give(block: TestBlock): Promise<void> {
    await submit(this.friend.node.api, block);
    await sameTip([this.node, this.friend.node], hashOfTip(this.chain), 20_000);
  }

  /** Files and sockets that the node holds. */
  descriptors(): number {
    return readdirSync(`/proc/${this.node.pid}/fd`).length;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const peer of [...this.#evil, this.good]) peer.close();
    this.#watcher.close();
    console.log(
      `${this.#health.length} answers of /healthz, median / p99 / max ms: ${spreadText(spreadOf(this.#health))}`,
    );
    await Promise.all([this.node.stop(), this.friend.node.stop()]);
  }

  #enlisted(peer: TestPeer): TestPeer {
    this.#evil.add(peer);
    return peer;
  }
}

/** The process that measures. */
class Watcher {
  #take: (message: FromWatcher) => void = () => {};
  readonly #child = Bun.spawn([process.execPath, join(import.meta.dir, 'siege-watcher.ts')], {
    ipc: (message: FromWatcher) => this.#take(message),
    stdio: ['ignore', 'inherit', 'inherit'],
  });

  static async open({ node, address }: Neighbour): Promise<Watcher> {
    const watcher = new Watcher();
    const ready = watcher.#next('ready');
    watcher.#send({ type: 'open', pid: node.pid, health: `${node.api.url}/healthz`, peers: address });
    await ready;
    return watcher;
  }

  /** Returns the measurements made during an action. */
  async during(act: () => Promise<unknown>): Promise<Watched> {
    const watched = this.#next('watched');
    this.#send({ type: 'begin' });
    try {
      // Where it cannot watch, there is no use in going on.
      await Promise.race([act(), watched]);
    } finally {
      this.#send({ type: 'end' });
    }
    return watched;
  }

  close(): void {
    this.#child.kill();
  }

  #send(message: ToWatcher): void {
    this.#child.send(message);
  }

  #next<T extends FromWatcher['type']>(type: T): Promise<Extract<FromWatcher, { type: T }>> {
    return new Promise((resolve, reject) => {
      this.#take = (message) => {
        if (message.type === type) resolve(message as Extract<FromWatcher, { type: T }>);
        else if (message.type === 'failed') reject(new Error(message.reason));
      };
    });
  }
}

function spreadOf(samples: readonly number[]): Spread {
  const sorted = samples.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  return { median: at(0.5), p99: at(0.99), max: at(1) };
}

function spreadText({ median, p99, max }: Spread): string {
  return [median, p99, max].map((ms) => ms.toFixed(1)).join(' / ');
}

function report(name: string, { growth, health, pong }: Figures): void {
  const megabytes = (growth / MEGABYTE).toFixed(0);
  console.log(
    `${name}: memory +${megabytes} MB; median / p99 / max ms: /healthz ${spreadText(health)}, pong ${spreadText(pong)}`,
  );
}
