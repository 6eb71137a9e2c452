import { createHash } from 'node:crypto';
import type { SQL } from 'bun';
import { post } from './mempool-node.ts';
import type { ApiClient, Balance } from './node-client.ts';
import { poll } from './node-process.ts';

interface RpcBlock {
  readonly hash: string;
  readonly height: number;
  readonly time: number;
  readonly mediantime: number;
  readonly chainwork: string;
  readonly nTx: number;
  readonly size: number;
  readonly weight: number;
  readonly tx: readonly RpcTx[];
}

interface RpcTx {
  readonly txid: string;
  readonly hash: string;
  readonly size: number;
  readonly weight: number;
  readonly fee?: number;
  readonly hex: string;
  readonly vin: readonly {
    readonly coinbase?: string;
    readonly txid: string;
    readonly vout: number;
    readonly prevout: {
      readonly height: number;
      readonly value: number;
      readonly scriptPubKey: { readonly hex: string };
    };
  }[];
  readonly vout: readonly {
    readonly value: number;
    readonly n: number;
    readonly scriptPubKey: { readonly hex: string };
  }[];
}

/** Lines of a table, sorted. */
type Lines = string[];

/** The tables of a sink as lines of text, which `expectedTables` returns of a node. */
export interface SinkTables {
  readonly blocks: Lines;
  readonly transactions: Lines;
  readonly outputs: Lines;
  readonly inputs: Lines;
  readonly balances: Lines;
  readonly unspent: Lines;
}

const sat = (value: number) => Math.round(value * 1e8);
const scriptHash = (hex: string) => createHash('sha256').update(Buffer.from(hex, 'hex')).digest('hex');
/** OP_RETURN, or longer than a script may be. */
const isUnspendable = (hex: string) => hex.startsWith('6a') || hex.length > 20_000;

const BALANCES_PER_REQUEST = 100;

/** The tables whose rows belong to a height. */
const BLOCK_TABLES = ['blocks', 'transactions', 'outputs', 'inputs'] as const;
type BlockTables = Pick<SinkTables, (typeof BLOCK_TABLES)[number]>;

interface Heights {
  readonly from: number;
  readonly to: number;
}

const BLOCK_QUERIES: Readonly<Record<keyof BlockTables, string>> = {
  blocks: `SELECT concat_ws(' ', b.height, encode(hash, 'hex'), time, median_time, encode(chainwork, 'hex'), transactions,
    size, weight, inputs, outputs, fees) FROM obverse.blocks b`,
  transactions: `SELECT concat_ws(' ', b.height, position, encode(txid, 'hex'), encode(wtxid, 'hex'), size, weight, fee,
    encode(sha256(raw), 'hex')) FROM obverse.transactions b`,
  outputs: `SELECT concat_ws(' ', b.height, position, vout, value, encode(script, 'hex'),
    coalesce(encode(script_hash, 'hex'), 'none')) FROM obverse.outputs b`,
  inputs: `SELECT concat_ws(' ', b.height, b.position, vin, encode(prev_txid, 'hex'), prev_vout, prev_height, value,
    encode(script_hash, 'hex'), encode(t.txid, 'hex')) FROM obverse.inputs b
    JOIN obverse.transactions t ON t.height = b.prev_height AND t.position = b.prev_position`,
};

const QUERIES = {
  balances: `SELECT concat_ws(' ', encode(script_hash, 'hex'), balance, received, sent, transactions) FROM obverse.balances`,
  unspent: `SELECT concat_ws(' ', encode(o.script_hash, 'hex'), encode(t.txid, 'hex'), o.vout, o.value) FROM obverse.outputs o
    JOIN obverse.transactions t USING (height, position)
    LEFT JOIN obverse.inputs i ON i.prev_height = o.height AND i.prev_position = o.position AND i.prev_vout = o.vout
    WHERE o.script_hash IS NOT NULL AND i.height IS NULL`,
} as const;

async function linesOf(sql: SQL, query: string): Promise<Lines> {
  const rows: { concat_ws: string }[] = await sql.unsafe(query);
  return rows.map(({ concat_ws }) => concat_ws).sort();
}

async function blockRows(sql: SQL, { from, to }: Heights): Promise<BlockTables> {
  const tables: Partial<BlockTables> = {};
  for (const table of BLOCK_TABLES)
    Object.assign(tables, {
      [table]: await linesOf(sql, `${BLOCK_QUERIES[table]} WHERE b.height BETWEEN ${from} AND ${to}`),
    });
  return tables as BlockTables;
}

/** Reads the tables of a sink. */
export async function sinkTables(sql: SQL): Promise<SinkTables> {
  return {
    ...(await blockRows(sql, { from: 0, to: 2 ** 31 - 1 })),
    balances: await linesOf(sql, QUERIES.balances),
    unspent: await linesOf(sql, QUERIES.unspent),
  };
}

/** The rows that follow from the answers of a node: `getblock` of each block in turn, and the balance of each script. */
class NodeRows {
  readonly #api: ApiClient;
  readonly #unspent = new Map<string, string>();
  readonly #scripts = new Set<string>();

  constructor(api: ApiClient) {
    this.#api = api;
  }

  /** Returns the rows of blocks. The blocks below them must have been read before. */
  async readBlocks({ from, to }: Heights): Promise<BlockTables> {
    const tables: BlockTables = { blocks: [], transactions: [], outputs: [], inputs: [] };
    for (let height = from; height <= to; height++) {
      const hash = await this.#api.rpc<string>('getblockhash', [height]);
      this.#addBlock(tables, await this.#api.rpc<RpcBlock>('getblock', [hash, 3]));
    }
    for (const lines of Object.values(tables)) lines.sort();
    return tables;
  }

  #addBlock(tables: BlockTables, block: RpcBlock): void {
    const { height } = block;
    let inputs = 0;
    let outputs = 0;
    let fees = 0;
    for (const [position, tx] of block.tx.entries()) {
      const at = `${height} ${position}`;
      const fee = sat(tx.fee ?? 0);
      fees += fee;
      const raw = createHash('sha256').update(Buffer.from(tx.hex, 'hex')).digest('hex');
      tables.transactions.push(`${at} ${tx.txid} ${tx.hash} ${tx.size} ${tx.weight} ${fee} ${raw}`);
      for (const [vin, input] of tx.vin.entries()) {
        if (input.coinbase !== undefined) continue;
        const { height: created, value, scriptPubKey } = input.prevout;
        const spent = `${input.txid} ${input.vout} ${created} ${sat(value)} ${scriptHash(scriptPubKey.hex)}`;
        tables.inputs.push(`${at} ${vin} ${spent} ${input.txid}`);
        this.#unspent.delete(`${input.txid} ${input.vout}`);
        inputs++;
      }
      for (const { n, value, scriptPubKey } of tx.vout) {
        const isCoin = height > 0 && !isUnspendable(scriptPubKey.hex);
        const hash = isCoin ? scriptHash(scriptPubKey.hex) : 'none';
        tables.outputs.push(`${at} ${n} ${sat(value)} ${scriptPubKey.hex} ${hash}`);
        if (isCoin) this.#unspent.set(`${tx.txid} ${n}`, `${hash} ${tx.txid} ${n} ${sat(value)}`);
        if (isCoin) this.#scripts.add(scriptPubKey.hex);
        outputs++;
      }
    }
    const times = `${block.time} ${block.mediantime} ${block.chainwork}`;
    const sizes = `${block.nTx} ${block.size} ${block.weight} ${inputs} ${outputs} ${fees}`;
    tables.blocks.push(`${height} ${block.hash} ${times} ${sizes}`);
  }

  /** Returns the outputs that the blocks left unspent. */
  unspent(): Lines {
    return [...this.#unspent.values()].sort();
  }

  /** Returns the balances of all scripts of the blocks. */
  async readBalances(): Promise<Lines> {
    const all = [...this.#scripts];
    const lines: Lines = [];
    for (let at = 0; at < all.length; at += BALANCES_PER_REQUEST) {
      const part = all.slice(at, at + BALANCES_PER_REQUEST);
      const addresses = part.map((script) => `script:${script}`);
      const { body } = await post<{ items: Balance[] }>(this.#api, '/api/balances', { addresses });
      for (const [i, { confirmed, received, sent, txCount }] of body.items.entries())
        lines.push(`${scriptHash(part[i]!)} ${confirmed} ${received} ${sent} ${txCount}`);
    }
    return lines.sort();
  }
}

/** Returns the tables that follow from the answers of a node. */
export async function expectedTables(api: ApiClient): Promise<SinkTables> {
  const rows = new NodeRows(api);
  const { height: to } = await api.json<{ height: number }>('/api/info');
  const blocks = await rows.readBlocks({ from: 0, to });
  return { ...blocks, balances: await rows.readBalances(), unspent: rows.unspent() };
}

/** Blocks whose rows are in memory at the same time. */
const BLOCKS_COMPARED = 20;

/** Compares all rows of a large chain, some blocks at a time. Returns their number and the tables that differ. */
export async function compareSink(sql: SQL, api: ApiClient): Promise<{ rows: number; different: string[] }> {
  const expected = new NodeRows(api);
  const different = new Set<string>();
  let rows = 0;
  const compareTable = (table: string, of: Lines, wanted: Lines) => {
    rows += of.length;
    if (of.length !== wanted.length || of.some((line, i) => line !== wanted[i])) different.add(table);
  };
  const { height } = await api.json<{ height: number }>('/api/info');
  for (let from = 0; from <= height; from += BLOCKS_COMPARED) {
    const heights = { from, to: Math.min(height, from + BLOCKS_COMPARED - 1) };
    const [found, wanted] = [await blockRows(sql, heights), await expected.readBlocks(heights)];
    for (const table of BLOCK_TABLES) compareTable(table, found[table], wanted[table]);
  }
  const [{ count }] = await sql.unsafe('SELECT count(*) AS count FROM obverse.blocks');
  if (Number(count) !== height + 1) different.add('blocks');
  compareTable('balances', await linesOf(sql, QUERIES.balances), await expected.readBalances());
  compareTable('unspent', await linesOf(sql, QUERIES.unspent), expected.unspent());
  return { rows, different: [...different] };
}

interface SinkRow {
  readonly height: number;
  readonly hash: string;
  readonly phase: string;
}

/** Waits until the database has the tip, with its look-up indexes. */
export function sinkAt(sql: SQL, tip: string, timeoutMs?: number): Promise<SinkRow> {
  return poll(
    `the sink at ${tip}`,
    async () => {
      const [row] = await sql.unsafe(
        "SELECT height, encode(hash, 'hex') AS hash, phase FROM obverse.sink_position WHERE id = 1",
      );
      return row.hash === tip && row.phase === 'live' && row;
    },
    { ...(timeoutMs !== undefined && { timeoutMs }) },
  );
}

/** An event of either table of a sink. */
export interface SinkEventRow {
  readonly seq: string;
  readonly type: string;
  readonly data: string;
  /** Null for events of the mempool. */
  readonly height: number | null;
  /** Hex, display order; null for events of the mempool. */
  readonly hash: string | null;
}

/** Returns the events of chain and mempool in the order of their numbers. */
export async function sinkEvents(sql: SQL): Promise<SinkEventRow[]> {
  return sql.unsafe(
    `SELECT seq, type, data, height, encode(hash, 'hex') AS hash FROM obverse.events
     UNION ALL SELECT seq, type, data, NULL, NULL FROM obverse.mempool_events ORDER BY seq`,
  );
}

/** Follows all events of a sink from its beginning. Returns their number, and what is wrong with them. */
export async function brokenEvents(sql: SQL): Promise<{ readonly count: number; readonly faults: readonly string[] }> {
  const events = await sinkEvents(sql);
  const faults: string[] = [];
  const chain: string[] = [];
  let ofMempool: string | null = null;
  for (const [i, { seq, type, height, hash, data }] of events.entries()) {
    if (Number(seq) !== i + 1) faults.push(`event ${i + 1} has the number ${seq}`);
    if (JSON.parse(data).seq !== i + 1) faults.push(`the data of event ${seq} have another number`);
    if (hash === null) {
      if (type === 'gap' ? ofMempool === 'gap' : ofMempool === null)
        faults.push(`event ${seq} of type ${type} follows ${ofMempool ?? 'nothing'}`);
      ofMempool = type;
    }
    if (type === 'newBlock' && chain.push(hash!) !== height! + 1)
      faults.push(`event ${seq} connects a block out of order`);
    if (type === 'blockDisconnected' && (chain.length !== height! + 1 || chain.pop() !== hash))
      faults.push(`event ${seq} disconnects a block that is not the tip`);
    if (faults.length > 0) break;
  }
  const tip = await sql.unsafe("SELECT encode(hash, 'hex') AS hash FROM obverse.sink_position");
  if (faults.length === 0 && chain.at(-1) !== tip[0].hash) faults.push('the events do not end at the tip');
  return { count: events.length, faults };
}
