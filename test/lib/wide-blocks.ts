import { addressOf } from '../../src/script/address.ts';
import { type ChainOptions, RegtestChain } from './chain-builder.ts';
import { coinOf, lockOf, spend } from './tx-builder.ts';

/** A script of 1,053 bytes that needs no signature: two pushes that it drops, and OP_TRUE. */
const WIDE_SCRIPT = new Uint8Array([...push(520), ...push(520), 0x51]);

/** The lock that every block of `wideChain` pays, from block 111 on. */
export const PAID = lockOf('p2wpkh', 7);
export const PAID_ADDRESS = (chain: RegtestChain): string => addressOf(PAID.scriptPubKey, chain.params.address)!;

/**
 * A chain whose blocks, from height 111 on, spend a coin with a long script and make the next one: body and undo data
 * have more than a kilobyte each, so that files of 64 KiB hold few of them.
 */
export function wideChain(height: number, options: ChainOptions = {}): RegtestChain {
  const chain = new RegtestChain({ ...options, to: 'anyone' });
  chain.mine(110);
  extendWide(chain, height - 110, chain.coin(1));
  return chain;
}

/** Appends blocks of the kind of `wideChain`; the first spends `coin`. */
export function extendWide(chain: RegtestChain, count: number, coin = laneOf(chain)): void {
  let lane = coin;
  for (let n = 0; n < count; n++) {
    const tx = spend(
      lane,
      [
        { to: WIDE_SCRIPT, value: lane.output.value - 3_000n },
        { to: PAID, value: 2_000n },
      ],
      { sign: n === 0 && coin.output.scriptPubKey.length < 100 },
    );
    chain.mine(1, { txs: [tx] });
    lane = coinOf(tx, 0);
  }
}

function laneOf(chain: RegtestChain) {
  return coinOf(chain.tip.txs[1]!, 0);
}

function push(size: number): number[] {
  return [0x4d, size & 0xff, size >> 8, ...new Uint8Array(size).fill(0x61), 0x75];
}
