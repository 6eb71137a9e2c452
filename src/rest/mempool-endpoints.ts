import { boundTo, nextPage, type PageInput, pageInput } from '../http/input.ts';
import { json } from '../http/route-description.ts';
import { feeRateOf, sat } from '../http/sat.ts';
import type { MempoolMirror } from '../mempool/mirror.ts';
import { hashToHex } from '../primitives/hash.ts';
import { type Answer, jsonAnswer } from '../queries/answer.ts';
import { tipView } from '../queries/block-facts.ts';
import { checkNotSyncing } from '../queries/broadcast.ts';
import { decodeCursor, encodeCursor, endOfChain } from '../queries/cursor.ts';
import { mempoolTotals } from '../queries/mempool-totals.ts';
import type { ReadEnv } from '../queries/read-env.ts';
import { readScriptInput, type ScriptInput } from '../queries/script-input.ts';
import { unconfirmedFacts, valueOut } from '../queries/tx-facts.ts';
import { systemClock, unixSeconds } from '../util/clock.ts';
import { feesView } from '../views/rest/fees-view.ts';
import { onlyScript } from './address-txs.ts';
import { endpoint, readEndpoint } from './endpoint.ts';
import { ownTxView } from './history-page.ts';
import { ADDRESS, CURSOR, LIMIT } from './parameters.ts';
import type { RestContext } from './rest-context.ts';
import { MEMPOOL_ADDRESS_PAGE } from './schemas/address-schemas.ts';
import { FEES, MEMPOOL, MEMPOOL_TXIDS_PAGE, PROJECTED_BLOCKS, RECENT_TXS } from './schemas/mempool-schemas.ts';

const RECENT = 20;
/** Time to format one transaction, and one id, microseconds. */
const TX_US = 80;
const TXID_US = 1;

export const mempoolEndpoint = endpoint({
  name: 'mempool',
  path: '/api/mempool',
  tag: 'mempool',
  summary: 'The mempool',
  response: json(MEMPOOL),
  hasEtag: true,
  serve:
    (_, service) =>
    ({ request }) =>
      service.reply(mempoolAnswer, request),
});

/** The mempool as a whole. */
function mempoolAnswer(env: ReadEnv): Answer {
  const { mempool, tip } = env;
  const totals = mempoolTotals(env);
  return jsonAnswer({
    count: totals.count,
    vsize: totals.vsize,
    size: totals.size,
    usage: totals.usage,
    maxUsage: totals.maxUsage,
    totalFee: totals.totalFee,
    loaded: totals.loaded,
    minFeeRate: totals.minFeerate / 1000,
    minRelayFeeRate: totals.minRelayFeerate / 1000,
    incrementalFeeRate: totals.incrementalFeerate / 1000,
    feeHistogram: mempool.histogram(),
    unbroadcast: totals.unbroadcast,
    oldest: mempool.oldest(),
    seq: mempool.seq,
    clusterLimit: { count: env.settings.relay.clusterCount, vsize: env.settings.relay.clusterVsize },
    tip: tipView(tip),
  });
}

/** Unconfirmed transactions of a script, newest first. */
export const mempoolAddressEndpoint = readEndpoint({
  name: 'mempool-address',
  path: '/api/mempool/address/:address',
  tag: 'mempool',
  summary: 'Unconfirmed transactions of an address',
  params: { address: ADDRESS },
  query: { limit: LIMIT, cursor: CURSOR },
  response: json(MEMPOOL_ADDRESS_PAGE),
  errors: ['invalid_address', 'invalid_cursor'],
  input({ params, query }, { options, params: network }): PageInput & ScriptInput {
    const script = readScriptInput(params.address, network);
    const path = `/api/mempool/address/${script.address}`;
    return { ...pageInput(query, path, options.pages.mempoolAddress), ...script };
  },
  run(env, input) {
    const { mempool, tip } = env;
    const { script, address, limit, cursor } = input;
    const bound = boundTo(input);
    const sums = mempool.scriptSums(script);
    env.expectWork(Math.min(limit, sums.txs) * TX_US + sums.txs * TXID_US);
    const before = cursor === null ? null : knownSeq(mempool, decodeCursor(bound, cursor).seq);
    const slots = mempool.slotsOfScript(script).reverse();
    const found = before === null ? slots : slots.filter((slot) => mempool.entries.order(slot) < before);
    const page = found.slice(0, limit);
    const last = found.length > limit ? page.at(-1)! : null;
    const nextCursor =
      last === null ? null : encodeCursor(bound, { ...endOfChain(env), sub: 0, seq: mempool.entries.order(last) });
    const next = nextCursor && nextPage(input, nextCursor);
    return jsonAnswer(
      {
        address,
        tip: tipView(tip),
        count: sums.txs,
        received: sums.received,
        sent: sums.sent,
        net: sums.received - sums.sent,
        items: page.map((slot) =>
          ownTxView(env, { membersOf: onlyScript(script) }, unconfirmedFacts(env, mempool.entryAt(slot)), false),
        ),
        nextCursor,
        next,
      },
      next,
    );
  },
  mempoolPart: ({ mempool }, { script }) => mempool.slotsOfScript(script),
});

export const mempoolTxidsEndpoint = endpoint({
  name: 'mempool-txids',
  path: '/api/mempool/txids',
  tag: 'mempool',
  summary: 'Ids of unconfirmed transactions, in the order of arrival',
  query: { limit: LIMIT, cursor: CURSOR },
  response: json(MEMPOOL_TXIDS_PAGE),
  hasEtag: true,
  errors: ['invalid_cursor'],
  serve:
    ({ options }, service) =>
    ({ query, request }) => {
      const page = pageInput(query, '/api/mempool/txids', options.pages.mempoolTxids);
      return service.reply((env) => mempoolTxidsAnswer(env, page), request);
    },
});

/** Returns the ids of all transactions, in order of arrival. */
function mempoolTxidsAnswer(env: ReadEnv, input: PageInput): Answer {
  const { mempool, tip } = env;
  const { limit, cursor } = input;
  const bound = boundTo(input);
  const after = cursor === null ? null : knownSeq(mempool, decodeCursor(bound, cursor).seq);
  const items: string[] = [];
  let last: number | null = null;
  let more = false;
  for (const slot of mempool.after(after ?? 0)) {
    more = items.length === limit;
    if (more) break;
    items.push(hashToHex(mempool.entries.txid(slot)));
    last = slot;
  }
  const nextCursor =
    more && last !== null
      ? encodeCursor(bound, { ...endOfChain(env), sub: 0, seq: mempool.entries.order(last) })
      : null;
  const next = nextCursor && nextPage(input, nextCursor);
  return jsonAnswer({ tip: tipView(tip), items, nextCursor, next }, next);
}

export const mempoolRecentEndpoint = endpoint({
  name: 'mempool-recent',
  path: '/api/mempool/recent',
  tag: 'mempool',
  summary: 'The last transactions accepted',
  response: json(RECENT_TXS),
  hasEtag: true,
  serve:
    (_, service) =>
    ({ request }) =>
      service.reply(mempoolRecentAnswer, request),
});

/** Returns the last accepted transactions. */
function mempoolRecentAnswer({ mempool }: ReadEnv): Answer {
  const items = [];
  for (const slot of mempool.before(Number.MAX_SAFE_INTEGER)) {
    const { parsed, fee, vsize, time } = mempool.entryAt(slot);
    const value = sat(valueOut(parsed));
    items.push({ txid: hashToHex(parsed.txid), fee, vsize, feeRate: feeRateOf(fee, vsize), valueOut: value, time });
    if (items.length === RECENT) break;
  }
  return jsonAnswer(items);
}

/** Events have other numbers after a restart, so the list begins again. */
function knownSeq({ firstSeq }: MempoolMirror, seq: number): number | null {
  return firstSeq !== null && seq >= firstSeq ? seq : null;
}

export const mempoolBlocksEndpoint = endpoint({
  name: 'mempool-blocks',
  path: '/api/mempool/blocks',
  tag: 'mempool',
  summary: 'The next blocks, as they would be mined from the mempool',
  response: json(PROJECTED_BLOCKS),
  description:
    'At most a second old, or the last ones for at most a minute while a block is validated. The WebSocket sends changes ' +
    'as `mempoolBlocks`.',
  hasEtag: true,
  serve:
    ({ nextBlocks }, service) =>
    async ({ request }) => {
      const blocks = await nextBlocks.blocks();
      return service.reply(() => ({ ...jsonAnswer(blocks), freshness: 'body' }), request);
    },
});

export const feesEndpoint = endpoint({
  name: 'fees',
  path: '/api/fees',
  tag: 'mempool',
  summary: 'Fee rates',
  response: json(FEES),
  hasEtag: true,
  errors: ['syncing'],
  serve:
    (ctx, service) =>
    ({ request }) =>
      service.reply((env) => feesAnswer(ctx, env), request),
});

function feesAnswer({ node, params }: RestContext, env: ReadEnv) {
  const { tip, mempool } = env;
  checkNotSyncing(node().status(), params.name, tip.height);
  const { minFeerate } = mempoolTotals(env);
  return jsonAnswer(feesView(mempool.fees, minFeerate, tipView(tip), unixSeconds(systemClock)));
}
