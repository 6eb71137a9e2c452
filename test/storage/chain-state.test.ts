import { afterAll, beforeAll, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FakeNode } from '../lib/api-fixture.ts';

let dir: string;
let node: FakeNode;

beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'obverse-state-'));
  node = new FakeNode(dir);
});

afterAll(() => {
  node.close();
  rmSync(dir, { recursive: true, force: true });
});

test('the facts of a state are the same object until a commit', () => {
  const { reads } = node;
  const before = reads.state();
  expect(before.tip).toEqual(reads.tip());
  expect(reads.state()).toBe(before);
  expect(reads.snapshot(() => reads.state())).toBe(before);
  expect(reads.snapshotWithState((state) => state)).toBe(before);
  node.mine();
  const after = reads.state();
  expect(after).not.toBe(before);
  expect(after.tipView.height).toBe(before.tipView.height + 1);
});

test('a read begins again when a commit comes between the facts and the first access to the database', () => {
  const { reads } = node;
  const seen: number[] = [];
  const heights = reads.snapshotWithState((state, open) => {
    seen.push(state.tip.height);
    if (seen.length === 1) node.mine();
    open();
    return [state.tip.height, reads.tip().height, reads.state().tip.height];
  });
  expect(seen).toEqual([seen[0]!, seen[0]! + 1]);
  expect(heights).toEqual([seen[1]!, seen[1]!, seen[1]!]);
});

test('a snapshot stays at its state while another connection commits', () => {
  const { reads } = node;
  const [before, within] = reads.snapshotWithState((state, open) => {
    open();
    node.mine();
    return [state.tip.height, reads.tip().height];
  });
  expect(within).toBe(before!);
  expect(reads.tip().height).toBe(before! + 1);
});

test('an error of a read ends its snapshot', () => {
  const { reads } = node;
  reads.state();
  const failing = () =>
    reads.snapshotWithState((_, open) => {
      open();
      throw new Error('the read failed');
    });
  expect(failing).toThrow('the read failed');
  node.mine();
  expect(reads.tip()).toEqual(reads.state().tip);
});
