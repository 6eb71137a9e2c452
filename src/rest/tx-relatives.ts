import { json } from '../http/route-description.ts';
import { feeRateOf, sat } from '../http/sat.ts';
import type { Entries } from '../mempool/entries.ts';
import { ancestorsOf, chunksOfCluster, clusterOf, descendantsOf } from '../mempool/relatives.ts';
import type { Replacement } from '../mempool/replacement-history.ts';
import { hashFromHex, hashToHex, type Txid } from '../primitives/hash.ts';
import { type Answer, jsonAnswer } from '../queries/answer.ts';
import { tipView } from '../queries/block-facts.ts';
import { INDEX_ERRORS } from '../queries/index-reads.ts';
import type { ReadEnv } from '../queries/read-env.ts';
import { feeOf, txByTxid, txFacts, vsizeOf } from '../queries/tx-facts.ts';
import { statusView } from '../views/rest/tx-view.ts';
import { endpoint, readEndpoint } from './endpoint.ts';
import { TXID } from './parameters.ts';
import { CPFP, REPLACEMENTS } from './schemas/tx-relation-schemas.ts';

/** Limit of the listed replacements. */
const MAX_REPLACEMENTS = 100;
/** Time to linearize a cluster of 64 transactions, microseconds. */
const CLUSTER_US = 1000;

/** The relatives of a transaction in the mempool, and the feerate at which it is mined with them. */
export const cpfpEndpoint = readEndpoint({
  name: 'tx-cpfp',
  path: '/api/tx/:txid/cpfp',
  tag: 'transactions',
  summary: 'Unconfirmed relatives of a transaction, and the feerate that counts for a miner',
  description:
    'The effective feerate is that of the chunk in which a miner includes the transaction, so a child that pays more ' +
    'raises it. A confirmed transaction has no relatives here.',
  params: { txid: TXID },
  response: json(CPFP),
  errors: ['invalid_txid', 'tx_not_found', 'block_pruned', ...INDEX_ERRORS],
  input: ({ params }) => ({ txid: params.txid.toLowerCase() }),
  run(env, { txid }) {
    const { entries } = env.mempool;
    const slot = entries.find(hashFromHex<Txid>(txid));
    if (slot < 0) return jsonAnswer(confirmedCpfp(env, txid));
    const cluster = clusterOf(entries, slot);
    env.expectWork((cluster.length / 64) * CLUSTER_US);
    const chunks = chunksOfCluster(entries, cluster, env.settings.relay.bytesPerSigop);
    const chunk = chunks.find(({ slots }) => slots.includes(slot))!;
    const vsizeOfAll = (slots: readonly number[]) => slots.reduce((sum, each) => sum + entries.vsize(each), 0);
    const chunkVsize = vsizeOfAll(chunk.slots);
    return jsonAnswer({
      ...relativeView(entries, slot),
      status: statusView(env, null),
      effectiveFeeRate: feeRateOf(chunk.fee, chunkVsize),
      ancestors: ancestorsOf(entries, slot)
        .slice(1)
        .map((each) => relativeView(entries, each)),
      descendants: descendantsOf(entries, slot)
        .slice(1)
        .map((each) => relativeView(entries, each)),
      chunk: {
        fee: chunk.fee,
        vsize: chunkVsize,
        txids: chunk.slots.map((each) => hashToHex(entries.txid(each))),
      },
      cluster: { count: cluster.length, vsize: vsizeOfAll(cluster) },
      tip: tipView(env.tip),
    });
  },
  mempoolPart({ mempool: { entries } }, { txid }) {
    const slot = entries.find(hashFromHex<Txid>(txid));
    return slot < 0 ? [] : clusterOf(entries, slot);
  },
});

function relativeView(entries: Entries, slot: number) {
  const [fee, vsize] = [entries.fee(slot), entries.vsize(slot)];
  return { txid: hashToHex(entries.txid(slot)), fee, vsize, feeRate: feeRateOf(fee, vsize) };
}

function confirmedCpfp(env: ReadEnv, txid: string) {
  const facts = txFacts(env, txByTxid(env, txid));
  const fee = feeOf(facts);
  const vsize = vsizeOf(facts.parsed);
  const feeRate = fee === null ? null : feeRateOf(fee, vsize);
  return {
    txid,
    fee: fee === null ? null : sat(fee),
    vsize,
    feeRate,
    status: statusView(env, facts.place),
    effectiveFeeRate: feeRate,
    ancestors: [],
    descendants: [],
    chunk: null,
    cluster: null,
    tip: tipView(env.tip),
  };
}

/** The transactions that replaced each other. */
export const replacementsEndpoint = endpoint({
  name: 'tx-replacements',
  path: '/api/tx/:txid/replacements',
  tag: 'transactions',
  summary: 'Replacements of a transaction within the last day',
  description:
    'All transactions that the newest replacement has replaced, directly or through others, newest first. `truncated` ' +
    'says that there are more than the 100 newest. The history is in memory: it covers a day at most and ends with the ' +
    'process.',
  params: { txid: TXID },
  response: json(REPLACEMENTS),
  hasEtag: true,
  errors: ['invalid_txid', 'tx_not_found', ...INDEX_ERRORS],
  serve:
    (_, service) =>
    ({ params, request }) =>
      service.reply((env) => replacementsAnswer(env, params.txid.toLowerCase()), request),
});

function replacementsAnswer(env: ReadEnv, txid: string): Answer {
  const { replacements } = env.mempool;
  const id = hashFromHex<Txid>(txid);
  const own = replacements.get(id);
  const newest = replacements.newestOf(id);
  const { items, isTruncated } = replacements.replacedThrough(newest, MAX_REPLACEMENTS);
  if (items.length === 0 && !env.mempool.has(id)) txByTxid(env, txid);
  return jsonAnswer({
    txid,
    replacedBy: own ? hashToHex(own.replacedBy) : null,
    replaces: replacements.replacedBy(id).map((each) => hashToHex(each.txid)),
    newest: hashToHex(newest),
    items: items.map(replacementView),
    truncated: isTruncated,
    tip: tipView(env.tip),
  });
}

function replacementView({ txid, replacedBy, fee, vsize, time, replacedAt }: Replacement) {
  return {
    txid: hashToHex(txid),
    replacedBy: hashToHex(replacedBy),
    fee,
    vsize,
    feeRate: feeRateOf(fee, vsize),
    firstSeen: time,
    replacedAt,
  };
}
