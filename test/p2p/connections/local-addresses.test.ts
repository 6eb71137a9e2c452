import { describe, expect, test } from 'bun:test';
import { networkClassOf } from '../../../src/p2p/address/net-group.ts';
import { LocalAddresses, type LocalAddressOptions } from '../../../src/p2p/connections/local-addresses.ts';
import { type RouteOptions, Routes } from '../../../src/p2p/connections/network-routes.ts';
import type { PeerLink } from '../../../src/p2p/connections/peer-link.ts';
import { at, ONION } from '../address/addr-fixture.ts';

const PROXY = { host: '127.0.0.1', port: 9050 };
const DIRECT: RouteOptions = {
  proxies: {},
  nameProxy: null,
  proxyRandomize: true,
  i2pSam: null,
  cjdns: false,
  onlyNetworks: [],
};
const ALL = { proxies: { ipv4: PROXY, ipv6: PROXY, onion: PROXY, cjdns: PROXY }, nameProxy: PROXY };

function fixture(
  options: Partial<LocalAddressOptions> = {},
  routes: Partial<RouteOptions> = {},
  random: (limit: number) => number = (limit) => limit - 1,
) {
  const reach = new Routes({ ...DIRECT, ...routes });
  return new LocalAddresses({ listening: true, port: 8333, discover: true, ...options }, reach, random);
}

const link = (text: string, type: PeerLink['type'] = 'outbound-full-relay') => {
  const service = at(text);
  return { service, type, network: networkClassOf(service.address) } as PeerLink;
};

test('routable addresses are added and others rejected', () => {
  const local = fixture();
  expect(local.add(at('1.2.3.4'), 1)).toBe(true);
  expect(local.add(at('192.168.1.1'), 1)).toBe(false);
  expect(local.add(at('127.0.0.1'), 4)).toBe(false);
  // Without a Tor proxy we would not be found there, unless the operator configures it.
  expect(local.add(at(ONION), 1)).toBe(false);
  expect(local.add(at(ONION), 4)).toBe(true);
  expect(local.isLocal(at('1.2.3.4').address)).toBe(true);
  expect(local.isLocal(at('1.2.3.5').address)).toBe(false);
});

test('without discovery only configured addresses are used', () => {
  const local = fixture({ discover: false });
  expect(local.add(at('1.2.3.4'), 1)).toBe(false);
  expect(local.add(at('1.2.3.4'), 4)).toBe(true);
  expect(local.forPeer(link('9.9.9.9'), at('5.5.5.5'))).toEqual(at('1.2.3.4'));
});

test('an address gains score each time it is reported', () => {
  const local = fixture();
  local.add(at('1.2.3.4'), 1);
  local.add(at('1.2.3.4', 1000), 2);
  expect(local.list()).toEqual([{ service: at('1.2.3.4', 1000), score: 3 }]);
  local.add(at('1.2.3.4'), 1);
  expect(local.seen(at('1.2.3.4', 5))).toBe(true);
  expect(local.seen(at('1.2.3.5'))).toBe(false);
  expect(local.list()).toEqual([{ service: at('1.2.3.4', 1000), score: 4 }]);
  local.remove(at('1.2.3.4').address);
  expect(local.list()).toEqual([]);
});

describe('the announced address', () => {
  test('the announced address has the best reachability, then the highest score', () => {
    const local = fixture();
    local.add(at('1.2.3.4'), 1);
    local.add(at('5.6.7.8'), 2);
    local.add(at('2a00:1::1'), 4);
    expect(local.forPeer(link('9.9.9.9'), null)).toEqual(at('5.6.7.8'));
    expect(local.forPeer(link('2a00:2::1'), null)).toEqual(at('2a00:1::1'));
  });

  test('an address on a private network is not announced to peers on other networks', () => {
    const local = fixture({}, { proxies: { onion: PROXY } });
    local.add(at(ONION), 4);
    expect(local.forPeer(link('9.9.9.9'), null)).toBeNull();
    expect(local.forPeer(link(ONION), null)).toEqual(at(ONION));
    const other = fixture({}, { proxies: { onion: PROXY } });
    other.add(at('1.2.3.4'), 4);
    expect(other.forPeer(link(ONION), null)).toBeNull();
  });

  test('no address is announced without listening', () => {
    const local = fixture({ listening: false });
    local.add(at('1.2.3.4'), 4);
    expect(local.forPeer(link('9.9.9.9'), null)).toBeNull();
  });

  test('the address reported by the peer is announced if no other is known, with its port if the peer connected to us', () => {
    const local = fixture({ port: 1234 });
    expect(local.forPeer(link('9.9.9.9', 'inbound'), at('5.5.5.5', 99))).toEqual(at('5.5.5.5', 99));
    expect(local.forPeer(link('9.9.9.9'), at('5.5.5.5', 99))).toEqual(at('5.5.5.5', 1234));
    // The reported address must be usable.
    expect(local.forPeer(link('9.9.9.9'), at('10.0.0.1'))).toBeNull();
    expect(local.forPeer(link('10.0.0.9'), at('5.5.5.5'))).toBeNull();
    expect(local.forPeer(link('9.9.9.9'), null)).toBeNull();
  });

  test('the reported address is sometimes announced, less often with a well-known address', () => {
    const limits: number[] = [];
    const local = fixture({}, {}, (limit) => {
      limits.push(limit);
      return 0;
    });
    local.add(at('1.2.3.4', 1000), 4);
    expect(local.forPeer(link('9.9.9.9'), at('5.5.5.5'))).toEqual(at('5.5.5.5', 1000));
    local.seen(at('1.2.3.4'));
    local.forPeer(link('9.9.9.9'), at('5.5.5.5'));
    expect(limits).toEqual([2, 8]);
    const firm = fixture();
    firm.add(at('1.2.3.4'), 4);
    expect(firm.forPeer(link('9.9.9.9'), at('5.5.5.5'))).toEqual(at('1.2.3.4'));
  });
});

describe('routes', () => {
  const routes = (options: Partial<RouteOptions>) => new Routes({ ...DIRECT, ...options });
  const OTHER = { host: '127.0.0.1', port: 9150 };

  test.each([
    [{}, ['ipv4', 'ipv6']],
    [ALL, ['ipv4', 'ipv6', 'onion']],
    [{ ...ALL, cjdns: true, i2pSam: PROXY }, ['ipv4', 'ipv6', 'onion', 'i2p', 'cjdns']],
    [{ proxies: { ...ALL.proxies, onion: null } }, ['ipv4', 'ipv6']],
    [{ onlyNetworks: ['i2p' as const, 'cjdns' as const] }, []],
    [{ onlyNetworks: ['ipv6' as const] }, ['ipv6']],
    [{ onlyNetworks: ['onion' as const] }, []],
    [{ onlyNetworks: ['onion' as const], proxies: { onion: PROXY } }, ['onion']],
  ])('%j reaches %j', (options, expected) => expect(routes(options).networks).toEqual(expected as never));

  test('the proxy applies to all public addresses, and the onion proxy takes precedence for onion services', () => {
    const both = routes({ ...ALL, proxies: { ...ALL.proxies, onion: OTHER } });
    expect(both.proxyFor(at('9.9.9.9').address)).toBe(PROXY);
    expect(both.proxyFor(at(ONION).address)).toBe(OTHER);
    expect(both.proxyFor(at('127.0.0.1').address)).toBeNull();
    expect(both.nameProxy).toBe(PROXY);
    expect(routes({ proxies: { onion: OTHER } }).nameProxy).toBeNull();
  });

  test('addresses of fc00::/8 are those of CJDNS only where this host is part of it', () => {
    const address = at('fc00:1:2:3:4:5:6:7').address;
    expect(routes({}).resolveCjdns(address)).toBe(address);
    const within = routes({ ...ALL, cjdns: true });
    expect(within.resolveCjdns(address)).toEqual({ network: 'cjdns', bytes: address.bytes });
    expect(within.proxyFor(within.resolveCjdns(address))).toBe(PROXY);
    expect(within.resolveCjdns(at('fd00::1').address).network).toBe('ipv6');
  });

  test('the proxy of Tor itself is used where no other one is configured, and none is forbidden', () => {
    const bare = routes({});
    bare.setTorProxy(OTHER);
    expect([bare.networks, bare.proxyFor(at(ONION).address)]).toEqual([['ipv4', 'ipv6', 'onion'], OTHER]);
    const without = routes({ proxies: { onion: null } });
    without.setTorProxy(OTHER);
    expect([without.networks, without.canDial(at(ONION).address)]).toEqual([['ipv4', 'ipv6'], false]);
    const chosen = routes(ALL);
    chosen.setTorProxy(OTHER);
    expect(chosen.proxyFor(at(ONION).address)).toBe(PROXY);
  });
});
