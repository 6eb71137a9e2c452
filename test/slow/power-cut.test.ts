import { expect, test } from 'bun:test';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RegtestChain } from '../lib/chain-builder.ts';
import { TestNode } from '../lib/chain-fixture.ts';
import { differences, statesOf } from '../lib/chain-state.ts';
import { spend } from '../lib/tx-builder.ts';

// Eight commits with files of coins are merged. The files of a commit are durable before it, and those that a merge
// replaced stay until its own commit is durable.
test('a WAL that ends anywhere names only runs that are there, and the start removes the other files', async () => {
  const large = new RegtestChain({ to: 'anyone' });
  large.mine(101);
  const payees = (n: number) =>
    Array.from({ length: 60 }, (_, i) => ({ to: new Uint8Array(9990 - i).fill(0x61), value: BigInt(n * 100 + i) }));
  for (let n = 1; n <= 18; n++) large.mine(1, { txs: [spend(large.coin(n), payees(n), { sign: false })] });
  const whole = mkdtempSync(join(tmpdir(), 'obverse-cut-'));
  try {
    {
      await using node = new TestNode();
      await node.take(large.blocks.slice(1, 102));
      for (let at = 102; at < large.blocks.length; at += 2) await node.take(large.blocks.slice(at, at + 2));
      cpSync(node.dir, whole, { recursive: true });
    }
    const runs = readdirSync(join(whole, 'runs'));
    expect(runs.length).toBeGreaterThan(9);
    const log = readFileSync(join(whole, 'chain.db-wal'));
    const stateAt = statesOf(large.blocks);
    const heights = new Set<number>();
    for (let cut = 0; cut <= 10; cut++) {
      const from = mkdtempSync(join(tmpdir(), 'obverse-cut-'));
      try {
        cpSync(whole, from, { recursive: true });
        rmSync(join(from, 'chain.db-shm'), { force: true });
        writeFileSync(join(from, 'chain.db-wal'), log.subarray(0, Math.round((log.length * cut) / 10)));
        await using node = new TestNode({ from });
        const { height } = node.chain.tip;
        heights.add(height);
        expect(readdirSync(join(node.dir, 'runs')).length).toBeLessThan(runs.length);
        expect(differences(node.state(), stateAt(height))).toEqual([]);
        await node.take(large.blocks.slice(height + 1));
        expect(differences(node.state(), stateAt(large.height))).toEqual([]);
      } finally {
        rmSync(from, { recursive: true });
      }
    }
    expect(heights.size).toBeGreaterThan(5);
  } finally {
    rmSync(whole, { recursive: true });
  }
}, 120_000);
