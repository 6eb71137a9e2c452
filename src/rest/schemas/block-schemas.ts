import { t } from 'elysia';
import {
  count,
  HEX,
  hash,
  height,
  named,
  nullable,
  page,
  sats,
  time,
  wholeNumberSchema,
} from '../../http/reply-schema.ts';
import { TX } from './tx-schemas.ts';

const HEX8 = t.String({ pattern: '^[0-9a-f]{8}$' });

export const BLOCK = named(
  'Block',
  {
    hash: hash(),
    height: height(),
    confirmations: wholeNumberSchema({ description: '1 at the tip; -1 outside the active chain' }),
    inActiveChain: t.Boolean(),
    previousHash: nullable(hash('null for the genesis block')),
    nextHash: nullable(hash('null at the tip')),
    version: wholeNumberSchema(),
    versionHex: HEX8,
    merkleRoot: hash(),
    time: time(),
    medianTime: time('median time past, BIP-113'),
    nonce: count(),
    bits: HEX8,
    target: hash('the target as a number of 256 bits'),
    difficulty: t.Number(),
    chainwork: hash('work of the chain up to this block'),
    txCount: count(),
    size: count('bytes'),
    strippedSize: count('bytes without witnesses'),
    weight: count('weight units, BIP-141'),
    subsidy: sats('new coins by the schedule, satoshis'),
    fees: nullable(sats('satoshis; null where the block was never connected')),
    reward: sats('outputs of the coinbase, satoshis'),
    inputs: count(),
    outputs: count(),
    valueOut: sats('outputs without the coinbase, satoshis'),
    coinbase: named('BlockCoinbase', {
      txid: hash(),
      scriptHex: HEX,
      text: t.String({ description: 'printable ASCII characters of the script' }),
    }),
    txids: t.Optional(t.Array(hash(), { description: 'in block order; left out of summaries' })),
    receivedAt: nullable(time()),
  },
  'a block',
);

export const BLOCKS_PAGE = page('BlocksPage', BLOCK, {});
export const BLOCK_TXS_PAGE = page('BlockTxsPage', TX, { total: count('transactions of the block') });
export const TXIDS = t.Array(hash());
export const HEADERS_PAGE = page('HeadersPage', t.String({ pattern: '^[0-9a-f]{160}$' }), {});

export const BLOCK_TIP = named('BlockTip', {
  height: height(),
  hash: hash(),
  time: time(),
  medianTime: time('median time past, BIP-113'),
});

export const BLOCK_STATUS = named('BlockStatus', {
  inActiveChain: t.Boolean(),
  height: height(),
  confirmations: wholeNumberSchema({ description: '-1 outside the active chain' }),
  nextHash: nullable(hash()),
});
