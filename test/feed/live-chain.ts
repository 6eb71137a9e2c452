import type { MempoolChange, MempoolTotals, RemovalReason } from '../../src/mempool/changes.ts';
import { regtest } from '../../src/params/regtest.ts';
import type { NodePort, NodeUpdate } from '../../src/port/node-port.ts';
import { hashToHex } from '../../src/primitives/hash.ts';
import { encodeTransaction, type Transaction, txidOf } from '../../src/primitives/transaction.ts';
import { writeUndoRecord } from '../../src/primitives/undo.ts';
import { restRoutes } from '../../src/rest/rest-routes.ts';
import { type ApiServer, startApi } from '../../src/server/server.ts';
import { ChainReads } from '../../src/storage/chain-reads.ts';
import { ByteWriter } from '../../src/util/bytes.ts';
import { type Clock, systemClock } from '../../src/util/clock.ts';
import { idleNode } from '../lib/chain-api.ts';
import { type BlockBytes, silentLog, TestNode, trustingVerifier } from '../lib/chain-fixture.ts';
import { type ApiOverrides, defaultApiOptions, defaultReadSources } from '../lib/default-options.ts';
import type { TestCoin } from '../lib/tx-builder.ts';
import { WsClient } from '../ws/ws-client.ts';

export const KEY = { authorization: 'Bearer a-key-for-tests-that-is-long-enough' };
const IN_MEMPOOL = 2 ** 53 - 1;

/** A server on a real chain that grows, with a mempool that says what the test wants. */
export class LiveChain implements AsyncDisposable {
  readonly api: ApiServer;
  readonly #node: TestNode;
  readonly #reads: ChainReads;
  readonly #listeners = new Set<(update: NodeUpdate) => void>();

  private constructor(node: TestNode, overrides: ApiOverrides, clock: Clock) {
    this.#node = node;
    this.#reads = new ChainReads(node.dir);
    const port: NodePort = {
      ...idleNode(),
      acknowledge() {},
      onUpdate: (listener) => {
        this.#listeners.add(listener);
        return () => this.#listeners.delete(listener);
      },
    };
    const options = defaultApiOptions(
      { network: 'regtest', networkDir: node.dir, chainDir: node.dir },
      { ...overrides, auth: { staticKey: 'a-key-for-tests-that-is-long-enough' } },
    );
    this.api = startApi({
      options,
      params: regtest,
      sources: defaultReadSources(regtest),
      log: silentLog,
      startedAt: 1,
      clock,
      plugins: [(context) => restRoutes(context)],
    });
    this.api.openStores();
    this.api.attach({ node: port, reads: this.#reads });
  }

  static async start(
    blocks: Iterable<BlockBytes>,
    overrides: ApiOverrides = {},
    clock: Clock = systemClock,
  ): Promise<LiveChain> {
    const node = new TestNode({ verifier: trustingVerifier });
    await node.take(blocks);
    return new LiveChain(node, overrides, clock);
  }

  get lastSeq(): number {
    return this.#reads.events.bounds().last;
  }

  async client(headers: Record<string, string> = KEY): Promise<WsClient> {
    const client = new WsClient(this.api.url, { headers });
    await client.opened;
    return client;
  }

  get(path: string, init: RequestInit = {}): Promise<Response> {
    return fetch(this.api.url + path, { headers: KEY, ...init });
  }

  async take(...blocks: BlockBytes[]): Promise<void> {
    await this.#node.take(blocks);
    this.notify();
  }

  /** Connects a block without announcing the commit yet. */
  async takeSilently(...blocks: BlockBytes[]): Promise<void> {
    await this.#node.take(blocks);
  }

  notify(): void {
    const { height, hash } = this.#reads.tip();
    const commit = { lastSeq: this.lastSeq, tip: { height, hash: hashToHex(hash) } };
    this.#notify({ changes: [], commit });
  }

  #notify(update: NodeUpdate): void {
    for (const listener of this.#listeners) listener(update);
  }

  /** The mempool takes a transaction that spends these coins, in input order. */
  added(tx: Transaction, coins: readonly TestCoin[]): number {
    const seq = this.#node.chain.nextSeq();
    const change = addedChange(seq, tx, coins);
    this.#notify({ changes: [change], commit: null });
    return seq;
  }

  /** The mempool says how it is: an event that every client gets, behind all that came before it. */
  updated(): number {
    const seq = this.#node.chain.nextSeq();
    this.#notify({
      changes: [{ kind: 'update', seq, data: JSON.stringify({ seq }), totals: ZERO_TOTALS }],
      commit: null,
    });
    return seq;
  }

  removed(tx: Transaction, reason: RemovalReason): number {
    const seq = this.#node.chain.nextSeq();
    const txid = txidOf(tx);
    const data = JSON.stringify({ seq, time: 1_700_000_002, txid: hashToHex(txid), reason });
    const change = { kind: 'removed', slot: 0, seq, data, silent: false, txid, reason, replacedBy: null } as const;
    this.#notify({ changes: [change], commit: null });
    return seq;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.api.stop('test is over');
    this.#reads.close();
    await this.#node[Symbol.asyncDispose]();
  }
}

const ZERO_TOTALS: MempoolTotals = {
  count: 0,
  vsize: 0,
  size: 0,
  usage: 0,
  maxUsage: 0,
  totalFee: 0,
  minFeerate: 0,
  minRelayFeerate: 0,
  incrementalFeerate: 0,
  unbroadcast: 0,
  sequence: 1,
  loaded: true,
};

export function addedChange(seq: number, tx: Transaction, coins: readonly TestCoin[]): MempoolChange {
  const raw = new ByteWriter();
  encodeTransaction(raw, tx, { witness: true });
  const spent = new ByteWriter();
  for (const { output, position } of coins)
    writeUndoRecord(spent, position ?? IN_MEMPOOL, output.value, output.scriptPubKey);
  const fee = Number(
    coins.reduce((sum, { output }) => sum + output.value, 0n) - tx.outputs.reduce((sum, { value }) => sum + value, 0n),
  );
  const bytes = raw.finish().slice();
  const time = 1_700_000_001;
  return {
    kind: 'added',
    slot: 0,
    seq,
    data: JSON.stringify({ seq, time, txid: hashToHex(txidOf(tx)), size: bytes.length, fee }),
    raw: bytes,
    spent: spent.finish().slice(),
    fee,
    feeDelta: 0,
    vsize: 100,
    time,
    height: 0,
    silent: false,
    weight: 400,
    sigopCost: 0,
    replaced: [],
    unbroadcast: false,
  };
}
