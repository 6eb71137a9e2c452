import type { TransactionSQL } from 'bun';
import { CopyRows } from './copy-rows.ts';
import type { MempoolEntry } from './mempool-entries.ts';
import type { SinkItem } from './mempool-order.ts';
import { SINK_SCHEMA } from './schema-name.ts';
import type { SinkEvent } from './sink-events.ts';

/** Bytes of one message of COPY. */
const COPY_CHUNK = 1 << 18;
const EVENT_ROWS = 1000;
const TIME = /"time":(\d+)/;
/** The number and the time come first. */
const HEAD = 100;

/** Sends rows in the text format of COPY. */
export async function copyRows(tx: TransactionSQL, statement: string, rows: Uint8Array): Promise<void> {
  if (rows.length === 0) return;
  const writer = tx.unsafe(statement).writable().getWriter();
  for (let at = 0; at < rows.length; at += COPY_CHUNK) await writer.write(rows.subarray(at, at + COPY_CHUNK));
  await writer.close();
}

/** Writes events of chain and mempool, which get the numbers from `first` on in their order. `time`: Unix seconds of a gap. */
export async function insertEvents(
  tx: TransactionSQL,
  items: readonly SinkItem[],
  { first, time }: { readonly first: bigint; readonly time: number },
): Promise<void> {
  for (let at = 0; at < items.length; at += EVENT_ROWS) {
    const [chain, mempool] = [new CopyRows(), new CopyRows()];
    const from = Number(first) + at;
    let lastChainSeq: number | null = null;
    for (const [i, item] of items.slice(at, at + EVENT_ROWS).entries()) {
      const seq = from + i;
      if (isChainEvent(item)) {
        addChainEvent(chain, item, seq);
        lastChainSeq = seq;
      } else if (item.type !== 'gap') addMempoolEvent(mempool, item, seq);
      else addGap(mempool, { seq, time, lastChainSeq: lastChainSeq ?? (await newestChainSeq(tx)) });
    }
    const columns = 'seq, type, height, hash, time, data';
    await copyRows(tx, `COPY ${SINK_SCHEMA}.events (${columns}) FROM STDIN`, chain.encodedRows());
    const ofMempool = `COPY ${SINK_SCHEMA}.mempool_events (seq, type, time, data, raw, spent) FROM STDIN`;
    await copyRows(tx, ofMempool, mempool.encodedRows());
  }
}

function isChainEvent(item: SinkItem): item is SinkEvent {
  return 'height' in item;
}

function addChainEvent(rows: CopyRows, { type, height, hash, time, data }: SinkEvent, seq: number): void {
  rows.addNumber(seq).addText(type).addNumber(height).addBytes(Uint8Array.fromHex(hash)).addNumber(time);
  rows.addText(JSON.stringify({ seq, ...data })).endRow();
}

function addMempoolEvent(rows: CopyRows, { type, data, tx }: MempoolEntry, seq: number): void {
  const time = Number(TIME.exec(data.slice(0, HEAD))![1]);
  // The number of the node's log is the first member.
  const numbered = `{"seq":${seq}${data.slice(data.indexOf(','))}`;
  rows.addNumber(seq).addText(type).addNumber(time).addText(numbered);
  if (tx === null) rows.addNull().addNull().endRow();
  else rows.addBytes(tx.raw).addBytes(tx.spent).endRow();
}

/** Adds a gap. The missing events have no numbers; that of the row stands for them. */
function addGap(
  rows: CopyRows,
  { seq, time, lastChainSeq }: { readonly seq: number; readonly time: number; readonly lastChainSeq: number },
): void {
  const data = { seq, time, scope: 'mempool', fromSeq: seq, toSeq: seq, lastChainSeq };
  rows.addNumber(seq).addText('gap').addNumber(time).addText(JSON.stringify(data)).addNull().addNull().endRow();
}

/** Returns the number of the newest event of the chain; 0 without any. */
async function newestChainSeq(tx: TransactionSQL): Promise<number> {
  const [row] = await tx.unsafe(`SELECT coalesce(max(seq), 0) AS seq FROM ${SINK_SCHEMA}.events`);
  return Number(row.seq);
}
