import { expect, test } from 'bun:test';
import { MempoolFeed } from '../../src/feed/mempool-feed.ts';
import { changeBytes, type MempoolChange } from '../../src/mempool/changes.ts';
import { ManualClock } from '../lib/manual-clock.ts';

function update(seq: number, length: number): MempoolChange {
  return { kind: 'update', seq, data: 'x'.repeat(length), totals: {} as never };
}

test('every applied byte is acknowledged to the node, large amounts in several parts', async () => {
  const acknowledged: number[] = [];
  const seen: number[] = [];
  const feed = new MempoolFeed({
    clock: new ManualClock(0),
    onChanges(changes) {
      for (const change of changes) if ('seq' in change) seen.push(change.seq);
      // Applying each part takes longer than a slice.
      for (const until = performance.now() + 2; performance.now() < until; );
    },
    onCommit() {},
    onApplied: (bytes) => acknowledged.push(bytes),
  });
  const changes = Array.from({ length: 64 }, (_, i) => update(i + 1, 20_000));
  feed.enqueue({ changes: changes.slice(0, 60), commit: null });
  feed.enqueue({ changes: changes.slice(60), commit: null });
  await feed.drained();
  expect(seen).toEqual(changes.map((_, i) => i + 1));
  const sum = acknowledged.reduce((total, bytes) => total + bytes, 0);
  expect(sum).toBe(changes.reduce((total, change) => total + changeBytes(change), 0));
  expect(acknowledged.length).toBeGreaterThan(3);
  expect(Math.max(...acknowledged)).toBeLessThan(sum / 2);
});
