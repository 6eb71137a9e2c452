import type { ApiContext } from '../context.ts';
import { ApiError } from '../errors.ts';
import { framesOf, isPlain, type Wishes } from '../events/derived.ts';
import type { LogEntry } from '../events/log-entry.ts';
import type { Watched } from '../events/watches.ts';
import { turns } from '../turns.ts';

/** What is wanted of a page of events. */
export interface PageWish {
  readonly limit: number;
  readonly types: ReadonlySet<string>;
  /** What the client is told of beside the events themselves. */
  readonly watches: Watched;
  /** Wallets whose transactions the client may see; null for all. */
  readonly wallets: ReadonlySet<string> | null;
  /** Aborts when the client has left. */
  readonly signal: AbortSignal;
}

export interface EventPage {
  /** JSON texts. */
  readonly items: readonly string[];
  /** Go on behind this. */
  readonly lastSeq: number;
}

type Sources = Pick<ApiContext, 'events' | 'matcher' | 'log'>;

/** A page ends where its items take more. */
const MAX_BODY = 4 * 1024 ** 2;
/** One turn of looking for events; then others have theirs. */
const SLICE_MS = 1.5;
const SCAN = 200;
/** Events that others are derived from. */
const CAUSES = ['newBlock', 'blockDisconnected', 'newTransaction', 'transactionRemoved', 'walletAbandoned'];
const DERIVED = ['addressTransaction', 'confirmation', 'walletTransaction'];

/**
 * What there is behind a number, up to a page. An event and what is derived from it have one number, and a client goes on
 * behind that: so they are never parted, and a page may hold a few more than its limit.
 */
export async function readEventPage(sources: Sources, after: number, wish: PageWish): Promise<EventPage> {
  const { events } = sources;
  const { limit, types } = wish;
  const items: string[] = [];
  let lastSeq = after;
  let bytes = 0;
  const turn = turns(SLICE_MS);
  while (items.length < limit && !wish.signal.aborted) {
    const { watches, wallets } = wish;
    const wishes: Wishes = { events: types, watches, full: false, onlyWatched: false, minFeeRate: 0, wallets };
    const derives = !isPlain(wishes) && DERIVED.some((type) => types.has(type));
    const scan = derives ? SCAN : Math.min(SCAN, limit - items.length);
    const { entries, scanned } = events.after(lastSeq, scan, derives ? new Set([...types, ...CAUSES]) : types);
    if (scanned === lastSeq) break;
    for (const entry of entries) {
      if (items.length >= limit) return { items, lastSeq };
      const texts = derives ? await textsOf(entry, wishes, sources, turn) : [entry.text];
      if (texts === null) return items.length > 0 ? { items, lastSeq } : cannot();
      for (const { length } of texts) bytes += length;
      if (bytes > MAX_BODY && items.length > 0) return { items, lastSeq };
      for (const text of texts) items.push(text);
      lastSeq = entry.seq;
    }
    lastSeq = scanned;
    await turn();
  }
  return { items, lastSeq };
}

/** An event and what is derived from it, as far as they are wanted; null where that cannot be worked out now. */
async function textsOf(
  entry: LogEntry,
  wishes: Wishes,
  { matcher, log }: Sources,
  turn: ReturnType<typeof turns>,
): Promise<string[] | null> {
  const texts: string[] = [];
  try {
    for (const step of framesOf(entry, wishes, matcher)) {
      if (step instanceof Promise) await step;
      else if (step !== null) texts.push(step.text);
      await turn();
    }
  } catch (error) {
    log.warn('an event could not be worked out', { error });
    return null;
  }
  return texts;
}

function cannot(): never {
  throw new ApiError('overloaded', 'what these events mean to this key cannot be worked out now');
}
