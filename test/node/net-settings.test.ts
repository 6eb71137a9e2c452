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
    proxy: null,
    onionProxy: null,
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
  expect(() => options('--p2p.externalAddress=a.example')).toThrow('p2p.externalAddress: a.example:8333 is not');
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
