import { t } from 'elysia';
import {
  count,
  feeRate,
  HEX,
  hash,
  named,
  namedWords,
  nullable,
  REJECTION_CLASS,
  sats,
  wholeNumberSchema,
} from '../../http/reply-schema.ts';

export const TX_BODY = t.Object(
  {
    tx: t.String({ description: 'hex of the transaction; hex and rawtx are other names of this member' }),
    maxFeeRate: t.Optional(t.Number({ minimum: 0, default: 10_000, description: 'satoshis per virtual byte; 0: any' })),
    maxBurn: t.Optional(wholeNumberSchema({ minimum: 0, default: 0, description: 'satoshis in unspendable outputs' })),
  },
  { $id: 'TxBody' },
);

export const TXS_LIST = named('TxsBody', { txs: t.Array(HEX, { minItems: 1, maxItems: 25 }) });

export const BROADCAST = named('Broadcast', {
  txid: hash(),
  wtxid: hash(),
  status: namedWords(
    'BroadcastStatus',
    ['accepted', 'scheduled', 'already_in_mempool', 'already_confirmed'],
    'the outcome; scheduled with p2p.privateBroadcast, where the transaction is not in the mempool',
  ),
  vsize: count('virtual bytes'),
  fee: nullable(sats()),
  feeRate: nullable(feeRate()),
  replaced: t.Array(hash(), { description: 'transactions that it replaced' }),
  blockHash: nullable(hash()),
  confirmations: count(),
  relayedTo: count('peers'),
});

const REASON = nullable(t.String({ description: "Bitcoin Core's reject string" }));
const DEBUG = nullable(t.String({ description: "Bitcoin Core's longer form" }));

export const TEST_RESULTS = t.Array(
  named('TestResult', {
    txid: hash(),
    wtxid: hash(),
    allowed: nullable(t.Boolean({ description: 'null where the transaction was not validated' })),
    vsize: nullable(count()),
    fee: nullable(sats()),
    feeRate: nullable(feeRate()),
    reason: REASON,
    class: nullable(REJECTION_CLASS),
    debug: DEBUG,
  }),
);

const PACKAGE_MEMBER = named('PackageMember', {
  txid: hash(),
  status: namedWords(
    'PackageMemberStatus',
    ['accepted', 'already_in_mempool', 'rejected', 'not_validated'],
    'the outcome; not_validated where the package was rejected before this transaction',
  ),
  vsize: nullable(count()),
  fee: nullable(sats()),
  feeRate: nullable(feeRate()),
  effectiveFeeRate: nullable(feeRate('satoshis per virtual byte with the transactions it was validated with')),
  reason: REASON,
  class: nullable(REJECTION_CLASS),
  retryable: nullable(t.Boolean({ description: 'the same bytes may be accepted later' })),
  debug: DEBUG,
});

export const PACKAGE_RESULT = named('PackageResult', {
  packageMessage: t.String({ description: 'success, or why the package was rejected' }),
  results: t.Record(t.String(), PACKAGE_MEMBER, { description: 'by wtxid' }),
  replaced: t.Array(hash()),
});
