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

const QUERIES: Readonly<Record<keyof SinkTables, string>> = {
  blocks: `SELECT concat_ws(' ', height, encode(hash, 'hex'), time, median_time, encode(chainwork, 'hex'), transactions,
    size, weight, inputs, outputs, fees) FROM obverse.blocks`,
  transactions: `SELECT concat_ws(' ', height, position, encode(txid, 'hex'), encode(wtxid, 'hex'), size, weight, fee,
    encode(sha256(raw), 'hex')) FROM obverse.transactions`,
  outputs: `SELECT concat_ws(' ', height, position, vout, value, encode(script, 'hex'),
    coalesce(encode(script_hash, 'hex'), 'none')) FROM obverse.outputs`,
  inputs: `SELECT concat_ws(' ', i.height, i.position, vin, encode(prev_txid, 'hex'), prev_vout, prev_height, value,
    encode(script_hash, 'hex'), encode(t.txid, 'hex')) FROM obverse.inputs i
    JOIN obverse.transactions t ON t.height = i.prev_height AND t.position = i.prev_position`,
  balances: `SELECT concat_ws(' ', encode(script_hash, 'hex'), balance, received, sent, transactions) FROM obverse.balances`,
  unspent: `SELECT concat_ws(' ', encode(o.script_hash, 'hex'), encode(t.txid, 'hex'), o.vout, o.value) FROM obverse.outputs o
    JOIN obverse.transactions t USING (height, position)
    LEFT JOIN obverse.inputs i ON i.prev_height = o.height AND i.prev_position = o.position AND i.prev_vout = o.vout
    WHERE o.script_hash IS NOT NULL AND i.height IS NULL`,
};

/** Reads the tables of a sink. */
export async function sinkTables(sql: SQL): Promise<SinkTables> {
  const tables: Partial<Record<keyof SinkTables, Lines>> = {};
  for (const [table, query] of Object.entries(QUERIES)) {
    const rows = await sql.unsafe(query);
    tables[table as keyof SinkTables] = rows.map((row: { concat_ws: string }) => row.concat_ws).sort();
  }
  return tables as SinkTables;
}

/** Returns the tables that follow from the answers of a node: `getblock` of each block, and the balance of each script. */
export async function expectedTables(api: ApiClient): Promise<SinkTables> {
  const tables: SinkTables = { blocks: [], transactions: [], outputs: [], inputs: [], balances: [], unspent: [] };
  const unspent = new Map<string, string>();
  const scripts = new Set<string>();
  const { height: tip } = await api.json<{ height: number }>('/api/info');
  for (let height = 0; height <= tip; height++) {
    const block = await api.rpc<RpcBlock>('getblock', [await api.rpc<string>('getblockhash', [height]), 3]);
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
        unspent.delete(`${input.txid} ${input.vout}`);
        inputs++;
      }
      for (const { n, value, scriptPubKey } of tx.vout) {
        const isCoin = height > 0 && !isUnspendable(scriptPubKey.hex);
        const hash = isCoin ? scriptHash(scriptPubKey.hex) : 'none';
        tables.outputs.push(`${at} ${n} ${sat(value)} ${scriptPubKey.hex} ${hash}`);
        if (isCoin) unspent.set(`${tx.txid} ${n}`, `${hash} ${tx.txid} ${n} ${sat(value)}`);
        if (isCoin) scripts.add(scriptPubKey.hex);
        outputs++;
      }
    }
    const times = `${block.time} ${block.mediantime} ${block.chainwork}`;
    const sizes = `${block.nTx} ${block.size} ${block.weight} ${inputs} ${outputs} ${fees}`;
    tables.blocks.push(`${height} ${block.hash} ${times} ${sizes}`);
  }
  tables.unspent.push(...unspent.values());
  const all = [...scripts];
  for (let at = 0; at < all.length; at += BALANCES_PER_REQUEST) {
    const part = all.slice(at, at + BALANCES_PER_REQUEST);
    const addresses = part.map((script) => `script:${script}`);
    const { body } = await post<{ items: Balance[] }>(api, '/api/balances', { addresses });
    for (const [i, { confirmed, received, sent, txCount }] of body.items.entries())
      tables.balances.push(`${scriptHash(part[i]!)} ${confirmed} ${received} ${sent} ${txCount}`);
  }
  for (const lines of Object.values(tables)) lines.sort();
  return tables;
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

/** Follows all events of a sink from its beginning. Returns their number, and what is wrong with them. */
export async function brokenEvents(sql: SQL): Promise<{ readonly count: number; readonly faults: readonly string[] }> {
  const events: { seq: string; type: string; height: number; hash: string }[] = await sql.unsafe(
    "SELECT seq, type, height, encode(hash, 'hex') AS hash FROM obverse.events ORDER BY seq",
  );
  const faults: string[] = [];
  const chain: string[] = [];
  for (const [i, { seq, type, height, hash }] of events.entries()) {
    if (Number(seq) !== i + 1) faults.push(`event ${i + 1} has the number ${seq}`);
    if (type === 'newBlock' && chain.push(hash) !== height + 1)
      faults.push(`event ${seq} connects a block out of order`);
    if (type === 'blockDisconnected' && (chain.length !== height + 1 || chain.pop() !== hash))
      faults.push(`event ${seq} disconnects a block that is not the tip`);
    if (faults.length > 0) break;
  }
  const tip = await sql.unsafe("SELECT encode(hash, 'hex') AS hash FROM obverse.sink_position");
  if (faults.length === 0 && chain.at(-1) !== tip[0].hash) faults.push('the events do not end at the tip');
  return { count: events.length, faults };
}
