import { afterEach, describe, expect, test } from 'bun:test';
import { OwnNonces } from '../../../src/p2p/connections/connection-table.ts';
import type { ConnectionType, PeerLink } from '../../../src/p2p/connections/peer-link.ts';
import { type PermissionRule, parsePermissionRule } from '../../../src/p2p/connections/permissions.ts';
import { parseSubnet } from '../../../src/p2p/connections/subnet.ts';
import { abortable } from '../../../src/util/abort.ts';
import { freePort } from '../../lib/node-process.ts';
import { groups, NOW, OPTIONS, peerAddress, service, stopAll, stores, v2, world } from './manager-fixture.ts';
import { turns, until } from './net-fixture.ts';

afterEach(stopAll);

const LISTEN = { listen: [{ host: '127.0.0.1', port: 0 }] };
const rules = (...texts: string[]) => texts.map((text) => parsePermissionRule(text) as PermissionRule);

describe('inbound connections', () => {
  test('inbound peers are reported to the protocol logic, with v1 or v2', async () => {
    const { start, inbound, logic, manager } = world({ options: LISTEN });
    const port = start();
    const transport = v2(true);
    await inbound(port, transport);
    const old = await inbound(port);
    old.send('version', new Uint8Array(100));
    await until(() => logic.links.length === 2);
    await until(() => manager.table.all().every((link) => link.protocol !== 'detecting'));
    expect(transport.sessionId).not.toBeNull();
    expect(logic.links.map(({ type }) => type)).toEqual(['inbound', 'inbound']);
    expect(manager.table.counts()).toEqual({
      inbound: 2,
      outbound: 0,
      byType: new Map([['inbound', 2]]),
      byNetwork: new Map([['unroutable', 2]]),
    });
    expect(manager.table.byId(0)?.localService).toEqual(service(`127.0.0.1:${port}`));
  });

  test('one listening setting covers IPv6 and IPv4', async () => {
    const interfaces = () => ['20.1.1.1', '2a01:1::1', '127.0.0.1'];
    const both = world({ options: { listen: [{ host: '::', port: 0 }], discover: true }, deps: { interfaces } });
    const port = both.start();
    (await both.inbound(port)).send('version', new Uint8Array(100));
    await until(() => both.logic.links.length === 1);
    expect(both.logic.links[0]!.service.address.network).toBe('ipv4');
    const found = ({ manager }: typeof both) => manager.local.list().map(({ service }) => service.address.network);
    expect(found(both)).toEqual(['ipv4', 'ipv6']);

    const one = world({ options: { listen: [{ host: '0.0.0.0', port: 0 }], discover: true }, deps: { interfaces } });
    one.start();
    expect(found(one)).toEqual(['ipv4']);
  });

  test('each address listens, and peers of an onion service have its network', async () => {
    const onion = { host: '127.0.0.1', port: await freePort(), isOnion: true };
    const { start, inbound, logic, manager } = world({ options: { listen: [...LISTEN.listen, onion] } });
    const port = start();
    for (const to of [port, onion.port]) (await inbound(to)).send('version', new Uint8Array(100));
    await until(() => logic.links.length === 2);
    const byPort = new Map(manager.table.all().map((link) => [link.localService?.port, link.network]));
    expect(byPort).toEqual(
      new Map([
        [port, 'unroutable'],
        [onion.port, 'onion'],
      ]),
    );
  });

  test('0.0.0.0 and [::] with one port share a socket', async () => {
    const port = await freePort();
    const targets = ['0.0.0.0', '::'].map((host) => ({ host, port }));
    const { start, inbound, logic } = world({ options: { listen: targets } });
    start();
    (await inbound(port)).send('version', new Uint8Array(100));
    await until(() => logic.links.length === 1);
  });

  test('an address in use closes the others', async () => {
    const taken = world({ options: LISTEN }).start();
    const port = await freePort();
    const targets = [port, taken].map((each) => ({ host: '127.0.0.1', port: each }));
    expect(() => world({ options: { listen: targets } }).start()).toThrow('EADDRINUSE');
    world({ options: { listen: targets.slice(0, 1) } }).start();
  });

  test('a port in use is reported to the operator', () => {
    const first = world({ options: LISTEN });
    const port = first.start();
    const second = world({ options: { listen: [{ host: '127.0.0.1', port }] } });
    expect(() => second.start()).toThrow(`cannot listen for peers on 127.0.0.1 port ${port}: EADDRINUSE`);
  });

  test('banned addresses are refused, except with the noban permission', async () => {
    const { start, inbound, manager } = world({ options: LISTEN });
    const port = start();
    manager.bans.ban(parseSubnet('127.0.0.0/8')!);
    const refused = await inbound(port);
    await until(() => refused.closed);
    expect(manager.table.all()).toEqual([]);

    const other = world({ options: { ...LISTEN, permissions: rules('noban@127.0.0.1') } });
    other.manager.bans.ban(parseSubnet('127.0.0.1')!);
    await other.inbound(other.start());
    await until(() => other.manager.table.all().length === 1);
    expect([...other.manager.table.all()[0]!.permissions].sort()).toEqual(['download', 'noban']);
  });

  test('a ban can disconnect existing peers', async () => {
    const { start, inbound, manager, logic } = world({ options: { ...LISTEN, v2: false } });
    const peer = await inbound(start());
    await until(() => logic.links.length === 1);
    expect(manager.table.disconnectSubnet(parseSubnet('10.0.0.0/8')!)).toBe(0);
    expect(manager.table.disconnectSubnet(parseSubnet('127.0.0.0/8')!)).toBe(1);
    await until(() => peer.closed && logic.events.length === 2);
    expect(logic.events[1]).toBe('closed 0 banned by operator');
  });

  test('discouraged addresses are accepted except for the last slot', async () => {
    // 11 slots are for outbound connections, which leaves 3.
    const { start, inbound, manager, logic } = world({ options: { ...LISTEN, maxConnections: 14, v2: false } });
    const port = start();
    await inbound(port);
    await until(() => logic.links.length === 1);
    manager.discouragement.discourage(logic.links[0]!.service.address);
    expect(manager.isBannedOrDiscouraged(service('127.0.0.1').address)).toBe(true);
    await inbound(port);
    await until(() => logic.links.length === 2);
    const third = await inbound(port);
    await until(() => third.closed);
    expect(manager.table.counts().inbound).toBe(2);
  });

  test('a connection is refused if all slots are full and no peer can be evicted', async () => {
    const { start, inbound, manager, logic } = world({ options: { ...LISTEN, maxConnections: 13, v2: false } });
    const port = start();
    for (let i = 0; i < 2; i++) await inbound(port);
    await until(() => logic.links.length === 2);
    const third = await inbound(port);
    await until(() => third.closed);
    expect(manager.table.counts().inbound).toBe(2);
  });

  test('a peer is evicted for a new one if there are many', async () => {
    const { start, inbound, manager, logic, time } = world({ options: { ...LISTEN, maxConnections: 51, v2: false } });
    const port = start();
    for (let i = 0; i < 40; i++) {
      await inbound(port);
      await until(() => logic.links.length === i + 1);
      time.clock.advance(1);
    }
    await inbound(port);
    await until(() => logic.links.length === 41 && logic.events.length === 42);
    expect(logic.events.filter((event) => event.endsWith('evicted')).length).toBe(1);
    expect(manager.table.counts().inbound).toBe(40);
    expect(manager.totals.closeReasons).toEqual(new Map([['evicted', 1]]));
  });

  test('half of the slots are for peers that want transactions', async () => {
    const { start, inbound, manager, logic, time } = world({ options: { ...LISTEN, maxConnections: 71, v2: false } });
    const port = start();
    for (let i = 0; i < 31; i++) {
      await inbound(port);
      await until(() => logic.links.length === i + 1);
      time.clock.advance(1);
      logic.links[i]!.standing.relaysTransactions = true;
      if (i < 30) expect(manager.makeRoomForTransactionRelay(logic.links[i]!)).toBe(true);
    }
    expect(manager.table.all().length).toBe(31);
    expect(manager.makeRoomForTransactionRelay(logic.links[30]!)).toBe(true);
    await until(() => manager.table.all().length === 30);
    expect(logic.links[30]!.closed).toBe(false);
  });

  test.each([
    [0, 0],
    [100, 2],
  ])('with %p percent, %p of two peers that want transactions may stay', async (inboundRelayPercent, stay) => {
    const options = { ...LISTEN, maxConnections: 13, inboundRelayPercent, v2: false };
    const { start, inbound, manager, logic } = world({ options });
    const port = start();
    let accepted = 0;
    for (let i = 0; i < 2; i++) {
      await inbound(port);
      await until(() => logic.links.length === i + 1);
      logic.links[i]!.standing.relaysTransactions = true;
      if (manager.makeRoomForTransactionRelay(logic.links[i]!)) accepted++;
    }
    expect(accepted).toBe(stay);
  });

  test('a silent peer is disconnected after a minute', async () => {
    const { start, inbound, manager, time, logic } = world({ options: LISTEN });
    const peer = await inbound(start());
    await until(() => manager.table.all().length === 1);
    await time.pass(60_000);
    expect(manager.table.all().length).toBe(1);
    await time.pass(1000);
    await until(() => peer.closed);
    expect(logic.events).toEqual([]);
    await until(() => manager.totals.closeReasons.size === 1);
    expect([...manager.totals.closeReasons.keys()]).toEqual(['no message in time']);
  });
});

describe('connections of the operator', () => {
  test('with the connect setting, each listed peer is connected to whenever it is not, and no others', async () => {
    const { start, internet, time, logic, manager } = world({
      options: { connect: ['9.9.9.9:1', 'localhost:77'], v2: false },
    });
    manager.addresses.add([{ ...service('7.7.7.7'), time: 1_700_000_000, services: 9n }], service('6.6.6.6').address);
    start();
    await time.passUntil(() => internet.dialled.length >= 2, 500);
    expect(new Set(internet.dialled)).toEqual(new Set(['9.9.9.9:1']));
    const [peers] = [internet.node('9.9.9.9:1')];
    await time.passUntil(() => peers!.length === 1, 500);
    await until(() => logic.links.length === 1);
    const dialled = internet.dialled.length;
    await time.pass(20_000);
    expect(internet.dialled.length).toBe(dialled);
    peers![0]!.close();
    await time.passUntil(() => peers!.length === 2, 500);
    await until(() => logic.links.length === 2);
    expect(logic.links.map(({ type, name }) => [type, name])).toEqual([
      ['manual', '9.9.9.9:1'],
      ['manual', '9.9.9.9:1'],
    ]);
  });

  test('a host name is resolved and its addresses are tried in order', async () => {
    const lookup = async (name: string) => (name === 'node.example' ? ['1.1.1.1', '2.2.2.2', '3.3.3.3'] : []);
    const { start, internet, manager } = world({ options: { v2: false }, deps: { lookup } });
    internet.node('2.2.2.2:5');
    start();
    const link = await manager.connectTo('node.example:5', 'manual');
    expect(link?.service).toEqual(service('2.2.2.2:5'));
    expect(link?.name).toBe('node.example:5');
    expect(await manager.connectTo('node.example:5', 'manual')).toBeNull();
    expect(await manager.connectTo('2.2.2.2:5', 'manual')).toBeNull();
    expect(await manager.connectTo('unknown.example', 'manual')).toBeNull();
  });

  test('an added node is connected to at once, retried each minute, and not after its removal', async () => {
    const { start, internet, time, manager } = world({ options: { maxConnections: 0 } });
    start();
    expect(manager.added.addNode('9.9.9.9')).toBe(true);
    expect(manager.added.addNode('9.9.9.9:18444')).toBe(false);
    await time.pass(2000);
    expect(internet.dialled).toEqual(['9.9.9.9:18444']);
    await time.pass(59_000);
    expect(internet.dialled.length).toBe(1);
    await time.pass(2000);
    expect(internet.dialled.length).toBe(2);
    expect(manager.added.states(manager.table)).toEqual([{ text: '9.9.9.9', v2: true, connected: null }]);
    expect(manager.added.removeNode('9.9.9.9:18444')).toBe(false);
    expect(manager.added.removeNode('9.9.9.9')).toBe(true);
    await time.pass(200_000);
    expect(internet.dialled.length).toBe(2);
  });

  test('eight added nodes are connected to at once', async () => {
    const { start, internet, time, manager, logic } = world({ options: { maxConnections: 0, v2: false } });
    start();
    for (const name of groups(10)) {
      internet.node(name);
      manager.added.addNode(name, false);
    }
    await time.pass(10_000);
    await until(() => logic.links.length === 8);
    for (const { standing } of logic.links) standing.established = true;
    await time.pass(130_000);
    expect([logic.links.length, manager.table.counts().byType]).toEqual([8, new Map([['manual', 8]])]);
    expect(manager.added.states(manager.table).filter(({ connected }) => connected !== null).length).toBe(8);
    expect(manager.table.disconnect(groups(1)[0]!)).toBe(true);
    expect(manager.table.disconnect('nobody')).toBe(false);
  });

  test('outbound permissions apply to manual connections', async () => {
    const options = { permissions: rules('out,noban@9.0.0.0/8', 'relay@9.0.0.0/8'), v2: false };
    const { start, internet, manager } = world({ options });
    internet.node('9.9.9.9:18444');
    internet.node('9.8.8.8:18444');
    start();
    const manual = await manager.connectTo('9.9.9.9', 'manual');
    const automatic = await manager.connectTo('9.8.8.8', 'outbound-full-relay');
    expect([...manual!.permissions].sort()).toEqual(['download', 'noban']);
    expect([...automatic!.permissions]).toEqual([]);
  });
});

describe('transport protocols', () => {
  test('v2 is used if both sides support it', async () => {
    const { start, internet, manager, logic } = world();
    const peers = internet.node('9.9.9.9:18444', () => v2(false));
    start();
    const link = await manager.connectTo('9.9.9.9', 'manual');
    await until(() => logic.links.length === 1);
    await until(() => link!.protocol === 'v2' && peers[0]!.transport.protocol === 'v2');
    expect(link!.sessionId).toBe(peers[0]!.transport.sessionId!.toHex());
  });

  test('a peer that disconnects on v2 is retried with v1', async () => {
    const { start, internet, manager, logic } = world();
    const peers = internet.oldNode('9.9.9.9:18444');
    start();
    await manager.connectTo('9.9.9.9', 'manual');
    await until(() => logic.links.length === 1);
    expect(peers.length).toBe(2);
    expect([logic.links[0]!.protocol, logic.links[0]!.name, logic.links[0]!.type]).toEqual(['v1', '9.9.9.9', 'manual']);
    expect(logic.events).toEqual(['opened 1']);
  });

  test('with v2 disabled only v1 is used', async () => {
    const { start, internet, manager, logic } = world({ options: { v2: false } });
    const peers = internet.oldNode('9.9.9.9:18444');
    start();
    await manager.connectTo('9.9.9.9', 'manual');
    await until(() => logic.links.length === 1);
    expect(peers.length).toBe(1);
  });
});

test('a connection to ourselves is detected by its nonce', async () => {
  const { start, manager, internet } = world({ options: { v2: false } });
  internet.node('9.9.9.9:18444');
  start();
  const link = (await manager.connectTo('9.9.9.9', 'manual'))!;
  const nonce = manager.nonces.nonceOf(link);
  expect(manager.nonces.nonceOf(link)).toBe(nonce);
  expect([manager.nonces.isOwn(nonce), manager.nonces.isOwn(nonce + 1n)]).toEqual([true, false]);
  link.standing.established = true;
  expect(manager.nonces.isOwn(nonce)).toBe(false);
});

test('the nonce of a private broadcast is not known as ours, so that no disconnection shows its origin', () => {
  const link = { type: 'private-broadcast', standing: { established: false } } as unknown as PeerLink;
  const nonces = new OwnNonces({ countIf: (matches) => (matches(link) ? 1 : 0) });
  expect(nonces.isOwn(nonces.nonceOf(link))).toBe(false);
});

test('an inactive network has no connections, and they resume when it is activated', async () => {
  const { start, inbound, manager, time, internet, logic } = world({ options: { ...LISTEN, v2: false } });
  internet.node('9.9.9.9:18444');
  const port = start();
  manager.added.addNode('9.9.9.9', false);
  await inbound(port);
  await time.passUntil(() => manager.table.all().length === 2);
  manager.setActive(false);
  await until(() => logic.events.length === 4);
  expect([manager.active, manager.table.all()]).toEqual([false, []]);
  const refused = await inbound(port);
  await until(() => refused.closed);
  const { length } = internet.dialled;
  await time.pass(130_000);
  expect(internet.dialled.length).toBe(length);
  manager.setActive(true);
  await time.passUntil(() => manager.table.all().length === 1, 10_000);
});

test('two nodes on this machine exchange messages', async () => {
  const one = world({ options: LISTEN });
  const two = world({ deps: { dial: undefined, lookup: undefined } });
  const port = one.start();
  two.start();
  const link = await two.manager.connectTo(`127.0.0.1:${port}`, 'manual');
  await until(() => one.logic.links.length === 1 && two.logic.links.length === 1);
  link!.send('ping', { nonce: 7n });
  await until(() => two.logic.types().length === 1);
  expect(two.logic.types()).toEqual(['pong']);
  expect([link!.protocol, link!.sessionId]).toEqual(['v2', one.logic.links[0]!.sessionId]);
  expect(link!.localService).toEqual(one.logic.links[0]!.service);
  one.logic.links[0]!.disconnect('test');
  await until(() => link!.closed);
});

test('stop closes every connection, timer and loop', async () => {
  const { start, inbound, manager, time, internet, logic, errors } = world({ options: { ...LISTEN, v2: false } });
  internet.node('9.9.9.9:18444');
  const port = start();
  const peer = await inbound(port);
  await manager.connectTo('9.9.9.9', 'manual');
  await until(() => logic.links.length === 2);
  await manager.stop();
  await until(() => peer.closed);
  expect(manager.table.all()).toEqual([]);
  expect(logic.events.slice(2).sort()).toEqual(['closed 0 shutdown', 'closed 1 shutdown']);
  expect(time.sleeping).toBe(0);
  expect(inbound(port)).rejects.toThrow();
  await turns(3);
  expect(await manager.connectTo('9.9.9.9', 'manual')).toBeNull();
  expect(errors()).toEqual([]);
});

test('stop does not wait for name servers, peers or proxies', async () => {
  const never = new Promise<never>(() => {});
  const asked: string[] = [];
  const deps = {
    lookup: (name: string) => {
      asked.push(name);
      return never;
    },
    dial: (_: unknown, signal: AbortSignal) => {
      asked.push('dial');
      return abortable(never, signal);
    },
  };
  const options = { params: { ...OPTIONS.params, dnsSeeds: ['seed.one'] } };
  const { start, manager, time } = world({ options, deps });
  start();
  manager.added.addNode('a.example');
  const dialled = manager.connectTo('9.9.9.9', 'manual');
  await time.pass(3000);
  await until(() => asked.length >= 3);
  await manager.stop();
  expect(await dialled).toBeNull();
  expect(time.sleeping).toBe(0);
});

test('addresses are saved across restarts, also without a planned shutdown', async () => {
  const given = stores();
  const first = world({ stores: given });
  first.start();
  first.manager.addresses.add(
    [{ ...service('7.7.7.7'), time: 1_700_000_000, services: 9n }],
    service('6.6.6.6').address,
  );
  await first.time.pass(15 * 60_000);
  expect(world({ stores: given }).manager.addresses.size()).toBe(1);
  first.manager.addresses.add(
    [{ ...service('8.8.8.8'), time: 1_700_000_000, services: 9n }],
    service('6.6.6.6').address,
  );
  await first.manager.stop();
  expect(world({ stores: given }).manager.addresses.size()).toBe(2);
  given.peerStore.saveAddresses(Uint8Array.of(1, 2, 3), 0);
  const damaged = world({ stores: given });
  expect(damaged.manager.addresses.size()).toBe(0);
  expect(damaged.lines().join()).toContain('saved addresses ignored');
});

test('sent bytes count for the upload target', async () => {
  const { start, inbound, manager, logic } = world({ options: { ...OPTIONS, ...LISTEN, maxUpload: 1, v2: false } });
  await inbound(start());
  await until(() => logic.links.length === 1);
  expect([manager.totals.upload.isReached(false), manager.totals.upload.isReached(true)]).toEqual([false, true]);
  logic.links[0]!.sendPayload('block', new Uint8Array(1_100_000));
  await until(() => manager.totals.sent > 1_100_000);
  expect(manager.totals.upload.isReached(false)).toBe(true);
});

// Other nodes learn when an address was last seen, which must not reveal our block-relay-only peers.
test.each<[ConnectionType, boolean, boolean]>([
  ['manual', true, true],
  ['outbound-full-relay', true, true],
  ['block-relay-only', true, false],
  ['manual', false, false],
])(
  'the address time after the end of a connection (%s, established: %p) is updated: %p',
  async (type, established, noted) => {
    const { manager, internet, start } = world();
    start();
    internet.node('9.9.9.9:18444');
    const known = peerAddress('9.9.9.9', { port: 18_444, time: NOW - 86_400 });
    manager.addresses.add([known], known.address);
    const link = (await manager.connectTo('9.9.9.9', type as Exclude<ConnectionType, 'inbound'>))!;
    link.standing.established = established;
    link.disconnect('enough');
    await turns(2);
    expect(manager.addresses.getAddresses(0, 0)[0]!.time).toBe(noted ? NOW : NOW - 86_400);
  },
);
