import { t } from 'elysia';
import {
  count,
  feeRate,
  hash,
  named,
  nullable,
  sats,
  signedSats,
  TIP,
  TX_STATUS,
  time,
} from '../../http/reply-schema.ts';
import { CLUSTER_SIZE } from './mempool-schemas.ts';

const RELATIVE = named('CpfpTx', {
  txid: hash(),
  fee: sats(),
  vsize: count('virtual bytes'),
  feeRate: feeRate(),
});

export const CPFP = named(
  'Cpfp',
  {
    txid: hash(),
    fee: nullable(sats('satoshis; null for a coinbase')),
    vsize: count('virtual bytes'),
    feeRate: nullable(feeRate()),
    status: TX_STATUS,
    effectiveFeeRate: nullable(
      t.Number({ description: 'satoshis per virtual byte of the chunk, with deltas of prioritisetransaction' }),
    ),
    ancestors: t.Array(RELATIVE),
    descendants: t.Array(RELATIVE),
    chunk: nullable(
      named(
        'CpfpChunk',
        {
          fee: signedSats('satoshis, with deltas of prioritisetransaction'),
          vsize: count('virtual bytes'),
          txids: t.Array(hash(), { description: 'in the order of a block' }),
        },
        'the transactions that a miner includes together; null for a confirmed transaction',
      ),
    ),
    cluster: nullable(CLUSTER_SIZE),
    tip: TIP,
  },
  'the unconfirmed relatives of a transaction',
);

const REPLACEMENT = named('Replacement', {
  txid: hash(),
  replacedBy: hash(),
  fee: sats(),
  vsize: count('virtual bytes'),
  feeRate: feeRate(),
  firstSeen: time(),
  replacedAt: time(),
});

export const REPLACEMENTS = named(
  'Replacements',
  {
    txid: hash(),
    replacedBy: nullable(hash()),
    replaces: t.Array(hash(), { description: 'transactions that it replaced directly' }),
    newest: hash('the transaction that no other one replaced'),
    items: t.Array(REPLACEMENT, { maxItems: 100, description: 'replaced transactions, newest first' }),
    truncated: t.Boolean({ description: 'whether more were replaced than the items' }),
    tip: TIP,
  },
  'the replacement history of a transaction',
);
