import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { decodeAddrTables, encodeAddrTables } from '../../../src/p2p/address/addr-file.ts';
import { AddrManager } from '../../../src/p2p/address/addr-manager.ts';
import { printService } from '../../../src/p2p/address/address-text.ts';
import { internalAddress } from '../../../src/p2p/address/net-address.ts';
import { PREFIX_GROUPS } from '../../../src/p2p/address/net-groups.ts';
import { bytesToHex, concatBytes, hexToBytes } from '../../../src/util/bytes.ts';
import { at, fixture, ip, NOW, ONION, peer } from './addr-fixture.ts';

describe('address file', () => {
  function filled() {
    const { manager, clock, below } = fixture();
    for (let i = 0; i < 400; i++) {
      manager.add([peer(`${(i % 99) + 1}.${i % 250}.1.1`)], ip(`${(i % 200) + 1}.7.1.1`));
      if (i % 5 === 0) manager.good(at(`${(i % 99) + 1}.${i % 250}.1.1`));
    }
    manager.add([peer('250.9.9.9')], ip('9.9.9.9'));
    manager.add([peer('250.9.9.9', { time: NOW + 100 })], ip('13.13.9.9'));
    manager.add([peer(ONION), peer('2001:4860::1')], internalAddress('seed'));
    return { manager, clock, below };
  }
  const state = (manager: AddrManager) =>
    (['new', 'tried'] as const).flatMap((table) =>
      [...manager.places(table)].map(({ entry, bucket, position }) => [
        table,
        bucket,
        position,
        printService(entry),
        entry.time,
        entry.services,
        bytesToHex(entry.source.bytes),
        entry.lastSuccess,
        entry.attempts,
      ]),
    );

  test('every entry is restored at its position', () => {
    const { manager, clock, below } = filled();
    const bytes = encodeAddrTables(manager.tables);
    const restored = new AddrManager(decodeAddrTables(bytes, PREFIX_GROUPS), clock, below);
    expect(state(restored)).toEqual(state(manager));
    expect([restored.size('new'), restored.size('tried')]).toEqual([manager.size('new'), manager.size('tried')]);
    expect(bytesToHex(encodeAddrTables(restored.tables))).toBe(bytesToHex(bytes));
  });

  test('an empty address manager is encoded byte for byte as in Core', () => {
    const bytes = encodeAddrTables(fixture().manager.tables);
    const expected = concatBytes(
      hexToBytes(`0424${'07'.repeat(32)}000000000000000000040040`),
      new Uint8Array(1024 * 4 + 32),
    );
    expect(bytesToHex(bytes)).toBe(bytesToHex(expected));
  });

  test('entries of a file with an asmap are placed by their source', () => {
    const { manager } = filled();
    const bytes = encodeAddrTables(manager.tables).slice();
    bytes[bytes.length - 1] = 1;
    const tables = decodeAddrTables(bytes, PREFIX_GROUPS);
    expect(tables.problem()).toBeNull();
    expect(tables.size('tried')).toBe(manager.size('tried'));
    expect(tables.size('new')).toBeGreaterThan(manager.size('new') * 0.9);
  });

  test('a damaged file is rejected, or what is decoded of it is consistent', () => {
    const whole = encodeAddrTables(filled().manager.tables);
    expect(() => decodeAddrTables(whole.subarray(0, whole.length - 40), PREFIX_GROUPS)).toThrow('unexpected end');
    expect(() => decodeAddrTables(Uint8Array.of(5, 37), PREFIX_GROUPS)).toThrow('unsupported');
    expect(() => decodeAddrTables(Uint8Array.of(2, 34), PREFIX_GROUPS)).toThrow('unsupported');
    expect(() => decodeAddrTables(Uint8Array.of(4, 31), PREFIX_GROUPS)).toThrow('corrupt');
    fc.assert(
      fc.property(fc.nat(), fc.integer({ min: 1, max: 255 }), (at, flip) => {
        const bytes = whole.slice();
        // Most of the file consists of empty buckets; the entries come first.
        bytes[at % Math.min(bytes.length, 30_000)]! ^= flip;
        try {
          expect(decodeAddrTables(bytes, PREFIX_GROUPS).problem()).toBeNull();
        } catch (error) {
          expect((error as Error).name).toBe('DecodeError');
        }
      }),
      { numRuns: 60 },
    );
  });
});
