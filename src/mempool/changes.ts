import type { GivenNumbers } from '../storage/event-mark.ts';
import type { FeeReport } from './fees/fee-estimator.ts';

/** Position in an undo record of a coin that is unconfirmed. */
export const IN_MEMPOOL = Number.MAX_SAFE_INTEGER;

/** Reason for which a transaction left the mempool, as in `transactionRemoved` events. */
export type RemovalReason = 'block' | 'replaced' | 'conflict' | 'sizelimit' | 'expiry' | 'reorg';

/** The properties of a mempool transaction that acceptance determines. */
export interface EntryFacts {
  /** Base fee in satoshis, and the sum of the deltas of `prioritisetransaction`. */
  readonly fee: number;
  readonly feeDelta: number;
  /**
   * BIP-141 weight, and the virtual size that counts in the mempool: of the weight or of the sigops, whichever is
   * larger.
   */
  readonly weight: number;
  readonly vsize: number;
  readonly sigopCost: number;
  /** Time of acceptance, Unix seconds. */
  readonly time: number;
  /** Height of the tip when it was accepted. */
  readonly height: number;
}

/**
 * One change of the mempool, in order. `seq` is the number of its event in the node's sequence, `data` the JSON text of
 * the event's payload including `seq` and `time`. Clients are not notified of `silent` changes, which happened during
 * initial block download.
 */
export type MempoolChange =
  | (EntryFacts & {
      readonly kind: 'added';
      readonly seq: number;
      readonly data: string;
      readonly silent: boolean;
      /** Slot of the entry in the mempool. */
      readonly slot: number;
      /** Serialization with witness. */
      readonly raw: Uint8Array;
      /** Undo records (`writeUndoRecord`) of the spent outputs in input order, those of unconfirmed coins with position `IN_MEMPOOL`. */
      readonly spent: Uint8Array;
      readonly unbroadcast: boolean;
      /** Txids of the replaced transactions. */
      readonly replaced: readonly Uint8Array[];
    })
  | {
      readonly kind: 'removed';
      readonly seq: number;
      readonly data: string;
      readonly silent: boolean;
      /** Slot of the entry, which readers may read until they have applied the change. */
      readonly slot: number;
      readonly txid: Uint8Array;
      readonly reason: RemovalReason;
      readonly replacedBy: Uint8Array | null;
    }
  /** Prioritisation or broadcast state of a transaction changed. */
  | { readonly kind: 'modified'; readonly txid: Uint8Array; readonly feeDelta: number; readonly unbroadcast: boolean }
  /** An event of another part of the node in the same sequence; `type` is its event type. */
  | { readonly kind: 'note'; readonly seq: number; readonly type: 'walletAbandoned'; readonly data: string }
  /** New feerate estimates. */
  | { readonly kind: 'fees'; readonly report: FeeReport }
  /** Totals after the changes before it, where no `mempoolUpdate` is due. */
  | { readonly kind: 'totals'; readonly totals: MempoolTotals }
  /** `mempoolUpdate`, with totals that only the mempool itself knows. */
  | { readonly kind: 'update'; readonly seq: number; readonly data: string; readonly totals: MempoolTotals };

type Added = Extract<MempoolChange, { kind: 'added' }>;

/** A change as another thread receives it: `row` stands for an added transaction whose entry both threads can read. */
export type SentChange = MempoolChange | (Omit<Added, 'kind' | 'raw' | 'spent'> & { readonly kind: 'row' });

/** Totals of the mempool. */
export interface MempoolTotals {
  readonly count: number;
  /** Virtual bytes. */
  readonly vsize: number;
  /** Serialized bytes. */
  readonly size: number;
  /** Memory usage and its limit, bytes. */
  readonly usage: number;
  readonly maxUsage: number;
  /** Satoshis. */
  readonly totalFee: number;
  /** Current minimum feerate to enter and the configured ones, satoshis per 1,000 virtual bytes. */
  readonly minFeerate: number;
  readonly minRelayFeerate: number;
  readonly incrementalFeerate: number;
  readonly unbroadcast: number;
  /**
   * Core's mempool sequence number: it starts at 1 and counts each transaction that enters or leaves, except those that
   * leave with a block.
   */
  readonly sequence: number;
  /** Whether the saved transactions have been imported. */
  readonly loaded: boolean;
}

/** Memory of a change beyond its variable data, bytes. */
const CHANGE_BYTES = 500;

/** Returns the approximate memory of a queued change, bytes. */
export function changeBytes(change: SentChange): number {
  const bytes = CHANGE_BYTES + ('data' in change ? change.data.length : 0);
  return change.kind === 'added' ? bytes + change.raw.length + change.spent.length : bytes;
}

/** Returns the changes as they are sent to a thread that reads the entries of the mempool: without transactions. */
export function withoutBytes(changes: readonly SentChange[]): SentChange[] {
  return changes.map((change) => {
    if (change.kind !== 'added') return change;
    const { raw: _raw, spent: _spent, kind: _kind, ...rest } = change;
    return { ...rest, kind: 'row' };
  });
}

/** Returns the numbers of these changes in addition to those of earlier ones. */
export function withChanges(given: GivenNumbers, changes: readonly SentChange[]): GivenNumbers {
  let { last, lastCause, highest } = given;
  for (const change of changes) {
    if (!('seq' in change)) continue;
    highest = change.seq;
    if ('silent' in change && change.silent) continue;
    last = change.seq;
    if (change.kind !== 'update') lastCause = change.seq;
  }
  return { ...given, last, lastCause, highest };
}
