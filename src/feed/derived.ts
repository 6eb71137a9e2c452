import { blockPruned } from '../queries/read-env.ts';
import { ITSELF, watchPlace } from './event-cursor.ts';
import type { Gap } from './event-history.ts';
import { type FrameStep, headOf, NO_AMOUNTS, quoted, spentAmounts, UNCONFIRMED, type WatchedAmounts } from './frame.ts';
import { cursorIn, isBlockEvent, type LogEntry } from './log-entry.ts';
import type { TxTouches } from './match.ts';
import type { BlockMatches, Matcher } from './matcher.ts';
import { walletIn } from './wallet-notifications.ts';
import { scriptKey, txidKey, type Watched, type WatchItem, watchedOutpointKey } from './watches.ts';

/** Subscriptions and filters of one client. */
export interface Subscription {
  readonly events: ReadonlySet<string>;
  readonly watches: Watched;
  readonly full: boolean;
  /** Filters of `newTransaction`; `minFeeRate` is in sat/vB. */
  readonly onlyWatched: boolean;
  readonly minFeeRate: number;
  /** Wallets whose transactions the client may see; null for all. */
  readonly wallets: ReadonlySet<string> | null;
}

/** Whether the client receives the events of the log unchanged, and no derived messages. */
export function isPlain({ events, watches, full, onlyWatched, minFeeRate }: Subscription): boolean {
  return watches.size === 0 && !full && !onlyWatched && minFeeRate === 0 && !events.has('walletTransaction');
}

type WatchSubscription = Pick<Subscription, 'events' | 'watches'>;

/** Block of a transaction. */
interface Place {
  readonly hash: string;
  readonly height: number;
  readonly time: number;
}

type Phase = 'mempool' | 'confirmed' | 'reverted' | 'removed';

/** The state of the transactions after an event of the log. */
interface TxState {
  readonly phase: Phase;
  /** Block of the transactions after the event; null if they are unconfirmed. */
  readonly place: Place | null;
}

/** A threshold of confirmations that a transaction has reached, or no longer reaches. */
interface ThresholdCrossing {
  readonly threshold: number;
  readonly confirmations: number;
  readonly block: Place | null;
  readonly reverted: boolean;
}

/** A message that is derived from an event, without the members that all of them begin with. */
interface Derived {
  readonly type: 'addressTransaction' | 'confirmation' | 'walletTransaction';
  readonly within: string;
  /** The rest of the JSON of its data. */
  readonly rest: string;
}

/** Messages of a threshold that cannot be derived, since the block of the transactions has been pruned. */
interface UnknownCrossing {
  readonly type: 'gap';
  readonly within: string;
  readonly height: number;
  readonly threshold: number;
  readonly reverted: boolean;
}

type DerivedStep = Derived | UnknownCrossing | Promise<void> | null;

/**
 * Yields the messages of one event of the log for one client, after the place `behind` or from the beginning: the event
 * itself, then the messages derived from it, in the order of their places. They depend only on the event, the chain below
 * it, and the watched items or the wallet, so a replay derives the same ones. A place depends on the event only, so it
 * names the same message after other items were watched. A gap stands in the place of confirmations whose block is pruned.
 */
export function* framesOf(
  entry: LogEntry,
  subscription: Subscription,
  matcher: Matcher,
  behind: string | null = null,
): Generator<FrameStep> {
  const { type, seq } = entry;
  if (behind === null && subscription.events.has(type) && (yield* passesFilter(entry, subscription, matcher)))
    yield { type, text: subscription.full ? yield* withBody(entry, matcher) : entry.text, within: ITSELF };
  let sub = 0;
  for (const step of derivedMessages(entry, subscription, matcher)) {
    if (step === null || step instanceof Promise) {
      yield step;
      continue;
    }
    const { within } = step;
    if (behind !== null && within <= behind) continue;
    if (step.type === 'gap') {
      yield { type: 'gap', text: gapMessage(entry, step, matcher.newestChainSeq), within };
      continue;
    }
    const { rest } = step;
    const { time } = headOf(entry.text);
    const head = `"cursor":"${cursorIn(entry)}${within}","seq":${seq},"sub":${++sub},"time":${time},`;
    yield { type: step.type, text: `{"type":"${step.type}","data":{${head}${rest}}`, within };
  }
}

function* derivedMessages(entry: LogEntry, subscription: Subscription, matcher: Matcher): Generator<DerivedStep> {
  const { events, watches } = subscription;
  if (watches.size > 0 && (events.has('addressTransaction') || events.has('confirmation'))) {
    if (isBlockEvent(entry)) yield* blockMessages(entry, subscription, matcher);
    else if (entry.tx && entry.reason !== 'block') yield* unconfirmedMessages(entry, subscription, matcher);
  }
  if (events.has('walletTransaction')) yield* walletMessages(entry, subscription.wallets, matcher);
}

function* walletMessages(
  entry: LogEntry,
  visible: ReadonlySet<string> | null,
  { wallets }: Matcher,
): Generator<DerivedStep> {
  for (const { within, text } of yield* ready(() => wallets.lines(entry))) {
    if (visible !== null && !visible.has(walletIn(text))) continue;
    yield { type: 'walletTransaction', within, rest: text };
    yield null;
  }
}

function* passesFilter(
  entry: LogEntry,
  subscription: Subscription,
  matcher: Matcher,
): Generator<Promise<void>, boolean> {
  if (entry.type !== 'newTransaction') return true;
  if (entry.feeRate < subscription.minFeeRate) return false;
  if (!subscription.onlyWatched) return true;
  if (subscription.watches.size === 0) return false;
  const { touches } = yield* ready(() => matcher.matchTransaction(entry, subscription.watches.version));
  return touches !== null && isWatched(touches, subscription.watches);
}

function isWatched({ txid, scripts, outpoints }: TxTouches, watches: Watched): boolean {
  return (
    watches.has(txidKey(txid)) ||
    scripts.some(({ script }) => watches.has(scriptKey(script))) ||
    outpoints.some(({ outpoint }) => watches.has(watchedOutpointKey(outpoint)))
  );
}

function* withBody(entry: LogEntry, matcher: Matcher): Generator<Promise<void>, string> {
  const { type, text, tx } = entry;
  const isBlock = isBlockEvent(entry);
  if (!isBlock && !(type === 'newTransaction' && tx)) return text;
  const body = yield* ready(() => matcher.readBody(entry, isBlock ? headOf(text).hash : null));
  return `${text.slice(0, -2)},"${isBlock ? 'block' : 'tx'}":${body}}}`;
}

const ONLY_CONFIRMATIONS: ReadonlySet<string> = new Set(['confirmation']);

function* blockMessages(entry: LogEntry, subscription: Subscription, matcher: Matcher): Generator<DerivedStep> {
  const { watches } = subscription;
  const { hash } = headOf(entry.text);
  const connected = entry.type === 'newBlock';
  const own = yield* ready(() => matcher.matchBlock(hash, watches.version));
  if (own.pruned) blockPruned(matcher.pruneHeight);
  const state: TxState = { phase: connected ? 'confirmed' : 'reverted', place: connected ? own : null };
  const crossing = (threshold: number, block: Place): ThresholdCrossing => ({
    threshold,
    confirmations: connected ? threshold : threshold - 1,
    block,
    reverted: !connected,
  });
  yield* matchMessages(own, state, crossing(1, own), subscription);
  if (!subscription.events.has('confirmation')) return;
  for (const threshold of watches.thresholds()) {
    if (threshold < 2) continue;
    const below = yield* ready(() => matcher.ancestor(hash, threshold - 1));
    if (below === null) return;
    const matches = yield* ready(() => matcher.matchBlock(below, watches.version));
    // The address index has no outputs and inputs, so it yields neither these events nor their places.
    if (matches.pruned) yield unknownCrossing(threshold, matches.height, !connected);
    else yield* matchMessages(matches, state, crossing(threshold, matches), { events: ONLY_CONFIRMATIONS, watches });
  }
}

/** Its place is before all messages of the threshold: each of them has a higher number. */
function unknownCrossing(threshold: number, height: number, reverted: boolean): UnknownCrossing {
  return { type: 'gap', within: watchPlace((threshold - 1) * THRESHOLD_SPAN), height, threshold, reverted };
}

/** The cursor is the first member, as in an event. */
function gapMessage(
  entry: LogEntry,
  { within, height, threshold, reverted }: UnknownCrossing,
  lastChainSeq: number,
): string {
  const { seq } = entry;
  const cursor = cursorIn(entry) + within;
  const range: Gap = {
    cursor,
    scope: 'confirmations',
    fromSeq: seq,
    toSeq: seq,
    lastChainSeq,
    height,
    threshold,
    reverted,
  };
  return JSON.stringify({ type: 'gap', data: range });
}

function* matchMessages(
  matches: BlockMatches,
  state: TxState,
  crossing: ThresholdCrossing,
  subscription: WatchSubscription,
): Generator<DerivedStep> {
  for (let i = 0; i < matches.count; i++) {
    const touches = matches.touchesAt(i);
    yield* txMessages(touches, state, crossing, subscription);
    yield null;
  }
}

function* unconfirmedMessages(entry: LogEntry, subscription: Subscription, matcher: Matcher): Generator<DerivedStep> {
  const { touches } = yield* ready(() => matcher.matchTransaction(entry, subscription.watches.version));
  if (!touches) return;
  const added = entry.type === 'newTransaction';
  const state: TxState = { phase: added ? 'mempool' : 'removed', place: null };
  yield* txMessages(touches, state, { threshold: 0, confirmations: 0, block: null, reverted: !added }, subscription);
}

/** Numbers of messages within one event, ordered by threshold, transaction, input or output, and kind of message. */
const NUMBER = { address: 1, addressConfirmation: 2, outpoint: 3, txid: 4 } as const;
const SLOT_SPAN = 4;
/** A transaction has fewer than 2^19 inputs and outputs. */
const TX_SPAN = 2 ** 21;
const THRESHOLD_SPAN = TX_SPAN * 2 ** 16;

/** Yields the messages of one transaction in the order of their places. */
function* txMessages(
  touches: TxTouches,
  state: TxState,
  crossing: ThresholdCrossing,
  { events, watches }: WatchSubscription,
): Generator<Derived> {
  const base = Math.max(0, crossing.threshold - 1) * THRESHOLD_SPAN + touches.index * TX_SPAN;
  const found: { number: number; make(): Omit<Derived, 'within'> }[] = [];
  const confirm = (item: WatchItem | undefined, number: number, amounts: WatchedAmounts = NO_AMOUNTS) => {
    if (item && events.has('confirmation') && item.thresholds.includes(crossing.threshold))
      found.push({ number, make: () => confirmation(touches.txid, item, crossing, amounts) });
  };
  confirm(watches.get(txidKey(touches.txid)), base + NUMBER.txid);
  for (const touch of touches.scripts) {
    const item = watches.get(scriptKey(touch.script));
    if (!item) continue;
    const at = base + touch.slot * SLOT_SPAN;
    if (events.has('addressTransaction'))
      found.push({ number: at + NUMBER.address, make: () => addressTransaction(touches, touch, item, state) });
    confirm(item, at + NUMBER.addressConfirmation, touch);
  }
  for (const { slot, outpoint, value } of touches.outpoints)
    confirm(watches.get(watchedOutpointKey(outpoint)), base + slot * SLOT_SPAN + NUMBER.outpoint, spentAmounts(value));
  for (const { number, make } of found.sort((a, b) => a.number - b.number))
    yield { ...make(), within: watchPlace(number) };
}

function addressTransaction(
  { txid, index }: TxTouches,
  { received, sent, outputs, inputs }: TxTouches['scripts'][number],
  { label, watchId }: WatchItem,
  { phase, place }: TxState,
): Omit<Derived, 'within'> {
  const status = place
    ? `{"confirmed":true,"blockHash":"${place.hash}","blockHeight":${place.height},"blockIndex":${index},"blockTime":${place.time},"confirmations":1}`
    : UNCONFIRMED;
  return {
    type: 'addressTransaction',
    rest:
      `"address":"${label}","txid":"${txid}","status":${status},"received":${received},"sent":${sent},` +
      `"outputs":${outputs},"inputs":${inputs},"phase":"${phase}","watchId":${quoted(watchId)}}`,
  };
}

function confirmation(
  txid: string,
  { kind, label, watchId }: WatchItem,
  { threshold, confirmations, block, reverted }: ThresholdCrossing,
  { received, sent }: WatchedAmounts,
): Omit<Derived, 'within'> {
  const data = {
    txid,
    address: kind === 'script' ? label : null,
    outpoint: kind === 'outpoint' ? label : null,
    received,
    sent,
    confirmations,
    threshold,
    blockHash: block?.hash ?? null,
    height: block?.height ?? null,
    reverted,
    watchId,
  };
  return { type: 'confirmation', rest: JSON.stringify(data).slice(1) };
}

function* ready<T>(get: () => T | Promise<void>): Generator<Promise<void>, T> {
  for (;;) {
    const found = get();
    if (!(found instanceof Promise)) return found;
    yield found;
  }
}
