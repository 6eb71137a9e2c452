import { expect, test } from 'bun:test';
import { transferLine } from '../../src/cli/transfer-output.ts';

const at = (bytes: number, seconds: number) => ({ bytes, moved: bytes, totalBytes: 4e9, elapsedMs: seconds * 1000 });

test('a line has the share, the bytes, the rate of the last seconds and the time that is left', () => {
  expect(transferLine([at(1e9, 10)], null)).toBe('25%  1.0 GB of 4.0 GB  100 MB/s  30s left');
  expect(transferLine([at(1e9, 10), at(2e9, 15)], null)).toBe('50%  2.0 GB of 4.0 GB  200 MB/s  10s left');
  expect(transferLine([at(1e9, 10), at(4e9, 25)], null)).toBe('100%  4.0 GB of 4.0 GB  200 MB/s');
  expect(transferLine([at(0, 0)], null)).toBe('0%  0 B of 4.0 GB');
  expect(transferLine([{ ...at(0, 1), totalBytes: 0 }], null)).toBe('100%  0 B of 0 B');
});

test.each([
  [80, '[###############...............]  50%  2.0 GB of 4.0 GB  200 MB/s  10s left'],
  [40, ' 50%  2.0 GB of 4.0 GB  10s left'],
  [20, ' 50%  10s left'],
])('a line fits %d columns', (width, line) => {
  const shown = transferLine([at(1e9, 10), at(2e9, 15)], width);
  expect(shown).toBe(line);
  expect(shown.length).toBeLessThan(width);
});
