import { t } from 'elysia';
import {
  count,
  feeRate,
  HEX,
  hash,
  height,
  named,
  nullable,
  SCRIPT,
  sats,
  TIP,
  TX_STATUS,
  time,
  wholeNumberSchema,
} from '../../http/reply-schema.ts';

const INPUT = named('TxInput', {
  txid: nullable(hash('null in a coinbase')),
  vout: nullable(count('null in a coinbase')),
  sequence: count(),
  coinbase: nullable(HEX),
  scriptSig: named('ScriptSig', { hex: HEX, asm: t.String() }),
  witness: t.Array(HEX),
  prevout: nullable(
    named('Prevout', {
      value: sats(),
      height: nullable(height('null in the mempool')),
      isCoinbase: t.Boolean(),
      script: SCRIPT,
    }),
  ),
});

const OUTPUT = named('TxOutput', {
  n: count(),
  value: sats(),
  spent: nullable(t.Boolean({ description: 'in the chain or by the mempool; null for unspendable outputs' })),
  script: SCRIPT,
});

const MEMPOOL_FACTS = named('MempoolFacts', {
  firstSeen: time(),
  seq: count('number of the event'),
  ancestorCount: count('with the transaction itself'),
  ancestorVsize: count('virtual bytes'),
  ancestorFee: wholeNumberSchema({ description: 'satoshis, with deltas of prioritisetransaction' }),
  descendantCount: count('with the transaction itself'),
  effectiveFeeRate: t.Number({ description: 'satoshis per virtual byte of the chunk it is mined with' }),
  unbroadcast: t.Boolean(),
  replaces: t.Array(hash()),
});

export const TX = named(
  'Tx',
  {
    txid: hash(),
    wtxid: hash(),
    version: wholeNumberSchema(),
    locktime: count(),
    size: count('bytes'),
    vsize: count('virtual bytes'),
    weight: count('weight units, BIP-141'),
    isCoinbase: t.Boolean(),
    signalsRbf: t.Boolean({ description: 'BIP-125, by itself' }),
    fee: nullable(sats('satoshis; null for a coinbase')),
    feeRate: nullable(feeRate()),
    valueIn: nullable(sats('satoshis; null for a coinbase')),
    valueOut: sats(),
    vin: t.Array(INPUT),
    vout: t.Array(OUTPUT),
    status: TX_STATUS,
    mempool: nullable(MEMPOOL_FACTS),
    hex: HEX,
    tip: TIP,
  },
  'a transaction',
);

/** The body of a request about many transactions. */
export const TXIDS_REQUEST = named('TxidsRequest', { txids: t.Array(hash(), { maxItems: 1000 }) });

export const TXS_DETAILS = named(
  'TxsDetails',
  {
    tip: TIP,
    items: t.Array(TX),
    missing: t.Array(hash(), { description: 'ids of unknown transactions' }),
    pruned: t.Array(hash(), { description: 'ids of transactions whose block has been pruned' }),
    remaining: t.Array(hash(), { description: 'ids of transactions for which the reply has no room' }),
  },
  'many transactions at one tip',
);

export const TXS_STATUS = t.Record(t.String(), nullable(TX_STATUS), {
  description: 'by transaction id; null for unknown transactions',
});

export const OUTSPEND = named(
  'Outspend',
  {
    spent: nullable(t.Boolean({ description: 'in the chain or by the mempool; null for an unspendable output' })),
    txid: nullable(hash('transaction that spends the output')),
    vin: nullable(count('index of its input')),
    status: nullable(TX_STATUS),
  },
  'the input that spends an output',
);

export const OUTSPENDS = t.Array(OUTSPEND, { description: 'in the order of the outputs' });

export const TX_PROOF = named(
  'TxProof',
  {
    txid: hash(),
    blockHash: hash(),
    blockHeight: height(),
    blockTime: time(),
    confirmations: count(),
    pos: count('index in the block'),
    txCount: count(),
    merkle: t.Array(hash(), { description: 'siblings from the leaf to the root' }),
    merkleRoot: hash(),
    header: t.String({ pattern: '^[0-9a-f]{160}$' }),
    merkleBlock: t.String({ pattern: '^(?:[0-9a-f]{2})*$', description: 'hex that verifytxoutproof accepts' }),
    coinbase: nullable(named('CoinbaseProof', { txid: hash(), hex: HEX, merkle: t.Array(hash()) })),
    tip: TIP,
  },
  'proof that a transaction is in a block',
);
