import type { TxSource } from '../mempool/mirror.ts';
import { parseTransaction } from '../primitives/block.ts';
import { hashFromHex, hashToHex } from '../primitives/hash.ts';
import { readTxUndo } from '../primitives/undo.ts';
import { jsonAnswer, type ReadEndpoint, textAnswer } from '../queries/answer.ts';
import { blockByHash, headerTime, rawBlock } from '../queries/block-facts.ts';
import { positionsOf } from '../queries/index-reads.ts';
import type { ReadEnv } from '../queries/read-env.ts';
import { BlockPruned } from '../storage/chain-reads.ts';
import type { ChainSource } from '../storage/chain-source.ts';
import type { HeaderRecord } from '../storage/header-store.ts';
import { ByteReader } from '../util/bytes.ts';
import { txView } from '../views/rest/tx-view.ts';
import { candidateTxs } from './block-scan.ts';
import { matchTx, type TxTouches, touchesToLine } from './match.ts';
import { type FilterData, PrintTable, type WatchFilter } from './watch-filter.ts';

/**
 * The transactions of a block that touch what is watched: a first line of JSON about the block, then one line for each
 * transaction, so that the front can read them a few at a time.
 */
export const matchBlockEndpoint: ReadEndpoint<{ hash: string; filter: FilterData }> = {
  name: 'event-block-matches',
  run(env, { hash, filter }) {
    const block = blockByHash(env, hash);
    const { reads } = env;
    const raw = storedBlock(env, block);
    const about = { height: block.height, time: headerTime(block) };
    if (raw === null) return textAnswer(JSON.stringify({ ...about, pruned: true }), 'none');
    const table = new PrintTable(filter);
    const undo = reads.rawUndo(block);
    const positions = filter.txids && reads.headers.isActive(block) ? positionsOf(env) : null;
    const txids = positions?.txidsOfBlock(block.height) ?? null;
    const lines = [JSON.stringify(about)];
    for (const { index, start, end, undoStart } of candidateTxs(raw, undo, txids, table)) {
      const parsed = parseTransaction(raw.subarray(start, end));
      const spent = index > 0 && undo ? readTxUndo(new ByteReader(undo, undoStart), parsed.tx.inputs.length) : null;
      const touches = matchTx(parsed, spent, index, table);
      if (touches) lines.push(touchesToLine(touches));
    }
    return textAnswer(lines.join('\n'), 'none');
  },
};

/** Returns the bytes of a block; null if they have been pruned. */
function storedBlock(env: ReadEnv, block: HeaderRecord): Uint8Array | null {
  try {
    return rawBlock(env, block);
  } catch (error) {
    if (error instanceof BlockPruned) return null;
    throw error;
  }
}

/** The same line of one unconfirmed transaction; empty where it touches nothing. */
export const matchTxEndpoint: ReadEndpoint<TxSource & { filter: FilterData }> = {
  name: 'event-tx-matches',
  run(_, { filter, ...tx }) {
    const touches = matchUnconfirmed(tx, new PrintTable(filter));
    return textAnswer(touches ? touchesToLine(touches) : '', 'none');
  },
};

export function matchUnconfirmed({ raw, spent }: TxSource, filter: WatchFilter): TxTouches | null {
  const parsed = parseTransaction(raw);
  return matchTx(parsed, readTxUndo(new ByteReader(spent), parsed.tx.inputs.length), 0, filter);
}

/** The body that REST gives of an unconfirmed transaction. */
export const eventTxEndpoint: ReadEndpoint<TxSource> = {
  name: 'event-tx',
  run(env, { raw, spent }) {
    const parsed = parseTransaction(raw);
    const coins = readTxUndo(new ByteReader(spent), parsed.tx.inputs.length);
    const facts = { parsed, isCoinbase: false, spent: coins, place: null };
    return { ...jsonAnswer(txView(env, facts, { withMempool: false })), freshness: 'none' };
  },
};

/** The hash that `ancestorHash` finds; empty without one. */
export const ancestorEndpoint: ReadEndpoint<{ readonly hash: string; readonly back: number }> = {
  name: 'event-ancestor',
  run: (env, { hash, back }) => textAnswer(ancestorHash(env, hash, back) ?? '', 'none'),
};

/** Hash of the block `back` below another one on its own branch, display order; null below the genesis block. */
export function ancestorHash(
  { reads }: { readonly reads: Pick<ChainSource, 'headers' | 'snapshot'> },
  hash: string,
  back: number,
): string | null {
  return reads.snapshot(() => {
    let at = reads.headers.byHash(hashFromHex(hash));
    const height = at ? at.height - back : -1;
    if (height < 0) return null;
    // A branch that was left joins the active chain after a few blocks.
    while (at && at.height > height && !reads.headers.isActive(at))
      at = reads.headers.byHash(at.header.subarray(4, 36));
    const found = at && at.height > height ? reads.headers.byHeight(height) : at;
    return found && hashToHex(found.hash);
  });
}
