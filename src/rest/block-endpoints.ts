import { fail } from '../http/errors.ts';
import { boundTo, nextPage, type PageInput } from '../http/input.ts';
import { txPosition } from '../primitives/coin.ts';
import { hashToHex } from '../primitives/hash.ts';
import { type Answer, bytesAnswer, jsonAnswer, type ReadEndpoint, textAnswer } from '../queries/answer.ts';
import { blockTxids, parsedBlock } from '../queries/block-body.ts';
import {
  blockByHash,
  blockByHeight,
  blockFacts,
  headerTime,
  medianTime,
  rawBlock,
  tipView,
} from '../queries/block-facts.ts';
import { checkStillActive, decodeCursor, encodeCursor } from '../queries/cursor.ts';
import { needSpenders } from '../queries/read-env.ts';
import { blockTxFacts, txFacts } from '../queries/tx-facts.ts';
import type { HeaderRecord } from '../storage/header-store.ts';
import { blockView, txidList } from '../views/rest/block-view.ts';
import { txView } from '../views/rest/tx-view.ts';

/** Microseconds to read one transaction of average shape and write it as JSON with what it spent. */
const TX_JSON_US = 200;
const BLOCK_JSON_US = 200;
const READ_US_PER_MB = 800;

export const blockEndpoint: ReadEndpoint<{ hash: string; summary: boolean }> = {
  name: 'block',
  run: (env, { hash, summary }) => jsonAnswer(blockView(env, blockByHash(env, hash), { summary })),
};

export const blockByHeightEndpoint: ReadEndpoint<{ height: number; summary: boolean }> = {
  name: 'block-by-height',
  run: (env, { height, summary }) => jsonAnswer(blockView(env, blockByHeight(env, height), { summary })),
};

/** Blocks of the active chain from `before` down, newest first. */
export const blocksEndpoint: ReadEndpoint<PageInput & { before: number | null }> = {
  name: 'blocks',
  run(env, input) {
    const { tip } = env;
    const bound = boundTo(input);
    const end = input.cursor === null ? null : decodeCursor(bound, input.cursor);
    const newest = Math.min(tip.height, (end?.position ?? input.before ?? Number.MAX_SAFE_INTEGER) - 1);
    // Here a cursor's position is a height.
    if (end) checkStillActive(env, end.position, end.blockHash);
    const oldest = Math.max(0, newest - input.limit + 1);
    const count = Math.max(0, newest - oldest + 1);
    env.expectWork(count * BLOCK_JSON_US);
    const blocks = count > 0 ? env.reads.headers.range(oldest, count).reverse() : [];
    const items = blocks.map((block) => blockView(env, block, { summary: true }));
    const last = blocks.at(-1);
    const more = last !== undefined && last.height > 0;
    const cursor = more ? encodeCursor(bound, { position: last.height, sub: 0, seq: 0, blockHash: last.hash }) : null;
    const next = cursor && nextPage(input, cursor);
    return jsonAnswer({ tip: tipView(tip), items, nextCursor: cursor, next }, next);
  },
};

export const tipEndpoint: ReadEndpoint<null> = {
  name: 'blocks-tip',
  run: ({ reads, tip }) =>
    jsonAnswer({ ...tipView(tip), time: headerTime(tip), medianTime: medianTime(reads, tip, true) }),
};

/** The transactions of a block as full objects, in block order. */
export const blockTxsEndpoint: ReadEndpoint<PageInput & { hash: string }> = {
  name: 'block-txs',
  run(env, input) {
    const { reads, tip } = env;
    const block = blockByHash(env, input.hash);
    if (!block.stats) return fail('block_not_found', 'the body of this block is not there', { tipHeight: tip.height });
    const bound = boundTo(input);
    const from = input.cursor === null ? 0 : decodeCursor(bound, input.cursor).position + 1;
    const to = Math.min(from + input.limit, block.stats.txCount);
    env.expectWork((to - from) * TX_JSON_US);
    const { height } = block;
    const facts = reads.headers.isActive(block)
      ? reads.txs.range(txPosition(height, from), txPosition(height, to)).map((record) => txFacts(env, record))
      : blockTxFacts(env, block, parsedBlock(env, block), null).slice(from, to);
    needSpenders(
      env,
      facts.map(({ parsed }) => parsed.txid),
    );
    const items = facts.map((each) => txView(env, each));
    const cursor =
      to < block.stats.txCount
        ? encodeCursor(bound, { position: to - 1, sub: 0, seq: 0, blockHash: block.hash })
        : null;
    const next = cursor && nextPage(input, cursor);
    return jsonAnswer({ tip: tipView(tip), total: block.stats.txCount, items, nextCursor: cursor, next }, next);
  },
  mempoolPart: () => [],
};

export const blockTxidsEndpoint: ReadEndpoint<{ hash: string }> = {
  name: 'block-txids',
  run(env, { hash }) {
    const block = blockByHash(env, hash);
    const list = txidList(blockTxids(env, { block, inActiveChain: env.reads.headers.isActive(block) }));
    return { ...jsonAnswer(list), freshness: { immutable: hash } };
  },
};

export const blockHeaderEndpoint: ReadEndpoint<{ hash: string }> = {
  name: 'block-header',
  run: (env, { hash }) => textAnswer(blockByHash(env, hash).header.toHex(), { immutable: hash }),
};

export const blockRawEndpoint: ReadEndpoint<{ hash: string; as: 'bytes' | 'hex' }> = {
  name: 'block-raw',
  run(env, { hash, as }) {
    const block = blockByHash(env, hash);
    env.expectWork(((block.body?.size ?? 0) / 1e6) * READ_US_PER_MB);
    const raw = rawBlock(env, block);
    return as === 'hex' ? textAnswer(raw.toHex(), { immutable: hash }) : bytesAnswer(raw, { immutable: hash });
  },
};

export const blockStatusEndpoint: ReadEndpoint<{ hash: string }> = {
  name: 'block-status',
  run(env, { hash }) {
    const { block, inActiveChain, confirmations, nextHash } = blockFacts(env, blockByHash(env, hash));
    const view = { inActiveChain, height: block.height, confirmations, nextHash: nextHash && hashToHex(nextHash) };
    return jsonAnswer(view);
  },
};

/** Headers of the active chain from a height upwards, 80 bytes of hex each. */
export const headersEndpoint: ReadEndpoint<{ from: number; count: number }> = {
  name: 'headers',
  run(env, { from, count }): Answer {
    env.expectWork(Math.min(count, Math.max(0, env.tip.height - from + 1)) * 8);
    const items = env.reads.headers.range(from, count).map(({ header }: HeaderRecord) => header.toHex());
    return jsonAnswer({ tip: tipView(env.tip), items, nextCursor: null, next: null });
  },
};
