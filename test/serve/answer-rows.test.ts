import { expect, test } from 'bun:test';
import { parseTransaction } from '../../src/primitives/block.ts';
import { txPosition } from '../../src/primitives/coin.ts';
import { AnswerRows, ChainRows } from '../../src/serve/reads/chain-rows.ts';
import { keepBlock, keepTx, type Row } from '../../src/serve/reads/row-decoder.ts';

/** The coinbase of the genesis block. */
const COINBASE = Uint8Array.fromHex(
  '01000000010000000000000000000000000000000000000000000000000000000000000000ffffffff4d04ffff001d0104455468652054696d65' +
    '732030332f4a616e2f32303039204368616e63656c6c6f72206f6e206272696e6b206f66207365636f6e64206261696c6f757420666f72206261' +
    '6e6b73ffffffff0100f2052a01000000434104678afdb0fe5548271967f1a67130b7105cd6a828e03909a67962e0ea1f61deb649f6bc3f4cef38' +
    'c4f35504e51ec112de5c384df7ba0b8d578a4c702b6bf11d5fac00000000',
);
const TXID = parseTransaction(COINBASE).txid.toHex();

/** The columns of a block at a height. */
function blockRow(height: number, sums: number | null): Row {
  const hash = new Uint8Array(32).fill(height);
  const names = ['total_transactions', 'total_size', 'total_weight', 'total_fees', 'supply', 'unspent'];
  return {
    ...{ b_height: height, b_hash: hash, b_header: new Uint8Array(80), b_chainwork: Uint8Array.of(1), b_size: 285 },
    ...{
      b_weight: 1140,
      b_transactions: 1,
      b_inputs: 0,
      b_outputs: 1,
      b_output_value: '0',
      b_fees: '0',
      b_reward: '0',
    },
    b_median_time: '1',
    ...Object.fromEntries(names.map((name) => [`b_${name}`, sums])),
  };
}

const coinbaseRow = (height: number): Row => ({ ...blockRow(height, 1), height, position: 0, raw: COINBASE });

test('a block whose sums are not written yet is kept for its answer alone', () => {
  const shared = new ChainRows(1 << 20);
  const rows = new AnswerRows(shared);
  keepBlock(rows, blockRow(5, null));
  expect(rows.get('block', 5)?.sums).toBeNull();
  expect(new AnswerRows(shared).get('block', 5)).toBeUndefined();
  keepBlock(new AnswerRows(shared), blockRow(5, 7));
  expect(new AnswerRows(shared).get('block', 5)?.sums).toMatchObject({ size: 7, fees: 7 });
});

test('a coinbase of a block does not determine which one has its txid, since a later one may have the same (BIP-30)', () => {
  const rows = new AnswerRows(new ChainRows(1 << 20));
  keepTx(rows, coinbaseRow(5), { isByTxid: false });
  expect(rows.get('place', txPosition(5, 0))?.txid.toHex()).toBe(TXID);
  expect(rows.get('position', TXID)).toBeUndefined();
  for (const height of [5, 9]) keepTx(rows, coinbaseRow(height), { isByTxid: true });
  expect(rows.get('position', TXID)).toBe(txPosition(9, 0));
});
