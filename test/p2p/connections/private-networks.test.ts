import { afterEach, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { printService } from '../../../src/p2p/address/address-text.ts';
import { tcpDial } from '../../../src/p2p/connections/dial.ts';
import { systemTiming } from '../../../src/p2p/connections/timing.ts';
import { ONION } from '../address/addr-fixture.ts';
import { lineServer } from '../lib/line-server.ts';
import { addressOf, destination, i2pBase64, PEER, router } from '../lib/sam-router.ts';
import { service, stopAll, world } from './manager-fixture.ts';
import { until } from './net-fixture.ts';

const cleanups: (() => void)[] = [];
afterEach(async () => {
  await stopAll();
  for (const cleanup of cleanups.splice(0)) cleanup();
});

function keyFile(): string {
  const folder = mkdtempSync(join(tmpdir(), 'networks-'));
  cleanups.push(() => rmSync(folder, { recursive: true }));
  return join(folder, 'key');
}
const OPTIONS = { v2: false, dnsSeeds: false, fixedSeeds: false, autoConnect: false };
const deps = { dial: tcpDial(systemTiming) };

test('peers on I2P connect to the node and the node to them; its address is announced as long as they can', async () => {
  const server = router();
  cleanups.push(server.stop);
  const sam = { host: '127.0.0.1', port: server.port };
  const here = world({ options: { ...OPTIONS, i2pSam: sam, i2pKeyFile: keyFile() }, deps });
  here.start();
  const own = () => here.manager.local.list().map((local) => printService(local.service));
  await until(() => own().length === 1);
  expect(own()).toEqual([printService({ address: addressOf(1), port: 0 })]);
  const link = await here.manager.connectTo(printService(PEER), 'manual');
  expect([link?.network, link?.name]).toEqual(['i2p', printService(PEER)]);
  const waiting = () => server.clients.find(({ lines }) => lines.at(-1)?.startsWith('STREAM ACCEPT'));
  await until(() => waiting() !== undefined);
  waiting()!.send(`${i2pBase64(destination(60))}\n`);
  await until(() => here.manager.table.count('inbound') === 1);
  const inbound = here.manager.table.all().find(({ type }) => type === 'inbound')!;
  expect([inbound.network, inbound.service]).toEqual(['i2p', { address: addressOf(60), port: 0 }]);
  expect(here.errors()).toEqual([]);
  await here.manager.stop();
  expect(own()).toEqual([]);
});

test('a service that Tor makes is an address of the node, and its proxy makes onion services reachable', async () => {
  const name = ONION.replace('.onion', '');
  const server = lineServer((client, line) => {
    if (line.startsWith('PROTOCOLINFO')) client.send('250-AUTH METHODS=NULL\r\n');
    if (line.startsWith('GETINFO')) client.send('250-net/listeners/socks="127.0.0.1:1"\r\n');
    if (line.startsWith('ADD_ONION'))
      client.send(`250-ServiceID=${name}\r\n250-PrivateKey=ED25519-V3:${'A'.repeat(86)}==\r\n`);
    client.send('250 OK\r\n');
  });
  cleanups.push(server.stop);
  const onionService = { control: { host: '127.0.0.1', port: server.port }, password: null, keyFile: keyFile() };
  const listen = [
    { host: '127.0.0.1', port: 0 },
    { host: '127.0.0.1', port: 0, isOnion: true },
  ];
  const here = world({ options: { ...OPTIONS, listen, onionService }, deps });
  expect(here.manager.routes.isReachable(service(ONION).address)).toBe(false);
  here.start();
  await until(() => here.manager.local.list().length === 1);
  expect(printService(here.manager.local.list()[0]!.service)).toBe(`${ONION}:18444`);
  expect(here.manager.routes.isReachable(service(ONION).address)).toBe(true);
  const target = /Port=18444,127\.0\.0\.1:(\d+)$/.exec(server.lines.at(-1)!)?.[1];
  await here.inbound(Number(target));
  await until(() => here.manager.table.count('inbound') === 1);
  expect(here.manager.table.all()[0]!.network).toBe('onion');
  server.clients[0]!.close();
  await until(() => here.manager.local.list().length === 0);
  expect(here.errors()).toEqual([]);
});
