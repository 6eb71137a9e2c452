import type { Database } from 'bun:sqlite';
import { join } from 'node:path';
import type { NetworkParams } from '../../params/network-params.ts';
import { type ParsedBlock, parseBlock } from '../../primitives/block.ts';
import { hashToHex, type Txid } from '../../primitives/hash.ts';
import { RecordReader } from '../../storage/block-files.ts';
import type { EventRecord } from '../../storage/event-store.ts';
import { HeaderStore } from '../../storage/header-store.ts';
import { MetaStore } from '../../storage/meta-store.ts';
import type { ChainEntry } from '../chain-entry.ts';
import { announcedHeader, blockDisconnectedEvent, newBlockEvent } from '../events.ts';
import type { HeaderTree } from '../header-tree.ts';
import { reorgEvent } from '../reorg-event.ts';
import type { CheckedHeaders } from './check-headers.ts';
import type { Findings } from './findings.ts';

const TYPES = ['newBlock', 'blockDisconnected', 'reorg'];
const TAG = /^[0-9a-z]{8}$/;
const ROWS_AT_ONCE = 1000;

/** Checks the event log against the headers, and the single values of the database. */
export function* checkEvents(
  db: Database,
  chainDir: string,
  { tree, active }: CheckedHeaders,
  params: NetworkParams,
  findings: Findings,
): Generator<undefined> {
  const database = join(chainDir, 'chain.db');
  const meta = new MetaStore(db);
  let rows = 0;
  let last = 0;
  const check = new EventCheck(db, chainDir, tree, params);
  try {
    const events = db.query<EventRecord, []>('SELECT seq, type, data FROM events ORDER BY seq');
    for (const event of events.iterate()) {
      const part = `table events, row ${event.seq}`;
      findings.attempt(database, part, () => {
        const problem = check.problemOf(event);
        if (problem !== null) findings.addFinding(database, part, problem);
      });
      last = event.seq;
      if (++rows % ROWS_AT_ONCE === 0) yield;
    }
  } finally {
    check.close();
  }
  const ranges = db
    .query<{ first: number; tag: string }, []>('SELECT first, tag FROM event_ranges ORDER BY first')
    .all();
  for (const { first, tag } of ranges)
    if (!TAG.test(tag) || tag.slice(0, 4) !== ranges[0]!.tag.slice(0, 4))
      findings.addFinding(database, `table event_ranges, row ${first}`, `tag ${tag} is not one of this log`);

  const wrong = (key: string, found: unknown, expected: unknown) =>
    findings.addFinding(database, `table meta, row ${key}`, `${found} is not ${expected}`);
  if (active.length > 0) {
    const bestHeight = tree.bestHeader.height;
    if (meta.get('bestHeaderHeight') !== bestHeight)
      wrong('bestHeaderHeight', meta.get('bestHeaderHeight'), bestHeight);
  }
  const reserved = meta.get('reservedSeq') ?? 0;
  if (!Number.isSafeInteger(reserved) || reserved < last) wrong('reservedSeq', reserved, `a number from ${last} on`);
  const counted = meta.get('eventRows');
  // Versions that do not count events leave an older number.
  if (counted !== null && meta.get('eventRowsUpTo') === last && counted !== rows) wrong('eventRows', counted, rows);
  const upTo = meta.get('eventRowsUpTo');
  if (upTo !== null && upTo > last) wrong('eventRowsUpTo', upTo, `at most ${last}`);
}

/** Derives the events of the log from headers and stored blocks, as far as they follow from them. */
class EventCheck {
  readonly #tree: HeaderTree;
  readonly #headers: HeaderStore;
  readonly #params: NetworkParams;
  readonly #blocks: RecordReader;

  constructor(db: Database, chainDir: string, tree: HeaderTree, params: NetworkParams) {
    this.#tree = tree;
    this.#headers = new HeaderStore(db);
    this.#params = params;
    this.#blocks = new RecordReader(join(chainDir, 'blocks'), 'blk');
  }

  close(): void {
    this.#blocks.close();
  }

  /** Returns what is wrong with an event; null if nothing is. */
  problemOf({ seq, type, data }: EventRecord): string | null {
    const payload = JSON.parse(data) as Payload;
    if (payload.seq !== seq) return `its text has the number ${payload.seq}`;
    if (!TYPES.includes(type)) return `type ${type} is unknown`;
    const expected =
      type === 'newBlock'
        ? this.#newBlock(payload)
        : type === 'reorg'
          ? this.#reorg(payload)
          : this.#disconnected(payload);
    // Without the bodies of pruned blocks nothing can be compared.
    if (expected === null || typeof expected === 'string') return expected;
    const members = Object.entries(expected as Record<string, unknown>);
    // Events of other versions may lack members, but have the same values.
    for (const key of Object.keys(payload))
      if (key !== 'seq' && !Object.hasOwn(expected, key)) return `member ${key} is not known`;
    for (const [key, value] of members)
      if (payload[key] !== undefined && JSON.stringify(payload[key]) !== JSON.stringify(value))
        return `${key} does not follow from its blocks`;
    return null;
  }

  #newBlock(payload: Payload): object | string {
    const { time, headers, reorg, initialSync } = payload;
    const entry = this.#entryOf(payload.hash);
    const record = entry && this.#headers.byHash(entry.hash);
    if (entry === null || !record?.stats) return `block ${payload.hash} is not stored`;
    const { stats, fees } = record;
    return newBlockEvent(announcedHeader(entry), {
      stats,
      size: stats.size,
      fees: fees ?? 0,
      params: this.#params.consensus,
      time,
      reorg: reorg === true,
      initialSync: initialSync === true,
      headers,
    });
  }

  #disconnected(payload: Payload): object | string | null {
    const entry = this.#entryOf(payload.hash);
    if (entry === null) return `block ${payload.hash} is not known`;
    if (!entry.hasBody) return null;
    const txids = this.#readBlock(entry).txs.map(({ txid }) => hashToHex(txid));
    return blockDisconnectedEvent(entry, txids, Number(payload.depth), payload.time);
  }

  #reorg({ time, disconnected, connected, txs }: Payload): object | string | null {
    const left = this.#entriesOf(disconnected);
    const joined = this.#entriesOf(connected);
    if (left === null || joined === null) return 'it names a block that is not known';
    if (left.length === 0 || left.at(-1)!.parent === null) return 'it names no disconnected block';
    if (![...left, ...joined].every(({ hasBody }) => hasBody)) return null;
    // The chain may have returned to an ancestor, as by invalidateblock.
    const tip = joined.at(-1) ?? left.at(-1)!.parent!;
    const inMempool = new Set(txs.filter(({ fate }) => fate === 'mempool').map(({ txid }) => txid));
    const move = {
      disconnected: left,
      connected: joined,
      tip,
      readBlock: (entry: ChainEntry) => this.#readBlock(entry),
    };
    const follower = { has: (txid: Uint8Array) => inMempool.has(hashToHex(txid as Txid)) };
    // Events of earlier versions name no outputs.
    const named = txs.every((fate) => Object.hasOwn(fate, 'outputs'));
    return reorgEvent(move, { follower, time, format: named ? this.#params.address : null });
  }

  #entriesOf(hashes: readonly string[]): ChainEntry[] | null {
    const entries = hashes.map((hash) => this.#entryOf(hash)).filter((entry) => entry !== null);
    return entries.length === hashes.length ? entries : null;
  }

  #entryOf(hash: unknown): ChainEntry | null {
    return this.#tree.findEntry(Uint8Array.fromHex(String(hash)).toReversed());
  }

  #readBlock({ body }: ChainEntry): ParsedBlock {
    return parseBlock(this.#blocks.read(body));
  }
}

/** Members of events that cannot be derived, or from which the others are derived. */
interface Payload extends Record<string, unknown> {
  readonly time: number;
  readonly headers: number;
  readonly disconnected: readonly string[];
  readonly connected: readonly string[];
  readonly txs: readonly { readonly txid: string; readonly fate: string }[];
}
