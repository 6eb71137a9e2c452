import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { hash256 } from '../../../src/crypto/hash-functions.ts';
import { bucketPosition, newBucket, triedBucket } from '../../../src/p2p/address/addr-buckets.ts';
import { type AddrEntry, isTerrible, newEntry, selectionChance } from '../../../src/p2p/address/addr-entry.ts';
import { decodeAddrTables, encodeAddrTables } from '../../../src/p2p/address/addr-file.ts';
import { AddrManager } from '../../../src/p2p/address/addr-manager.ts';
import { printService } from '../../../src/p2p/address/address-text.ts';
import { internalAddress, type NetAddress, type NetService } from '../../../src/p2p/address/net-address.ts';
import type { NetworkClass } from '../../../src/p2p/address/net-group.ts';
import { PREFIX_GROUPS } from '../../../src/p2p/address/net-groups.ts';
import { systemRandomBelow } from '../../../src/util/random.ts';

import { at, DAY, fixture, HOUR, ip, MINUTE, NOW, ONION, peer, SOURCE } from './addr-fixture.ts';

const sound = (manager: AddrManager) => expect(manager.tables.problem()).toBeNull();

describe('buckets match those of Core', () => {
  const [key1, key2] = [1, 2].map((n) => hash256(Uint8Array.of(n, 0, 0, 0)).slice()) as [Uint8Array, Uint8Array];
  const counted = (of: (i: number) => number, times = 255) =>
    new Set(Array.from({ length: times }, (_, i) => of(i))).size;

  test("triedBucket matches Core's tried buckets", () => {
    expect(triedBucket(key1, at('250.1.1.1'), PREFIX_GROUPS)).toBe(40);
    expect(triedBucket(key2, at('250.1.1.1'), PREFIX_GROUPS)).not.toBe(40);
    expect(triedBucket(key1, at('250.1.1.1', 9999), PREFIX_GROUPS)).not.toBe(40);
    expect(counted((i) => triedBucket(key1, at(`250.1.1.${i}`, 0), PREFIX_GROUPS))).toBe(8);
    expect(counted((i) => triedBucket(key1, at(`250.${i}.1.1`, 0), PREFIX_GROUPS))).toBe(160);
  });

  test("newBucket matches Core's new buckets", () => {
    const own = (text: string, port = 8333) => newBucket(key1, at(text, port), ip(text), PREFIX_GROUPS);
    expect(own('250.1.2.1')).toBe(786);
    expect(own('250.1.2.1', 9999)).toBe(786);
    expect(newBucket(key2, at('250.1.2.1'), ip('250.1.2.1'), PREFIX_GROUPS)).not.toBe(786);
    expect(counted((i) => own(`250.1.1.${i}`))).toBe(1);
    const announced = (i: number) =>
      newBucket(key1, at(`${250 + Math.floor(i / 255)}.${i % 256}.1.1`), ip('251.4.1.1'), PREFIX_GROUPS);
    expect(counted(announced, 1020)).toBeLessThanOrEqual(64);
    expect(counted((i) => newBucket(key1, at('250.1.1.1'), ip(`250.${i}.1.1`), PREFIX_GROUPS))).toBeGreaterThan(64);
  });

  test('the position in a bucket depends on table, bucket, address and port', () => {
    const place = (...[table, bucket, service]: [table: 'new' | 'tried', bucket: number, service: NetService]) =>
      bucketPosition(key1, table, bucket, service);
    expect(counted((i) => place('new', i, at('250.1.1.1')))).toBeGreaterThan(50);
    expect(counted((i) => place('new', 1, at('250.1.1.1', i)))).toBeGreaterThan(50);
    expect(
      counted((i) => Math.abs(place('new', i, at('250.1.1.1')) - place('tried', i, at('250.1.1.1')))),
    ).toBeGreaterThan(20);
  });
});

describe('AddrManager.add', () => {
  test('an address is stored once, and another port is another address', () => {
    const { manager } = fixture();
    expect(manager.add([peer('250.1.1.1')], SOURCE)).toBe(true);
    expect(manager.add([peer('250.1.1.1')], SOURCE)).toBe(false);
    expect(manager.add([peer('250.1.1.1', { port: 8334 })], SOURCE)).toBe(true);
    expect([manager.size(), manager.size('new'), manager.size('tried')]).toEqual([2, 2, 0]);
    expect([manager.size('new', 'ipv4'), manager.size('new', 'ipv6')]).toEqual([2, 0]);
    sound(manager);
  });

  test('unroutable addresses are rejected', () => {
    const { manager } = fixture();
    const peers = ['10.0.0.1', '127.0.0.1', 'fc00::1', '::'].map((text) => peer(text));
    expect(manager.add([...peers, { ...peer('1.1.1.1'), address: internalAddress('seed') }], SOURCE)).toBe(false);
    expect(manager.size()).toBe(0);
  });

  test("the time penalty applies except for a node's own address", () => {
    const time = (source: NetAddress) => {
      const { manager } = fixture();
      manager.add([peer('250.1.1.1')], source, 2 * HOUR);
      return manager.getAddresses(0, 0)[0]?.time;
    };
    expect(time(SOURCE)).toBe(NOW - 2 * HOUR);
    expect(time(ip('250.1.1.1'))).toBe(NOW);
  });

  test('services accumulate, and the time is updated if it is an hour newer', () => {
    const { manager } = fixture();
    const known = () => manager.getAddresses(0, 0)[0];
    manager.add([peer('250.1.1.1', { time: NOW - 2 * HOUR, services: 1n })], SOURCE);
    manager.add([peer('250.1.1.1', { time: NOW - HOUR - 1, services: 8n })], SOURCE);
    expect(known()).toMatchObject({ time: NOW - 2 * HOUR, services: 9n });
    manager.add([peer('250.1.1.1', { time: NOW, services: 0n })], SOURCE);
    expect(known()).toMatchObject({ time: NOW, services: 9n });
    manager.setServices(at('250.1.1.1'), 64n);
    expect(known()?.services).toBe(64n);
  });

  test('an address from many sources gets up to eight positions', () => {
    const { manager } = fixture();
    for (let i = 0; i < 20_000; i++) {
      const time = NOW - 20 * DAY + i;
      manager.add([peer('250.1.1.1', { time })], ip(`${1 + (i % 99)}.${i % 250}.1.1`));
    }
    const places = [...manager.places('new')];
    expect(places.length).toBe(8);
    expect(places.every(({ entry }) => entry.refCount === 8)).toBe(true);
    expect(manager.size()).toBe(1);
    sound(manager);
  });

  test('one source group fills 64 buckets at most', () => {
    const { manager } = fixture();
    for (let i = 0; i < 6000; i++) manager.add([peer(`${(i % 99) + 1}.${(i >> 5) % 250}.${i % 250}.1`)], SOURCE);
    expect(new Set([...manager.places('new')].map(({ bucket }) => bucket)).size).toBeLessThanOrEqual(64);
    expect(manager.size()).toBeLessThanOrEqual(64 * 64);
    sound(manager);
  });
});

describe('terrible addresses', () => {
  const of = (parts: Partial<AddrEntry>) => isTerrible({ ...newEntry(peer('250.1.1.1'), SOURCE), ...parts }, NOW);
  test.each<[string, Partial<AddrEntry>, boolean]>([
    ['a fresh one', {}, false],
    ['from the future', { time: NOW + 10 * MINUTE + 1 }, true],
    ['from a little in the future', { time: NOW + 10 * MINUTE }, false],
    ['not seen for thirty days', { time: NOW - 30 * DAY }, false],
    ['not seen for longer', { time: NOW - 30 * DAY - 1 }, true],
    ['not seen for longer, but just tried', { time: NOW - 40 * DAY, lastTry: NOW - 60 }, false],
    ['tried twice without a success', { attempts: 2 }, false],
    ['tried three times without a success', { attempts: 3 }, true],
    ['failed nine times since a success long ago', { attempts: 9, lastSuccess: NOW - 8 * DAY }, false],
    ['failed ten times since a success long ago', { attempts: 10, lastSuccess: NOW - 7 * DAY - 1 }, true],
    ['failed ten times since a success of this week', { attempts: 10, lastSuccess: NOW - 7 * DAY }, false],
  ])('%s', (_, parts, expected) => expect(of(parts)).toBe(expected));

  test('a terrible address is replaced by another', () => {
    const { manager, pass } = fixture();
    const tables = manager.tables;
    const victim = peer('250.1.1.1');
    manager.add([victim], SOURCE);
    const slot = tables.newSlot(tables.mustEntry(tables.idOf(victim)!));
    const rival = Array.from({ length: 65_000 }, (_, i) => peer(`250.1.${i >> 8}.${i & 255}`)).find(
      (candidate) => candidate.address.bytes[3] !== 1 && tables.newSlot(newEntry(candidate, SOURCE)) === slot,
    )!;
    expect(manager.add([rival], SOURCE)).toBe(false);
    // A failure counts only if a connection succeeded since the last one.
    for (let i = 0; i < 3; i++) {
      pass(2 * MINUTE);
      manager.good(at('8.8.8.8'));
      manager.attempt(victim, true);
    }
    expect(manager.add([rival], SOURCE)).toBe(false);
    pass(MINUTE + 1);
    expect(manager.add([rival], SOURCE)).toBe(true);
    expect(tables.idOf(victim)).toBeNull();
    sound(manager);
  });
});

describe('AddrManager.select', () => {
  test('an empty address manager selects nothing', () => {
    const { manager } = fixture();
    expect([manager.select(), manager.select({ newOnly: true }), manager.select({ networks: ['onion'] })]).toEqual([
      null,
      null,
      null,
    ]);
  });

  test('addresses are selected from both tables, or only from the new one', () => {
    const { manager } = fixture();
    manager.add([peer('250.1.1.1'), peer('250.5.1.1')], SOURCE);
    expect(manager.good(at('250.1.1.1'))).toBe(true);
    const chosen = (options = {}) =>
      new Set(Array.from({ length: 60 }, () => printService(manager.select(options)!.peer)));
    expect([...chosen()].sort()).toEqual(['250.1.1.1:8333', '250.5.1.1:8333']);
    expect([...chosen({ newOnly: true })]).toEqual(['250.5.1.1:8333']);
    manager.good(at('250.5.1.1'));
    expect(manager.select({ newOnly: true })).toBeNull();
    expect(manager.select()).toMatchObject({ lastTry: NOW });
  });

  test('selection can be restricted to networks', () => {
    const { manager } = fixture();
    manager.add([peer('250.1.1.1'), peer('2001:4860::1'), peer(ONION)], SOURCE);
    const of = (...networks: NetworkClass[]) => manager.select({ networks })?.peer.address.network;
    for (let i = 0; i < 20; i++) {
      expect(of('onion')).toBe('onion');
      expect(of('ipv6', 'i2p')).toBe('ipv6');
    }
    expect(of('i2p', 'cjdns')).toBeUndefined();
  });

  test('recently tried and failing addresses are selected rarely', () => {
    const entry = newEntry(peer('250.1.1.1'), SOURCE);
    expect(selectionChance(entry, NOW)).toBe(1);
    expect(selectionChance({ ...entry, lastTry: NOW - 10 * MINUTE + 1 }, NOW)).toBe(0.01);
    expect(selectionChance({ ...entry, attempts: 1, lastTry: NOW - 10 * MINUTE }, NOW)).toBeCloseTo(0.66);
    expect(selectionChance({ ...entry, attempts: 99 }, NOW)).toBeCloseTo(0.66 ** 8);
  });
});

describe('AddrManager.getAddresses', () => {
  test('getAddresses returns a share without terrible addresses, optionally of one network', () => {
    const { manager } = fixture();
    for (let i = 0; i < 500; i++) manager.add([peer(`${(i % 99) + 1}.${i % 250}.1.1`)], ip(`${(i % 200) + 1}.7.1.1`));
    manager.add([peer('2001:4860::1'), peer('250.1.1.1', { time: NOW - 31 * DAY })], SOURCE);
    const all = manager.size();
    expect(manager.getAddresses(1000, 23)).toHaveLength(Math.floor(all * 0.23));
    expect(manager.getAddresses(10, 23)).toHaveLength(10);
    expect(manager.getAddresses(0, 0)).toHaveLength(all - 1);
    expect(manager.getAddresses(0, 0, undefined, false)).toHaveLength(all);
    expect(manager.getAddresses(0, 0, 'ipv6').map(printService)).toEqual(['[2001:4860::1]:8333']);
    const texts = manager.getAddresses(0, 0).map(printService);
    expect(new Set(texts).size).toBe(texts.length);
    sound(manager);
  });
});

describe('connection results', () => {
  test('failures count once until a connection succeeds', () => {
    const { manager, pass } = fixture();
    manager.add([peer('250.1.1.1'), peer('8.8.8.8')], SOURCE);
    const attempts = () => manager.tables.mustEntry(manager.tables.idOf(at('250.1.1.1'))!).attempts;
    manager.attempt(at('250.1.1.1'), true);
    manager.attempt(at('250.1.1.1'), true);
    expect(attempts()).toBe(1);
    pass(5);
    manager.good(at('8.8.8.8'));
    manager.attempt(at('250.1.1.1'), false);
    expect(attempts()).toBe(1);
    manager.attempt(at('250.1.1.1'), true);
    expect(attempts()).toBe(2);
    manager.good(at('250.1.1.1'));
    expect(attempts()).toBe(0);
  });

  test('the time is updated only after twenty minutes, and not by a success', () => {
    const { manager } = fixture();
    manager.add([peer('250.1.1.1')], SOURCE);
    const time = () => manager.getAddresses(0, 0)[0]?.time;
    manager.connected(at('250.1.1.1'), NOW + 20 * MINUTE);
    expect(time()).toBe(NOW);
    manager.good(at('250.1.1.1'), NOW + HOUR);
    expect(time()).toBe(NOW);
    manager.connected(at('250.1.1.1'), NOW + 20 * MINUTE + 1);
    expect(time()).toBe(NOW + 20 * MINUTE + 1);
  });

  test('updates of unknown addresses have no effect', () => {
    const { manager } = fixture();
    manager.attempt(at('1.1.1.1'), true);
    manager.connected(at('1.1.1.1'));
    manager.setServices(at('1.1.1.1'), 1n);
    expect(manager.good(at('1.1.1.1'))).toBe(false);
    expect(manager.size()).toBe(0);
  });
});

describe('collisions in the tried table', () => {
  /** The first address is in the tried table, the second was reached now. */
  function collided() {
    const { manager, pass, clock } = fixture();
    const old = peer('250.1.1.1');
    manager.add([old], SOURCE);
    manager.good(old);
    const { tables } = manager;
    const slot = tables.triedSlot(newEntry(old, SOURCE));
    const rival = Array.from({ length: 65_000 }, (_, i) => peer(`250.1.${i >> 8}.${i & 255}`)).find(
      (candidate) => candidate.address.bytes[3] !== 1 && tables.triedSlot(newEntry(candidate, SOURCE)) === slot,
    )!;
    const inTried = (service: NetService) => tables.mustEntry(tables.idOf(service)!).inTried;
    return { manager, pass, clock, old, rival, inTried, now: () => clock.nowMs() / 1000 };
  }

  function waiting(age: number) {
    const all = collided();
    all.pass(age);
    all.manager.add([{ ...all.rival, time: all.now() }], SOURCE);
    expect(all.manager.good(all.rival)).toBe(false);
    expect(all.manager.selectTriedCollision()).toMatchObject({ peer: all.old });
    return all;
  }

  test('an old address that was reached in the last four hours stays', () => {
    const { manager, old, rival, inTried } = waiting(3 * HOUR);
    manager.resolveCollisions();
    expect([inTried(old), inTried(rival), manager.selectTriedCollision()]).toEqual([true, false, null]);
  });

  test('an old address that fails its test moves back to the new table after a minute', () => {
    const { manager, old, rival, inTried, pass } = waiting(5 * HOUR);
    manager.resolveCollisions();
    expect(manager.selectTriedCollision()).not.toBeNull();
    manager.attempt(old, true);
    pass(60);
    manager.resolveCollisions();
    expect(inTried(old)).toBe(true);
    pass(1);
    manager.resolveCollisions();
    expect([inTried(old), inTried(rival), manager.size()]).toEqual([false, true, 2]);
    sound(manager);
  });

  test('an old address that passes its test stays', () => {
    const { manager, old, rival, inTried, pass } = waiting(5 * HOUR);
    manager.good(old);
    pass(120);
    manager.resolveCollisions();
    expect([inTried(old), inTried(rival), manager.selectTriedCollision()]).toEqual([true, false, null]);
  });

  test('an old address that is not tested within forty minutes is replaced', () => {
    const { manager, old, rival, inTried, pass } = waiting(5 * HOUR);
    pass(40 * MINUTE);
    manager.resolveCollisions();
    expect(inTried(rival)).toBe(false);
    pass(1);
    manager.resolveCollisions();
    expect([inTried(old), inTried(rival)]).toEqual([false, true]);
  });
});

test('the tables stay consistent through random operations', () => {
  const text = fc
    .tuple(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 1, max: 3 }))
    .map(([a, b]) => `${a}.${b}.1.1`);
  const step = fc.oneof(
    fc.record({
      kind: fc.constant('add' as const),
      text,
      source: text,
      age: fc.integer({ min: -HOUR, max: 40 * DAY }),
    }),
    fc.record({ kind: fc.constantFrom('good', 'attempt', 'connected'), text }),
    fc.record({ kind: fc.constantFrom('resolve', 'collision', 'select', 'tell') }),
    fc.record({ kind: fc.constant('pass' as const), seconds: fc.integer({ min: 0, max: 6 * HOUR }) }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 150 }), fc.nat(), (steps, seed) => {
      const { manager, clock, pass } = fixture(seed);
      // All share few buckets, so that they collide.
      for (const one of steps) {
        if (one.kind === 'add') {
          const time = Math.floor(clock.nowMs() / 1000) - one.age;
          manager.add([peer(one.text, { time })], ip(one.source));
        } else if (one.kind === 'good') manager.good(at(one.text));
        else if (one.kind === 'attempt') manager.attempt(at(one.text), true);
        else if (one.kind === 'connected') manager.connected(at(one.text));
        else if (one.kind === 'resolve') manager.resolveCollisions();
        else if (one.kind === 'collision') manager.selectTriedCollision();
        else if (one.kind === 'select') expect(manager.select() === null).toBe(manager.size() === 0);
        else if (one.kind === 'pass') pass(one.seconds);
        else manager.getAddresses(1000, 23);
      }
      sound(manager);
      sound(new AddrManager(decodeAddrTables(encodeAddrTables(manager.tables), PREFIX_GROUPS), clock, () => 0));
    }),
    { numRuns: 40 },
  );
});

test("the system's random source draws every number below the limit", () => {
  const drawn = Array.from({ length: 500 }, () => systemRandomBelow(5));
  expect([...new Set(drawn)].sort()).toEqual([0, 1, 2, 3, 4]);
  expect(systemRandomBelow(1)).toBe(0);
});
