import type { SentChange } from '../mempool/changes.ts';
import type { TxSource } from '../mempool/mirror.ts';

/** Types of the events of the mempool that the database receives. Those of wallets stay on their node. */
type MempoolType = 'newTransaction' | 'transactionRemoved' | 'mempoolUpdate';

/** An event of the mempool of a node. The database gives it another number. */
export interface MempoolEntry {
  readonly type: MempoolType;
  /** Number in the log of the node. */
  readonly seq: number;
  /** JSON text of the payload, which begins with the number and the time. */
  readonly data: string;
  /** The transaction with its undo records; null where the event has none. */
  readonly tx: TxSource | null;
}

/** Events are missing before the next one. */
export interface MempoolGap {
  readonly type: 'gap';
  /** Number of the event before it in the log of the node. */
  readonly seq: number;
}

/** Events of the mempool as a thread sends them to another: all transactions are in one buffer. */
export interface MempoolBatch {
  /** Whether the events begin here. The receiver forgets those of before. */
  readonly begins: boolean;
  /** Whether events are missing before the first. */
  readonly isAfterGap: boolean;
  readonly entries: readonly PackedEntry[];
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** The sender has sent all events up to this number of its log. */
  readonly upTo: number;
}

export interface PackedEntry extends Omit<MempoolEntry, 'tx'> {
  /** Lengths of the transaction and of its undo records; 0 without one. */
  readonly rawLength: number;
  readonly spentLength: number;
}

/** Memory of an entry beside its text and its transaction, bytes. */
const ENTRY_BYTES = 300;

/** About how many bytes of memory an entry takes. */
export function mempoolEntryBytes({ data, tx }: MempoolEntry): number {
  return ENTRY_BYTES + data.length + (tx === null ? 0 : tx.raw.length + tx.spent.length);
}

/**
 * Returns the event of a change; null where it is none that the database receives. `removed` returns views of a transaction
 * whose removal is reported.
 */
export function mempoolEntryOf(change: SentChange, removed: (slot: number) => TxSource): MempoolEntry | null {
  if ('silent' in change && change.silent) return null;
  if (change.kind === 'added') return { type: 'newTransaction', seq: change.seq, data: change.data, tx: change };
  if (change.kind === 'removed')
    return { type: 'transactionRemoved', seq: change.seq, data: change.data, tx: removed(change.slot) };
  if (change.kind === 'update') return { type: 'mempoolUpdate', seq: change.seq, data: change.data, tx: null };
  return null;
}

/** Returns the entries of a batch, with views of its buffer. */
export function unpackMempoolEntries({ entries, bytes }: MempoolBatch): MempoolEntry[] {
  let at = 0;
  return entries.map(({ type, seq, data, rawLength, spentLength }) => {
    const raw = bytes.subarray(at, (at += rawLength));
    const spent = bytes.subarray(at, (at += spentLength));
    return { type, seq, data, tx: rawLength === 0 ? null : { raw, spent } };
  });
}
