import type { RemovalReason } from '../mempool/changes.ts';
import type { TxSource } from '../mempool/mirror.ts';
import type { EventRecord } from '../storage/event-store.ts';
import type { SeenChange } from './mempool-feed.ts';

/** One event of the log. */
export interface LogEntry {
  readonly seq: number;
  readonly type: string;
  /** The whole message, as it is sent. */
  readonly text: string;
  /** The transaction that came to the mempool or left it; null for all other events. */
  readonly tx: TxSource | null;
  /** sat/vB of a transaction that came. */
  readonly feeRate: number;
  /** Reason why a transaction left. */
  readonly reason: RemovalReason | null;
}

/** An entry as it is kept while it is new. */
export interface KeptEntry extends EventRecord, Pick<LogEntry, 'feeRate' | 'reason'> {
  /** With the cursor as its first member. */
  readonly data: string;
  readonly raw: Uint8Array | null;
  readonly spent: Uint8Array | null;
  /** Slot of the transaction that was added to the mempool; -1 for any other event. */
  readonly slot: number;
}

/** An event of the mempool that a database has, with all that its entry shows. */
export interface MempoolRecord extends EventRecord, Pick<LogEntry, 'tx' | 'feeRate' | 'reason'> {}

/** A step of the mempool that is an event. */
export type NumberedChange = Exclude<SeenChange, { kind: 'modified' | 'fees' | 'totals' }>;

/** Memory of an entry besides its text, and of a transaction besides its bytes, in bytes. */
const ENTRY_BYTES = 250;
const TX_BYTES = 400;

const TYPE_OF = { added: 'newTransaction', removed: 'transactionRemoved', update: 'mempoolUpdate' } as const;
const MEMPOOL_TYPES: ReadonlySet<string> = new Set([...Object.values(TYPE_OF), 'walletAbandoned']);

/** Whether it is an event of the mempool, which exists in memory only. */
export function isMempoolEvent({ type }: Pick<LogEntry, 'type'>): boolean {
  return MEMPOOL_TYPES.has(type);
}

/** Whether it is about one block that joined the chain or was taken back. */
export function isBlockEvent({ type }: Pick<LogEntry, 'type'>): boolean {
  return type === 'newBlock' || type === 'blockDisconnected';
}

/** An event of the chain. */
export function keptRow({ seq, type, data }: EventRecord, cursor: string): KeptEntry {
  return { seq, type, data: withCursor(data, cursor), raw: null, spent: null, feeRate: 0, reason: null, slot: -1 };
}

/** An event of the mempool. */
export function keptChange(change: NumberedChange, cursor: string): KeptEntry {
  const { seq } = change;
  const type = change.kind === 'note' ? change.type : TYPE_OF[change.kind];
  const tx = change.kind === 'added' ? change : change.kind === 'removed' ? change.gone : null;
  const feeRate = change.kind === 'added' ? change.fee / change.vsize : 0;
  const reason = change.kind === 'removed' ? change.reason : null;
  const data = withCursor(change.data, cursor);
  const slot = change.kind === 'added' ? change.slot : -1;
  return { seq, type, data, raw: tx?.raw ?? null, spent: tx?.spent ?? null, feeRate, reason, slot };
}

/** An event of the mempool that a database has. */
export function keptRecord({ tx, data, ...record }: MempoolRecord, cursor: string): KeptEntry {
  return { ...record, data: withCursor(data, cursor), raw: tx?.raw ?? null, spent: tx?.spent ?? null, slot: -1 };
}

/**
 * The cursor is added when an event is read, not when it is written, so that events of earlier versions have one as well;
 * and once, not for each connection.
 */
function withCursor(data: string, cursor: string): string {
  // One string: joined, the parts stay in memory beside each other, and each connection pays for joining them.
  return Buffer.from(`{"cursor":"${cursor}",${data.slice(1)}`).toString();
}

/** Every message begins with its type, and its data with cursor, seq and time. */
const TYPE_AT = '{"type":"'.length;
const MESSAGE_HEAD = 400;
const MESSAGE_TIME = /"time":(\d+)/;
const CURSOR = '"data":{"cursor":"';

/** The cursor of an event. Followed by a place it is that of what is derived there. */
export function cursorIn({ text }: Pick<LogEntry, 'text'>): string {
  const start = text.indexOf(CURSOR) + CURSOR.length;
  return text.slice(start, text.indexOf('"', start));
}

/** Returns the type and the cursor of a message, and its time, Unix seconds, null without one; it parses nothing else. */
export function headOfMessage(text: string): {
  readonly type: string;
  readonly cursor: string;
  readonly time: number | null;
} {
  const time = MESSAGE_TIME.exec(text.slice(0, MESSAGE_HEAD))?.[1];
  const type = text.slice(TYPE_AT, text.indexOf('"', TYPE_AT));
  return { type, cursor: cursorIn({ text }), time: time === undefined ? null : Number(time) };
}

/** The entry that is delivered. */
export function entryOf({ seq, type, data, raw, spent, feeRate, reason }: KeptEntry): LogEntry {
  const tx = raw && spent ? { raw, spent } : null;
  return { seq, type, text: `{"type":"${type}","data":${data}}`, tx, feeRate, reason };
}

/** Returns the entry of an event of the chain that is no longer in memory. Its text is joined with those of its page. */
export function storedEntry({ seq, type, data }: EventRecord, cursor: string): LogEntry {
  const text = `{"type":"${type}","data":{"cursor":"${cursor}",${data.slice(1)}}`;
  return { seq, type, text, tx: null, feeRate: 0, reason: null };
}

/** About how many bytes of memory it takes. */
export function entryBytes({ data, raw, spent }: KeptEntry): number {
  return data.length + ENTRY_BYTES + (raw && spent ? raw.length + spent.length + TX_BYTES : 0);
}
