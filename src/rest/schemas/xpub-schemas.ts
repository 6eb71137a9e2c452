import { t } from 'elysia';
import {
  count,
  hash,
  height,
  named,
  nullable,
  page,
  sats,
  signedSats,
  TIP,
  wholeNumberSchema,
} from '../../http/reply-schema.ts';
import { OWN_TX_FACTS, UTXO_FACTS, UTXO_TOTAL } from './address-schemas.ts';
import { TX } from './tx-schemas.ts';

const DESCRIPTOR = t.String({ description: 'as it was understood, with its checksum' });
const BRANCH = count('number of the value in the multipath step, from 0');
const INDEX = count('index in the range; 0 without a range');
const ADDRESS = t.String({ description: 'an address, or script:<hex> where the script has none' });

export const DESCRIPTOR_REQUEST = named('DescriptorRequest', {
  descriptor: t.String({
    description:
      'An output descriptor without private keys, with or without checksum, such as wpkh(xpub…/<0;1>/*); or an extended ' +
      'public key: xpub or tpub stand for pkh(), ypub or upub for sh(wpkh()), zpub or vpub for wpkh() (SLIP-132), each ' +
      'with the branches <0;1>.',
  }),
  gapLimit: t.Optional(
    wholeNumberSchema({
      minimum: 1,
      maximum: 1000,
      default: 20,
      description: 'unused indexes in succession after which a branch is not examined further',
    }),
  ),
});

const SUMS = {
  confirmed: sats('in the UTXO set, with immature coinbases, satoshis'),
  unconfirmed: signedSats('received minus spent in the mempool, satoshis'),
  total: signedSats('confirmed plus unconfirmed, satoshis'),
  received: sats('confirmed receipts of all time, change included, satoshis'),
  sent: sats('confirmed spends of all time, satoshis'),
  utxoCount: count('confirmed unspent outputs'),
};

const PLACE = { address: ADDRESS, branch: BRANCH, index: INDEX };

const BRANCH_SUMMARY = named('DescriptorBranch', {
  branch: BRANCH,
  descriptor: DESCRIPTOR,
  isRange: t.Boolean({ description: 'false for a descriptor of a single index' }),
  examinedCount: count('indexes that were examined, from 0'),
  usedCount: count('addresses with a transaction in the chain or the mempool'),
  lastUsedIndex: nullable(count('null if none is used')),
  nextUnused: nullable(named('DescriptorPlace', PLACE, 'an address of a descriptor')),
  ...SUMS,
});

const ADDRESS_SUMMARY = named('DescriptorAddress', {
  ...PLACE,
  ...SUMS,
  txCount: count('confirmed transactions'),
  mempoolTxCount: count(),
  firstSeenHeight: nullable(height()),
  lastSeenHeight: nullable(height()),
});

const TX_COUNT = nullable(
  count('different confirmed transactions; null where the addresses have more than 100,000 together'),
);

export const DESCRIPTOR_SUMMARY = named(
  'DescriptorSummary',
  {
    descriptor: DESCRIPTOR,
    gapLimit: count(),
    tip: TIP,
    ...SUMS,
    immature: sats('coinbases of fewer than 100 confirmations, satoshis'),
    pendingReceived: sats('received in the mempool, change included, satoshis'),
    pendingSpent: sats('spent in the mempool, satoshis'),
    txCount: TX_COUNT,
    mempoolTxCount: count('different transactions of the mempool'),
    usedCount: count('addresses with a transaction in the chain or the mempool'),
    branches: t.Array(BRANCH_SUMMARY),
    addresses: t.Array(ADDRESS_SUMMARY, { description: 'by branch and index, as the parameter selects them' }),
  },
  'balance and addresses of a descriptor at one tip and one state of the mempool',
);

const DESCRIPTOR_TX = named(
  'DescriptorTx',
  {
    ...OWN_TX_FACTS,
    outputs: nullable(
      t.Array(named('DescriptorTxOutput', { n: count(), value: sats(), ...PLACE }), {
        description: 'outputs that pay the descriptor; null where the block has been pruned',
      }),
    ),
    inputs: nullable(
      t.Array(named('DescriptorTxInput', { n: count(), txid: hash(), vout: count(), value: sats(), ...PLACE }), {
        description: 'inputs that spend from the descriptor; null where the block has been pruned',
      }),
    ),
    tx: t.Optional(nullable(TX)),
  },
  'a transaction as a descriptor sees it; tx only with details=full',
);

export const DESCRIPTOR_TXS_PAGE = page('DescriptorTxsPage', DESCRIPTOR_TX, {
  descriptor: DESCRIPTOR,
  total: named('DescriptorTxTotal', { confirmed: TX_COUNT, mempool: count() }),
});

export const DESCRIPTOR_UTXOS_PAGE = page('DescriptorUtxosPage', named('DescriptorUtxo', { ...PLACE, ...UTXO_FACTS }), {
  descriptor: DESCRIPTOR,
  total: UTXO_TOTAL,
});
