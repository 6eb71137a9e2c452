import type { EventLog } from '../feed/event-log.ts';
import type { MempoolRecord } from '../feed/log-entry.ts';
import type { EventRecord } from '../storage/event-store.ts';
import type { NumberedRecord, TailDatabase } from './tail-database.ts';

/** The events of both tables up to a number. */
export interface TailPage {
  readonly chain: readonly EventRecord[];
  readonly mempool: readonly NumberedRecord[];
  readonly upTo: number;
}

type Reads = Pick<TailDatabase, 'readEvents' | 'readMempoolEvents' | 'readMempoolStart'>;

/** Events of one statement. Those of the mempool have a transaction of up to 400 kB each. */
const PAGE = { chain: 1000, mempool: 200 };
/** A new server has the events of the mempool with the newest so many numbers. */
const FIRST_NUMBERS = 10_000;

/** Returns the next events behind the number `seq` and below `end`, all of them up to a number. */
export async function readTailPage(database: Reads, seq: number, end: number): Promise<TailPage> {
  const chain = await database.readEvents(seq, end, PAGE.chain);
  const mempool = await database.readMempoolEvents(seq, end, PAGE.mempool);
  const upTo = Math.min(
    end - 1,
    chain.length === PAGE.chain ? chain.at(-1)!.seq : end,
    mempool.length === PAGE.mempool ? mempool.at(-1)!.seq : end,
  );
  const isWithin = (event: { readonly seq: number }) => event.seq <= upTo;
  return { chain: chain.filter(isWithin), mempool: mempool.filter(isWithin), upTo };
}

/** Adds events of the mempool to the log. Those of the chain before them must be readable. */
export function appendMempool(events: EventLog, mempool: readonly NumberedRecord[]): void {
  let records: MempoolRecord[] = [];
  for (const { seq, record } of mempool)
    if (record !== null) records.push(record);
    else {
      events.appendRecords(records);
      records = [];
      events.appendGap(seq);
    }
  events.appendRecords(records);
}

/** Where the events of the mempool begin that a new server has. */
export interface MempoolStart {
  /** Events of the mempool up to this number are missing. */
  readonly from: number;
  /** Whether there were any. */
  readonly isAfterGap: boolean;
}

/** Returns where the events of the mempool begin for a server that keeps the events of the chain from `oldest` on. */
export async function readMempoolStart(database: Reads, oldest: number, end: number): Promise<MempoolStart> {
  const { removedTo, oldest: first } = await database.readMempoolStart();
  const from = Math.max(0, oldest - 1, end - 1 - FIRST_NUMBERS, removedTo - 1);
  return { from, isAfterGap: removedTo > 1 || (first !== null && first <= from) };
}

/**
 * Returns the number up to which the database may have removed events of the mempool behind the number `seq`; null if none.
 * Read it after the events: those that were removed before they were read are below it.
 */
export async function readRemoved(database: Pick<TailDatabase, 'readRemovedTo'>, seq: number): Promise<number | null> {
  const removedTo = await database.readRemovedTo();
  return removedTo - 1 > seq ? removedTo - 1 : null;
}
