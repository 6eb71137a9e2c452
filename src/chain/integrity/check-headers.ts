import type { Database } from 'bun:sqlite';
import { checkHeader, checkHeaderContext } from '../../consensus/check-header.ts';
import { workOf } from '../../consensus/work.ts';
import { hash256 } from '../../crypto/hash-functions.ts';
import type { NetworkParams } from '../../params/network-params.ts';
import { headerFromBytes } from '../../primitives/header.ts';
import { HeaderStatus } from '../../storage/chain-schema.ts';
import { type HeaderRecord, HeaderStore } from '../../storage/header-store.ts';
import { equalBytes } from '../../util/bytes.ts';
import type { ChainEntry } from '../chain-entry.ts';
import { HeaderTree } from '../header-tree.ts';
import type { Findings } from './findings.ts';

const FAILED_BITS = HeaderStatus.FAILED | HeaderStatus.FAILED_PARENT | HeaderStatus.INVALIDATED;
/** Bits of a row; the others are in memory only. */
const STORED_BITS = HeaderStatus.HAVE_BLOCK | HeaderStatus.HAVE_UNDO | FAILED_BITS;
const ROWS_AT_ONCE = 1000;

/** The headers and the active chain, as far as their rows are intact. */
export interface CheckedHeaders {
  readonly tree: HeaderTree;
  /** Headers by the ids of their rows. */
  readonly byId: ReadonlyMap<number, ChainEntry>;
  /** The active chain, from the genesis block on. */
  readonly active: readonly ChainEntry[];
}

/** Checks the rows of all headers and of the active chain; each against its header, its parent and its proof of work. */
export function* checkHeaders(
  db: Database,
  database: string,
  params: NetworkParams,
  findings: Findings,
): Generator<undefined, CheckedHeaders> {
  const tree = new HeaderTree();
  const byId = new Map<number, ChainEntry>();
  /** Hashes of damaged rows and of their descendants, which have no finding of their own. */
  const skipped = new Set<string>();
  let rows = 0;
  for (const record of new HeaderStore(db).all()) {
    const part = `table headers, row ${record.id}`;
    const entry = findings.attempt(database, part, () => {
      const problem = headerProblem(record, tree, params, skipped);
      if (problem !== null) findings.addFinding(database, part, problem, record.height);
      return loadRecord(record, tree, params);
    });
    if (entry === null) {
      skipped.add(record.hash.toHex());
      skipped.add(hash256(record.header).toHex());
    } else {
      byId.set(record.id, entry);
      const problem = statusProblem(record, entry);
      if (problem !== null) findings.addFinding(database, part, problem, entry.height);
    }
    if (++rows % ROWS_AT_ONCE === 0) yield;
  }
  const active = findings.attempt(database, 'table chain', () => checkActive(db, database, byId, findings)) ?? [];
  return { tree, byId, active };
}

/** Adds a row to the tree, so that its descendants are checked; returns null if it cannot be linked to its parent. */
function loadRecord(record: HeaderRecord, tree: HeaderTree, params: NetworkParams): ChainEntry | null {
  const { header, hash } = record;
  if (header.length !== 80 || !equalBytes(hash256(header), hash)) return null;
  const { previousHash, bits } = headerFromBytes(header);
  const parent = tree.findEntry(previousHash);
  if (parent === null && !equalBytes(hash, params.consensus.genesisHash)) return null;
  return tree.loadRecord({ ...record, chainwork: (parent?.chainwork ?? 0n) + workOf(bits) });
}

function headerProblem(
  record: HeaderRecord,
  tree: HeaderTree,
  { consensus }: NetworkParams,
  skipped: ReadonlySet<string>,
): string | null {
  const { header, hash, height, chainwork } = record;
  if (header.length !== 80 || !equalBytes(hash256(header), hash)) return 'its hash is not that of its header';
  const decoded = headerFromBytes(header);
  const isGenesis = equalBytes(hash, consensus.genesisHash);
  const parent = isGenesis ? null : tree.findEntry(decoded.previousHash);
  if (parent === null && !isGenesis)
    return skipped.has(decoded.previousHash.toHex()) ? null : 'its parent is not in the table before it';
  if (height !== (parent === null ? 0 : parent.height + 1))
    return `height ${height} is not one above that of its parent`;
  if (chainwork !== (parent?.chainwork ?? 0n) + workOf(decoded.bits)) return 'its chainwork is wrong';
  const rejection =
    checkHeader({ hash, bits: decoded.bits }, consensus) ??
    (parent && checkHeaderContext(decoded, parent, consensus, Number.MAX_SAFE_INTEGER));
  return rejection && `the header is invalid: ${rejection.reason}`;
}

function statusProblem({ status, body, undo, stats, fees }: HeaderRecord, { parent }: ChainEntry): string | null {
  const has = (bit: number) => (status & bit) !== 0;
  if ((status & ~STORED_BITS) !== 0) return `status ${status} has unknown bits`;
  if (has(HeaderStatus.HAVE_BLOCK) !== (body !== null) || (body !== null && stats === null))
    return `status ${status} and the position of the block differ`;
  if (has(HeaderStatus.HAVE_UNDO) !== (undo !== null) || (undo !== null && fees === null))
    return `status ${status} and the position of the undo data differ`;
  // Fees are stored when all scripts of a block are valid.
  if (fees !== null && has(HeaderStatus.FAILED)) return `status ${status} is both valid and invalid`;
  if (parent !== null && (parent.status & FAILED_BITS) !== 0 && !has(FAILED_BITS))
    return `status ${status} is valid, and that of the parent is not`;
  return null;
}

interface ChainRow {
  readonly height: number;
  readonly header_id: number;
}

function checkActive(
  db: Database,
  database: string,
  byId: ReadonlyMap<number, ChainEntry>,
  findings: Findings,
): ChainEntry[] {
  const active: ChainEntry[] = [];
  const rows = db.query<ChainRow, []>('SELECT height, header_id FROM chain ORDER BY height');
  for (const { height, header_id } of rows.iterate()) {
    const part = `table chain, row ${height}`;
    const entry = byId.get(header_id);
    if (height !== active.length || entry === undefined || entry.height !== height) {
      findings.addFinding(database, part, `header ${header_id} is not one of this height`, height);
      break;
    }
    if (height > 0 && entry.parent !== active[height - 1]) {
      findings.addFinding(database, part, 'its block is no child of the block before', height);
      break;
    }
    if ((entry.status & FAILED_BITS) !== 0) findings.addFinding(database, part, 'its block is marked invalid', height);
    active.push(entry);
  }
  if (active.length === 0) findings.addFinding(database, 'table chain', 'it has no genesis block');
  return active;
}
