import { expect, test } from 'bun:test';
import { copyFileSync, cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RegtestChain } from '../lib/chain-builder.ts';
import { TestNode } from '../lib/chain-fixture.ts';
import { differences, statesOf } from '../lib/chain-state.ts';
import { sweep } from '../lib/tx-builder.ts';

const chain = new RegtestChain({ to: 'anyone' });
chain.mine(101);
for (let i = 1; i <= 8; i++) chain.mine(1, { txs: [sweep(chain.coin(i), 'anyone')] });
const fork = chain.fork(chain.height - 3);
fork.mine(2);

/** Sizes of SQLite's WAL: its header, the header of each frame, and a page here. */
const LOG_HEADER = 32;
const FRAME = 24 + 8192;

function filterHashes(node: TestNode): string[] {
  const { filters, tip } = node.chain;
  return Array.from({ length: tip.height + 1 }, (_, height) => {
    const record = filters!.findRecord(tip.ancestor(height)!)!;
    expect(filters!.readFilter(record).length).toBeGreaterThan(0);
    return record.header.toHex();
  });
}

// Commits of chain.db do not wait for the disk: after a power failure the WAL may end anywhere or in garbage, while the
// files that were synced before each commit are complete, with bytes that no row refers to.
test('a WAL that ends anywhere leaves the state of some block, and the chain continues from it', async () => {
  const whole = mkdtempSync(join(tmpdir(), 'obverse-cut-'));
  try {
    let last: string[];
    {
      await using node = new TestNode({ filters: true });
      await node.take(chain.blocks.slice(1, 102));
      const oneByOne = [...chain.blocks.slice(102, -3), ...fork.blocks.slice(-2), ...chain.blocks.slice(-3)];
      for (const block of oneByOne) await node.take([block]);
      // The files on the disk while the node runs: closing it would truncate the WAL.
      cpSync(node.dir, whole, { recursive: true });
      last = filterHashes(node);
    }
    const log = readFileSync(join(whole, 'chain.db-wal'));
    const frames = Math.floor((log.length - LOG_HEADER) / FRAME);
    expect(frames).toBeGreaterThan(60);
    const branches = [
      [chain, statesOf(chain.blocks)],
      [fork, statesOf(fork.blocks)],
    ] as const;
    const heights = new Set<number>();
    for (let cut = 0; cut <= 14; cut++) {
      const from = mkdtempSync(join(tmpdir(), 'obverse-cut-'));
      try {
        cpSync(join(whole, 'blocks'), join(from, 'blocks'), { recursive: true });
        cpSync(join(whole, 'filters'), join(from, 'filters'), { recursive: true });
        copyFileSync(join(whole, 'chain.db'), join(from, 'chain.db'));
        const at = Math.min(log.length, LOG_HEADER + Math.round((frames * cut) / 14) * FRAME + (cut % 3) * 2500);
        // Bytes that were not written may be zeros or old content.
        const rubbish = new Uint8Array(cut % 2 === 0 ? 0 : FRAME).fill(cut);
        writeFileSync(join(from, 'chain.db-wal'), Buffer.concat([log.subarray(0, at), rubbish]));
        await using node = new TestNode({ from, filters: true });
        const { height } = node.chain.tip;
        const [, stateAt] = branches.find(([each]) =>
          each.at(height)?.hash.every((b, i) => b === node.chain.tip.hash[i]),
        )!;
        expect(differences(node.state(), stateAt(height))).toEqual([]);
        heights.add(height);
        await node.take(chain.blocks.slice(1));
        expect(node.chain.tip.height).toBe(chain.height);
        expect(differences(node.state(), branches[0][1](chain.height))).toEqual([]);
        expect(filterHashes(node)).toEqual(last);
      } finally {
        rmSync(from, { recursive: true });
      }
    }
    expect(heights.size).toBeGreaterThan(5);
  } finally {
    rmSync(whole, { recursive: true });
  }
});
