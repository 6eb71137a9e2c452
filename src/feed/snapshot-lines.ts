import { ApiError } from '../http/errors.ts';
import { positionHeight, txPosition } from '../primitives/coin.ts';
import { type ReadEndpoint, textAnswer } from '../queries/answer.ts';
import { isIndexReady, requireIndex } from '../queries/index-reads.ts';
import type { ReadEnv } from '../queries/read-env.ts';
import { confirmationsAt, findTx, txFacts } from '../queries/tx-facts.ts';
import type { TxRecord } from '../storage/tx-store.ts';
import { hexToBytes } from '../util/bytes.ts';
import { statusView } from '../views/rest/tx-view.ts';
import { NO_AMOUNTS, quoted, type WatchedAmounts } from './frame.ts';
import { matchTx, type ScriptFlow } from './match.ts';
import { PrintTable, scriptPrint } from './watch-filter.ts';

/** Blocks that are scanned for a script without thresholds. */
const DEFAULT_DEPTH = 6;
const MAX_TXS = 100;

/** A watched item as a worker needs it. */
export interface SnapshotItem {
  /** Hex of a script, or a txid in display order. */
  readonly value: string;
  readonly label: string | null;
  readonly thresholds: readonly number[];
  readonly watchId: string | null;
}

/**
 * How the watched items stand now, one message a line: for a script the transactions of the last blocks, as deep as the
 * highest threshold, and for a transaction its confirmations. They carry no number, since they are not new events. Without
 * the index that one needs, an error message takes its place.
 */
export const snapshotEndpoint: ReadEndpoint<{ scripts: readonly SnapshotItem[]; txids: readonly SnapshotItem[] }> = {
  name: 'event-snapshot',
  run(env, { scripts, txids }) {
    const lines = [...missingIndexLines(env, 'address', scripts), ...missingIndexLines(env, 'tx', txids)];
    if (isIndexReady(env, 'address')) for (const asked of scripts) lines.push(...scriptLines(env, asked));
    for (const asked of isIndexReady(env, 'tx') ? txids : []) {
      const record = findTx(env, asked.value);
      if (!record) continue;
      const confirmations = confirmationsAt(env.tip, record.position);
      const block = statusView(env, placeOf(env, record));
      lines.push(
        confirmationText(asked.value, null, asked, {
          ...NO_AMOUNTS,
          confirmations,
          blockHash: block.blockHash,
          height: block.blockHeight,
        }),
      );
    }
    return textAnswer(lines.join('\n'), 'none');
  },
};

/** Returns an error message instead of the confirmed state of items, if their index is off or being built. */
function missingIndexLines(env: ReadEnv, name: 'address' | 'tx', items: readonly SnapshotItem[]): string[] {
  if (items.length === 0) return [];
  try {
    requireIndex(env, name);
    return [];
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const { failure: code, message, details } = error;
    return [JSON.stringify({ type: 'error', data: { snapshot: true, code, message, details } })];
  }
}

function scriptLines(env: ReadEnv, asked: SnapshotItem): string[] {
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
  for (const { position } of reads.scripts.history(totals.key, range).reverse()) {
    const record = reads.txs.byPosition(position);
    if (!record) continue;
    const place = placeOf(env, record);
    // The transactions of pruned blocks are left out: they are far below the usual thresholds.
    if (place.block.body === null) continue;
    const { parsed, spent } = txFacts(env, record);
    const touches = matchTx(parsed, spent, 0, filter);
    const touch = touches?.scripts.find((each) => each.script === value);
    if (!touches || !touch) continue;
    lines.push(addressMessageText(touches.txid, touch, asked, 'confirmed', JSON.stringify(statusView(env, place))));
  }
  return lines;
}

function placeOf({ reads }: Pick<ReadEnv, 'reads'>, { position }: TxRecord) {
  return { block: reads.headers.byHeight(positionHeight(position))!, position };
}

type ItemFacts = Pick<SnapshotItem, 'label' | 'thresholds' | 'watchId'>;

/** The message that a transaction of the script is. */
export function addressMessageText(
  txid: string,
  touch: ScriptFlow,
  { label, watchId }: ItemFacts,
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
export function confirmationText(
  txid: string,
  outpoint: string | null,
  { thresholds, watchId }: ItemFacts,
  at: WatchedAmounts & { confirmations: number; blockHash: string | null; height: number | null },
): string {
  const threshold = thresholds.findLast((n) => n <= at.confirmations) ?? null;
  const data = { snapshot: true, txid, address: null, outpoint, threshold, ...at, reverted: false, watchId };
  return JSON.stringify({ type: 'confirmation', data });
}
