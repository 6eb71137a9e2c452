import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { VerifyPool } from '../../src/node/verify/verify-pool.ts';
import { pushData } from '../../src/script/script-builder.ts';
import { concatBytes } from '../../src/util/bytes.ts';
import { RegtestChain } from '../lib/chain-builder.ts';
import { TestNode } from '../lib/chain-fixture.ts';
import { coinOf, spend, type TestCoin } from '../lib/tx-builder.ts';

setDefaultTimeout(600_000);

describe('verify workers', () => {
  const pool = new VerifyPool(2, {
    onError(error) {
      throw error;
    },
  });
  afterAll(() => pool.close());

  // Spent outputs have no wire limit: a block of 140 kB may spend more than 32 MiB of scripts.
  test('verify a transaction that spends very long scripts', async () => {
    const drop = concatBytes(pushData(new Uint8Array(520)), Uint8Array.of(0x75));
    const long = concatBytes(...Array<Uint8Array>(19).fill(drop), Uint8Array.of(0x51));
    const chain = new RegtestChain({ to: 'anyone' });
    chain.mine(140);
    const coins: TestCoin[] = [];
    for (let i = 1; i <= 35; i++) {
      const tx = spend(
        chain.coin(i),
        Array.from({ length: 99 }, () => ({ to: long, value: 1n })),
        { sign: false },
      );
      chain.mine(1, { txs: [tx] });
      for (let vout = 0; vout < 99; vout++) coins.push(coinOf(tx, vout));
    }
    chain.mine(1, { txs: [spend(coins.slice(0, 3400), [{ to: 'anyone', value: 3400n }], { sign: false })] });
    await using node = new TestNode({ verifier: pool });
    await node.take(chain.blocks.slice(1));
    expect(node.chain.tip.height).toBe(chain.height);
  });
});
