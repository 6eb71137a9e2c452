import { RegtestChain } from '../lib/chain-builder.ts';
import { type Payee, spend, type TestCoin } from '../lib/tx-builder.ts';

/** Outputs of a block, each with a script of its own of about a kilobyte, and coins that it spends. */
const OUTPUTS = 300;
const INPUTS = 60;
const SPACING_S = 60;
const MATURITY = 100;

/** The largest size of a push is 520 bytes. */
const PUSHED = 480;
/** A push with its length, and the drop. */
const PART = 3 + PUSHED + 1;
const OP_PUSHDATA2 = 0x4d;
const OP_DROP = 0x75;
const OP_1 = 0x51;

/** A script that anyone can spend: bytes with a number are pushed and dropped twice, and 1 is left. */
function scriptOf(n: number): Uint8Array {
  const script = new Uint8Array(2 * PART + 1);
  const part = script.subarray(0, PART);
  part.set([OP_PUSHDATA2, PUSHED & 0xff, PUSHED >> 8]);
  new DataView(script.buffer).setUint32(3, n);
  part[PART - 1] = OP_DROP;
  script.set(part, PART);
  script[2 * PART] = OP_1;
  return script;
}

/**
 * Chains whose blocks add 300 kB to the runs of coins. They are a few hours old, so that a node commits every one. Every
 * eighth block then makes a merge due, whose result is a file.
 */
export class WideChains {
  #scripts = 0;

  /** A chain of `blocks` blocks after those without transactions. */
  chain(blocks: number): RegtestChain {
    const total = MATURITY + blocks;
    const startTime = Math.floor(Date.now() / 1000) - 3600 - total * 2 * SPACING_S;
    const chain = new RegtestChain({ startTime, spacing: SPACING_S, to: scriptOf(0) });
    chain.mine(MATURITY);
    this.extend(chain, blocks);
    return chain;
  }

  extend(chain: RegtestChain, blocks: number): void {
    for (let i = 0; i < blocks; i++) {
      const coin = chain.coin(chain.height + 1 - MATURITY);
      const value = (coin.output.value - 100_000n) / BigInt(OUTPUTS);
      const payees: Payee[] = Array.from({ length: OUTPUTS }, () => ({ to: scriptOf(++this.#scripts), value }));
      const spent = oldCoins(chain);
      const txs = [spend(coin, payees, { sign: false })];
      if (spent.length > 0) txs.push(spend(spent, [{ to: scriptOf(++this.#scripts), value: 1000n }], { sign: false }));
      chain.mine(1, { txs });
    }
  }
}

/** Returns coins that are spread over all that transactions have created, except the newest. */
function oldCoins(chain: RegtestChain): TestCoin[] {
  const coins = [...chain.coins.values()].filter(({ position = 0 }) => position % 2 ** 20 > 0);
  const step = Math.max(3, Math.floor(coins.length / INPUTS));
  return coins.filter((_, i) => i % step === 0).slice(0, INPUTS);
}
