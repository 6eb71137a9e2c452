import { afterEach, expect, test } from 'bun:test';
import { ONION } from '../address/addr-fixture.ts';
import { peerAddress, service, stopAll, world } from './manager-fixture.ts';
import { until } from './net-fixture.ts';

afterEach(stopAll);

const ONION_SERVICE = `${ONION}:18444`;
const OPTIONS = {
  v2: false,
  dnsSeeds: false,
  fixedSeeds: false,
  maxConnections: 0,
  privateBroadcast: true,
  proxies: { onion: { host: '127.0.0.1', port: 9050 } },
};

function open(options: Partial<typeof OPTIONS> = {}) {
  const here = world({ options: { ...OPTIONS, ...options } });
  const proxy = here.internet.proxy('127.0.0.1:9050', [ONION_SERVICE, '9.9.9.9:18444']);
  here.internet.node('9.9.9.9:18444');
  for (const text of [ONION_SERVICE, '9.9.9.9:18444']) {
    const { address, port } = service(text);
    here.manager.addresses.add([{ ...peerAddress('9.9.9.9'), address, port }], service('8.8.8.8').address);
  }
  here.start();
  return { ...here, proxy };
}

test('as many connections as are wanted are opened, to onion services alone until one has answered', async () => {
  const { manager, logic, proxy, internet, time } = open();
  await time.pass(5000);
  expect(proxy.asked).toEqual([]);
  manager.openPrivate(2);
  await time.passUntil(() => logic.links.length === 1);
  expect(logic.links[0]).toMatchObject({ type: 'private-broadcast', network: 'onion' });
  // Another one needs another address, and the only onion service is connected.
  await time.pass(20_000);
  expect(new Set(proxy.asked)).toEqual(new Set([ONION_SERVICE]));
  // The handshake goes well, so the proxy is one of Tor: other nodes are connected to through it as well.
  logic.links[0]!.send('verack', null);
  await time.passUntil(() => logic.links.length === 2);
  expect(proxy.asked).toContain('9.9.9.9:18444');
  expect(internet.dialled).not.toContain('9.9.9.9:18444');
  await time.pass(20_000);
  expect(logic.links).toHaveLength(2);
});

test('connections that are given up are not opened, and their number is never negative', async () => {
  const { manager, logic, time, proxy } = open();
  manager.openPrivate(3);
  manager.openPrivate(-5);
  await time.pass(5000);
  expect(proxy.asked).toEqual([]);
  manager.openPrivate(1);
  await time.passUntil(() => logic.links.length === 1);
});

test('an address does not show when its node was connected to for a private broadcast', async () => {
  const { manager, logic, time } = open();
  manager.openPrivate(1);
  await time.passUntil(() => logic.links.length === 1);
  const before = manager.addresses.getAddresses(0, 0, 'onion');
  const [link] = logic.links;
  link!.standing.established = true;
  await time.pass(3_600_000);
  link!.disconnect('test');
  await until(() => manager.table.all().length === 0);
  expect(manager.addresses.getAddresses(0, 0, 'onion')).toEqual(before);
});
