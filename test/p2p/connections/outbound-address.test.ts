import { describe, expect, test } from 'bun:test';
import type { Selected } from '../../../src/p2p/address/addr-manager.ts';
import type { NetService } from '../../../src/p2p/address/net-address.ts';
import { type AddressChoice, chooseAddress } from '../../../src/p2p/connections/outbound-address.ts';
import { ManualClock } from '../../lib/manual-clock.ts';
import { HOUR, NOW, ONION, peer } from '../address/addr-fixture.ts';

const LONG_AGO = NOW - HOUR;
const selected = (text: string, { lastTry = LONG_AGO, port = 8333, services = 9n } = {}): Selected => ({
  peer: peer(text, { port, services }),
  lastTry,
});

/** An address manager that returns the given addresses repeatedly. */
function choice(
  answers: readonly (Selected | null)[],
  changes: Partial<AddressChoice> = {},
  collision: Selected | null = null,
) {
  const asked: { newOnly?: boolean }[] = [];
  const good: NetService[] = [];
  const addresses: AddressChoice['addresses'] = {
    select: (options = {}) => {
      asked.push(options);
      return answers[(asked.length - 1) % answers.length]!;
    },
    selectTriedCollision: () => collision,
    good: (service) => {
      good.push(service);
      return false;
    },
  };
  const no = () => false;
  const parts: AddressChoice = {
    addresses,
    networks: ['ipv4'],
    isFeeler: false,
    clock: new ManualClock(NOW * 1000),
    isGroupConnected: no,
    isReachable: () => true,
    isLocal: no,
    isConnected: no,
    isAdded: no,
    isDesirable: (services) => services === 9n,
    ...changes,
  };
  return { choose: async () => (await chooseAddress(parts))?.address ?? null, asked, good };
}

const A = selected('1.1.1.1');
const B = selected('2.2.2.2');

test('the first suitable address is chosen', async () => {
  const { choose, asked } = choice([A, B]);
  expect(await choose()).toEqual(A.peer.address);
  expect(asked.length).toBe(1);
});

describe('chooseAddress skips unsuitable addresses', () => {
  const isFirst = ({ address }: NetService) => address.bytes[0] === 1;
  test.each([
    ['an address of a connected group is skipped', { isGroupConnected: isFirst }],
    ['an address on an unreachable network is skipped', { isReachable: (service: NetService) => !isFirst(service) }],
    ['an address added by the operator is skipped', { isAdded: isFirst }],
  ])('%s', async (_, changes) => expect(await choice([A, B], changes).choose()).toEqual(B.peer.address));

  test.each([
    ['an address without the needed services is skipped', selected('1.1.1.1', { services: 1n }), 2],
    ['an address tried less than ten minutes ago is skipped', selected('1.1.1.1', { lastTry: NOW - 599 }), 2],
    ['an address with a bad port is skipped', selected('1.1.1.1', { port: 22 }), 2],
  ])('%s', async (_, bad, asks) => {
    const { choose, asked } = choice([bad, B]);
    expect(await choose()).toEqual(B.peer.address);
    expect(asked.length).toBe(asks);
  });
});

test('a recently tried address is accepted after thirty attempts', async () => {
  const { choose, asked } = choice([selected('1.1.1.1', { lastTry: NOW - 10 })]);
  expect(await choose()).toEqual(A.peer.address);
  expect(asked.length).toBe(30);
});

test('an address with a bad port is accepted after fifty attempts', async () => {
  const { choose, asked } = choice([selected('1.1.1.1', { port: 25 })]);
  expect(await choose()).toEqual(A.peer.address);
  expect(asked.length).toBe(50);
});

test('bad ports do not apply to Tor addresses', async () => {
  const onion = selected(ONION, { port: 25 });
  expect(await choice([onion]).choose()).toEqual(onion.peer.address);
});

test('the search ends after a hundred attempts', async () => {
  const { choose, asked } = choice([A], { isGroupConnected: () => true });
  expect(await choose()).toBeNull();
  expect(asked.length).toBe(100);
});

test('an address of our own ends the search', async () => {
  const { choose, asked } = choice([A], { isLocal: () => true });
  expect([await choose(), asked.length]).toEqual([null, 1]);
});

test('no address is chosen if no network is reachable', async () => {
  const { choose, asked } = choice([A], { networks: [] });
  expect([await choose(), asked.length]).toEqual([null, 0]);
});

describe('feelers', () => {
  const isFeeler = true;

  test('a feeler chooses a full node that was never tried, in any group', async () => {
    const light = selected('3.3.3.3', { services: 8n });
    const limited = selected('1.1.1.1', { services: 1024n });
    const { choose, asked } = choice([light, limited], { isFeeler, isGroupConnected: () => true });
    expect(await choose()).toEqual(limited.peer.address);
    expect(asked.every(({ newOnly }) => newOnly)).toBe(true);
  });

  test('a feeler first chooses an address to be tested after a collision', async () => {
    const { choose, asked } = choice([A], { isFeeler }, B);
    expect(await choose()).toEqual(B.peer.address);
    expect(asked).toEqual([]);
  });

  test('a feeler skips a connected address, which counts as tested', async () => {
    const { choose, good } = choice([A], { isFeeler, isConnected: ({ address }) => address.bytes[0] === 2 }, B);
    expect(await choose()).toEqual(A.peer.address);
    expect(good).toEqual([B.peer]);
  });
});
