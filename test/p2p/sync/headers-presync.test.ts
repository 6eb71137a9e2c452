import { describe, expect, test } from 'bun:test';
import { HeadersPresync, type PresyncOptions, type PresyncResult } from '../../../src/p2p/sync/headers-presync.ts';
import { mainnet } from '../../../src/params/mainnet.ts';
import { regtest } from '../../../src/params/regtest.ts';
import type { BlockHash, MerkleRoot } from '../../../src/primitives/hash.ts';
import { type BlockHeader, headerHash } from '../../../src/primitives/header.ts';
import { TestEntry } from '../../consensus/chain-fixture.ts';
import { headersAfter } from './header-chain.ts';

// The cases of Core's headers_sync_chainwork_tests: the work of a regtest header is two hashes.
const BLOCKS = 15_000;
const WORK = 30_000n;
const BUFFER = BLOCKS - 2123;
const PERIOD = 600;
const genesis = new TestEntry(null, { time: 1_296_688_602, bits: 0x207f_ffff }, regtest.consensus.genesisHash);
const NOW = genesis.time + 1_000_000;
const root = (byte: number) => new Uint8Array(32).fill(byte) as MerkleRoot;
const first = headersAfter(genesis, BLOCKS - 1, root(0));
const second = headersAfter(genesis, BLOCKS - 2, root(1));

/** Keys differ, so that chance cannot hide an error. */
let salt = 1;
function presync(more: Partial<PresyncOptions> & { period?: number; buffer?: number } = {}): HeadersPresync {
  const { period = PERIOD, buffer = BUFFER } = more;
  const params = { ...regtest, headersSync: { commitmentPeriod: period, redownloadBufferSize: buffer } };
  const randomBelow = (limit: number) => (salt = (salt * 48_271) % 0x7fff_ffff) % limit;
  return new HeadersPresync({ params, start: genesis, minimumWork: WORK, now: NOW, randomBelow, ...more });
}

const summary = ({ success, requestMore, headers }: PresyncResult) => [success, requestMore, headers.length];
const hashOf = (header: BlockHeader | undefined): BlockHash => headerHash(header!);

describe('HeadersPresync', () => {
  test('a different chain in the second download is detected', () => {
    const sync = presync();
    expect(summary(sync.process(first.slice(0, 1), true))).toEqual([true, true, 0]);
    expect(sync.phase).toBe('presync');
    expect(sync.locator()).toEqual([hashOf(first[0]), genesis.hash]);
    expect(summary(sync.process(first.slice(1), true))).toEqual([true, true, 0]);
    expect(sync.phase).toBe('redownload');
    expect(sync.locator()).toEqual([genesis.hash, genesis.hash]);
    expect([sync.height, sync.time, sync.chainwork]).toEqual([BLOCKS - 1, genesis.time + BLOCKS - 1, WORK]);
    // It would pass by chance once in 2^25 times.
    expect(summary(sync.process(second, true))).toEqual([false, false, 0]);
    expect(sync.phase).toBe('done');
  });

  test.each([true, false])('the same chain sent twice is returned (last message full: %p)', (full) => {
    const sync = presync();
    expect(summary(sync.process(first, full))).toEqual([true, true, 0]);
    expect(sync.locator()[0]).toEqual(genesis.hash);
    expect(summary(sync.process(first.slice(0, BUFFER), true))).toEqual([true, true, 0]);
    expect(sync.locator()[0]).toEqual(hashOf(first[BUFFER - 1]));
    const one = sync.process(first.slice(BUFFER, BUFFER + 1), true);
    expect(summary(one)).toEqual([true, true, 1]);
    expect(sync.locator()[0]).toEqual(hashOf(first[BUFFER]));
    const rest = sync.process(first.slice(BUFFER + 1), full);
    expect(summary(rest)).toEqual([true, false, first.length - 1]);
    expect([...one.headers, ...rest.headers]).toEqual(first);
    expect([sync.phase, sync.usage < 1000]).toEqual(['done', true]);
  });

  test('a chain with too little work is no fault and yields nothing', () => {
    const sync = presync();
    expect(summary(sync.process(second.slice(0, 1), true))).toEqual([true, true, 0]);
    expect(summary(sync.process(second.slice(1), false))).toEqual([true, false, 0]);
    expect(sync.phase).toBe('done');
  });

  test('a peer that does not send its chain again is given up', () => {
    const sync = presync();
    sync.process(first, true);
    expect(summary(sync.process(first.slice(0, 100), false))).toEqual([true, false, 0]);
    expect(sync.phase).toBe('done');
  });

  test('headers that do not connect are rejected in both downloads', () => {
    expect(summary(presync().process(first.slice(1), true))).toEqual([false, false, 0]);
    const sync = presync();
    sync.process(first, true);
    expect(summary(sync.process([...first.slice(0, 10), ...first.slice(11, 20)], true))).toEqual([false, false, 0]);
  });

  test('a chain longer than possible by now is rejected', () => {
    // Six per second, from the median time past of the start to two hours from now.
    const now = genesis.time - 7200 + 1000;
    const at = (count: number) =>
      presync({ now, period: 1, minimumWork: 1n << 200n }).process(first.slice(0, count), true);
    expect(summary(at(6000))).toEqual([true, true, 0]);
    expect(summary(at(6001))).toEqual([false, false, 0]);
  });

  test('a second download beyond the first needs no more commitments', () => {
    const sync = presync({ minimumWork: 10_000n, period: 3, buffer: 100 });
    expect(summary(sync.process(first.slice(0, 4999), false))).toEqual([true, true, 0]);
    const result = sync.process(first, true);
    expect(summary(result)).toEqual([true, false, first.length]);
  });

  test('a second download fails if the commitments end before its work suffices', () => {
    // The last header brings enough work in the first download; in the second it has a lower difficulty.
    const params = { ...regtest, headersSync: { commitmentPeriod: 1, redownloadBufferSize: 100 } };
    const hard = { ...first[100]!, bits: 0x1d00_ffff };
    const minimumWork = 1_000_000n;
    const sync = new HeadersPresync({ params, start: genesis, minimumWork, now: NOW });
    expect(summary(sync.process([...first.slice(0, 100), hard], false))).toEqual([true, true, 0]);
    expect(summary(sync.process(first.slice(0, 100), true))).toEqual([true, true, 0]);
    expect(sync.process(first.slice(100), true).success).toBe(false);
  });
});

describe('HeadersPresync on mainnet', () => {
  const start = new TestEntry(null, mainnet.genesis, mainnet.consensus.genesisHash);
  const header = (previousHash: BlockHash, bits: number): BlockHeader => ({
    version: 1,
    previousHash,
    merkleRoot: root(2),
    time: start.time,
    bits,
    nonce: 0,
  });

  test('a difficulty change within a period is rejected', () => {
    const sync = new HeadersPresync({ params: mainnet, start, minimumWork: 1n << 60n, now: 1_700_000_000 });
    const next = header(start.hash, 0x1d00_ffff);
    expect(sync.process([next], true).success).toBe(true);
    expect(sync.process([header(headerHash(next), 0x1c00_ffff)], true).success).toBe(false);
  });

  test('a difficulty change within a period is rejected in the second download', () => {
    const sync = new HeadersPresync({ params: mainnet, start, minimumWork: start.chainwork * 3n, now: 1_700_000_000 });
    const next = header(start.hash, 0x1d00_ffff);
    expect(sync.process([next, header(headerHash(next), 0x1d00_ffff)], false).success).toBe(true);
    expect(sync.phase).toBe('redownload');
    expect(sync.process([header(start.hash, 0x1c00_ffff)], true).success).toBe(false);
  });

  test('the first download stores one bit per 641 headers', () => {
    const sync = new HeadersPresync({ params: mainnet, start, minimumWork: 1n << 60n, now: 1_700_000_000 });
    let hash = start.hash;
    for (let count = 0; count < 20_000; count += 2000) {
      const batch: BlockHeader[] = [];
      for (let i = 0; i < 2000; i++) {
        const next = header(hash, 0x1d00_ffff);
        hash = headerHash(next);
        batch.push(next);
      }
      expect(sync.process(batch, true).success).toBe(true);
    }
    expect(sync.usage).toBe(64);
  });
});
