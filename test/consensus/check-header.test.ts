import { describe, expect, test } from 'bun:test';
import { checkHeader, checkHeaderContext } from '../../src/consensus/check-header.ts';
import { mainnet } from '../../src/params/mainnet.ts';
import { regtest, regtestWith } from '../../src/params/regtest.ts';
import { testnet4 } from '../../src/params/testnet4.ts';
import { chainOf } from './chain-fixture.ts';

const EASIEST = 0x207f_ffff;
const NOW = 20_000;

describe('checkHeader', () => {
  test('high-hash', () => {
    const bits = 0x1d00_ffff;
    expect(checkHeader({ hash: new Uint8Array(32), bits }, mainnet.consensus)).toBeNull();
    for (const header of [
      { hash: new Uint8Array(32).fill(0xff), bits },
      { hash: new Uint8Array(32), bits: EASIEST },
    ])
      expect(checkHeader(header, mainnet.consensus)).toEqual({
        ok: false,
        kind: 'invalid-header',
        reason: 'high-hash',
        debug: 'proof of work failed',
      } as never);
  });
});

describe('checkHeaderContext', () => {
  // Times are 1000 apart, so the median of the last eleven is 15,000 at height 20.
  const parent = chainOf(21, (height) => ({ time: height * 1000, bits: EASIEST }));
  const good = { version: 0x2000_0000, time: 20_500, bits: EASIEST };
  const check = (changes: Partial<typeof good>, params = regtest.consensus) =>
    checkHeaderContext({ ...good, ...changes }, parent, params, NOW);

  test('accepts a valid header', () => expect(check({})).toBeNull());

  test('bad-diffbits', () =>
    expect(check({ bits: 0x207f_fffe })).toMatchObject({
      kind: 'invalid-header',
      reason: 'bad-diffbits',
      debug: 'incorrect proof of work',
    }));

  test('time-too-old: not after the median of the last eleven', () => {
    expect(check({ time: 15_001 })).toBeNull();
    expect(check({ time: 15_000 })).toMatchObject({
      kind: 'invalid-header',
      reason: 'time-too-old',
      debug: "block's timestamp is too early",
    });
  });

  test('time-too-new: more than two hours ahead of the given clock', () => {
    expect(check({ time: NOW + 7200 })).toBeNull();
    expect(check({ time: NOW + 7201 })).toMatchObject({
      kind: 'time-future',
      reason: 'time-too-new',
      debug: 'block timestamp too far in the future',
    });
  });

  test('bad-version from the activation height of each rule on', () => {
    const params = regtestWith(['bip34@22', 'dersig@23', 'cltv@24']).consensus;
    const versionAt = (height: number, version: number) => {
      const before = chainOf(height, (at) => ({ time: at * 1000, bits: EASIEST }));
      return checkHeaderContext({ version, time: height * 1000, bits: EASIEST }, before, params, height * 1000);
    };
    expect(versionAt(21, 1)).toBeNull();
    expect(versionAt(22, 1)).toMatchObject({
      kind: 'invalid-header',
      reason: 'bad-version(0x00000001)',
      debug: 'rejected nVersion=0x00000001 block',
    });
    expect(versionAt(22, 2)).toBeNull();
    expect(versionAt(23, 2)?.reason).toBe('bad-version(0x00000002)');
    expect(versionAt(24, 3)?.reason).toBe('bad-version(0x00000003)');
    expect(versionAt(24, 4)).toBeNull();
    // Versions are signed.
    expect(versionAt(24, -1)?.reason).toBe('bad-version(0xffffffff)');
    expect(versionAt(21, -1)).toBeNull();
  });

  test('faults are reported in the order of Core', () => {
    expect(check({ bits: 1, time: 0, version: 0 })?.reason).toBe('bad-diffbits');
    expect(check({ time: 0, version: 0 })?.reason).toBe('time-too-old');
    expect(check({ time: NOW + 7201, version: 0 })?.reason).toBe('time-too-new');
  });

  test('time-timewarp-attack: BIP-94, at the first block of a period only', () => {
    const bits = 0x1d00_ffff;
    const chain = (length: number) => chainOf(length, (at) => ({ time: at * 601, bits }));
    const at = (height: number, back: number) => {
      const before = chain(height);
      return checkHeaderContext({ version: 4, time: before.time - back, bits }, before, testnet4.consensus, 1e9);
    };
    expect(at(2016, 600)).toBeNull();
    expect(at(2016, 601)).toMatchObject({
      kind: 'invalid-header',
      reason: 'time-timewarp-attack',
      debug: "block's timestamp is too early on diff adjustment block",
    });
    expect(at(2015, 601)).toBeNull();
    const before = chain(2016);
    const early = { version: 4, time: before.time - 601, bits };
    expect(checkHeaderContext(early, before, mainnet.consensus, 1e9)).toBeNull();
  });
});
