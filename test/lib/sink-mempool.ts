import { expect } from 'bun:test';
import { SQL } from 'bun';
import { hashToHex } from '../../src/primitives/hash.ts';
import { transactionBytes, txidOf } from '../../src/primitives/transaction.ts';
import { readTxUndo } from '../../src/primitives/undo.ts';
import { ByteReader } from '../../src/util/bytes.ts';
import { Random } from '../fuzz/random.ts';
import { directoryWith } from './chain-directory.ts';
import { MempoolActivity } from './mempool-activity.ts';
import { mempoolLoaded } from './mempool-node.ts';
import type { ApiClient } from './node-client.ts';
import { type NodeProcess, poll, startNode } from './node-process.ts';
import type { PostgresServer } from './postgres-server.ts';
import { recentChain, tipHash } from './sample-chains.ts';
import { type SinkEventRow, sinkAt, sinkEvents } from './sink-rows.ts';

/** An event as a page of the node has it. */
interface LogEvent {
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>>;
}

interface EventPage {
  readonly items: readonly LogEvent[];
  readonly lastCursor: string;
}

const TYPES = 'newBlock,blockDisconnected,reorg,newTransaction,transactionRemoved,mempoolUpdate';

/** Returns the event log of a node from its beginning. */
async function nodeLog(api: ApiClient): Promise<LogEvent[]> {
  const log: LogEvent[] = [];
  for (let after = '0'; ; ) {
    const page = await api.json<EventPage>(`/api/events?after=${after}&limit=1000&types=${TYPES}`);
    if (page.items.length === 0) return log;
    log.push(...page.items);
    after = page.lastCursor;
  }
}

/** Returns the subject of an event, the same in the database and in the log of the node. */
function lineOf({ type, data }: LogEvent): string {
  if (type === 'newBlock' || type === 'blockDisconnected') return `${type} ${data.hash}`;
  if (type === 'reorg') return `${type} ${JSON.stringify([data.disconnected, data.connected])}`;
  const { seq: _seq, cursor: _cursor, ...rest } = data;
  return `${type} ${JSON.stringify(rest)}`;
}

const asEvents = (rows: readonly SinkEventRow[]): LogEvent[] =>
  rows.map(({ type, data }) => ({ type, data: JSON.parse(data) }));

/**
 * Waits until the database ends with the event with which the log of the node ends, and expects the same events before it
 * in both, from the last gap on. Returns the number of the events compared and of all gaps.
 */
export async function expectOwnLog(sql: SQL, api: ApiClient): Promise<{ compared: number; gaps: number }> {
  let lines: string[] = [];
  let expected: string[] = [];
  let gaps = 0;
  const read = async () => {
    const rows = await sinkEvents(sql);
    const gap = rows.findLastIndex(({ type }) => type === 'gap');
    gaps = rows.filter(({ type }) => type === 'gap').length;
    lines = asEvents(rows.slice(gap + 1)).map(lineOf);
    expected = (await nodeLog(api)).map(lineOf).slice(-lines.length);
    return gap >= 0 && lines.at(-1) === expected.at(-1);
  };
  await poll('the events of the node', read);
  expect(lines).toEqual(expected);
  return { compared: lines.length, gaps };
}

/** Expects the transactions and spent outputs of the events, which the test has sent. Returns their number. */
export async function expectTransactions(sql: SQL, { sent }: MempoolActivity): Promise<number> {
  const rows: { type: string; data: string; raw: Uint8Array | null; spent: Uint8Array | null }[] = await sql.unsafe(
    'SELECT type, data, raw, spent FROM obverse.mempool_events ORDER BY seq',
  );
  let count = 0;
  for (const { type, data, raw, spent } of rows) {
    const isTx = type === 'newTransaction' || type === 'transactionRemoved';
    expect([type, raw !== null, spent !== null]).toEqual([type, isTx, isTx]);
    const known = isTx && sent.get(JSON.parse(data).txid);
    if (!known) continue;
    expect(raw!.toHex()).toBe(transactionBytes(known.tx).toHex());
    const [coin] = readTxUndo(new ByteReader(new Uint8Array(spent!)), 1);
    expect(coin!.output.value).toBe(known.coin.output.value);
    expect(coin!.output.scriptPubKey.toHex()).toBe(known.coin.output.scriptPubKey.toHex());
    expect(JSON.parse(data).txid).toBe(hashToHex(txidOf(known.tx)));
    count++;
  }
  return count;
}

/** Blocks of the chain at first. */
export const BLOCKS = 150;

/** A database of its own for a test, with nodes that feed it. The first is the leader. */
export class FedDatabase implements AsyncDisposable {
  readonly nodes: NodeProcess[] = [];
  readonly chain = recentChain(BLOCKS, { spacing: 20 });
  readonly activity: MempoolActivity;
  readonly url: string;
  sql: SQL;

  private constructor(postgres: PostgresServer, name: string, random: Random) {
    postgres.psql(`CREATE DATABASE ${name}`);
    this.url = postgres.url.replace(/postgres$/, name);
    this.sql = new SQL(this.url, { max: 1 });
    this.activity = new MempoolActivity(random, this.chain, () => this.nodes.map(({ api }) => api));
  }

  static async start(
    postgres: PostgresServer,
    name: string,
    { nodes, args = [] }: { nodes: number; args?: readonly string[] },
  ): Promise<FedDatabase> {
    const random = new Random(nodes);
    const fed = new FedDatabase(postgres, name, random);
    for (let i = 0; i < nodes; i++) {
      const datadir = await directoryWith(fed.chain);
      const node = await startNode({ datadir, args, env: { OBVERSE_SINK_POSTGRES: fed.url } });
      fed.nodes.push(node);
      await mempoolLoaded(node);
      if (i === 0) await sinkAt(fed.sql, tipHash(fed.chain));
      else await node.output('stderr', /"msg":"another node writes the sink"/);
    }
    await fed.isWriting();
    return fed;
  }

  get leader(): NodeProcess {
    return this.nodes[0]!;
  }

  /** Waits until the leader writes the events of its mempool. */
  async isWriting(since = 0): Promise<void> {
    await poll('the first event of the mempool', async () => {
      const [row] = await this.sql`SELECT max(seq) AS seq FROM obverse.mempool_events`;
      return Number(row.seq) > since;
    });
  }

  async lastSeq(): Promise<number> {
    return Number((await this.sql`SELECT next_seq FROM obverse.sink_position`)[0].next_seq) - 1;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.sql.close();
    for (const node of this.nodes) await node.stop('SIGKILL');
  }
}
