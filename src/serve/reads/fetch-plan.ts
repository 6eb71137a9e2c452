import { COINBASE_MATURITY } from '../../consensus/limits.ts';
import { type TxPosition, txPosition } from '../../primitives/coin.ts';
import { writeUndoRecord } from '../../primitives/undo.ts';
import type { HistoryRecord, ScriptCoin, ScriptKey } from '../../storage/script-store.ts';
import { ByteWriter } from '../../util/bytes.ts';
import { type AnswerRows, pageKey } from './chain-rows.ts';
import { keepBlock, keepPlace, keepPosition, keepStale, keepTx, positionOfRow, type Row } from './row-decoder.ts';
import type { CoinsNeed, HistoryNeed, RowNeeds } from './row-needs.ts';
import {
  blockPageStatement,
  blocksStatement,
  blockTxidsStatement,
  coinbasesStatement,
  coinsStatement,
  hashesStatement,
  historyStatement,
  historyTxsStatement,
  placesStatement,
  rawBlockStatement,
  rawUndoStatement,
  type Statement,
  sinceStatement,
  spendersStatement,
  spentStatement,
  staleBlockStatement,
  totalsStatement,
  transactionsStatement,
  txidsStatement,
} from './statements.ts';

/** A statement, and what keeps its rows. */
export interface Fetch {
  readonly statement: Statement;
  keep(rows: AnswerRows, found: readonly Row[], tipHeight: number): void;
}

/** Bytes of a row with a few numbers. */
const SMALL_ROW = 100;

/** Returns the statements that fetch rows. They are independent of each other. */
export function fetchesOf(needs: RowNeeds): Fetch[] {
  const { blocks, hashes, txids, places, transactions, blockPage, totals, history, coins, coinbases, spent } = needs;
  return [
    ...(blocks ? [{ statement: blocksStatement(blocks), keep: keepBlocks }] : []),
    ...(hashes ? [hashesFetch(hashes)] : []),
    ...(txids ? [unlessUnknown(txidsStatement(txids), txids, keepTxByTxid)] : []),
    ...(places ? [unlessUnknown(placesStatement(places), places, keepFoundPlace)] : []),
    ...(transactions ? [transactionsFetch(transactions)] : []),
    ...(blockPage ? [{ statement: blockPageStatement(blockPage), keep: keepTxs }] : []),
    ...(totals ? [totalsFetch(totals)] : []),
    ...(history ? historyFetches(history) : []),
    ...(coins ? [coinsFetch(coins)] : []),
    ...(coinbases ? [coinbasesFetch(coinbases)] : []),
    ...(spent ? [spentFetch(spent), { statement: spendersStatement(spent), keep: keepTxs }] : []),
    ...blockFetches(needs),
  ];
}

function blockFetches({ blockTxids, rawBlock, rawUndo, staleBlock, since }: RowNeeds): Fetch[] {
  return [
    ...(blockTxids ? [{ statement: blockTxidsStatement(blockTxids), keep: keepTxids }] : []),
    ...(rawBlock === undefined ? [] : [rawBlockFetch(rawBlock)]),
    ...(rawUndo === undefined ? [] : [rawUndoFetch(rawUndo)]),
    ...(staleBlock === undefined ? [] : [staleFetch(staleBlock)]),
    ...(since === undefined ? [] : [sinceFetch(since)]),
  ];
}

const keepBlocks: Fetch['keep'] = (rows, found) => {
  for (const row of found) keepBlock(rows, row);
};

const keepTxs: Fetch['keep'] = (rows, found) => {
  for (const row of found) keepTx(rows, row, { isByTxid: false });
};

function keepTxByTxid(rows: AnswerRows, row: Row): void {
  keepTx(rows, row, { isByTxid: true });
}

function transactionsFetch(positions: readonly TxPosition[]): Fetch {
  return {
    statement: transactionsStatement(positions),
    keep(rows, found, tipHeight) {
      for (const position of positions) rows.set('place', position, null, SMALL_ROW);
      keepTxs(rows, found, tipHeight);
    },
  };
}

function keepFoundPlace(rows: AnswerRows, row: Row): void {
  keepBlock(rows, row);
  const position = keepPlace(rows, row);
  keepPosition(rows, rows.get('place', position)!.txid, position);
}

const wireHex = (hash: string): string => Uint8Array.fromHex(hash).toReversed().toHex();

/** Keeps the rows of transactions, and that the other txids have none. */
function unlessUnknown(
  statement: Statement,
  txids: readonly string[],
  keep: (rows: AnswerRows, row: Row) => void,
): Fetch {
  return {
    statement,
    keep(rows, found) {
      for (const txid of txids) rows.set('position', wireHex(txid), null, SMALL_ROW);
      for (const row of found) keep(rows, row);
    },
  };
}

function hashesFetch(hashes: readonly string[]): Fetch {
  return {
    statement: hashesStatement(hashes),
    keep(rows, found) {
      for (const row of found) if (row.stale) keepStale(rows, row);
      // A block that has come back is in both tables.
      for (const row of found) if (!row.stale) keepBlock(rows, row);
      for (const hash of hashes)
        if (rows.get('hash', wireHex(hash)) === undefined) rows.set('unknown', wireHex(hash), true, SMALL_ROW);
    },
  };
}

function totalsFetch(keys: readonly string[]): Fetch {
  return {
    statement: totalsStatement(keys),
    keep(rows, found, tipHeight) {
      for (const key of keys) rows.set('totals', key, null, SMALL_ROW);
      for (const row of found) {
        const key = row.script_hash as Uint8Array;
        const totals = {
          key: key as ScriptKey,
          received: BigInt(row.received as string),
          sent: BigInt(row.sent as string),
          txs: Number(row.transactions),
          utxos: Number(row.outputs) - Number(row.inputs),
          firstHeight: Number(row.first_height),
          lastHeight: Number(row.last_height),
        };
        rows.set('totals', key.toHex(), totals, 2 * SMALL_ROW);
        const from = pageKey(key.toHex(), tipHeight - COINBASE_MATURITY + 2);
        rows.set('coinbases', from, Number(row.immature), SMALL_ROW);
      }
    },
  };
}

function historyFetches(need: HistoryNeed): Fetch[] {
  const { keys, withTxs } = need;
  const page: Fetch = {
    statement: historyStatement(need),
    keep(rows, found) {
      const pages = new Map<string, HistoryRecord[]>(keys.map((key) => [key, []]));
      for (const row of found)
        pages.get((row.key as Uint8Array).toHex())!.push({
          ...{ position: positionOfRow(row), received: Number(row.received), sent: Number(row.sent) },
        });
      for (const [key, records] of pages)
        rows.set('history', historyKey(key, need), records, records.length * SMALL_ROW);
    },
  };
  return withTxs ? [page, { statement: historyTxsStatement(need), keep: keepTxs }] : [page];
}

export function historyKey(
  key: string,
  { above, below, order, limit }: Pick<HistoryNeed, 'above' | 'below' | 'order' | 'limit'>,
): string {
  return pageKey(key, above, below, order, limit);
}

function coinsFetch(need: CoinsNeed): Fetch {
  const { keys, position, vout, limit } = need;
  return {
    statement: coinsStatement(need),
    keep(rows, found) {
      const pages = new Map<string, ScriptCoin[]>(keys.map((key) => [key, []]));
      for (const row of found) {
        keepBlock(rows, row);
        const place = keepPlace(rows, row);
        const coin = { position: place, vout: Number(row.vout), value: Number(row.value) };
        pages.get((row.key as Uint8Array).toHex())!.push(coin);
      }
      for (const [key, coins] of pages)
        rows.set('coins', pageKey(key, position, vout, limit), coins, coins.length * SMALL_ROW);
    },
  };
}

function coinbasesFetch({ key, height }: { readonly key: string; readonly height: number }): Fetch {
  return {
    statement: coinbasesStatement(key, height),
    keep: (rows, [row]) => rows.set('coinbases', pageKey(key, height), Number(row?.value ?? 0), SMALL_ROW),
  };
}

function spentFetch(outpoints: readonly { readonly txid: string; readonly vout: number }[]): Fetch {
  return {
    statement: spentStatement(outpoints),
    keep(rows, found) {
      const spenders = new Map<string, number[]>(outpoints.map(({ txid, vout }) => [pageKey(wireHex(txid), vout), []]));
      for (const row of found) {
        const key = pageKey((row.prev_txid as Uint8Array).toReversed().toHex(), Number(row.prev_vout));
        spenders.get(key)!.push(positionOfRow(row));
      }
      for (const [key, positions] of spenders) rows.set('spenders', key, positions, SMALL_ROW);
    },
  };
}

const keepTxids: Fetch['keep'] = (rows, [row]) => {
  if (row === undefined) return;
  const shown = row.txids as Uint8Array;
  const txids = new Uint8Array(shown.length);
  for (let at = 0; at < shown.length; at += 32) txids.set(shown.subarray(at, at + 32).toReversed(), at);
  rows.set('txids', Number(row.height), txids, txids.length);
};

function rawBlockFetch(height: number): Fetch {
  return {
    statement: rawBlockStatement(height),
    keep(rows, [row]) {
      const raw = row!.raw as Uint8Array;
      rows.set('raw', height, raw, raw.length);
    },
  };
}

function rawUndoFetch(height: number): Fetch {
  return {
    statement: rawUndoStatement(height),
    keep(rows, found) {
      const w = new ByteWriter();
      for (const row of found) {
        const position = txPosition(Number(row.prev_height), Number(row.prev_position));
        writeUndoRecord(w, position, BigInt(row.value as string), row.script as Uint8Array);
      }
      const undo = w.finish();
      rows.set('undo', height, undo, undo.length);
    },
  };
}

function staleFetch(hash: string): Fetch {
  return {
    statement: staleBlockStatement(hash),
    keep(rows, [row]) {
      if (row === undefined) return;
      const { raw, undo } = row as { raw: Uint8Array; undo: Uint8Array };
      rows.set('raw', hash, raw, raw.length);
      rows.set('undo', hash, undo, undo.length);
    },
  };
}

function sinceFetch(time: number): Fetch {
  return {
    statement: sinceStatement(time),
    keep: (rows, [row]) => rows.set('since', time, row === undefined ? null : Number(row.height), SMALL_ROW),
  };
}
