import type { EventLog } from './event-log.ts';
import { matchUnconfirmed } from './event-readers.ts';
import { type Frame, type FrameStep, NO_AMOUNTS, spentAmounts, UNCONFIRMED } from './frame.ts';
import type { TxTouches } from './match.ts';
import type { Matcher } from './matcher.ts';
import { addressMessageText, confirmationText, type SnapshotItem } from './snapshot-lines.ts';
import { PrintTable } from './watch-filter.ts';
import { scriptKey, txidKey, type WatchItem, watchedOutpointKey } from './watches.ts';

/** The messages of a snapshot, the confirmed ones first. */
export function* snapshotFrames(items: readonly WatchItem[], matcher: Matcher, log: EventLog): Generator<FrameStep> {
  const confirmed: string[] = [];
  yield matcher
    .snapshot({
      scripts: items.filter(isKind('script')).map(snapshotItem),
      txids: items.filter(isKind('txid')).map(snapshotItem),
    })
    .then((lines) => void confirmed.push(...lines));
  for (const text of confirmed) yield frameOf(text);
  const watched = new Map(items.map((item) => [item.key, item]));
  const filter = new PrintTable({
    prints: Uint32Array.from(items, ({ print }) => print),
    seed: matcher.seed,
    txids: items.some(isKind('txid')),
    outpoints: items.some(isKind('outpoint')),
  });
  for (const tx of log.mempool()) {
    const touches = matchUnconfirmed(tx, filter);
    if (touches) yield* unconfirmedFrames(touches, watched);
    yield null;
  }
}

function* unconfirmedFrames(
  { txid, scripts, outpoints }: TxTouches,
  watched: ReadonlyMap<string, WatchItem>,
): Generator<Frame> {
  for (const touch of scripts) {
    const item = watched.get(scriptKey(touch.script));
    if (item) yield frameOf(addressMessageText(txid, touch, item, 'mempool', UNCONFIRMED));
  }
  const none = { confirmations: 0, blockHash: null, height: null };
  const named = watched.get(txidKey(txid));
  if (named) yield frameOf(confirmationText(txid, null, named, { ...none, ...NO_AMOUNTS }));
  for (const { outpoint, value } of outpoints) {
    const item = watched.get(watchedOutpointKey(outpoint));
    if (item) yield frameOf(confirmationText(txid, item.label, item, { ...none, ...spentAmounts(value) }));
  }
}

function snapshotItem({ key, label, thresholds, watchId }: WatchItem): SnapshotItem {
  return { value: key.slice(1), label, thresholds, watchId };
}

function isKind(kind: WatchItem['kind']) {
  return (item: WatchItem) => item.kind === kind;
}

function frameOf(text: string): Frame {
  return { type: text.startsWith('{"type":"c') ? 'confirmation' : 'addressTransaction', text };
}
