/** One message to one client. */
export interface Frame {
  readonly type: string;
  readonly text: string;
  /** Where it stands within its event of the log; not set where it is no part of one. */
  readonly within?: string;
}

/** A message, a promise to wait for, or null as an opportunity to yield. */
export type FrameStep = Frame | Promise<void> | null;

/** Returns an id as JSON. Ids of the node need no escapes. */
export function quoted(watchId: string | null): string {
  return watchId === null ? 'null' : `"${watchId}"`;
}

/** Payments of a transaction to a watched address or script and spends from it, or the value of a watched outpoint. */
export interface WatchedAmounts {
  readonly received: number | null;
  readonly sent: number | null;
}

/** The amounts of a watched transaction, which belong to no watched item. */
export const NO_AMOUNTS: WatchedAmounts = { received: null, sent: null };

/** Returns the amounts of a watched outpoint that is spent. */
export function spentAmounts(value: number): WatchedAmounts {
  return { received: 0, sent: value };
}

/** TxStatus of what is in no block. */
export const UNCONFIRMED =
  '{"confirmed":false,"blockHash":null,"blockHeight":null,"blockIndex":null,"blockTime":null,"confirmations":0}';

const HEAD = 1000;
const HASH = '"hash":"';
const HASH_DIGITS = 64;
const TIME = '"time":';

/** Returns the hash and the time of an event without parsing the lists it may carry: empty and 0 where it has none. */
export function headOf(text: string): { hash: string; time: number } {
  const head = text.slice(0, HEAD);
  const hashAt = head.indexOf(HASH);
  const timeAt = head.indexOf(TIME);
  const hash = hashAt < 0 ? '' : head.slice(hashAt + HASH.length, hashAt + HASH.length + HASH_DIGITS);
  return { hash, time: timeAt < 0 ? 0 : Number.parseInt(head.slice(timeAt + TIME.length), 10) };
}
