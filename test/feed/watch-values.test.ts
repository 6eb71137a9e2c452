import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { itemOf, readTarget, readThresholds, WATCH_KINDS } from '../../src/feed/watch-values.ts';
import { WatchRegistry, WatchSet, WatchUnion } from '../../src/feed/watches.ts';
import { ApiError } from '../../src/http/errors.ts';
import { regtest } from '../../src/params/regtest.ts';
import { addressOf } from '../../src/script/address.ts';
import { LOCK_KINDS, lockOf } from '../lib/tx-builder.ts';

const params = regtest;

describe('watchable items', () => {
  test('an item has one canonical form, which parses to itself', () => {
    const id = 'aB'.repeat(32);
    const outpoint = `${id}:4294967295`;
    const given = [
      ...LOCK_KINDS.map((kind) => lockOf(kind).scriptPubKey).flatMap((script) => {
        const address = addressOf(script, params.address);
        const hex = script.toHex();
        return [
          ...(address ? [['address', address]] : []),
          ['address', `script:${hex}`],
          ['script', hex.toUpperCase()],
        ];
      }),
      ['tx', id],
      ['outpoint', outpoint],
    ] as [(typeof WATCH_KINDS)[number], string][];
    for (const [kind, text] of given) {
      const target = readTarget(kind, text, params);
      expect(readTarget(kind, target.value, params)).toEqual(target);
      const item = itemOf(target, [1], { registry: new WatchRegistry(), params }, 'id');
      expect([item.key, item.watchId]).toEqual([target.key, 'id']);
    }
    const script = lockOf('p2wpkh').scriptPubKey;
    const byAddress = readTarget('address', addressOf(script, params.address)!, params);
    expect(readTarget('script', script.toHex(), params).key).toBe(byAddress.key);
  });

  test('any other text is refused with the documented error', () => {
    const text = fc.oneof(fc.string(), fc.string({ unit: 'binary' }), fc.constantFrom('script:', `${'0'.repeat(64)}:`));
    fc.assert(
      fc.property(fc.constantFrom(...WATCH_KINDS), text, (kind, given) => {
        try {
          const target = readTarget(kind, given, params);
          return readTarget(kind, target.value, params).key === target.key;
        } catch (error) {
          return error instanceof ApiError;
        }
      }),
    );
  });

  test('numbers of confirmations are sorted and limited', () => {
    expect(readThresholds([6, 1, 6, 0])).toEqual([0, 1, 6]);
    expect(readThresholds([])).toEqual([]);
    for (const wrong of [null, {}, '1', ['1'], [1.5], [-1], [1001], Array.from({ length: 11 }, (_, i) => i)])
      expect(readThresholds(wrong)).toBeString();
  });
});

test('repeated watching leaves few prints behind, and every watched item is among them', () => {
  const registry = new WatchRegistry();
  const set = new WatchSet(registry);
  const item = (n: number) => registry.txidItem(new Uint8Array(32).fill(n & 0xff).fill(n >> 8, 1), `${n}`, []);
  const kept = Array.from({ length: 50 }, (_, n) => item(n));
  for (const each of kept) set.add(each);
  for (let n = 50; n < 10_000; n++) {
    set.add(item(n));
    if (n % 100 === 0) expect(kept.every(({ print }) => registry.data().prints.includes(print))).toBe(true);
    expect(registry.data().prints.includes(item(n).print)).toBe(true);
    set.remove(`t${n}`);
  }
  expect(registry.data().prints.length).toBeLessThanOrEqual(200);
  expect(registry.size).toBe(50);
});

test('a connection and its key share their watches', () => {
  const registry = new WatchRegistry();
  const [own, stored] = [new WatchSet(registry), new WatchSet(registry)];
  const union = new WatchUnion(own, stored);
  const target = readTarget('tx', '01'.repeat(32), params);
  const world = { registry, params };
  own.add(itemOf(target, [1, 3], world));
  expect(union.get(target.key)).toMatchObject({ watchId: null, thresholds: [1, 3] });
  const before = union.version;
  stored.add(itemOf(target, [0, 3, 6], world, 'id'));
  expect(union.get(target.key)).toMatchObject({ watchId: 'id', thresholds: [0, 1, 3, 6] });
  expect([union.thresholds(), union.has(target.key), union.has('t')]).toEqual([[0, 1, 3, 6], true, false]);
  expect(union.version).toBeGreaterThan(before);
  own.clear();
  expect(union.get(target.key)).toMatchObject({ watchId: 'id', thresholds: [0, 3, 6] });
});
