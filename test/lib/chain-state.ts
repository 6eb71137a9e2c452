import { Database } from 'bun:sqlite';
import { join } from 'node:path';
import { genesisBlock } from '../../src/params/genesis.ts';
import type { NetworkParams } from '../../src/params/network-params.ts';
import { regtest } from '../../src/params/regtest.ts';
import { type ParsedBlock, parseBlock } from '../../src/primitives/block.ts';
import type { Coin } from '../../src/primitives/coin.ts';
import { hashToHex } from '../../src/primitives/hash.ts';

/**
 * The content of a chain database, as lines of text a table: two nodes with the same active chain have the same lines.
 * Numbers of headers and scripts, positions in files and the event log depend on the history of the node and are left
 * out.
 */
export interface ChainState {
  /** height: hash, status, totals behind it, figures of the body, fees. */
  readonly chain: readonly string[];
  /** outpoint: position, value, script. */
  readonly coins: readonly string[];
  /** position: txid, offset in the block, offset in the undo data. */
  readonly txs: readonly string[];
  /** position: first bytes of the txid. */
  readonly txIndex: readonly string[];
  /** hash: received, sent, txs, utxos, first and last height. */
  readonly scripts: readonly string[];
  /** hash of the script, position: received, sent. */
  readonly history: readonly string[];
  /** hash of the script, position, vout: value. */
  readonly scriptCoins: readonly string[];
}

const QUERIES = {
  chain: `SELECT c.height || ': ' || lower(hex(h.hash)) || ' status ' || h.status || ' circulating ' || c.circulating ||
      ' utxos ' || c.utxos || ' txs ' || c.txs || ' size ' || h.size || ' stripped ' || h.stripped_size ||
      ' count ' || h.tx_count || ' inputs ' || h.inputs || ' outputs ' || h.outputs ||
      ' out ' || h.value_out || ' reward ' || h.reward || ' fees ' || h.fees || ' at ' || h.height AS line
    FROM chain c JOIN headers h ON h.id = c.header_id ORDER BY c.height`,
  coins: `SELECT lower(hex(outpoint)) || ': ' || position || ' ' || value || ' ' || lower(hex(script)) AS line FROM coins`,
  txs: `SELECT position || ': ' || lower(hex(txid)) || ' ' || offset || ' ' || undo_offset AS line FROM txs ORDER BY position`,
  txIndex: `SELECT position || ': ' || prefix AS line FROM tx_index ORDER BY position`,
  scripts: `SELECT lower(hex(hash)) || ': received ' || received || ' sent ' || sent || ' txs ' || txs ||
      ' utxos ' || utxos || ' from ' || first_height || ' to ' || last_height AS line FROM scripts`,
  // An entry without its script shows as one of script 'none'.
  history: `SELECT coalesce(lower(hex(s.hash)), 'none') || ' ' || h.position || ': ' || h.received || ' ' || h.sent AS line
    FROM history h LEFT JOIN scripts s ON s.id = h.script_id`,
  scriptCoins: `SELECT coalesce(lower(hex(s.hash)), 'none') || ' ' || c.position || ' ' || c.vout || ': ' || c.value AS line
    FROM script_coins c LEFT JOIN scripts s ON s.id = c.script_id`,
} as const;
type Table = keyof typeof QUERIES;
const TABLES = Object.keys(QUERIES) as Table[];

export function dumpState(dir: string): ChainState {
  const db = new Database(join(dir, 'chain.db'), { readonly: true });
  try {
    // The join by id has no index of its own, and tests want it once.
    db.run('PRAGMA automatic_index = ON');
    const lines = (table: Table) =>
      db
        .query<{ line: string }, []>(QUERIES[table])
        .all()
        .map(({ line }) => line);
    checkScriptIds(db);
    const unordered = (table: Table) => lines(table).sort();
    return {
      chain: lines('chain'),
      coins: unordered('coins'),
      txs: lines('txs'),
      txIndex: lines('txIndex'),
      scripts: unordered('scripts'),
      history: unordered('history'),
      scriptCoins: unordered('scriptCoins'),
    };
  } finally {
    db.close();
  }
}

/** Numbers of scripts join tables: each must be there once, and below those that are still to be given. */
function checkScriptIds(db: Database): void {
  const { ids, scripts, highest } = db
    .query<{ ids: number; scripts: number; highest: number | null }, []>(
      'SELECT count(DISTINCT id) AS ids, count(*) AS scripts, max(id) AS highest FROM scripts',
    )
    .get()!;
  const last = db.query<{ value: number }, []>("SELECT value FROM meta WHERE key = 'lastScriptId'").get();
  if (ids !== scripts) throw new Error(`${scripts} scripts have ${ids} numbers`);
  if ((highest ?? 0) > (last?.value ?? 0)) throw new Error(`script ${highest} is above the last number ${last?.value}`);
}

/** The first lines in which two states differ, a table at a time; none where they are the same. */
export function differences(actual: ChainState, expected: ChainState, limit = 4): string[] {
  const found: string[] = [];
  for (const table of TABLES) {
    const have = new Set(actual[table]);
    const want = new Set(expected[table]);
    const extra = actual[table].filter((line) => !want.has(line));
    const missing = expected[table].filter((line) => !have.has(line));
    for (const line of extra.slice(0, limit)) found.push(`${table} has ${line}`);
    for (const line of missing.slice(0, limit)) found.push(`${table} lacks ${line}`);
    if (actual[table].length !== expected[table].length)
      found.push(`${table} has ${actual[table].length} lines, not ${expected[table].length}`);
  }
  return found;
}

interface ModelCoin {
  readonly position: number;
  readonly value: bigint;
  readonly script: Uint8Array;
}

interface ModelScript {
  received: bigint;
  sent: bigint;
  readonly first: number;
  last: number;
  readonly history: Map<number, { received: bigint; sent: bigint }>;
}

/** The state that a chain of valid blocks must leave, computed the plain way: maps, one block after another. */
export class ModelChain {
  readonly coins = new Map<string, ModelCoin>();
  readonly scripts = new Map<string, ModelScript>();
  /** Coins that each transaction spent, by its position. */
  readonly spent = new Map<number, Coin[]>();
  readonly #chain: string[] = [];
  readonly #txs: string[] = [];
  readonly #txIndex: string[] = [];
  #height = -1;
  #circulating = 0n;
  #txCount = 0;

  /** `blocks` from height 1 on. */
  constructor(blocks: Iterable<Uint8Array | { readonly raw: Uint8Array }> = [], params: NetworkParams = regtest) {
    this.connect(genesisBlock(params));
    for (const block of blocks) this.connect(block instanceof Uint8Array ? block : block.raw);
  }

  get height(): number {
    return this.#height;
  }

  get circulating(): bigint {
    return this.#circulating;
  }

  connect(raw: Uint8Array): void {
    const block = parseBlock(raw);
    const height = ++this.#height;
    let undoLength = 0;
    let inputs = 0;
    let outputs = 0;
    let valueOut = 0n;
    let fees = 0n;
    for (const [index, { tx, txid, offset }] of block.txs.entries()) {
      const position = height * 2 ** 20 + index;
      this.#txs.push(`${position}: ${txid.toHex()} ${offset} ${undoLength}`);
      this.#txIndex.push(`${position}: ${Number.parseInt(txid.toHex().slice(0, 12), 16)}`);
      let valueIn = 0n;
      const spent: Coin[] = [];
      if (index > 0)
        for (const { prevout } of tx.inputs) {
          const key = `${txidKey(prevout.txid)}${voutKey(prevout.vout)}`;
          const coin = this.coins.get(key);
          if (!coin) throw new Error(`no coin ${key}`);
          this.coins.delete(key);
          spent.push({ position: coin.position, output: { value: coin.value, scriptPubKey: coin.script } });
          valueIn += coin.value;
          this.#move(coin.script, position, 0n, coin.value);
          const { length } = coin.script;
          undoLength += 16 + (length < 0xfd ? 1 : length < 0x1_0000 ? 3 : 5) + length;
        }
      this.spent.set(position, spent);
      for (const [vout, { value, scriptPubKey }] of tx.outputs.entries()) {
        if (height === 0 || scriptPubKey[0] === 0x6a || scriptPubKey.length > 10_000) continue;
        this.coins.set(`${txidKey(txid)}${voutKey(vout)}`, { position, value, script: scriptPubKey });
        this.#move(scriptPubKey, position, value, 0n);
      }
      outputs += tx.outputs.length;
      if (index === 0) continue;
      inputs += tx.inputs.length;
      const sum = tx.outputs.reduce((total, { value }) => total + value, 0n);
      valueOut += sum;
      fees += valueIn - sum;
    }
    this.#txCount += block.txs.length;
    this.#chain.push(this.#chainLine(block, height, { inputs, outputs, valueOut, fees }));
  }

  state(): ChainState {
    const scripts: string[] = [];
    const history: string[] = [];
    const utxos = new Map<string, number>();
    const scriptCoins: string[] = [];
    for (const [key, { position, value, script }] of this.coins) {
      const hash = scriptKey(script);
      utxos.set(hash, (utxos.get(hash) ?? 0) + 1);
      scriptCoins.push(`${hash} ${position} ${Number.parseInt(key.slice(64), 16)}: ${value}`);
    }
    for (const [hash, { received, sent, first, last, history: rows }] of this.scripts) {
      const totals = `received ${received} sent ${sent} txs ${rows.size} utxos ${utxos.get(hash) ?? 0}`;
      scripts.push(`${hash}: ${totals} from ${first} to ${last}`);
      for (const [position, row] of rows) history.push(`${hash} ${position}: ${row.received} ${row.sent}`);
    }
    return {
      chain: [...this.#chain],
      coins: Array.from(
        this.coins,
        ([key, { position, value, script }]) => `${key}: ${position} ${value} ${script.toHex()}`,
      ).sort(),
      txs: [...this.#txs],
      txIndex: [...this.#txIndex],
      scripts: scripts.sort(),
      history: history.sort(),
      scriptCoins: scriptCoins.sort(),
    };
  }

  #move(script: Uint8Array, position: number, received: bigint, sent: bigint): void {
    const hash = scriptKey(script);
    let row = this.scripts.get(hash);
    if (!row) {
      row = { received: 0n, sent: 0n, first: this.#height, last: this.#height, history: new Map() };
      this.scripts.set(hash, row);
    }
    row.received += received;
    row.sent += sent;
    row.last = this.#height;
    const entry = row.history.get(position) ?? { received: 0n, sent: 0n };
    row.history.set(position, { received: entry.received + received, sent: entry.sent + sent });
  }

  #chainLine(
    { hash, txs, raw, strippedSize }: ParsedBlock,
    height: number,
    body: { inputs: number; outputs: number; valueOut: bigint; fees: bigint },
  ): string {
    this.#circulating = 0n;
    for (const { value } of this.coins.values()) this.#circulating += value;
    const reward = txs[0]!.tx.outputs.reduce((sum, { value }) => sum + value, 0n);
    const totals = `circulating ${this.#circulating} utxos ${this.coins.size} txs ${this.#txCount}`;
    const sizes = `size ${raw.length} stripped ${strippedSize} count ${txs.length}`;
    const figures = `inputs ${body.inputs} outputs ${body.outputs} out ${body.valueOut} reward ${reward} fees ${body.fees}`;
    return `${height}: ${hash.toHex()} status 3 ${totals} ${sizes} ${figures} at ${height}`;
  }
}

/** The tip that a state ends in, display order. */
export function stateTip(state: ChainState): string {
  const line = state.chain.at(-1)!;
  return hashToHex(Uint8Array.fromHex(line.split(' ')[1]!));
}

function txidKey(txid: Uint8Array): string {
  return txid.toHex();
}

function voutKey(vout: number): string {
  return vout.toString(16).padStart(8, '0');
}

const scriptKeys = new Map<string, string>();

/** The first 20 bytes of the SHA-256. */
function scriptKey(script: Uint8Array): string {
  const hex = script.toHex();
  let key = scriptKeys.get(hex);
  if (!key) scriptKeys.set(hex, (key = new Bun.CryptoHasher('sha256').update(script).digest('hex').slice(0, 40)));
  return key;
}
