import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BanList, Discouragement } from '../../../src/p2p/connections/ban-list.ts';
import { parseSubnet, printSubnet } from '../../../src/p2p/connections/subnet.ts';
import { BanStore } from '../../../src/storage/ban-store.ts';
import { openNodeDatabase } from '../../../src/storage/node-database.ts';
import { ManualClock } from '../../lib/manual-clock.ts';
import { DAY, HOUR, ip, NOW } from '../address/addr-fixture.ts';
import { emptyDatabase } from './net-fixture.ts';

const subnet = (text: string) => parseSubnet(text)!;

function fixture() {
  const clock = new ManualClock(NOW * 1000);
  const store = new BanStore(emptyDatabase());
  const reopen = () => new BanList(store, clock, 86_400);
  const pass = (seconds: number) => clock.advance(seconds * 1000);
  const shown = (bans: BanList) => bans.list().map(({ subnet, until }) => [printSubnet(subnet), until - NOW]);
  return { clock, store, reopen, bans: reopen(), pass, shown };
}

test('a ban lasts a day or the given time', () => {
  const { bans, pass, shown } = fixture();
  bans.ban(subnet('1.2.3.4'));
  bans.ban(subnet('2.0.0.0/8'), { seconds: HOUR });
  bans.ban(subnet('3.3.3.3'), { until: NOW + 2 * DAY });
  expect(shown(bans)).toEqual([
    ['1.2.3.4/32', DAY],
    ['2.0.0.0/8', HOUR],
    ['3.3.3.3/32', 2 * DAY],
  ]);
  pass(HOUR);
  expect(bans.isBanned(ip('2.9.9.9'))).toBe(false);
  expect(bans.isBanned(ip('1.2.3.4'))).toBe(true);
  pass(DAY);
  expect([bans.isBanned(ip('1.2.3.4')), bans.isBanned(ip('3.3.3.3'))]).toEqual([false, true]);
  expect(shown(bans)).toEqual([['3.3.3.3/32', 2 * DAY]]);
});

test('a banned subnet includes all its addresses and no others', () => {
  const { bans } = fixture();
  bans.ban(subnet('1.2.0.0/16'));
  bans.ban(subnet('2001:4::/32'));
  const banned = (text: string) => bans.isBanned(ip(text));
  expect(['1.2.0.1', '1.2.255.255', '2001:4:1::1'].map(banned)).toEqual([true, true, true]);
  expect(['1.3.0.1', '2001:5::1', '0.0.0.0'].map(banned)).toEqual([false, false, false]);
  expect([bans.isSubnetBanned(subnet('1.2.0.0/16')), bans.isSubnetBanned(subnet('1.2.3.0/24'))]).toEqual([true, false]);
});

test('a ban can be extended but not shortened', () => {
  const { bans, shown } = fixture();
  expect(bans.ban(subnet('1.2.3.4'), { seconds: HOUR })).toBe(true);
  expect(bans.ban(subnet('1.2.3.4'), { seconds: 60 })).toBe(false);
  expect(bans.ban(subnet('1.2.3.4'), { seconds: 2 * HOUR })).toBe(true);
  expect(shown(bans)).toEqual([['1.2.3.4/32', 2 * HOUR]]);
});

test('unban removes only the named ban', () => {
  const { bans } = fixture();
  bans.ban(subnet('1.2.0.0/16'));
  bans.ban(subnet('1.2.3.0/24'));
  expect(bans.unban(subnet('1.2.3.4'))).toBe(false);
  expect(bans.unban(subnet('1.2.3.0/24'))).toBe(true);
  expect(bans.isBanned(ip('1.2.3.4'))).toBe(true);
  expect(bans.unban(subnet('1.2.0.0/16'))).toBe(true);
  expect(bans.isBanned(ip('1.2.3.4'))).toBe(false);
});

test('bans are restored after a restart except expired ones', () => {
  const { bans, reopen, pass, store } = fixture();
  bans.ban(subnet('1.2.3.4'), { seconds: HOUR });
  bans.ban(subnet('2.0.0.0/8'));
  expect(reopen().isBanned(ip('1.2.3.4'))).toBe(true);
  pass(2 * HOUR);
  expect(reopen().isBanned(ip('2.2.2.2'))).toBe(true);
  expect(store.all().map((ban) => ban.subnet)).toEqual(['2.0.0.0/8']);
  const again = reopen();
  again.clear();
  expect([again.size, store.all(), reopen().size]).toEqual([0, [], 0]);
});

test('discouragement applies to an address at any port', () => {
  const discouragement = new Discouragement(() => 1);
  discouragement.discourage(ip('1.2.3.4'));
  expect(discouragement.isDiscouraged(ip('1.2.3.4'))).toBe(true);
  expect(discouragement.isDiscouraged(ip('1.2.3.5'))).toBe(false);
});

test('a node.db of the first schema is upgraded and stores bans', () => {
  const dir = mkdtempSync(join(tmpdir(), 'node-db-'));
  try {
    const path = join(dir, 'node.db');
    const identity = { network: 'regtest', genesisHash: '00' };
    openNodeDatabase(path, identity).close();
    const old = new Database(path);
    for (const table of ['bans', 'addresses', 'anchors', 'wallets', 'encrypted_wallets', 'samples'])
      old.run(`DROP TABLE ${table}`);
    old.run("UPDATE meta SET value = 1 WHERE key = 'schema'");
    old.close();
    const db = openNodeDatabase(path, identity);
    expect(new BanStore(db).all()).toEqual([]);
    db.close();
    openNodeDatabase(path, identity).close();
  } finally {
    rmSync(dir, { recursive: true });
  }
});
