import { t } from 'elysia';
import {
  count,
  feeRate,
  hash,
  longCount,
  named,
  namedWords,
  nullable,
  page,
  sats,
  signedSats,
  TIP,
  time,
} from '../../http/reply-schema.ts';

export const CLUSTER_SIZE = named(
  'ClusterSize',
  { count: count('transactions'), vsize: count('virtual bytes') },
  'the size of a cluster',
);

export const MEMPOOL = named('Mempool', {
  count: count(),
  vsize: count('virtual bytes of all transactions'),
  size: count('bytes of all transactions'),
  usage: longCount('bytes of memory'),
  maxUsage: longCount('bytes of memory'),
  totalFee: sats(),
  loaded: t.Boolean({ description: 'false while saved transactions are read' }),
  minFeeRate: feeRate('satoshis per virtual byte to enter now'),
  minRelayFeeRate: feeRate(),
  incrementalFeeRate: feeRate(),
  feeHistogram: t.Array(t.Array(t.Number(), { minItems: 2, maxItems: 2 }), {
    description: 'pairs of a fee rate and the virtual bytes that pay it or more, highest first',
  }),
  unbroadcast: count(),
  oldest: nullable(time()),
  seq: count('number of the last event'),
  clusterLimit: CLUSTER_SIZE,
  tip: TIP,
});

export const MEMPOOL_TXIDS_PAGE = page('MempoolTxidsPage', hash(), {});

export const RECENT_TXS = t.Array(
  named('RecentTx', {
    txid: hash(),
    fee: sats(),
    vsize: count(),
    feeRate: feeRate(),
    valueOut: sats(),
    time: time(),
  }),
  { maxItems: 20 },
);

export const PROJECTED_BLOCKS = t.Array(
  named('ProjectedBlock', {
    txCount: count(),
    vsize: count('virtual bytes'),
    weight: count('weight units'),
    totalFee: signedSats('satoshis, with deltas of prioritisetransaction'),
    medianFeeRate: t.Number({ description: 'satoshis per virtual byte' }),
    feeRange: t.Array(t.Number(), { description: 'satoshis per virtual byte, lowest first' }),
  }),
);

const TARGETS = ['1', '2', '3', '6', '12', '25', '144', '504', '1008'];

export const FEES = named('Fees', {
  fastest: feeRate('satoshis per virtual byte for the next block'),
  halfHour: feeRate(),
  hour: feeRate(),
  economy: feeRate('satoshis per virtual byte for a day'),
  minimum: feeRate('satoshis per virtual byte to enter the mempool'),
  estimator: namedWords('FeeEstimator', ['mempool_policy', 'block_policy', 'floor'], 'the source of the fee rates'),
  targets: t.Record(t.String(), feeRate(), { description: `by blocks to wait: ${TARGETS.join(', ')}` }),
  tip: TIP,
  updatedAt: time(),
});
