import { t } from 'elysia';
import { PAID_OUTPUT, SPENDING_INPUT } from '../../feed/event-messages.ts';
import {
  count,
  HEX,
  hash,
  height,
  named,
  nullable,
  page,
  SCRIPT,
  SCRIPT_TYPE,
  sats,
  signedSats,
  TIP,
  TX_STATUS,
  time,
  wholeNumberSchema,
} from '../../http/reply-schema.ts';
import { TX } from './tx-schemas.ts';

const ADDRESS = t.String({ description: 'in canonical form' });

const BALANCE_FACTS = {
  script: SCRIPT,
  confirmed: sats('in the UTXO set, with immature coinbases, satoshis'),
  unconfirmed: signedSats('received minus spent in the mempool, satoshis'),
  total: signedSats('confirmed plus unconfirmed, satoshis'),
  immature: sats('coinbases of fewer than 100 confirmations, satoshis'),
  pendingReceived: sats('received in the mempool, satoshis'),
  pendingSpent: sats('spent in the mempool, satoshis'),
  received: sats('confirmed receipts of all time, satoshis'),
  sent: sats('confirmed spends of all time, satoshis'),
  txCount: count('confirmed transactions'),
  mempoolTxCount: count(),
  utxoCount: count('confirmed unspent outputs'),
  firstSeenHeight: nullable(height()),
  lastSeenHeight: nullable(height()),
  tip: TIP,
};

export const BALANCE = named('Balance', { address: ADDRESS, ...BALANCE_FACTS });

export const ADDRESS_FACTS = named('Address', {
  address: ADDRESS,
  isValid: t.Literal(true),
  type: SCRIPT_TYPE,
  ...BALANCE_FACTS,
});

/** Members of a transaction from the perspective of some scripts. */
export const OWN_TX_FACTS = {
  txid: hash(),
  status: TX_STATUS,
  time: time('of the block, or when the mempool accepted it'),
  received: sats(),
  sent: sats(),
  net: signedSats('received minus sent, satoshis'),
  fee: nullable(sats('satoshis; null for a coinbase, and where the block has been pruned')),
  vsize: nullable(count('virtual bytes; null where the block has been pruned')),
  isCoinbase: t.Boolean(),
  signalsRbf: nullable(t.Boolean({ description: 'null where the block has been pruned' })),
};

const ADDRESS_TX = named(
  'AddressTx',
  {
    ...OWN_TX_FACTS,
    outputs: nullable(
      t.Array(PAID_OUTPUT, {
        description: 'outputs that pay the script; null where the block has been pruned',
      }),
    ),
    inputs: nullable(
      t.Array(SPENDING_INPUT, {
        description: 'inputs that spend from the script; null where the block has been pruned',
      }),
    ),
    tx: t.Optional(nullable(TX)),
  },
  'a transaction as one address sees it; tx only with details=full',
);

export const ADDRESS_TXS_PAGE = page('AddressTxsPage', ADDRESS_TX, {
  address: ADDRESS,
  total: named('TxTotal', { confirmed: count(), mempool: count() }, 'numbers of transactions'),
});

export const MEMPOOL_ADDRESS_PAGE = page('MempoolAddressPage', ADDRESS_TX, {
  address: ADDRESS,
  count: count(),
  received: sats(),
  sent: sats(),
  net: signedSats(),
});

/** The body of a request about many addresses. */
export const ADDRESSES = named('AddressesRequest', {
  addresses: t.Array(t.String({ description: 'an address, or script:<hex>' }), { maxItems: 1000 }),
});

export const BALANCES = named(
  'Balances',
  { tip: TIP, items: t.Array(BALANCE, { description: 'in the order of the request' }) },
  'the balances of many addresses at one tip',
);

export const UTXO_FACTS = {
  txid: hash(),
  vout: count(),
  value: sats(),
  script: HEX,
  height: nullable(height('null in the mempool')),
  blockHash: nullable(hash()),
  confirmations: count(),
  isCoinbase: t.Boolean(),
  mature: t.Boolean({ description: 'false for a coinbase of fewer than 100 confirmations' }),
  spentInMempool: t.Optional(nullable(hash('with confirmed=true: the transaction of the mempool that spends it'))),
};

const UTXO = named('Utxo', UTXO_FACTS);
export const UTXO_TOTAL = named('UtxoTotal', { count: count(), value: signedSats() }, 'the sum of all pages');

export const UTXOS_PAGE = page('UtxosPage', UTXO, {
  address: ADDRESS,
  total: UTXO_TOTAL,
});

export const ALL_UTXOS_PAGE = page('AllUtxosPage', named('AddressUtxo', { address: ADDRESS, ...UTXO_FACTS }), {
  total: UTXO_TOTAL,
});

export const ADDRESS_CHECK = named('AddressCheck', {
  isValid: t.Boolean(),
  type: nullable(SCRIPT_TYPE),
  witnessVersion: nullable(wholeNumberSchema({ minimum: 0, maximum: 16 })),
  script: nullable(SCRIPT),
  reason: nullable(t.String({ description: 'why the address is not valid' })),
  errorLocations: t.Array(count(), { description: 'characters that are likely wrong' }),
});
