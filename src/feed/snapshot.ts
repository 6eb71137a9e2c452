import { txPosition } from '../primitives/coin.ts';
import { type ReadEndpoint, textAnswer } from '../queries/answer.ts';
import type { ReadEnv } from '../queries/read-env.ts';
import { confirmationsAt, findTx, txFacts } from '../queries/tx-facts.ts';
import { hexToBytes } from '../util/bytes.ts';
import { statusView } from '../views/rest/tx-view.ts';
import { type Frame, quoted, type Step, UNCONFIRMED } from './derived.ts';
import type { EventLog } from './event-log.ts';
import { matchUnconfirmed } from './event-readers.ts';
import { matchTx, type ScriptTouch, type TxTouches } from './match.ts';
import type { Matcher } from './matcher.ts';
import { PrintTable, scriptPrint } from './watch-filter.ts';
import { outpointKey, scriptKey, txidKey, type WatchItem } from './watches.ts';

/** Blocks that are looked at for a script, where no number of confirmations is asked for. */
const DEFAULT_DEPTH = 6;
const MAX_TXS = 100;

/** A watched item as a worker needs it. */
interface Asked {
  /** Hex of a script, or a txid in display order. */
  readonly value: string;
  readonly label: string | null;
  readonly thresholds: readonly number[];
  readonly watchId: string | null;
}

/**
 * How the watched items stand now, one message a line: for a script the transactions of the last blocks, as deep as the
 * highest threshold, and for a transaction its confirmations. They carry no number, since they are no news.
 */
export const snapshotEndpoint: ReadEndpoint<{ scripts: readonly Asked[]; txids: readonly Asked[] }> = {
  name: 'event-snapshot',
  run(env, { scripts, txids }) {
    const lines: string[] = [];
    for (const asked of scripts) lines.push(...scriptLines(env, asked));
    for (const asked of txids) {
      const record = findTx(env, asked.value);
      if (!record) continue;
      const confirmations = confirmationsAt(env.tip, record.position);
      const block = statusView(env, txFacts(env, record).place);
      lines.push(
        confirmationText(asked.value, null, asked, {
          confirmations,
          blockHash: block.blockHash,
          height: block.blockHeight,
        }),
      );
    }
    return textAnswer(lines.join('\n'), 'none');
  },
};

function scriptLines(env: ReadEnv, asked: Asked): string[] {
  const { value, thresholds } = asked;
  const { reads, tip } = env;
  const script = hexToBytes(value);
  const totals = reads.scripts.totals(script);
  if (!totals) return [];
  const depth = thresholds.at(-1) || DEFAULT_DEPTH;
  const above = txPosition(tip.height - depth + 1, 0) - 1;
  const range = { above, below: Number.MAX_SAFE_INTEGER, order: 'desc', limit: MAX_TXS } as const;
  const filter = new PrintTable({
    prints: Uint32Array.of(scriptPrint(script, 0)),
    seed: 0,
    txids: false,
    outpoints: false,
  });
  const lines: string[] = [];
  for (const { position } of reads.scripts.history(totals.id, range).reverse()) {
    const record = reads.txs.byPosition(position);
    if (!record) continue;
    const { parsed, spent, place } = txFacts(env, record);
    const touches = matchTx(parsed, spent, 0, filter);
    const touch = touches?.scripts.find((each) => each.script === value);
    if (!touches || !touch) continue;
    lines.push(addressText(touches.txid, touch, asked, 'confirmed', JSON.stringify(statusView(env, place))));
  }
  return lines;
}

/** The messages of a snapshot, the confirmed ones first. */
export function* snapshotFrames(items: readonly WatchItem[], matcher: Matcher, log: EventLog): Generator<Step> {
  const confirmed: string[] = [];
  yield matcher
    .snapshot({ scripts: items.filter(isKind('script')).map(asked), txids: items.filter(isKind('txid')).map(asked) })
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
    if (item) yield frameOf(addressText(txid, touch, item, 'mempool', UNCONFIRMED));
  }
  const none = { confirmations: 0, blockHash: null, height: null };
  const named = watched.get(txidKey(txid));
  if (named) yield frameOf(confirmationText(txid, null, named, none));
  for (const { outpoint } of outpoints) {
    const item = watched.get(outpointKey(outpoint));
    if (item) yield frameOf(confirmationText(txid, item.label, item, none));
  }
}

type Told = Pick<Asked, 'label' | 'thresholds' | 'watchId'>;

function addressText(
  txid: string,
  touch: ScriptTouch,
  { label, watchId }: Told,
  phase: string,
  status: string,
): string {
  const { received, sent, outputs, inputs } = touch;
  return (
    `{"type":"addressTransaction","data":{"snapshot":true,"address":"${label}","txid":"${txid}","status":${status},` +
    `"received":${received},"sent":${sent},"outputs":${outputs},"inputs":${inputs},"phase":"${phase}",` +
    `"watchId":${quoted(watchId)}}}`
  );
}

/** `threshold` is the highest that is reached, or null. */
function confirmationText(
  txid: string,
  outpoint: string | null,
  { thresholds, watchId }: Told,
  at: { confirmations: number; blockHash: string | null; height: number | null },
): string {
  const threshold = thresholds.findLast((n) => n <= at.confirmations) ?? null;
  const data = { snapshot: true, txid, address: null, outpoint, threshold, ...at, reverted: false, watchId };
  return JSON.stringify({ type: 'confirmation', data });
}

function asked({ key, label, thresholds, watchId }: WatchItem): Asked {
  return { value: key.slice(1), label, thresholds, watchId };
}

function isKind(kind: WatchItem['kind']) {
  return (item: WatchItem) => item.kind === kind;
}

function frameOf(text: string): Frame {
  return { type: text.startsWith('{"type":"c') ? 'confirmation' : 'addressTransaction', text };
}
