import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { BucketSet } from '../../../src/p2p/address/bucket-set.ts';
import type { NetworkClass } from '../../../src/p2p/address/net-group.ts';
import { networkOf } from '../../../src/p2p/address/net-group.ts';
import { fixture, ip, ONION, peer } from './addr-fixture.ts';

const sorted = (numbers: Iterable<number>) => [...numbers].sort((a, b) => a - b);

test('a bucket set contains each bucket with an entry once', () => {
  const step = fc.record({ bucket: fc.nat(7), add: fc.boolean() });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 100 }), (steps) => {
      const set = new BucketSet(8);
      const counts = new Map<number, number>();
      for (const { bucket, add } of steps) {
        const count = counts.get(bucket) ?? 0;
        if (!add && count === 0) continue;
        if (add) set.add(bucket);
        else set.remove(bucket);
        counts.set(bucket, count + (add ? 1 : -1));
        const filled = [...counts].filter(([, count]) => count > 0).map(([bucket]) => bucket);
        expect(sorted(set.filled)).toEqual(sorted(filled));
      }
    }),
  );
});

test('the filled buckets of the address manager match its tables after random operations', () => {
  const { manager, pass } = fixture();
  const text = (i: number) =>
    i % 20 === 0 ? `2a00:${i.toString(16)}::1` : `${20 + (i % 180)}.${i % 7}.1.${1 + (i % 250)}`;
  manager.add([peer(ONION)], ip('9.9.9.9'));
  for (let i = 0; i < 3000; i++) {
    manager.add([peer(text(i))], ip(`${30 + (i % 100)}.1.1.1`));
    if (i % 3 === 0) manager.good(peer(text(i)));
    if (i % 500 === 0) {
      pass(8 * 3600);
      manager.resolveCollisions();
    }
  }
  for (const table of ['new', 'tried'] as const) {
    const places = [...manager.places(table)];
    const bucketsOf = (network?: NetworkClass) =>
      new Set(
        places.filter(({ entry }) => !network || networkOf(entry.address) === network).map(({ bucket }) => bucket),
      );
    for (const network of [undefined, 'ipv4', 'ipv6', 'onion', 'i2p'] as const)
      expect(sorted(manager.tables.filledBuckets(table, network))).toEqual(sorted(bucketsOf(network)));
  }
  expect(manager.tables.problem()).toBeNull();
});
