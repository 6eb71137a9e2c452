import type { FeeReport } from './fees/fee-estimator.ts';

/** Why a transaction left the mempool, as `transactionRemoved` names it. */
export type RemovalReason = 'block' | 'replaced' | 'conflict' | 'sizelimit' | 'expiry' | 'reorg';

/**
 * One step of the mempool, in order. `seq` is the number of its event in the node's one sequence, `data` the JSON text
 * of the event's payload (`seq` and `time` included), ready to be sent. What is `silent` happened in initial sync, and
 * clients are not told.
 */
export type MempoolChange =
  | {
      readonly kind: 'added';
      readonly seq: number;
      readonly data: string;
      readonly silent: boolean;
      /** Encoding with witness. */
      readonly raw: Uint8Array;
      /** The outputs it spends, in input order, each an undo record (`writeUndoRecord`); position 2^53-1: in the mempool. */
      readonly spent: Uint8Array;
      /** Satoshis, without prioritisation; and the sum of what `prioritisetransaction` added. */
      readonly fee: number;
      readonly feeDelta: number;
      /** BIP-141; and in virtual bytes with the sigop adjustment. */
      readonly weight: number;
      readonly vsize: number;
      readonly sigopCost: number;
      /** Unix seconds of acceptance. */
      readonly time: number;
      /** Height of the tip when it was accepted. */
      readonly height: number;
      readonly unbroadcast: boolean;
      /** Txids of those it took the place of. */
      readonly replaced: readonly Uint8Array[];
    }
  | {
      readonly kind: 'removed';
      readonly seq: number;
      readonly data: string;
      readonly silent: boolean;
      readonly txid: Uint8Array;
      readonly reason: RemovalReason;
      readonly replacedBy: Uint8Array | null;
    }
  /** Same transaction, other facts. */
  | { readonly kind: 'modified'; readonly txid: Uint8Array; readonly feeDelta: number; readonly unbroadcast: boolean }
  /** Something that happened elsewhere and has its place among these: `type` names it to whoever derives events of it. */
  | { readonly kind: 'note'; readonly seq: number; readonly type: 'walletAbandoned'; readonly data: string }
  /** What fees are at. */
  | { readonly kind: 'fees'; readonly report: FeeReport }
  /** `mempoolUpdate`, with what only the mempool itself knows. */
  | { readonly kind: 'update'; readonly seq: number; readonly data: string; readonly totals: MempoolTotals };

/** What the mempool says of itself as a whole. */
export interface MempoolTotals {
  readonly count: number;
  /** Virtual bytes. */
  readonly vsize: number;
  /** Serialized bytes. */
  readonly size: number;
  /** Bytes of memory, and how many it may take. */
  readonly usage: number;
  readonly maxUsage: number;
  /** Satoshis. */
  readonly totalFee: number;
  /** Satoshis per 1,000 virtual bytes that enter now, and the configured least. */
  readonly minFeerate: number;
  readonly minRelayFeerate: number;
  readonly incrementalFeerate: number;
  readonly unbroadcast: number;
  /** Saved transactions have been read back. */
  readonly loaded: boolean;
}

/** What a change weighs beside its bytes. */
const CHANGE_BYTES = 500;

/** About how many bytes of memory a change takes on its way to those who are told. */
export function changeBytes(change: MempoolChange): number {
  const bytes = CHANGE_BYTES + ('data' in change ? change.data.length : 0);
  return change.kind === 'added' ? bytes + change.raw.length + change.spent.length : bytes;
}

/** The same changes; the bytes of all in one piece, which costs less to send and to keep than two for each. */
export function packed(changes: readonly MempoolChange[]): MempoolChange[] {
  let length = 0;
  for (const change of changes) if (change.kind === 'added') length += change.raw.length + change.spent.length;
  if (length === 0) return [...changes];
  const bytes = new Uint8Array(length);
  let at = 0;
  const put = (part: Uint8Array) => {
    bytes.set(part, at);
    at += part.length;
    return bytes.subarray(at - part.length, at);
  };
  return changes.map((change) =>
    change.kind === 'added' ? { ...change, raw: put(change.raw), spent: put(change.spent) } : change,
  );
}
