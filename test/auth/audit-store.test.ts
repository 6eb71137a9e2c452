import { Database } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AuditRow } from '../../src/auth/audit/audit-store.ts';
import { AuthStore } from '../../src/auth/auth-store.ts';

const tempPath = () => join(mkdtempSync(join(tmpdir(), 'audit-test-')), 'auth.db');
const row = (method: string, more: Partial<AuditRow> = {}): AuditRow => ({
  time: 1000,
  who: 'a',
  ip: '::1',
  requestId: 'r',
  method,
  wallet: null,
  outcome: 'ok',
  keyId: null,
  txid: null,
  ...more,
});

describe('the audit log', () => {
  test('joins an announced call with its outcome, newest first, a page at a time', () => {
    const store = new AuthStore(tempPath());
    const [spend] = store.audit.append([row('sendtoaddress', { outcome: 'started', wallet: 'hot' })]);
    store.audit.append([row('stop', { who: 'b', time: 2000, outcome: '-1' })]);
    expect(store.audit.page({}, null, 10).map(({ outcome }) => outcome)).toEqual(['-1', null]);
    store.audit.append([row('sendtoaddress', { wallet: 'hot', completes: spend!, txid: 'ff' })]);
    const shown = store.audit.page({}, null, 10);
    expect(shown.map(({ id, method, outcome, txid }) => [id, method, outcome, txid])).toEqual([
      [2, 'stop', '-1', null],
      [1, 'sendtoaddress', 'ok', 'ff'],
    ]);
    expect(store.audit.page({}, 2, 10)).toEqual(shown.slice(1));
    expect(store.audit.page({ who: 'b' }, null, 10)).toEqual(shown.slice(0, 1));
    expect(store.audit.page({ method: 'sendtoaddress' }, null, 10)).toEqual(shown.slice(1));
    expect(store.audit.page({ since: 1001 }, null, 10)).toEqual(shown.slice(0, 1));
    expect(store.audit.page({ since: 2001 }, null, 10)).toEqual([]);
    store.close();
  });

  test('appends all rows of a commit or none', () => {
    const store = new AuthStore(tempPath());
    const broken = { ...row('b'), method: null as unknown as string };
    expect(() => store.audit.append([row('a'), broken])).toThrow();
    expect(store.audit.page({}, null, 10)).toEqual([]);
    expect(store.audit.check()).toMatchObject({ ok: true, rows: 0 });
    store.close();
  });

  test('the oldest rows go in groups, and the rest still checks', () => {
    const store = new AuthStore(tempPath());
    for (let i = 0; i < 20; i++)
      store.audit.append(
        Array.from({ length: 100 }, () => row('a')),
        300,
      );
    expect(store.audit.check()).toMatchObject({ ok: true, lastId: 2000 });
    const kept = store.audit.page({}, null, 5000).length;
    expect(kept).toBeGreaterThanOrEqual(300);
    expect(kept).toBeLessThan(800);
    expect(store.audit.check({ id: 5, hash: '00' })).toMatchObject({
      ok: false,
      problem: expect.stringContaining('older'),
    });
    store.close();
  });

  const damages: [string, string, number][] = [
    ['a changed row', "UPDATE audit SET method = 'x' WHERE id = 5", 5],
    ['a row cut out', 'DELETE FROM audit WHERE id = 5', 5],
    ['the first rows cut', 'DELETE FROM audit WHERE id < 3', 1],
    ['the last rows cut', 'DELETE FROM audit WHERE id > 7', 8],
    ['rows moved', 'UPDATE audit SET id = -id; UPDATE audit SET id = 11 + id', 1],
    [
      'a row added in front',
      'INSERT INTO audit SELECT 0, time, who, ip, request_id, method, wallet, key_id, txid, outcome, NULL, hash FROM audit WHERE id = 1',
      0,
    ],
    [
      'a row added behind',
      'INSERT INTO audit SELECT 11, time, who, ip, request_id, method, wallet, key_id, txid, outcome, NULL, hash FROM audit WHERE id = 1',
      11,
    ],
  ];
  test.each(damages)('a check finds %s', (_what, sql, id) => {
    const path = tempPath();
    const store = new AuthStore(path);
    store.audit.append(Array.from({ length: 10 }, (_, i) => row(`m${i}`)));
    expect(store.audit.check()).toMatchObject({ ok: true, rows: 10, lastId: 10 });
    new Database(path).run(sql);
    expect(store.audit.check()).toMatchObject({ ok: false, id });
    store.close();
  });

  test('a head that was noted earlier shows a log that was written anew', () => {
    const noted = new AuthStore(tempPath());
    noted.audit.append([row('a'), row('b')]);
    const { lastId: id, head: hash } = noted.audit.check() as { lastId: number; head: string };
    noted.audit.append([row('c')]);
    expect(noted.audit.check({ id, hash })).toMatchObject({ ok: true });
    expect(noted.audit.check({ id: 9, hash })).toMatchObject({ ok: false, id: 9 });
    noted.close();
    const forged = new AuthStore(tempPath());
    forged.audit.append([row('a'), row('x'), row('c')]);
    expect(forged.audit.check()).toMatchObject({ ok: true });
    expect(forged.audit.check({ id, hash })).toMatchObject({ ok: false, id });
    forged.close();
  });
});

/** Version 1 of auth.db, as it was shipped. */
const VERSION_1 = `
CREATE TABLE keys (id TEXT PRIMARY KEY, label TEXT NOT NULL, scopes TEXT NOT NULL, created_at INTEGER NOT NULL,
  expires_at INTEGER, revoked_at INTEGER, allowed_ips TEXT, rate TEXT, last_used_at INTEGER);
CREATE TABLE key_secrets (key_id TEXT NOT NULL REFERENCES keys (id), hash BLOB NOT NULL, valid_until INTEGER,
  PRIMARY KEY (key_id, hash)) WITHOUT ROWID;
CREATE TABLE audit (id INTEGER PRIMARY KEY, time INTEGER NOT NULL, who TEXT NOT NULL, ip TEXT NOT NULL,
  request_id TEXT NOT NULL, method TEXT NOT NULL, outcome TEXT NOT NULL);
INSERT INTO keys VALUES ('abc', 'shop', '["read","wallet"]', 5, 99, NULL, '["10.0.0.0/8"]', '{"perSecond":1,"burst":2}', 7);
INSERT INTO key_secrets VALUES ('abc', x'0102', NULL);
INSERT INTO audit VALUES (3, 4, 'abc', '::1', 'r', 'stop', 'ok');
PRAGMA user_version = 1;`;

test('auth.db of version 1 keeps its keys, secrets and audit rows', () => {
  const path = tempPath();
  const old = new Database(path, { create: true });
  old.run(VERSION_1);
  old.close();
  for (let opening = 0; opening < 2; opening++) {
    const store = new AuthStore(path);
    expect(store.keys()).toEqual([
      {
        id: 'abc',
        label: 'shop',
        scopes: ['read', 'wallet'],
        createdAt: 5,
        expiresAt: 99,
        revokedAt: null,
        allowedIps: ['10.0.0.0/8'],
        rate: { perSecond: 1, burst: 2 },
        wallets: null,
        lastUsedAt: 7,
      },
    ]);
    expect(store.secrets()).toEqual([{ keyId: 'abc', hash: Uint8Array.of(1, 2), validUntil: null }]);
    expect(store.audit.page({}, null, 10)).toMatchObject([{ time: 4, who: 'abc', method: 'stop', outcome: 'ok' }]);
    expect(store.audit.check()).toMatchObject({ ok: true, rows: 1 });
    store.close();
  }
});
