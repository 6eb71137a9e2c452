import { expect, test } from 'bun:test';
import { loadConfig, thisHost } from '../../src/config/load.ts';
import { netOptionsOf, permissionRules } from '../../src/node/net-settings.ts';
import { printService } from '../../src/p2p/address/address-text.ts';
import type { PermissionRule } from '../../src/p2p/connections/permissions.ts';
import { printSubnet } from '../../src/p2p/connections/subnet.ts';
import { mainnet } from '../../src/params/mainnet.ts';

const options = (...flags: string[]) =>
  netOptionsOf(loadConfig(flags, { ...thisHost(), env: {} }).config, mainnet, null);

test('by default the node accepts connections, uses all networks and discovers its address', () => {
  const { params, ...rest } = options();
  expect(params.name).toBe('main');
  expect(rest).toEqual({
    networkActive: true,
    listen: [{ host: '::', port: 8333 }],
    autoConnect: true,
    maxConnections: 125,
    onlyNetworks: [],
    proxies: {},
    nameProxy: null,
    proxyRandomize: true,
    i2pSam: null,
    cjdns: false,
    onionService: null,
    i2pKeyFile: null,
    connect: [],
    inboundRelayPercent: 50,
    peerTimeout: 60,
    v2: true,
    permissions: [],
    seedNodes: [],
    dnsSeeds: true,
    forceDnsSeeds: false,
    fixedSeeds: true,
    maxUpload: 0,
    externalAddresses: [],
    discover: true,
    privateBroadcast: false,
    capture: null,
    banTime: 86_400,
    asmap: null,
    checkAddresses: 0,
  });
});

test('DNS seeds are used where the node looks for peers by itself, or where the setting says so', () => {
  expect(options('--p2p.connect=1.2.3.4').dnsSeeds).toBe(false);
  expect(options('--p2p.autoConnect=false').dnsSeeds).toBe(false);
  expect(options('--p2p.dnsSeeds=false').dnsSeeds).toBe(false);
  expect(options('--p2p.connect=1.2.3.4', '--p2p.dnsSeeds=true').dnsSeeds).toBe(true);
  expect(options('--p2p.dnsSeedHosts=one.example.,two.example').params.dnsSeeds).toEqual([
    'one.example.',
    'two.example',
  ]);
});

test('a proxy, a configured address or no listener disables the discovery of the address', () => {
  expect(options('--p2p.proxy=127.0.0.1:9050').discover).toBe(false);
  expect(options('--p2p.externalAddress=1.2.3.4').discover).toBe(false);
  expect(options('--p2p.listen=').discover).toBe(false);
  expect(options('--p2p.onionProxy=127.0.0.1:9050').discover).toBe(true);
});

test('addresses without a port get the default port of the network', () => {
  const { connect, externalAddresses } = options(
    '--p2p.connect=a.example,[::1]:5',
    '--p2p.externalAddress=1.2.3.4,5.6.7.8:9',
  );
  expect(connect).toEqual(['a.example:8333', '[::1]:5']);
  expect(externalAddresses.map(printService)).toEqual(['1.2.3.4:8333', '5.6.7.8:9']);
  expect(() => options('--p2p.externalAddress=a.example')).toThrow('p2p.externalAddress: a.example is not');
});

test('permissions are written as in Core, even where a flag is split at its commas', () => {
  const shown = (rules: readonly PermissionRule[]) =>
    rules.map(({ subnet, permissions }) => `${permissions.join(' ')} ${printSubnet(subnet)}`);
  const expected = ['noban download relay 10.0.0.0/8', 'noban download relay mempool 1.2.3.4/32', 'addr ::1/128'];
  const flag = '--p2p.permissions=noban,relay@10.0.0.0/8,1.2.3.4,addr@::1';
  expect(shown(options(flag).permissions)).toEqual(expected);
  expect(shown(permissionRules(['noban,relay@10.0.0.0/8', '1.2.3.4', 'addr@::1']))).toEqual(expected);
  expect(() => permissionRules(['noban'])).toThrow('p2p.permissions: noban: no address behind it');
  expect(() => permissionRules(['in@1.2.3.4'])).toThrow('p2p.permissions: in@1.2.3.4: a direction but no permission');
  for (const bad of ['nobann@1.2.3.4', 'noban@1.2.3', 'noban@1.2.3.4/x', 'noban@1.2.3.4/8/8', 'noban@a.example'])
    expect(() => options(`--p2p.permissions=${bad}`)).toThrow('p2p.permissions');
});

test('onlyNetworks=onion requires a proxy', () => {
  expect(() => options('--p2p.onlyNetworks=onion')).toThrow('p2p.onlyNetworks: onion can only be reached through');
  expect(options('--p2p.onlyNetworks=onion', '--p2p.onionProxy=127.0.0.1:9050').onlyNetworks).toEqual(['onion']);
});

const proxy = (port: number) => ({ host: '127.0.0.1', port });

test('a proxy is for all networks, or for the one that is named; later ones replace earlier ones', () => {
  const all = { ipv4: proxy(1), ipv6: proxy(1), onion: proxy(1), cjdns: proxy(1) };
  const read = (...flags: string[]) => {
    const { proxies, nameProxy } = options(...flags);
    return { proxies, nameProxy };
  };
  expect(read('--p2p.proxy=127.0.0.1:1')).toEqual({ proxies: all, nameProxy: proxy(1) });
  expect(read('--p2p.proxy=127.0.0.1:1,127.0.0.1:2=onion,none=cjdns')).toEqual({
    proxies: { ...all, onion: proxy(2), cjdns: null },
    nameProxy: proxy(1),
  });
  expect(read('--p2p.proxy=127.0.0.1:1=ipv4')).toEqual({ proxies: { ipv4: proxy(1) }, nameProxy: proxy(1) });
  expect(read('--p2p.proxy=127.0.0.1:1=onion')).toEqual({ proxies: { onion: proxy(1) }, nameProxy: null });
  expect(read('--p2p.proxy=127.0.0.1:1', '--p2p.onionProxy=none').proxies.onion).toBeNull();
  expect(read('--p2p.onionProxy=unix:/run/tor/socks').proxies).toEqual({
    onion: { host: 'unix:/run/tor/socks', port: 0 },
  });
  expect(read('--p2p.proxy=127.0.0.1').nameProxy).toEqual(proxy(9050));
  // Names would reach a DNS server in clear.
  expect(read('--p2p.proxy=127.0.0.1:1,none=ipv6').nameProxy).toEqual(proxy(1));
});

test.each([
  '--p2p.proxy=abc..abc:23456',
  '--p2p.proxy=192.0.0.1:def',
  '--p2p.proxy=127.0.0.1:9050=',
  '--p2p.proxy=127.0.0.1:9050=foo',
  '--p2p.proxy=unix:socket',
  `--p2p.proxy=unix:/${'x'.repeat(107)}`,
  '--p2p.onionProxy=xyz..xyz:1',
  '--p2p.i2pSam=def..def:23456',
  '--p2p.onlyNetworks=i2p',
  '--p2p.onlyNetworks=cjdns',
  '--p2p.torPasswordFile=/p',
])('%s is refused', (flag) => expect(() => options(flag)).toThrow(flag.slice(2).split('=')[0]));

test('onlyNetworks=onion is possible with Tor alone, and not without connections to onion services', () => {
  expect(options('--p2p.onlyNetworks=onion', '--p2p.torControl=127.0.0.1').onlyNetworks).toEqual(['onion']);
  expect(() => options('--p2p.onlyNetworks=onion', '--p2p.onionProxy=none', '--p2p.torControl=127.0.0.1')).toThrow(
    'onion cannot be reached with p2p.onionProxy none',
  );
});

test('a public address without a port has the port of the first listener; one on I2P has none', () => {
  const own = (...flags: string[]) => options(...flags).externalAddresses.map(printService);
  expect(own('--p2p.externalAddress=2.2.2.2')).toEqual(['2.2.2.2:8333']);
  expect(own('--p2p.externalAddress=2.2.2.2', '--p2p.listen=127.0.0.1:30002')).toEqual(['2.2.2.2:30002']);
  expect(own('--p2p.externalAddress=2.2.2.2:7', '--p2p.listen=127.0.0.1:30002')).toEqual(['2.2.2.2:7']);
  expect(own('--p2p.externalAddress=[2a00::1]', '--p2p.listen=')).toEqual(['[2a00::1]:8333']);
  const i2p = 'zsxwyo6qcn3chqzwxnseusqgsnuw3maqnztkiypyfxtya4snkoka.b32.i2p';
  expect(own(`--p2p.externalAddress=${i2p}`)).toEqual([`${i2p}:0`]);
});

test('peers on I2P have no port', () => {
  const i2p = 'zsxwyo6qcn3chqzwxnseusqgsnuw3maqnztkiypyfxtya4snkoka.b32.i2p';
  expect(options(`--p2p.connect=${i2p},example.org`).connect).toEqual([`${i2p}:0`, 'example.org:8333']);
});

test('with a Tor that makes an onion service, a port of loopback behind that of other peers listens for it', () => {
  const listeners = (...flags: string[]) => options('--p2p.torControl=127.0.0.1:9051', ...flags).listen;
  expect(listeners()).toEqual([
    { host: '::', port: 8333 },
    { host: '127.0.0.1', port: 8334, isOnion: true },
  ]);
  expect(listeners('--p2p.listen=', '--p2p.listenOnion=127.0.0.1:5')).toEqual([
    { host: '127.0.0.1', port: 5, isOnion: true },
  ]);
});
