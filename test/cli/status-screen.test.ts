import { expect, test } from 'bun:test';
import type { StatusFacts } from '../../src/cli/status-facts.ts';
import { bytesText, statusLines } from '../../src/cli/status-screen.ts';

const facts: StatusFacts = {
  atMs: 1_700_000_100_000,
  version: '0.1.0',
  network: 'main',
  uptime: 61,
  height: 400_000,
  headers: 800_000,
  hash: '00'.repeat(32),
  tipTime: 1_700_000_000,
  synced: false,
  progress: 0.2,
  peers: { inbound: 0, outbound: 8 },
  mempool: { size: 0, vbytes: 0, usage: 0, max: 300_000_000 },
  indexes: { tx: { enabled: true, height: 400_000 }, address: { enabled: true, height: 100_000 } },
  pruneHeight: null,
  chainBytes: 1_440_000_000,
  freeBytes: 5_000_000_000,
  wallets: { shown: [], count: 0 },
  ready: { status: 'degraded', problems: ['chain: initial block download'] },
  warnings: [],
};

test('the rate and the time left of the sync follow from an earlier state', () => {
  const earlier = { ...facts, atMs: facts.atMs - 10_000, height: 399_000, progress: 0.19 };
  // 0.01 in 10 s, so that 0.8 takes 800 s.
  expect(statusLines(facts, earlier)).toContain('sync       20.00 % verified, 100 blocks/s, 13m 20s left');
  expect(statusLines(facts, null)).toContain('sync       20.00 % verified');
  expect(statusLines({ ...facts, synced: true }, null)).toContain('sync       in sync');
});

test('an index that is built shows its share, and readiness its reasons', () => {
  const lines = statusLines(facts, null);
  expect(lines).toContain('indexes    tx, address 25 %');
  expect(lines.slice(-2)).toEqual(['ready      degraded', '           chain: initial block download']);
});

test('the name of a wallet does not rewrite the terminal', () => {
  const wallet = { name: 'a\x1b[2J', balance: '1.00000000', pending: '0.5', state: 'locked' } as const;
  const lines = statusLines({ ...facts, wallets: { shown: [wallet], count: 3 } }, null);
  expect(lines).toContain('wallets    a?[2J: 1.00000000, 0.5 pending (locked)');
  expect(lines).toContain('           and 2 more');
});

test.each([
  [0, '0 B'],
  [1440, '1.4 kB'],
  [999_000_000_000, '999 GB'],
])('%d bytes are %s', (bytes, text) => expect(bytesText(bytes)).toBe(text));
