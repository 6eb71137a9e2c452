import { Database } from 'bun:sqlite';
import { join } from 'node:path';
import { genesisBlock } from '../../src/params/genesis.ts';
import type { NetworkParams } from '../../src/params/network-params.ts';
import { regtest } from '../../src/params/regtest.ts';
import { type ParsedBlock, parseBlock } from '../../src/primitives/block.ts';
import type { Coin } from '../../src/primitives/coin.ts';
import { hashToHex } from '../../src/primitives/hash.ts';
import { ChainReads } from '../../src/storage/chain-reads.ts';
import { pairFirst, pairSecond } from '../../src/storage/runs/pair-codec.ts';
import { HISTORY, type RunFamily, SCRIPT_COINS, SPENDERS, TX_INDEX } from '../../src/storage/runs/run-family.ts';
import { ReaderRuns } from '../../src/storage/runs/run-lists.ts';
import { allLiveEntries, positionOf } from '../../src/storage/runs/run-range.ts';
import { SCRIPT_KEY_SIZE } from '../../src/storage/script-store.ts';

/**
 * The content of a chain database, as lines of text a table: two nodes with the same active chain have the same lines.
 * Numbers of headers, keys of scripts, positions in files and the event log depend on the history of the node and are left
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

/** The entries of the spender index: first bytes of the txid, vout, position of the spending transaction. */
export function dumpSpenders(dir: string): string[] {
  const db = new Database(join(dir, 'chain.db'), { readonly: true });
  const runs = new ReaderRuns(db, dir);
  try {
    return Array.from(allLiveEntries(runs.runsOf(SPENDERS)), ({ keys, keyAt }) =>
      spenderLine(
        keys.slice(keyAt, keyAt + 6),
        Number.parseInt(keys.slice(keyAt + 6, keyAt + 9).toHex(), 16),
        positionOf(keys, keyAt + 9),
      ),
    ).sort();
  } finally {
    runs.close();
    db.close();
  }
}

/** The entries that the spender index must have for a chain of these blocks, from height 1 on. */
export function expectedSpenders(blocks: Iterable<Uint8Array | { readonly raw: Uint8Array }>): string[] {
  const lines: string[] = [];
  let height = 0;
  for (const block of blocks) lines.push(...spendersOfBlock(block instanceof Uint8Array ? block : block.raw, ++height));
  return lines.sort();
}

const spenderLines = new WeakMap<Uint8Array, readonly string[]>();

/** A block has one height. */
function spendersOfBlock(raw: Uint8Array, height: number): readonly string[] {
  let lines = spenderLines.get(raw);
  if (!lines) {
    lines = parsedBlock(raw)
      .txs.slice(1)
      .flatMap(({ tx }, i) =>
        tx.inputs.map(({ prevout: { txid, vout } }) => spenderLine(txid.slice(0, 6), vout, height * 2 ** 20 + i + 1)),
      );
    spenderLines.set(raw, lines);
  }
  return lines;
}

function spenderLine(prefix: Uint8Array, vout: number, position: number): string {
  return `${prefix.toHex()} ${vout} ${position}`;
}

const CHAIN = `SELECT c.height || ': ' || lower(hex(h.hash)) || ' status ' || h.status || ' circulating ' || c.circulating ||
      ' utxos ' || c.utxos || ' txs ' || c.txs || ' size ' || h.size || ' stripped ' || h.stripped_size ||
      ' count ' || h.tx_count || ' inputs ' || h.inputs || ' outputs ' || h.outputs ||
      ' out ' || h.value_out || ' reward ' || h.reward || ' fees ' || h.fees || ' at ' || h.height AS line
    FROM chain c JOIN headers h ON h.id = c.header_id ORDER BY c.height`;
const TXS =
  "SELECT position || ': ' || lower(hex(txid)) || ' ' || offset || ' ' || undo_offset AS line FROM txs ORDER BY position";
const TABLES = ['chain', 'coins', 'txs', 'txIndex', 'scripts', 'history', 'scriptCoins'] as const;

/** Reads the state of the chain in a folder. `blocks` are the blocks of a pruned chain, genesis first. */
export function dumpState(dir: string, blocks?: readonly Uint8Array[]): ChainState {
  const db = new Database(join(dir, 'chain.db'), { readonly: true });
  const reads = new ChainReads(dir);
  try {
    // Within a snapshot the list of runs is read once, and not for each script.
    return reads.snapshot(() => stateOf({ db, dir, reads, blocks }));
  } finally {
    reads.close();
    db.close();
  }
}

interface OpenState {
  readonly db: Database;
  readonly dir: string;
  readonly reads: ChainReads;
  readonly blocks: readonly Uint8Array[] | undefined;
}

function stateOf({ db, dir, reads, blocks }: OpenState): ChainState {
  const runs = new ReaderRuns(db, dir);
  try {
    const lines = (query: string) =>
      db
        .query<{ line: string }, []>(query)
        .all()
        .map(({ line }) => line);
    const entries = <T>(family: RunFamily, line: (key: Uint8Array, value: Uint8Array) => T): T[] =>
      Array.from(allLiveEntries(runs.runsOf(family)), ({ keys, keyAt, bytes, from, to }) =>
        line(keys.slice(keyAt, keyAt + family.keySize), bytes.slice(from, to)),
      );
    const scripts = scriptsOf(db, reads, blocks);
    // An entry without its script shows as one of script 'none'.
    const hashOf = (key: Uint8Array) => {
      const script = scripts.get(key.subarray(0, SCRIPT_KEY_SIZE).toHex());
      return script ? scriptKey(script) : 'none';
    };
    const totals = [...scripts.values()].flatMap((script) => {
      const found = reads.scripts.totals(script);
      if (found === null) return [];
      const sums = `received ${found.received} sent ${found.sent} txs ${found.txs} utxos ${found.utxos}`;
      return [`${scriptKey(script)}: ${sums} from ${found.firstHeight} to ${found.lastHeight}`];
    });
    const txIndex = entries(TX_INDEX, (key) => ({
      position: positionOf(key, 6),
      prefix: Number.parseInt(key.toHex().slice(0, 12), 16),
    }));
    return {
      chain: lines(CHAIN),
      coins: Array.from(
        reads.coins.all(),
        ({ outpoint: { txid, vout }, position, output: { value, scriptPubKey } }) =>
          `${txidKey(txid)}${voutKey(vout)}: ${position} ${value} ${scriptPubKey.toHex()}`,
      ).sort(),
      txs: lines(TXS),
      txIndex: txIndex.sort((a, b) => a.position - b.position).map(({ position, prefix }) => `${position}: ${prefix}`),
      scripts: totals.sort(),
      history: entries(
        HISTORY,
        (key, value) => `${hashOf(key)} ${positionOf(key, 10)}: ${pairFirst(value, 0)} ${pairSecond(value, 0)}`,
      ).sort(),
      scriptCoins: entries(
        SCRIPT_COINS,
        (key, value) =>
          `${hashOf(key)} ${positionOf(key, 10)} ${Number.parseInt(key.toHex().slice(32), 16)}: ${pairFirst(value, 0)}`,
      ).sort(),
    };
  } finally {
    runs.close();
  }
}

/** Returns all scripts of the outputs of the active chain, by their keys in the address index. */
function scriptsOf(db: Database, reads: ChainReads, blocks?: readonly Uint8Array[]): Map<string, Uint8Array> {
  const scripts = new Map<string, Uint8Array>();
  for (const [height, { hash }] of db.query<{ hash: string }, []>(HASHES).all().entries()) {
    let own = scriptsOfBlocks.get(hash);
    if (!own) {
      const { txs } = parseBlock(blocks?.[height] ?? reads.rawBlock(reads.headers.byHeight(height)!)!);
      const outputs = txs.flatMap(({ tx }) => tx.outputs);
      own = new Map(outputs.map(({ scriptPubKey }) => [scriptPubKey.toHex(), scriptPubKey]));
      if (scriptsOfBlocks.size >= REMEMBERED_BLOCKS) scriptsOfBlocks.clear();
      scriptsOfBlocks.set(hash, own);
    }
    for (const [hex, script] of own) scripts.set(hex, script);
  }
  return new Map(Array.from(scripts.values(), (script) => [reads.scripts.keyOf(script).toHex(), script]));
}

const HASHES = 'SELECT hex(h.hash) AS hash FROM chain c JOIN headers h ON h.id = c.header_id ORDER BY c.height';
/** By hash: tests dump the state of the same blocks again and again. */
const scriptsOfBlocks = new Map<string, Map<string, Uint8Array>>();
const REMEMBERED_BLOCKS = 1000;

/** The first lines in which two states differ, a table at a time; none where they are the same. */
export function differences(actual: ChainState, expected: ChainState, limit = 4): string[] {
  const found: string[] = [];
  for (const table of TABLES) {
    if (Bun.deepEquals(actual[table], expected[table])) continue;
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

const parsedBlocks = new WeakMap<Uint8Array, ParsedBlock>();

/** Returns the same object for the same bytes: models of many branches begin with the same blocks. */
function parsedBlock(raw: Uint8Array): ParsedBlock {
  let block = parsedBlocks.get(raw);
  if (!block) parsedBlocks.set(raw, (block = parseBlock(raw)));
  return block;
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
    const block = parsedBlock(raw);
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
    this.#circulating += received - sent;
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
    const reward = txs[0]!.tx.outputs.reduce((sum, { value }) => sum + value, 0n);
    const totals = `circulating ${this.#circulating} utxos ${this.coins.size} txs ${this.#txCount}`;
    const sizes = `size ${raw.length} stripped ${strippedSize} count ${txs.length}`;
    const figures = `inputs ${body.inputs} outputs ${body.outputs} out ${body.valueOut} reward ${reward} fees ${body.fees}`;
    return `${height}: ${hash.toHex()} status 3 ${totals} ${sizes} ${figures} at ${height}`;
  }
}

/** Returns the states of a chain at its heights, each computed once. */
export function statesOf(blocks: readonly { readonly raw: Uint8Array }[]): (height: number) => ChainState {
  const states = new Map<number, ChainState>();
  return (height) => {
    const state = states.get(height) ?? new ModelChain(blocks.slice(1, height + 1)).state();
    states.set(height, state);
    return state;
  };
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
/** By the arrays of parsed blocks, whose bytes do not change. */
const keysOfScripts = new WeakMap<Uint8Array, string>();

/** The first 20 bytes of the SHA-256. */
function scriptKey(script: Uint8Array): string {
  let key = keysOfScripts.get(script);
  if (key) return key;
  const hex = script.toHex();
  key = scriptKeys.get(hex);
  if (!key) scriptKeys.set(hex, (key = new Bun.CryptoHasher('sha256').update(script).digest('hex').slice(0, 40)));
  keysOfScripts.set(script, key);
  return key;
}
