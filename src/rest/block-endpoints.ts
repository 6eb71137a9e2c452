import { t } from 'elysia';
import { fail } from '../http/errors.ts';
import { boundTo, heightInput, heightOption, nextPage, numberInput, type PageInput, pageInput } from '../http/input.ts';
import { HEX } from '../http/reply-schema.ts';
import { BYTES, json, plainText } from '../http/route-description.ts';
import { txPosition } from '../primitives/coin.ts';
import { hashToHex } from '../primitives/hash.ts';
import { bytesAnswer, jsonAnswer, jsonTextAnswer, textAnswer } from '../queries/answer.ts';
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
import { positionsOf } from '../queries/index-reads.ts';
import { needSpenders, type ReadEnv } from '../queries/read-env.ts';
import { blockTxFacts, txFacts } from '../queries/tx-facts.ts';
import type { HeaderRecord } from '../storage/header-store.ts';
import { blockText } from '../views/rest/block-text.ts';
import { blockView, txidList } from '../views/rest/block-view.ts';
import { txView } from '../views/rest/tx-view.ts';
import { UNITS_PER_CALL } from './call-costs.ts';
import { readEndpoint } from './endpoint.ts';
import { BLOCK_HASH, CURSOR, choice, HEIGHT, LIMIT, wholeNumber } from './parameters.ts';
import {
  BLOCK,
  BLOCK_STATUS,
  BLOCK_TIP,
  BLOCK_TXS_PAGE,
  BLOCKS_PAGE,
  HEADERS_PAGE,
  TXIDS,
} from './schemas/block-schemas.ts';

/** Time to read one average transaction and to format it as JSON with its spent outputs, microseconds. */
const TX_JSON_US = 200;
const BLOCK_JSON_US = 200;
const READ_US_PER_MB = 800;
const MAX_HEIGHT = 2 ** 31 - 1;
const FIELDS = choice(['all', 'summary'], 'summary leaves out txids');
const HEADER_HEX = t.String({ pattern: '^[0-9a-f]{160}$', description: '80 bytes' });

const hashOf = ({ params }: { readonly params: { readonly hash: string } }) => ({ hash: params.hash.toLowerCase() });

export const blockEndpoint = readEndpoint({
  name: 'block',
  path: '/api/block/:hash',
  tag: 'blocks',
  summary: 'Block by hash',
  params: { hash: BLOCK_HASH },
  query: { fields: FIELDS },
  response: json(BLOCK),
  errors: ['invalid_hash', 'block_not_found', 'block_pruned'],
  input({ params, query }, { charge }) {
    charge(1);
    return { hash: params.hash.toLowerCase(), summary: query.fields === 'summary' };
  },
  run: (env, { hash, summary }) => jsonTextAnswer(blockText(env, hash, () => blockByHash(env, hash), summary)),
});

export const blockByHeightEndpoint = readEndpoint({
  name: 'block-by-height',
  path: '/api/block-by-height/:height',
  tag: 'blocks',
  summary: 'Block of the active chain by height',
  params: { height: HEIGHT },
  query: { fields: FIELDS },
  response: json(BLOCK),
  errors: ['invalid_height', 'block_not_found', 'block_pruned'],
  input({ params, query }, { charge }) {
    charge(1);
    return { height: heightInput(params.height), summary: query.fields === 'summary' };
  },
  run(env, { height, summary }) {
    const block = blockByHeight(env, height);
    return jsonTextAnswer(blockText(env, hashToHex(block.hash), () => block, summary));
  },
});

/** Blocks of the active chain from `before` down, newest first. */
export const blocksEndpoint = readEndpoint({
  name: 'blocks',
  path: '/api/blocks',
  tag: 'blocks',
  summary: 'Blocks of the active chain, newest first',
  query: { before: wholeNumber('height above the first block'), limit: LIMIT, cursor: CURSOR },
  response: json(BLOCKS_PAGE),
  errors: ['invalid_cursor', 'cursor_reorged', 'block_pruned'],
  input({ query }, { options }): PageInput & { before: number | null } {
    const page = pageInput(query, '/api/blocks', options.pages.blocks, ['before']);
    return { ...page, before: heightOption(query, 'before') };
  },
  run(env, input) {
    const { tip } = env;
    const bound = boundTo(input);
    const end = input.cursor === null ? null : decodeCursor(bound, input.cursor);
    const newest = Math.min(tip.height, (end?.position ?? input.before ?? Number.MAX_SAFE_INTEGER) - 1);
    // The position of this cursor is a height.
    if (end) checkStillActive(env, end.position, end.blockHash);
    const oldest = Math.max(0, newest - input.limit + 1);
    const count = Math.max(0, newest - oldest + 1);
    env.expectWork(count * BLOCK_JSON_US);
    const blocks = count > 0 ? storedOf(env.reads.headers.range(oldest, count).reverse()) : [];
    env.reads.expectRows({ transactions: blocks.map(({ height }) => txPosition(height, 0)) });
    const items = blocks.map((block) => blockView(env, block, { summary: true }));
    const last = blocks.at(-1);
    const more = last !== undefined && last.height > 0;
    const cursor = more ? encodeCursor(bound, { position: last.height, sub: 0, seq: 0, blockHash: last.hash }) : null;
    const next = cursor && nextPage(input, cursor);
    return jsonAnswer({ tip: tipView(tip), items, nextCursor: cursor, next }, next);
  },
});

/** Cuts a page, newest first, where the pruned blocks begin; a page that begins with one is left as it is. */
function storedOf(blocks: HeaderRecord[]): HeaderRecord[] {
  const pruned = blocks.findIndex(({ body }) => body === null);
  return pruned > 0 ? blocks.slice(0, pruned) : blocks;
}

export const tipEndpoint = readEndpoint({
  name: 'blocks-tip',
  path: '/api/blocks/tip',
  tag: 'blocks',
  summary: 'The tip of the active chain',
  response: json(BLOCK_TIP),
  input: () => null,
  run: ({ reads, tip }) =>
    jsonAnswer({ ...tipView(tip), time: headerTime(tip), medianTime: medianTime(reads, tip, true) }),
});

/** The transactions of a block as full objects, in block order. */
export const blockTxsEndpoint = readEndpoint({
  name: 'block-txs',
  path: '/api/block/:hash/txs',
  tag: 'blocks',
  summary: 'Transactions of a block, in block order',
  params: { hash: BLOCK_HASH },
  query: { limit: LIMIT, cursor: CURSOR },
  response: json(BLOCK_TXS_PAGE),
  errors: ['invalid_hash', 'invalid_cursor', 'block_not_found', 'block_pruned'],
  input({ params, query }, { options, charge }): PageInput & { hash: string } {
    const hash = params.hash.toLowerCase();
    const page = pageInput(query, `/api/block/${hash}/txs`, options.pages.blockTxs);
    charge(Math.ceil(page.limit / UNITS_PER_CALL.fullTxs) - 1);
    return { ...page, hash };
  },
  run(env, input) {
    const { reads, tip } = env;
    const block = blockByHash(env, input.hash);
    if (!block.stats) return fail('block_not_found', 'the body of this block is not stored', { tipHeight: tip.height });
    const bound = boundTo(input);
    const from = input.cursor === null ? 0 : decodeCursor(bound, input.cursor).position + 1;
    const to = Math.min(from + input.limit, block.stats.txCount);
    env.expectWork((to - from) * TX_JSON_US);
    const { height } = block;
    const isActive = reads.headers.isActive(block);
    const positions = isActive ? positionsOf(env) : null;
    const place = isActive ? (index: number) => txPosition(height, index) : null;
    const facts =
      positions?.range(txPosition(height, from), txPosition(height, to)).map((record) => txFacts(env, record)) ??
      blockTxFacts(env, block, parsedBlock(env, block), place).slice(from, to);
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
});

export const blockTxidsEndpoint = readEndpoint({
  name: 'block-txids',
  path: '/api/block/:hash/txids',
  tag: 'blocks',
  summary: 'Transaction ids of a block',
  params: { hash: BLOCK_HASH },
  response: json(TXIDS),
  errors: ['invalid_hash', 'block_not_found', 'block_pruned'],
  input: hashOf,
  run(env, { hash }) {
    const block = blockByHash(env, hash);
    const list = txidList(blockTxids(env, { block, inActiveChain: env.reads.headers.isActive(block) }));
    return { ...jsonAnswer(list), freshness: { immutable: hash } };
  },
});

export const blockHeaderEndpoint = readEndpoint({
  name: 'block-header',
  path: '/api/block/:hash/header',
  tag: 'blocks',
  summary: 'Header of a block as hex',
  params: { hash: BLOCK_HASH },
  response: plainText(HEADER_HEX),
  errors: ['invalid_hash', 'block_not_found'],
  input: hashOf,
  run: (env, { hash }) => textAnswer(blockByHash(env, hash).header.toHex(), { immutable: hash }),
});

export const blockRawEndpoint = readEndpoint({
  name: 'block-raw',
  path: '/api/block/:hash/raw',
  tag: 'blocks',
  summary: 'A block as bytes',
  params: { hash: BLOCK_HASH },
  response: BYTES,
  errors: ['invalid_hash', 'block_not_found', 'block_pruned'],
  input: hashOf,
  run: (env, { hash }) => bytesAnswer(bodyOf(env, hash), { immutable: hash }),
});

export const blockHexEndpoint = readEndpoint({
  name: 'block-hex',
  path: '/api/block/:hash/hex',
  tag: 'blocks',
  summary: 'A block as hex',
  params: { hash: BLOCK_HASH },
  response: plainText(HEX),
  errors: ['invalid_hash', 'block_not_found', 'block_pruned'],
  input: hashOf,
  run: (env, { hash }) => textAnswer(bodyOf(env, hash).toHex(), { immutable: hash }),
});

function bodyOf(env: ReadEnv, hash: string): Uint8Array {
  const block = blockByHash(env, hash);
  env.expectWork(((block.body?.size ?? 0) / 1e6) * READ_US_PER_MB);
  return rawBlock(env, block);
}

export const blockStatusEndpoint = readEndpoint({
  name: 'block-status',
  path: '/api/block/:hash/status',
  tag: 'blocks',
  summary: 'Whether a block is in the active chain',
  params: { hash: BLOCK_HASH },
  response: json(BLOCK_STATUS),
  errors: ['invalid_hash', 'block_not_found'],
  input: hashOf,
  run(env, { hash }) {
    const { block, inActiveChain, confirmations, nextHash } = blockFacts(env, blockByHash(env, hash));
    const view = { inActiveChain, height: block.height, confirmations, nextHash: nextHash && hashToHex(nextHash) };
    return jsonAnswer(view);
  },
});

/** Headers of the active chain from a height upwards, 80 bytes of hex each. */
export const headersEndpoint = readEndpoint({
  name: 'headers',
  path: '/api/headers',
  tag: 'blocks',
  summary: 'Headers of the active chain',
  query: {
    from: wholeNumber('first height', { default: 0 }),
    count: wholeNumber('headers', { minimum: 1, maximum: 2000, default: 2000 }),
  },
  response: json(HEADERS_PAGE),
  input: ({ query }) => ({
    from: numberInput(query, 'from', { min: 0, max: MAX_HEIGHT, fallback: 0 }),
    count: numberInput(query, 'count', { min: 1, max: 2000, fallback: 2000 }),
  }),
  run(env, { from, count }) {
    env.expectWork(Math.min(count, Math.max(0, env.tip.height - from + 1)) * 8);
    const items = env.reads.headers.range(from, count).map(({ header }: HeaderRecord) => header.toHex());
    return jsonAnswer({ tip: tipView(env.tip), items, nextCursor: null, next: null });
  },
});
