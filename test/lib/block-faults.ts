import { type BlockOptions, RegtestChain, type TestBlock } from './chain-builder.ts';
import { spend, sweep, withBadSignature, withInput } from './tx-builder.ts';

/** The magic of regtest, as bytes. */
export const MAGIC = Uint8Array.of(0xfa, 0xbf, 0xb5, 0xda);

/** A record as it stands in a block file. */
export function record(block: TestBlock, magic = MAGIC): Uint8Array {
  const size = new Uint8Array(4);
  new DataView(size.buffer).setUint32(0, block.raw.length, true);
  return Buffer.concat([magic, size, block.raw]);
}

/** 105 blocks of 2023: in initial sync, blocks are committed together, which is faster. */
export function goodChain(): RegtestChain {
  const chain = new RegtestChain();
  chain.mine(105);
  return chain;
}

const spendable = (chain: RegtestChain) => sweep(chain.coin(1), 'p2wpkh');

/** One fault of each rule in a block on `goodChain`: its name, the reject reason, and the difference from a valid block. */
export const FAULTS: readonly [string, RegExp, (chain: RegtestChain) => BlockOptions][] = [
  ['a coinbase that takes too much', /^bad-cb-amount$/, () => ({ coinbaseValue: 50_0000_0001n })],
  [
    'a wrong merkle root',
    /^bad-txnmrklroot$/,
    () => ({ merkleRoot: new Uint8Array(32).fill(7) as BlockOptions['merkleRoot'] & object }),
  ],
  ['no work', /^high-hash$/, () => ({ work: false })],
  ['other bits than due', /^bad-diffbits$/, () => ({ bits: 0x207f_fffe })],
  ['a time before the median', /^time-too-old$/, (chain) => ({ time: chain.tip.medianTimePast })],
  ['a time too far ahead', /^time-too-new$/, () => ({ time: Math.floor(Date.now() / 1000) + 3 * 3600 })],
  ['an old version', /^bad-version/, () => ({ version: 1 })],
  [
    'a wrong witness commitment',
    /^bad-witness-merkle-match$/,
    (chain) => ({ txs: [spendable(chain)], commitment: 'wrong' }),
  ],
  ['a bad signature', /script-verify-flag-failed/, (chain) => ({ txs: [withBadSignature(spendable(chain))] })],
  [
    'a coin that is not there',
    /^bad-txns-inputs-missingorspent$/,
    (chain) => {
      const tx = spendable(chain);
      return { txs: [withInput(tx, 0, { prevout: { ...tx.inputs[0]!.prevout, vout: 9 } })] };
    },
  ],
  [
    'a coin spent twice',
    /^bad-txns-inputs-missingorspent$/,
    (chain) => ({ txs: [spendable(chain), sweep(chain.coin(1), 'p2tr')] }),
  ],
  [
    'a coinbase spent too early',
    /^bad-txns-premature-spend-of-coinbase$/,
    (chain) => ({ txs: [sweep(chain.coin(50), 'p2wpkh')] }),
  ],
  [
    'more paid than there is',
    /^bad-txns-in-belowout$/,
    (chain) => ({ txs: [spend(chain.coin(1), [{ to: 'p2wpkh', value: 50_0000_0001n }])] }),
  ],
  ['a wrong height in the coinbase', /^bad-cb-height$/, () => ({ coinbaseScriptSig: Uint8Array.of(1, 5, 0) })],
];
