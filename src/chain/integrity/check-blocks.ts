import type { Database } from 'bun:sqlite';
import { join } from 'node:path';
import { repeatedCoinbaseHeight } from '../../consensus/bip30.ts';
import { isBlockMutated } from '../../consensus/check-block-context.ts';
import { hash256 } from '../../crypto/hash-functions.ts';
import { basicFilter, filterHeader } from '../../indexes/basic-filter.ts';
import type { NetworkParams } from '../../params/network-params.ts';
import { type ParsedBlock, parseBlock } from '../../primitives/block.ts';
import { txPosition } from '../../primitives/coin.ts';
import { readTxUndo, undoScripts } from '../../primitives/undo.ts';
import { isUnspendable } from '../../script/templates.ts';
import {
  type FilePosition,
  RECORD_HEADER,
  type RecordKind,
  RecordReader,
  recordFileName,
} from '../../storage/block-files.ts';
import { type FilterRecord, FilterStore } from '../../storage/filter-store.ts';
import { type BodyStats, type HeaderRecord, HeaderStore } from '../../storage/header-store.ts';
import { IndexStore } from '../../storage/index-store.ts';
import { MetaStore } from '../../storage/meta-store.ts';
import type { RunLists } from '../../storage/runs/run-lists.ts';
import { TxStore } from '../../storage/tx-store.ts';
import { openUndo } from '../../storage/undo-record.ts';
import { ByteReader, DecodeError, equalBytes } from '../../util/bytes.ts';
import { type ChainEntry, forkPoint } from '../chain-entry.ts';
import { bodyStats, utxoGrowth } from '../connect-block.ts';
import type { CheckedHeaders } from './check-headers.ts';
import type { CheckedLoadedSet } from './check-loaded-set.ts';
import type { Findings } from './findings.ts';
import { spentValue } from './spent-value.ts';

/** Receives the blocks of the compared chain with their undo data, in order. */
export type BlockVisitor = (block: ParsedBlock, undo: Uint8Array, height: number) => void;

interface BlockChecks {
  readonly db: Database;
  readonly chainDir: string;
  readonly params: NetworkParams;
  readonly headers: CheckedHeaders;
  readonly findings: Findings;
  readonly runs: RunLists;
  /** A loaded UTXO set, below which blocks may be missing. */
  readonly loaded: CheckedLoadedSet | null;
  /** The chain whose rows are compared: the active one, or the one that is validated behind a loaded UTXO set. */
  readonly compared: readonly ChainEntry[];
  /** Whether filters are built again and compared. */
  readonly full: boolean;
  /** Called for each intact block of the compared chain. */
  readonly visit: BlockVisitor | null;
  readonly onRead: (bytes: number) => void;
}

/**
 * Checks the stored blocks with their undo data and filters, and the rows that follow from them. Yields after each block.
 * Returns whether all blocks of the compared chain could be visited.
 */
export function* checkBlocks(checks: BlockChecks): Generator<number, boolean> {
  const pass = new BlockPass(checks);
  try {
    const { active, byId } = checks.headers;
    for (const entry of active) {
      pass.checkActive(entry);
      yield entry.height;
    }
    pass.checkBeyondPositions();
    const { compared } = checks;
    for (const entry of compared) {
      if (active[entry.height] === entry) continue;
      pass.checkOther(entry);
      yield active.length - 1;
    }
    for (const entry of byId.values()) {
      const { height } = entry;
      if (active[height] === entry || compared[height] === entry || !entry.hasBody) continue;
      pass.checkOther(entry);
      yield active.length - 1;
    }
    return pass.complete;
  } finally {
    pass.close();
  }
}

/** Reads the blocks of the compared chain again, for `visit`; each must be intact. Yields after each block. */
export function* visitBlocks(
  { db, chainDir, compared }: Pick<BlockChecks, 'db' | 'chainDir' | 'compared'>,
  visit: BlockVisitor,
): Generator<undefined> {
  const store = new HeaderStore(db);
  const folder = join(chainDir, 'blocks');
  const blocks = new RecordReader(folder, 'blk');
  const undos = new RecordReader(folder, 'rev');
  try {
    for (const { hash, height } of compared) {
      const { body, undo } = store.byHash(hash)!;
      visit(parseBlock(blocks.read(body!)), openUndo(hash, undos.read(undo!)), height);
      yield;
    }
  } finally {
    blocks.close();
    undos.close();
  }
}

class BlockPass {
  readonly #checks: BlockChecks;
  readonly #database: string;
  readonly #folders: Readonly<Record<RecordKind, string>>;
  readonly #readers: Readonly<Record<RecordKind, RecordReader>>;
  readonly #headers: HeaderStore;
  readonly #txs: TxStore;
  readonly #filters: FilterStore;
  /** Height up to which the table `txs` has the rows of the active chain; -1 without any. */
  readonly #positionsUpTo: number;
  /** Height up to which it has rows; above `#positionsUpTo` those of blocks that left the chain. */
  readonly #positionsEnd: number;
  #circulating = 0;
  #utxos = 0;
  #txCount = 0;
  /** Whether the totals up to the block before are known. */
  #totalsKnown = true;
  /** Blocks below this height may have been pruned. */
  readonly #pruneHeight: number;
  /** Whether all blocks of the compared chain so far could be visited. */
  complete = true;

  constructor(checks: BlockChecks) {
    const { db, chainDir, runs } = checks;
    this.#checks = checks;
    this.#database = join(chainDir, 'chain.db');
    const blocks = join(chainDir, 'blocks');
    this.#folders = { blk: blocks, rev: blocks, flt: join(chainDir, 'filters') };
    this.#readers = {
      blk: new RecordReader(blocks, 'blk'),
      rev: new RecordReader(blocks, 'rev'),
      flt: new RecordReader(this.#folders.flt, 'flt'),
    };
    this.#headers = new HeaderStore(db);
    this.#txs = new TxStore(db, runs);
    this.#filters = new FilterStore(db, chainDir);
    this.#pruneHeight = new MetaStore(db).get('pruneHeight') ?? 0;
    const covered = new IndexStore(db).covered('positions');
    const entry = covered && checks.headers.tree.findEntry(covered.hash);
    const tip = checks.headers.active.at(-1);
    this.#positionsUpTo = entry && tip ? forkPoint(entry, tip).height : -1;
    this.#positionsEnd = entry?.height ?? -1;
  }

  checkActive(entry: ChainEntry): void {
    const { findings } = this.#checks;
    const { height } = entry;
    const record = this.#record(entry);
    if (this.#isAssumed(height)) {
      this.#checkAssumed(entry, record);
      return;
    }
    const missing = record !== null && (record.body === null || record.undo === null);
    if (missing && height < this.#pruneHeight && record.stats !== null && record.fees !== null) {
      this.#visit(entry, null, null);
      this.#adoptTotals(height);
      return;
    }
    if (missing)
      findings.addFinding(
        this.#database,
        `table headers, row ${entry.id}`,
        'its block or undo data is missing',
        height,
      );
    const block = record && this.#block(record);
    const undo = block && this.#undo(record, block);
    this.#visit(entry, block, undo);
    if (block === null || undo === null) {
      this.#totalsKnown = false;
      return;
    }
    this.#checkTotals(block, undo, height);
    if (height <= this.#positionsUpTo) this.#checkPositions(block, undo, height);
  }

  checkOther(entry: ChainEntry): void {
    this.#checkStored(entry, this.#record(entry));
  }

  /** Whether the block of the active chain at a height is assumed to be valid, since a UTXO set above it was loaded. */
  #isAssumed(height: number): boolean {
    const { loaded } = this.#checks;
    return loaded !== null && height > loaded.validatedHeight && height <= loaded.base.height;
  }

  /** Checks what is stored of a block that is not validated yet. The totals begin again at the block of the loaded set. */
  #checkAssumed(entry: ChainEntry, record: HeaderRecord | null): void {
    this.#checkStored(entry, record);
    if (entry === this.#checks.loaded!.base) this.#adoptTotals(entry.height);
  }

  #checkStored(entry: ChainEntry, record: HeaderRecord | null): void {
    const block = record && this.#block(record);
    const undo = block !== null && record!.undo !== null ? this.#undo(record!, block) : null;
    this.#visit(entry, block, undo);
  }

  /** Passes a block of the compared chain on; null if it is not stored or damaged. */
  #visit(entry: ChainEntry, block: ParsedBlock | null, undo: Uint8Array | null): void {
    const { compared, visit } = this.#checks;
    if (compared[entry.height] !== entry) return;
    if (block === null || undo === null) this.complete = false;
    else if (this.complete) visit?.(block, undo, entry.height);
  }

  /** Checks that no transaction is listed behind the last block that the table covers. */
  checkBeyondPositions(): void {
    const from = this.#positionsEnd + 1;
    const rest = this.#checks.db
      .query<{ position: number }, [number]>('SELECT position FROM txs WHERE position >= ? LIMIT 1')
      .get(txPosition(from, 0));
    if (rest !== null)
      this.#checks.findings.addFinding(
        this.#database,
        `table txs, row ${rest.position}`,
        'it belongs to no block of the chain',
      );
  }

  close(): void {
    for (const reader of Object.values(this.#readers)) reader.close();
    this.#filters.close();
  }

  #record(entry: ChainEntry): HeaderRecord | null {
    return this.#checks.findings.attempt(
      this.#database,
      `table headers, row ${entry.id}`,
      () => this.#headers.byHash(entry.hash),
      entry.height,
    );
  }

  /** Returns the record at a position, whose magic and size must be right. */
  #read(kind: RecordKind, { file, offset, size }: FilePosition): Uint8Array {
    const bytes = this.#readers[kind].read({ file, offset: offset - RECORD_HEADER, size: size + RECORD_HEADER });
    const view = new DataView(bytes.buffer, bytes.byteOffset);
    if (view.getUint32(0, true) !== this.#checks.params.magic)
      throw new DecodeError('its magic is not that of the network');
    if (view.getUint32(4, true) !== size) throw new DecodeError(`its size is not ${size}`);
    this.#checks.onRead(bytes.length);
    return bytes.subarray(RECORD_HEADER);
  }

  #place(kind: RecordKind, { file, offset }: FilePosition): [file: string, part: string] {
    return [recordFileName(this.#folders[kind], kind, file), `offset ${offset}`];
  }

  #block(record: HeaderRecord): ParsedBlock | null {
    const { body, hash, height, stats } = record;
    if (body === null) return null;
    const { findings, params } = this.#checks;
    const [file, part] = this.#place('blk', body);
    const block = findings.attempt(
      file,
      part,
      () => {
        const raw = this.#read('blk', body);
        if (!equalBytes(hash256(raw.subarray(0, 80)), hash)) throw new DecodeError('the hash of its header is wrong');
        const parsed = parseBlock(raw);
        if (isBlockMutated(parsed, height >= params.consensus.segwitHeight))
          throw new DecodeError('its transactions are not those of its header');
        return parsed;
      },
      height,
    );
    if (block !== null && stats !== null) this.#checkStats(record, bodyStats(block));
    return block;
  }

  #checkStats({ id, height, stats }: HeaderRecord, expected: BodyStats): void {
    for (const key of Object.keys(expected) as (keyof BodyStats)[])
      if (stats![key] !== expected[key])
        this.#checks.findings.addFinding(
          this.#database,
          `table headers, row ${id}`,
          `${key} ${stats![key]} is not ${expected[key]}`,
          height,
        );
  }

  #undo(record: HeaderRecord, block: ParsedBlock): Uint8Array | null {
    const { undo: position, hash, height, id, fees } = record;
    if (position === null) return null;
    const { findings } = this.#checks;
    const [file, part] = this.#place('rev', position);
    const undo = findings.attempt(
      file,
      part,
      () => {
        const bytes = openUndo(hash, this.#read('rev', position));
        const spent = spentValue(block, bytes);
        if (height > 0 && Number(spent) - this.#paid(block) !== fees)
          findings.addFinding(this.#database, `table headers, row ${id}`, `fees ${fees} are wrong`, height);
        return bytes;
      },
      height,
    );
    if (undo !== null) this.#checkFilter(record, block, undo);
    return undo;
  }

  #paid({ txs }: ParsedBlock): number {
    let sum = 0n;
    for (let i = 1; i < txs.length; i++) for (const { value } of txs[i]!.tx.outputs) sum += value;
    return Number(sum);
  }

  #checkFilter({ id, height }: HeaderRecord, block: ParsedBlock, undo: Uint8Array): void {
    const { findings, full, headers } = this.#checks;
    const record = findings.attempt(this.#database, `table filters, row ${id}`, () => this.#filters.get(id), height);
    if (record === null) return;
    const parent = headers.byId.get(id)?.parent ?? null;
    const before: FilterRecord | null = parent && this.#filters.get(parent.id);
    if (parent !== null && before === null)
      findings.addFinding(this.#database, `table filters, row ${parent.id}`, 'it is missing', height - 1);
    else if (!equalBytes(filterHeader(record.hash, before?.header ?? null), record.header))
      findings.addFinding(this.#database, `table filters, row ${id}`, 'its header is not that of its hash', height);
    const [file, part] = this.#place('flt', record.position);
    const filter = findings.attempt(
      file,
      part,
      () => {
        const bytes = this.#read('flt', record.position);
        if (!equalBytes(hash256(bytes), record.hash)) throw new DecodeError('its hash is wrong');
        return bytes;
      },
      height,
    );
    if (full && filter !== null && !equalBytes(basicFilter(block, undoScripts(undo)), filter))
      findings.addFinding(file, part, 'it is not the filter of its block', height);
  }

  /** Continues with the stored totals of a block that has been pruned or assumed. */
  #adoptTotals(height: number): void {
    const totals = this.#headers.totals(height);
    this.#totalsKnown = totals !== null;
    this.#circulating = totals?.circulating ?? 0;
    this.#utxos = totals?.utxos ?? 0;
    this.#txCount = totals?.txs ?? 0;
  }

  #checkTotals(block: ParsedBlock, undo: Uint8Array, height: number): void {
    if (!this.#totalsKnown) return;
    if (height > 0) {
      const { valueChange, utxoChange } = utxoGrowth(block, undo);
      this.#circulating += valueChange;
      this.#utxos += utxoChange;
      if (repeatedCoinbaseHeight(block.hash, height) !== null)
        for (const { value, scriptPubKey } of block.txs[0]!.tx.outputs) {
          if (isUnspendable(scriptPubKey)) continue;
          this.#circulating -= Number(value);
          this.#utxos--;
        }
    }
    this.#txCount += block.txs.length;
    const totals = this.#headers.totals(height);
    const expected = { circulating: this.#circulating, utxos: this.#utxos, txs: this.#txCount };
    for (const key of ['circulating', 'utxos', 'txs'] as const)
      if (totals?.[key] !== expected[key])
        this.#checks.findings.addFinding(
          this.#database,
          `table chain, row ${height}`,
          `${key} ${totals?.[key]} is not ${expected[key]}`,
          height,
        );
  }

  #checkPositions(block: ParsedBlock, undo: Uint8Array, height: number): void {
    const { findings } = this.#checks;
    const rows = findings.attempt(this.#database, 'table txs', () => this.#txs.ofBlock(height), height) ?? [];
    const r = new ByteReader(undo);
    for (let i = 0; i < Math.max(rows.length, block.txs.length); i++) {
      const row = rows[i];
      const tx = block.txs[i];
      const undoOffset = r.pos;
      if (tx !== undefined && i > 0) readTxUndo(r, tx.tx.inputs.length);
      const intact =
        row !== undefined &&
        tx !== undefined &&
        row.position === txPosition(height, i) &&
        equalBytes(row.txid, tx.txid) &&
        row.offset === tx.offset &&
        row.undoOffset === undoOffset;
      if (intact) continue;
      const part = `table txs, row ${row?.position ?? txPosition(height, i)}`;
      findings.addFinding(this.#database, part, 'it is not that of a transaction of its block', height);
      return;
    }
  }
}
