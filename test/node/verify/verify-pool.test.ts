import { afterAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { VerifyPool } from '../../../src/node/verify/verify-pool.ts';
import { TestNode } from '../../lib/chain-fixture.ts';
import { openScript, POISON, trunkWithCoins } from '../../lib/fork-tree.ts';
import { coinOf, spend } from '../../lib/tx-builder.ts';

/** Verify workers in the way the node creates them. */
describe('verify workers', () => {
  const pool = new VerifyPool(2, {
    onError(error) {
      throw error;
    },
  });
  afterAll(() => pool.close());

  test('find the first input that fails in a transaction that is distributed over them', async () => {
    const chain = trunkWithCoins();
    const amount = 100n;
    const split = spend(
      chain.coinsOf(openScript(1))[0]!,
      Array.from({ length: 400 }, (_, i) => ({ to: i === 150 || i === 390 ? POISON : openScript(1), value: amount })),
      { sign: false },
    );
    chain.mine(1, { txs: [split] });
    const coins = Array.from({ length: 400 }, (_, i) => coinOf(split, i));
    const bad = chain.fork();
    bad.mine(1, { txs: [spend(coins, [{ to: openScript(2), value: amount }], { sign: false })] });
    const good = coins.filter((_, i) => i !== 150 && i !== 390);
    chain.mine(1, { txs: [spend(good, [{ to: openScript(2), value: amount }], { sign: false })] });

    await using node = new TestNode({ verifier: pool });
    await node.take(chain.blocks.slice(1, -1));
    const outcome = await node.chain.submitBlock(bad.tip.raw);
    expect(outcome.status === 'rejected' && outcome.rejection).toMatchObject({
      reason:
        'block-script-verify-flag-failed (Script evaluated without error but finished with a false/empty top stack element)',
      debug: expect.stringMatching(/^input 150 of /),
    });
    expect(await node.submit(chain.tip)).toBe('accepted');
  });
});

// A thread that was terminated while it loaded the native library aborted the process with SIGABRT.
test('verify workers can be closed at any moment of their start', async () => {
  const child = Bun.spawn([process.execPath, join(import.meta.dir, 'close-verify-pool.ts')], {
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  await child.exited;
  expect([stdout, child.signalCode, stderr]).toEqual(['closed\n', null, '']);
});
