import type { Database } from 'bun:sqlite';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { regtest } from '../../src/params/regtest.ts';
import type { CallArgs, CallResult, NodeCallName } from '../../src/port/node-calls.ts';
import type { NodeCounters, NodePort, NodeStatus, NodeUpdate, PeerChange } from '../../src/port/node-port.ts';
import { txPosition } from '../../src/primitives/coin.ts';
import type { BlockHash, MerkleRoot } from '../../src/primitives/hash.ts';
import { headerBytes, headerHash } from '../../src/primitives/header.ts';
import type { RoutePlugin } from '../../src/server/app.ts';
import { type ApiServer, startApi } from '../../src/server/server.ts';
import { openWriter } from '../../src/storage/chain-database.ts';
import { ChainReads } from '../../src/storage/chain-reads.ts';
import { EventWriter } from '../../src/storage/event-store.ts';
import { HeaderWriter } from '../../src/storage/header-store.ts';
import { IndexWriter } from '../../src/storage/index-store.ts';
import { TxWriter } from '../../src/storage/tx-store.ts';
import { type Clock, systemClock } from '../../src/util/clock.ts';
import { createLog, type Log, setLogLevels } from '../../src/util/log.ts';
import { categoryLevels } from '../../src/util/log-levels.ts';
import { type ApiOverrides, defaultApiOptions, defaultReadSources } from './default-options.ts';

export const STATIC_KEY = 'a-key-for-tests-that-is-long-enough';
export const BEARER = { authorization: `Bearer ${STATIC_KEY}` };

const READY: NodeStatus = {
  headers: 0,
  bestHeaderHash: '00'.repeat(32),
  initialBlockDownload: false,
  verificationProgress: 1,
  lastCommit: { ok: true, at: 0, durationMs: 1 },
  connectingBlock: false,
  stopped: null,
  preparing: null,
  indexProblem: null,
  background: null,
  peers: { inbound: 0, outbound: 0 },
  sync: { phase: 'following', presynced: null, headersProgress: 1, confirmed: false },
  network: null,
  heavierInvalidChain: false,
  unknownRules: [],
  warnings: [],
};

const absent = () => Promise.reject(new Error('there is no such part'));

/** A node of which only what the API sees exists: blocks without bodies, and the events they leave. */
export class FakeNode implements NodePort {
  current: NodeStatus = READY;
  counted: NodeCounters | null = null;
  echo: () => Promise<null> = () => Promise.resolve(null);
  tip: { height: number; hash: BlockHash } | null = null;
  readonly reads: ChainReads;
  readonly #db: Database;
  readonly #headers: HeaderWriter;
  readonly #events: EventWriter;
  readonly #txs: TxWriter;
  readonly #indexes: IndexWriter;
  readonly #listeners = new Set<(update: NodeUpdate) => void>();
  readonly #peerListeners = new Set<(change: PeerChange) => void>();

  /** `restarted`: an earlier process has given the number 1, and may have given all up to 10,000. */
  constructor(dir: string, { restarted = false } = {}) {
    this.#db = openWriter(join(dir, 'chain.db'), { network: 'regtest', genesisHash: '00'.repeat(32) }, 8);
    if (restarted) {
      const earlier = new EventWriter(this.#db);
      earlier.insertEvent(earlier.issueSeq(), 'earlier', {});
    }
    this.#headers = new HeaderWriter(this.#db);
    this.#events = new EventWriter(this.#db);
    this.#txs = new TxWriter(this.#db);
    this.#indexes = new IndexWriter(this.#db);
    this.mine();
    this.reads = new ChainReads(dir, { isFrequent: true });
  }

  status(): NodeStatus {
    return { ...this.current, headers: Math.max(this.current.headers, this.tip?.height ?? 0) };
  }

  counters(): NodeCounters | null {
    return this.counted;
  }

  async call<N extends NodeCallName>(...[name]: [name: N, ...args: CallArgs<N>]): Promise<CallResult<N>> {
    if (name === 'echo') return (await this.echo()) as CallResult<N>;
    if (name === 'peers') return [] as readonly unknown[] as CallResult<N>;
    if (name === 'submitBlock') return null as CallResult<N>;
    return absent();
  }

  callUntil = absent;

  acknowledge(): void {}

  onUpdate(listener: (update: NodeUpdate) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  onPeerChange(listener: (change: PeerChange) => void): () => void {
    this.#peerListeners.add(listener);
    return () => this.#peerListeners.delete(listener);
  }

  /** Notifies the listeners of a peer that has connected or disconnected. */
  notifyPeer(change: PeerChange): void {
    for (const listener of this.#peerListeners) listener(change);
  }

  /** Commits `count` more blocks at once; each leaves a `newBlock`. Returns the number of the last event. */
  mine(count = 1, note = ''): number {
    const seqs = Array.from({ length: count }, () => this.#events.issueSeq());
    this.#db.transaction(() => {
      for (const seq of seqs) this.#extend(seq, note);
    })();
    return this.#notify(seqs.at(-1)!);
  }

  /** Leaves events of another type, in a commit of their own. */
  emit(type: string, data: object): number {
    const seq = this.#events.issueSeq();
    this.#events.insertEvent(seq, type, data);
    return this.#notify(seq);
  }

  /** A number for an event of the mempool. */
  takeSeq(): number {
    return this.#events.issueSeq();
  }

  prune(keep: number): void {
    this.#events.prune(keep);
  }

  close(): void {
    this.reads.close();
    this.#db.close();
  }

  #notify(lastSeq: number): number {
    const tip = { height: this.tip!.height, hash: this.tip!.hash.toReversed().toHex() };
    for (const listener of this.#listeners) listener({ changes: [], commit: { lastSeq, tip } });
    return lastSeq;
  }

  #extend(seq: number, note: string): void {
    const height = this.tip ? this.tip.height + 1 : 0;
    const previousHash = this.tip?.hash ?? (new Uint8Array(32) as BlockHash);
    const merkleRoot = new Uint8Array(32) as MerkleRoot;
    const header = { version: 1, previousHash, merkleRoot, time: 1_700_000_000 + height, bits: 0x207fffff, nonce: 0 };
    const hash = headerHash(header);
    const id = height + 1;
    this.#headers.insert({ id, hash, header: headerBytes(header), height, chainwork: BigInt(2 * id), status: 0 });
    this.#headers.extend(height, id, { circulating: 50 * height, utxos: height, txs: id });
    this.#txs.insertTx(txPosition(height, 0), hash, 81, 0);
    this.#txs.finish();
    for (const name of ['positions', 'tx', 'address'] as const) this.#indexes.setCovered(name, { hash, height });
    this.tip = { height, hash };
    this.#events.insertEvent(seq, 'newBlock', { time: 1_700_000_000, height, hash: hash.toReversed().toHex(), note });
  }
}

export interface TestApi extends AsyncDisposable {
  readonly api: ApiServer;
  readonly node: FakeNode;
  readonly dir: string;
  readonly logged: string[];
  attach(): ReturnType<ApiServer['openStores']>;
  get(path: string, init?: RequestInit): Promise<Response>;
}

export interface TestOptions {
  /** Network that the API assumes; the chain is that of regtest all the same. */
  readonly network?: string;
  readonly overrides?: ApiOverrides;
  readonly plugins?: readonly RoutePlugin[];
  readonly clock?: Clock;
  readonly attached?: boolean;
  /** See FakeNode. */
  readonly restarted?: boolean;
  readonly onStopping?: () => void;
}

/** Starts a real server on a free loopback port, attached to a fake node by default. */
export function startTestApi({
  network = 'regtest',
  overrides = {},
  plugins = [],
  clock = systemClock,
  attached = true,
  restarted = false,
  onStopping = () => {},
}: TestOptions = {}): TestApi {
  const dir = mkdtempSync(join(tmpdir(), 'api-test-'));
  const lines: string[] = [];
  // Other tests of the same process may have changed the levels, which all of its logs share.
  setLogLevels(categoryLevels('info'), true);
  const log = collectingLog(lines);
  const api = startApi({
    options: defaultApiOptions(
      { network, networkDir: dir, chainDir: dir },
      { ...overrides, auth: { staticKey: STATIC_KEY, ...overrides.auth } },
    ),
    sources: defaultReadSources(regtest),
    params: regtest,
    log,
    startedAt: Math.floor(Date.now() / 1000),
    clock,
    plugins,
    onStopping,
  });
  const node = new FakeNode(dir, { restarted });
  const attach = () => {
    const initialKey = api.openStores();
    api.attach({ node, reads: node.reads });
    return initialKey;
  };
  if (attached) attach();
  return {
    api,
    node,
    dir,
    get logged() {
      log.flush();
      return lines;
    },
    attach,
    get: (path, init) => fetch(api.url + path, { redirect: 'manual', ...init }),
    async [Symbol.asyncDispose]() {
      await api.stop('test is over');
      node.close();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

export function collectingLog(lines: string[]): Log {
  const write = (bytes: Uint8Array): number => {
    lines.push(...new TextDecoder().decode(bytes).trimEnd().split('\n'));
    return bytes.length;
  };
  return createLog({ level: 'debug', format: 'json', write });
}

/** Sends one raw HTTP request and yields the whole reply; for what fetch would mend. */
export async function rawRequest(port: number, text: string): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  let reply = '';
  await Bun.connect({
    hostname: '127.0.0.1',
    port,
    socket: {
      open: (socket) => void socket.write(text),
      data: (_, bytes) => void (reply += bytes.toString()),
      close: () => resolve(reply),
      error: () => resolve(reply),
    },
  });
  return promise;
}
