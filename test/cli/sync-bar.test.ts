import { expect, test } from 'bun:test';
import { syncBar, syncLine } from '../../src/cli/sync-bar.ts';

const AT = {
  phase: 'blocks',
  share: 0.5,
  height: 450_000,
  headers: 900_000,
  perSecond: 123.4,
  secondsLeft: 7322,
  peers: 10,
} as const;

test.each([
  [110, '[###############...............]  50%  height 450,000 of 900,000  123/s  2h 02m left  10 peers'],
  [80, '[#######........]  50%  height 450,000 of 900,000  123/s  2h 02m left  10 peers'],
  [50, ' 50%  height 450,000 of 900,000  2h 02m left'],
  [36, ' 50%  height 450,000 of 900,000'],
  [20, '[######......]  50%'],
  [10, ' 50%'],
  [1, ''],
])('the line at a width of %p columns', (width, expected) => {
  const line = syncLine(AT, width);
  expect(line).toBe(expected);
  expect(line.length).toBeLessThan(Math.max(width, 1));
});

test('the line leaves out what is not yet known during header sync', () => {
  const unknown = { ...AT, perSecond: null, secondsLeft: null, peers: 1, height: 2000 };
  expect(syncLine({ ...unknown, phase: 'headers' }, 60)).toEndWith(' 50%  headers 2,000  1 peer');
  expect(syncLine({ ...unknown, phase: 'presync' }, 60)).toEndWith(' 50%  headers, first pass: 2,000  1 peer');
});

// The next line of output begins at the bar's start and erases it.
test('the line is redrawn in place, leaves the cursor at its start, and is erased once', () => {
  const writes: string[] = [];
  const bar = syncBar({ write: (text) => writes.push(text), columns: () => 20, isInLog: true });
  bar.show(null);
  bar.show(AT);
  bar.show(AT);
  bar.show(null);
  bar.show(null);
  const drawn = '\r[######......]  50%\x1b[K\r';
  expect(writes).toEqual([drawn, drawn, '\r\x1b[K']);
});
