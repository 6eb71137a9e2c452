import { parseTransaction } from '../../primitives/block.ts';
import { hashFromHex } from '../../primitives/hash.ts';
import { readTxUndo } from '../../primitives/undo.ts';
import { ByteReader } from '../../util/bytes.ts';
import { jsonAnswer, type ReadEndpoint, textAnswer } from '../readers/answer.ts';
import { parsedBlock } from '../readers/block-body.ts';
import { blockByHash, headerTime } from '../readers/block-facts.ts';
import { blockTxFacts } from '../readers/tx-facts.ts';
import { txView } from '../views/tx-view.ts';
import type { TxSource } from './event-log.ts';
import { matchTx, type TxTouches } from './match.ts';
import { type FilterData, PrintTable, type WatchFilter } from './watch-filter.ts';

/**
 * The transactions of a block that touch what is watched: a first line of JSON about the block, then one line for each
 * transaction, so that the front can read them a few at a time.
 */
export const matchBlockEndpoint: ReadEndpoint<{ hash: string; filter: FilterData }> = {
  name: 'event-block-matches',
  run(env, { hash, filter }) {
    const block = blockByHash(env, hash);
    const table = new PrintTable(filter);
    const lines = [JSON.stringify({ height: block.height, time: headerTime(block) })];
    for (const [index, { parsed, spent }] of blockTxFacts(env, block, parsedBlock(env, block), null).entries()) {
      const touches = matchTx(parsed, spent, index, table);
      if (touches) lines.push(JSON.stringify(touches));
    }
    return textAnswer(lines.join('\n'), 'none');
  },
};

/** The same of one unconfirmed transaction, as JSON. */
export const matchTxEndpoint: ReadEndpoint<TxSource & { filter: FilterData }> = {
  name: 'event-tx-matches',
  run: (_, { filter, ...tx }) => ({ ...jsonAnswer(matchUnconfirmed(tx, new PrintTable(filter))), freshness: 'none' }),
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
    const body = txView(env, { parsed, isCoinbase: false, spent: coins, place: null });
    return { ...jsonAnswer(body), freshness: 'none' };
  },
};

/** Hash of the block `back` below another one on its own branch; null below the genesis block. */
export function ancestorHash(
  { reads }: Pick<Parameters<typeof blockByHash>[0], 'reads'>,
  hash: string,
  back: number,
): Uint8Array | null {
  return reads.snapshot(() => {
    let at = reads.headers.byHash(hashFromHex(hash));
    const height = at ? at.height - back : -1;
    if (height < 0) return null;
    // A branch that was left joins the active chain after a few blocks.
    while (at && at.height > height && !reads.headers.isActive(at)) at = reads.headers.byHash(at.header.subarray(4, 36));
    return (at && at.height > height ? reads.headers.byHeight(height)?.hash : at?.hash) ?? null;
  });
}
