import { afterEach, describe, expect, test } from 'bun:test';
import { isRoutable } from '../../../src/p2p/address/ranges.ts';
import { loadAnchors, saveAnchors } from '../../../src/p2p/connections/saved-peers.ts';
import { fixedSeeds } from '../../../src/p2p/connections/seeds.ts';
import { parseSubnet } from '../../../src/p2p/connections/subnet.ts';
import { mainnet } from '../../../src/params/mainnet.ts';
import { regtest } from '../../../src/params/regtest.ts';
import { ManualClock } from '../../lib/manual-clock.ts';
import { DAY, NOW, ONION } from '../address/addr-fixture.ts';
import { groups, peerAddress, service, stopAll, stores, world } from './manager-fixture.ts';
import { turns, until } from './net-fixture.ts';

afterEach(stopAll);

type World = ReturnType<typeof world>;
const V1 = { options: { v2: false } };
const MINUTE_MS = 60_000;

/** Nodes that are running and known. */
function know({ manager, internet }: World, names: readonly string[], services = 9n): void {
  for (const name of names) {
    internet.node(name);
    // Each comes from its own source, so that it has its own position.
    const { address, port } = service(name);
    manager.addresses.add([{ address, port, time: NOW, services }], address);
  }
}

const typesOf = ({ logic }: World) => logic.links.map(({ type }) => type);

test('eight full-relay and two block-relay-only connections to different groups are kept', async () => {
  const here = world(V1);
  know(here, groups(30));
  // More addresses of the first groups.
  know(
    here,
    groups(10).map((name) => name.replace('.1.1.1', '.1.2.2')),
  );
  here.start();
  await here.time.passUntil(() => here.logic.links.length === 10);
  await here.time.pass(20_000);
  const { logic, manager } = here;
  expect(logic.links.length).toBe(10);
  expect(typesOf(here).slice(0, 8)).toEqual(Array.from({ length: 8 }, () => 'outbound-full-relay'));
  expect(typesOf(here).slice(8)).toEqual(['block-relay-only', 'block-relay-only']);
  const first = logic.links.map(({ service }) => service.address.bytes[0]);
  expect(new Set(first).size).toBe(10);
  expect(manager.table.counts().byNetwork).toEqual(new Map([['ipv4', 10]]));
});

test('a lost connection is replaced', async () => {
  const here = world(V1);
  know(here, groups(30));
  here.start();
  await here.time.passUntil(() => here.logic.links.length === 10);
  here.logic.links[0]!.disconnect('test');
  await here.time.passUntil(() => here.logic.links.length === 11);
  expect(here.logic.links.at(-1)!.type).toBe('outbound-full-relay');
});

test('only one connection is made per group', async () => {
  const here = world(V1);
  know(
    here,
    Array.from({ length: 20 }, (_, i) => `9.9.${i}.1:18444`),
  );
  here.start();
  await here.time.passUntil(() => here.logic.links.length > 0);
  await here.time.pass(30_000);
  expect(here.logic.links.length).toBe(1);
});

test('banned, discouraged, own and unsuitable addresses are not connected to', async () => {
  const options = { ...V1.options, externalAddresses: [service('3.3.3.3')], listen: [{ host: '127.0.0.1', port: 0 }] };
  const here = world({ options });
  const { manager, internet, time } = here;
  know(here, ['1.1.1.1:18444', '2.2.2.2:18444', '3.3.3.3:18444']);
  know(here, ['4.4.4.4:18444'], 1n);
  know(here, ['5.5.5.5:18444']);
  manager.bans.ban(parseSubnet('1.0.0.0/8')!);
  internet.node('2.2.2.2:18444');
  here.start();
  const misbehaving = await manager.connectTo('2.2.2.2', 'manual');
  manager.discouragement.discourage(misbehaving!.service.address);
  misbehaving!.disconnect('test');
  internet.dialled.length = 0;
  await time.passUntil(() => here.logic.links.some(({ name }) => name === '5.5.5.5:18444'));
  // Feelers may test nodes with few services.
  await time.pass(20_000);
  expect(new Set(internet.dialled)).toEqual(new Set(['5.5.5.5:18444']));
});

test('feelers test new addresses about every two minutes', async () => {
  const here = world({ ...V1, deps: {} });
  know(here, groups(60));
  here.start();
  const feelers = () => here.logic.links.filter(({ type }) => type === 'feeler');
  await here.time.passUntil(() => here.logic.links.length === 10);
  for (const link of here.logic.links) here.manager.addresses.good(link.service);
  const start = here.time.clock.monotonicMs();
  await here.time.passUntil(() => {
    // The protocol logic disconnects a feeler after the handshake.
    for (const link of feelers()) link.disconnect('feeler');
    return feelers().length === 10;
  }, 1000);
  const mean = (here.time.clock.monotonicMs() - start) / 10;
  expect(mean).toBeGreaterThan(MINUTE_MS / 2);
  expect(mean).toBeLessThan(6 * MINUTE_MS);
  const connected = new Set(here.logic.links.slice(0, 10).map(({ name }) => name));
  expect(feelers().some(({ name }) => connected.has(name))).toBe(false);
}, 180_000);

test('an extra connection is made when the protocol logic allows it', async () => {
  const here = world(V1);
  know(here, groups(60));
  here.start();
  await here.time.passUntil(() => here.logic.links.length === 10);
  expect(here.manager.allowExtraFullRelay(true)).toBe(true);
  await here.time.passUntil(() => here.manager.table.counts().byType.get('outbound-full-relay') === 9);
  // The eleventh slot is used, and there is none for a second extra connection.
  await here.time.pass(10_000);
  expect(here.manager.table.counts().byType.get('outbound-full-relay')).toBe(9);
  for (const link of here.logic.links) link.standing.established = true;
  expect(here.manager.extraPeers('outbound-full-relay')).toBe(1);
  here.manager.allowExtraFullRelay(false);
  here.logic.links.find(({ type }) => type === 'outbound-full-relay')!.disconnect('test');
  here.manager.allowExtraBlockRelay(true);
  const blockRelay = () => here.manager.table.counts().byType.get('block-relay-only');
  await here.time.passUntil(() => {
    for (const link of here.logic.links) if (link.type === 'feeler') link.disconnect('feeler');
    return blockRelay() === 3;
  }, 1000);
  expect(here.manager.extraPeers('block-relay-only')).toBe(0);
}, 180_000);

test('anchors are connected to first, and only once', async () => {
  const given = stores();
  const before = world({ ...V1, stores: given });
  know(before, groups(30));
  before.start();
  await before.time.passUntil(() => before.logic.links.length === 10);
  const anchors = before.logic.links.slice(8).map(({ name }) => name);
  await before.manager.stop();

  const after = world({ ...V1, stores: given });
  know(after, groups(30));
  after.start();
  await after.time.passUntil(() => after.logic.links.length === 3);
  expect(typesOf(after)).toEqual(['block-relay-only', 'block-relay-only', 'outbound-full-relay']);
  expect(
    after.logic.links
      .slice(0, 2)
      .map(({ name }) => name)
      .sort(),
  ).toEqual([...anchors].sort());
  expect(given.peerStore.popAnchors()).toEqual([]);
  const lines = after.lines().join('\n');
  expect(lines).toContain('anchors loaded count=2');
  for (const to of anchors) expect(lines).toContain(`connecting to an anchor to=${to}`);
});

test('anchors may be on any network, and at most two are kept', () => {
  const { peerStore } = stores();
  const i2p = 'zsxwyo6qcn3chqzwxnseusqgsnuw3maqnztkiypyfxtya4snkoka.b32.i2p';
  const peers = [ONION, i2p, '9.9.9.9'].map((text) => ({ ...service(text), time: 1_700_000_000, services: 9n }));
  saveAnchors(peerStore, peers);
  expect(loadAnchors(peerStore)).toEqual(peers.slice(0, 2));
  expect(loadAnchors(peerStore)).toEqual([]);
});

test('few connections are outbound ones first', () => {
  const slots = (maxConnections: number) => world({ options: { maxConnections } }).manager.slots;
  expect(slots(125)).toEqual({ maxAutomatic: 125, fullRelay: 8, blockRelay: 2, automatic: 11, inbound: 114 });
  expect(slots(9)).toEqual({ maxAutomatic: 9, fullRelay: 8, blockRelay: 1, automatic: 9, inbound: 0 });
  expect(slots(0)).toEqual({ maxAutomatic: 0, fullRelay: 0, blockRelay: 0, automatic: 0, inbound: 0 });
});

test('no extra peer is searched with the connect setting or without automatic connections', () => {
  const named = world({ options: { ...V1.options, connect: ['9.9.9.9'] } });
  named.start();
  expect(named.manager.allowExtraFullRelay(true)).toBe(false);
  const manual = world({ options: { ...V1.options, autoConnect: false } });
  manual.start();
  expect(manual.manager.allowExtraFullRelay(true)).toBe(false);
  const off = world(V1);
  off.start();
  off.manager.setActive(false);
  expect(off.manager.allowExtraFullRelay(true)).toBe(false);
});

describe('seeds', () => {
  const params = { ...regtest, dnsSeeds: ['seed.one', 'seed.two', 'seed.three', 'seed.four', 'seed.five'] };

  test('without known addresses all DNS seeds are queried for nodes with the needed services', async () => {
    const asked: string[] = [];
    const lookup = async (name: string) => {
      asked.push(name);
      return [`${20 + asked.length}.1.1.1`];
    };
    const here = world({ options: { ...V1.options, params }, deps: { lookup } });
    here.start();
    await until(() => asked.length === 5);
    expect(asked.sort()).toEqual(['x9.seed.five', 'x9.seed.four', 'x9.seed.one', 'x9.seed.three', 'x9.seed.two']);
    await until(() => here.manager.addresses.size() === 5);
  });

  test('a seed that does not answer does not block the others', async () => {
    const asked: string[] = [];
    const lookup = (name: string) => {
      asked.push(name);
      return asked.length === 1 ? new Promise<never>(() => {}) : Promise.resolve(['9.9.9.9']);
    };
    const here = world({ options: { ...V1.options, params }, deps: { lookup } });
    here.start();
    await here.time.pass(2 * MINUTE_MS);
    expect(asked.filter((name) => name.startsWith('x9.'))).toHaveLength(5);
  });

  test('a seed provides only a small part of the addresses', async () => {
    const lookup = async () => Array.from({ length: 300 }, (_, i) => `${20 + (i % 200)}.${i % 7}.1.1`);
    const here = world({ options: { ...V1.options, params: { ...params, dnsSeeds: ['seed.one'] } }, deps: { lookup } });
    here.start();
    await until(() => here.manager.addresses.size() > 0);
    expect(here.manager.addresses.size()).toBeLessThanOrEqual(32);
  });

  test('known addresses are tried first, then three seeds at a time are queried', async () => {
    const asked: string[] = [];
    const lookup = async (name: string) => {
      asked.push(name);
      return [];
    };
    const here = world({ options: { ...V1.options, params }, deps: { lookup } });
    here.manager.addresses.add([peerAddress('7.7.7.7')], service('7.7.7.7').address);
    here.start();
    await here.time.pass(10_900);
    expect(asked).toEqual([]);
    await here.time.pass(200);
    const seeds = () => asked.filter((name) => name.startsWith('x9.'));
    await until(() => seeds().length === 3);
    await here.time.pass(11_000);
    await until(() => seeds().length === 5);
  });

  test('no seed is queried if there are enough peers', async () => {
    const asked: string[] = [];
    const lookup = async (name: string) => {
      asked.push(name);
      return [];
    };
    const here = world({ options: { ...V1.options, params }, deps: { lookup } });
    know(here, groups(10));
    here.start();
    await here.time.passUntil(() => here.logic.links.length >= 2, 250);
    for (const link of here.logic.links) link.standing.established = true;
    await here.time.pass(120_000);
    expect(asked).toEqual([]);
  });

  test('a seed without support for service names is used for an addr-fetch connection', async () => {
    const lookup = async (name: string) => (name === 'seed.one' ? ['9.9.9.9'] : []);
    const here = world({ options: { ...V1.options, params: { ...params, dnsSeeds: ['seed.one'] } }, deps: { lookup } });
    here.internet.node('9.9.9.9:18444');
    here.start();
    await here.time.passUntil(() => here.logic.links.length === 1);
    expect(here.logic.links.map(({ type, name }) => [type, name])).toEqual([['addr-fetch', 'seed.one']]);
  });

  test('no seed is queried if disabled or without a network of theirs', async () => {
    const lookup = async () => Promise.reject(new Error('must not be asked'));
    for (const options of [{ dnsSeeds: false }, { onlyNetworks: ['onion' as const] }]) {
      const here = world({ options: { ...V1.options, params, ...options }, deps: { lookup } });
      here.start();
      await here.time.pass(5000);
    }
  });

  test('with the connect setting, seeds that are wanted provide addresses but no connection', async () => {
    const asked: string[] = [];
    const lookup = async (name: string) => {
      asked.push(name);
      return name === 'x9.seed.one' ? ['9.9.9.9'] : [];
    };
    const options = { ...V1.options, params: { ...params, dnsSeeds: ['seed.one', 'seed.two'] }, connect: ['1.2.3.4'] };
    const here = world({ options, deps: { lookup } });
    here.start();
    await here.time.pass(5000);
    expect(asked.sort()).toEqual(['x9.seed.one', 'x9.seed.two']);
    expect(here.manager.addresses.size()).toBe(1);
    expect(new Set(here.internet.dialled)).toEqual(new Set(['1.2.3.4:18444']));
  });

  test('forced seeds are all queried at once, though addresses are known', async () => {
    const asked: string[] = [];
    const lookup = async (name: string) => {
      asked.push(name);
      return ['9.9.9.9'];
    };
    const here = world({ options: { ...V1.options, params, forceDnsSeeds: true }, deps: { lookup } });
    know(here, groups(10));
    here.start();
    await until(() => asked.length === 5);
  });

  describe('seed nodes', () => {
    const seedNodes = ['8.8.8.8', '9.9.9.9:18445'];
    const fetches = ({ logic }: World) =>
      logic.links.filter(({ type }) => type === 'addr-fetch').map(({ name }) => name);
    const open = () => {
      const here = world({ options: { ...V1.options, params, dnsSeeds: false, fixedSeeds: false, seedNodes } });
      for (const name of ['8.8.8.8:18444', '9.9.9.9:18445']) here.internet.node(name);
      return here;
    };

    test('the first one is connected to at once where no address is known, and the next one after ten seconds', async () => {
      const here = open();
      here.start();
      await here.time.pass(1000);
      await until(() => fetches(here).length === 1);
      await here.time.pass(9000);
      expect(fetches(here)).toHaveLength(1);
      await here.time.passUntil(() => fetches(here).length === 2);
      expect(fetches(here).sort()).toEqual([...seedNodes]);
      // Each of them only once.
      await here.time.pass(60_000);
      expect(fetches(here)).toHaveLength(2);
    });

    test('known addresses have ten seconds before the first one', async () => {
      const here = open();
      // An address at which no node is.
      here.manager.addresses.add([peerAddress('7.7.7.7')], service('7.7.7.7').address);
      here.start();
      await here.time.pass(9900);
      expect(here.internet.dialled).not.toContain('8.8.8.8:18444');
      expect(fetches(here)).toEqual([]);
      await here.time.passUntil(() => fetches(here).length === 1);
    });

    test('none is connected to while there are enough peers', async () => {
      const here = open();
      know(here, groups(10));
      here.start();
      await here.time.passUntil(() => here.logic.links.length >= 2, 250);
      await here.time.pass(60_000);
      expect(fetches(here)).toEqual([]);
    });

    test('the DNS seeds wait 30 seconds for them', async () => {
      const asked: string[] = [];
      const lookup = async (name: string) => {
        asked.push(name);
        return [];
      };
      const here = world({ options: { ...V1.options, params, seedNodes }, deps: { lookup } });
      here.start();
      await here.time.pass(29_900);
      expect(asked).toEqual([]);
      await here.time.passUntil(() => asked.filter((name) => name.startsWith('x9.')).length === 5);
    });
  });

  test('the fixed seeds are added after a minute without other addresses', async () => {
    const lookup = async () => [];
    const here = world({
      options: { ...V1.options, params: { ...mainnet, dnsSeeds: ['seed.one'] } },
      deps: { lookup },
    });
    here.start();
    await here.time.pass(MINUTE_MS);
    expect(here.manager.addresses.size()).toBe(0);
    await here.time.pass(1500);
    expect(here.manager.addresses.size('new', 'ipv4')).toBeGreaterThan(300);
    // Their network is not reachable.
    expect(here.manager.addresses.size('new', 'onion')).toBe(0);
  });

  test('without DNS seeds the fixed seeds are added at once, unless disabled', async () => {
    const at = { ...V1.options, params: mainnet, dnsSeeds: false };
    const here = world({ options: at });
    here.start();
    await here.time.pass(1000);
    expect(here.manager.addresses.size()).toBeGreaterThan(300);
    const never = world({ options: { ...at, fixedSeeds: false } });
    never.start();
    await never.time.pass(2 * MINUTE_MS);
    expect(never.manager.addresses.size()).toBe(0);
  });

  test.each([
    ['main', 2059, 512],
    ['testnet4', 230, 63],
    ['signet', 170, 46],
    ['regtest', 0, 0],
  ] as const)('%s has %d fixed seeds, %d of them on IPv4', (network, count, ipv4) => {
    const seeds = fixedSeeds(network, new ManualClock(NOW * 1000), (limit) => limit - 1);
    expect(seeds.length).toBe(count);
    expect(seeds.filter(({ address }) => address.network === 'ipv4').length).toBe(ipv4);
    for (const { address, port, time, services } of seeds) {
      expect(isRoutable(address)).toBe(true);
      expect(port > 0 || address.network === 'i2p').toBe(true);
      expect(services).toBe(9n);
      expect(NOW - time).toBeWithin(7 * DAY, 14 * DAY + 1);
    }
  });
});

describe('proxies', () => {
  const proxy = { host: '127.0.0.1', port: 9050 };
  const throughProxy = { proxies: { ipv4: proxy, ipv6: proxy, onion: proxy, cjdns: proxy }, nameProxy: proxy };

  test('every public address and name is connected to through the proxy', async () => {
    const here = world({ options: { ...V1.options, ...throughProxy } });
    const { asked, peers } = here.internet.proxy('127.0.0.1:9050', [
      '9.9.9.9:18444',
      'node.example:5',
      `${ONION}:18444`,
    ]);
    here.start();
    for (const name of ['9.9.9.9', 'node.example:5', ONION]) {
      const link = await here.manager.connectTo(name, 'manual');
      expect(link?.name).toBe(name);
    }
    expect(await here.manager.connectTo('8.8.8.8', 'manual')).toBeNull();
    expect(asked).toEqual(['9.9.9.9:18444', 'node.example:5', `${ONION}:18444`, '8.8.8.8:18444']);
    expect(new Set(here.internet.dialled)).toEqual(new Set(['127.0.0.1:9050']));
    expect(here.logic.links.map(({ network }) => network)).toEqual(['ipv4', 'unroutable', 'onion']);
    here.logic.links[0]!.sendPayload('ping', new Uint8Array(8));
    await until(() => peers[0]!.types.length === 1);
  });

  test('the onion proxy is used only for onion services', async () => {
    const here = world({ options: { ...V1.options, proxies: { onion: proxy } } });
    const { asked } = here.internet.proxy('127.0.0.1:9050', [`${ONION}:18444`]);
    here.internet.node('9.9.9.9:18444');
    here.start();
    await here.manager.connectTo('9.9.9.9', 'manual');
    await here.manager.connectTo(ONION, 'manual');
    expect(asked).toEqual([`${ONION}:18444`]);
    expect(here.manager.routes.networks).toEqual(['ipv4', 'ipv6', 'onion']);
  });

  test('without a proxy unreachable networks are not connected to', async () => {
    const here = world(V1);
    here.start();
    expect(await here.manager.connectTo(ONION, 'manual')).toBeNull();
    expect(here.internet.dialled).toEqual([]);
    expect(here.manager.routes.networks).toEqual(['ipv4', 'ipv6']);
  });

  test('a failing proxy does not count against addresses', async () => {
    const here = world({ options: { ...V1.options, ...throughProxy } });
    here.manager.addresses.add([peerAddress('9.9.9.9', { port: 18_444 })], service('9.9.9.9').address);
    here.start();
    await here.time.passUntil(() => here.internet.dialled.length >= 3);
    const [place] = [...here.manager.addresses.places('new')];
    expect([place!.entry.lastTry, place!.entry.attempts]).toEqual([0, 0]);
  });

  test('a network without connections is tried periodically', async () => {
    const here = world({ options: { ...V1.options, proxies: { onion: proxy } } });
    const { asked } = here.internet.proxy('127.0.0.1:9050', [`${ONION}:18444`]);
    know(here, groups(60));
    here.start();
    await here.time.passUntil(() => here.logic.links.length === 10);
    here.manager.addresses.add([peerAddress(ONION, { port: 18_444 })], service('1.1.1.1').address);
    await here.time.passUntil(() => {
      for (const link of here.logic.links) if (link.type === 'feeler') link.disconnect('feeler');
      return here.logic.links.some(({ network, type }) => network === 'onion' && type === 'outbound-full-relay');
    }, 1000);
    expect(asked.length).toBeGreaterThan(0);
    expect(here.manager.table.fullOutboundOn('onion')).toBe(1);
    await turns(1);
  }, 180_000);
});
