import type { MempoolRecord } from '../feed/log-entry.ts';
import type { RemovalReason } from '../mempool/changes.ts';

/** An event of the mempool as the database has it. */
export interface MempoolRow {
  readonly type: string;
  /** JSON text of the payload. */
  readonly data: string;
  /** The transaction and its undo records; null where the event has none. */
  readonly raw: Uint8Array | null;
  readonly spent: Uint8Array | null;
}

/** The members of the payloads that entries of the log repeat. */
interface Payload {
  readonly fee?: number;
  readonly vsize?: number;
  readonly reason?: RemovalReason;
}

/** Returns the event of a row; null of a gap. */
export function mempoolRecordOf({
  seq,
  type,
  data,
  raw,
  spent,
}: MempoolRow & { readonly seq: number }): MempoolRecord | null {
  if (type === 'gap') return null;
  const { fee, vsize, reason } = JSON.parse(data) as Payload;
  const feeRate = fee === undefined || vsize === undefined ? 0 : fee / vsize;
  return { seq, type, data, tx: raw && spent && { raw, spent }, feeRate, reason: reason ?? null };
}
