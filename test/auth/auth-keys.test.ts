import { describe, expect, test } from 'bun:test';
import { createHmac } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Elysia } from 'elysia';
import { AuthStore } from '../../src/auth/auth-store.ts';
import { initialKeyOf } from '../../src/auth/initial-key.ts';
import { issueKey } from '../../src/auth/issue-key.ts';
import { KeyAdmin } from '../../src/auth/key-admin.ts';
import { makeKey, parseApiKey, secretHash } from '../../src/auth/key-format.ts';
import { Keyring } from '../../src/auth/keyring.ts';
import { BoundedMap, FailureTable, TokenBucket } from '../../src/auth/rate-limits.ts';
import { access } from '../../src/http/route-access.ts';
import type { RoutePlugin } from '../../src/server/app.ts';
import { inSubnet, limitKey, parseIp, parseIpSubnet } from '../../src/util/ip-address.ts';
import { BEARER, STATIC_KEY, startTestApi } from '../lib/api-fixture.ts';
import { ManualClock } from '../lib/manual-clock.ts';

const routes: RoutePlugin = ({ call }) =>
  new Elysia({ name: 'test.auth' })
    .get('/api/who', ({ request }) => ({ id: call(request).principal.id }))
    .get('/api/page', ({ request }) => {
      call(request).charge(4);
      return {};
    })
    .post('/', ({ request }) => ({ id: call(request).principal.id }), { parse: 'none', detail: access('rpc') });

/** The address of a caller. */
const LOCAL = { ip: '127.0.0.1' };
const tempStore = () => new AuthStore(join(mkdtempSync(join(tmpdir(), 'auth-test-')), 'auth.db'));
const basic = (text: string) => ({ authorization: `Basic ${Buffer.from(text).toString('base64')}` });
const bearer = (key: string) => ({ authorization: `Bearer ${key}` });

describe('form of a key', () => {
  test('is obv1_, an id of 10, a secret of 52 and a check of 6', () => {
    const { text, parts } = makeKey();
    expect(text).toMatch(/^obv1_[a-z2-7]{10}_[a-z2-7]{58}$/);
    expect(parseApiKey(text)).toEqual(parts);
    expect(makeKey().text).not.toBe(text);
  });

  test('the check part shows every single wrong character', () => {
    const { text } = makeKey();
    for (let at = 0; at < text.length; at++) {
      const wrong = text.slice(0, at) + (text[at] === 'a' ? 'b' : 'a') + text.slice(at + 1);
      expect(parseApiKey(wrong)).toBeNull();
    }
    expect(parseApiKey(text.toUpperCase())).toBeNull();
    expect(parseApiKey(`${text} `)).toBeNull();
  });
});

describe('auth.db', () => {
  test('is readable for the owner alone and keeps no secret', () => {
    const dir = mkdtempSync(join(tmpdir(), 'auth-test-'));
    const path = join(dir, 'auth.db');
    const store = new AuthStore(path);
    const { key, record } = issueKey(
      store,
      { label: 'shop', scopes: ['read', 'wallet'], expiresAt: 99, allowedIps: ['10.0.0.0/8'] },
      5,
    );
    for (const file of [path, `${path}-wal`]) {
      if (!existsSync(file)) continue;
      expect(statSync(file).mode & 0o777).toBe(0o600);
      expect(readFileSync(file).includes(parseApiKey(key)!.secret)).toBe(false);
    }
    expect(store.keys()).toEqual([record]);
    expect(record).toMatchObject({ label: 'shop', createdAt: 5, expiresAt: 99, revokedAt: null, lastUsedAt: null });
    store.close();
    const again = new AuthStore(path);
    expect(again.keys()).toEqual([record]);
    again.close();
  });

  test('revoking, changes and last use', () => {
    const store = tempStore();
    const { record } = issueKey(store, { label: 'a', scopes: ['read'] }, 1);
    expect(store.changeKey(record.id, { scopes: ['metrics'], wallets: ['hot'] })).toBe(true);
    expect(store.changeKey('nobody', { label: 'x' })).toBe(false);
    store.touch(new Map([[record.id, 120]]));
    store.touch(new Map([[record.id, 60]]));
    expect(store.keys()[0]).toMatchObject({ label: 'a', scopes: ['metrics'], wallets: ['hot'], lastUsedAt: 120 });
    expect(store.revokeKey(record.id, 7)).toBe(true);
    expect(store.revokeKey(record.id, 8)).toBe(true);
    expect(store.keys()[0]!.revokedAt).toBe(7);
    expect(store.revokeKey('nobody', 7)).toBe(false);
    store.close();
  });

  test('a key can only be made of what exists', () => {
    const store = tempStore();
    expect(() => issueKey(store, { label: '', scopes: ['everything'] }, 1)).toThrow('unknown scope');
    expect(() => issueKey(store, { label: '', scopes: [] }, 1)).toThrow('at least one scope');
    expect(() => issueKey(store, { label: '', scopes: ['read'], allowedIps: ['10.0.0.0/33'] }, 1)).toThrow(
      'no address',
    );
    store.close();
  });
});

describe('keyring', () => {
  test('a key is valid until it expires, is revoked, or its secret is rotated away', () => {
    const clock = new ManualClock(1_000_000);
    const store = tempStore();
    const { key, record } = issueKey(store, { label: 'a', scopes: ['read'], expiresAt: 2000 }, 1);
    const ring = new Keyring(store, clock);
    expect(ring.match(key, LOCAL)?.principal.id).toBe(record.id);
    expect(ring.match(makeKey().text, LOCAL)).toBeNull();
    expect(ring.match(makeKey(record.id).text, LOCAL)).toBeNull();

    const next = makeKey(record.id);
    store.rotateKey(record.id, secretHash(next.parts.secret), 1500);
    ring.reload();
    expect(ring.match(key, { ip: '' })).not.toBeNull();
    expect(ring.match(next.text, { ip: '' })).not.toBeNull();
    clock.advance(600_000);
    expect(ring.match(key, { ip: '' })).toBeNull();
    expect(ring.match(next.text, { ip: '' })).not.toBeNull();
    clock.advance(400_000);
    expect(ring.match(next.text, { ip: '' })).toBeNull();
    store.close();
  });

  test('a key of another process is valid at once, and so is its new secret', () => {
    const path = join(mkdtempSync(join(tmpdir(), 'auth-test-')), 'auth.db');
    const [mine, theirs] = [new AuthStore(path), new AuthStore(path)];
    const keyring = new Keyring(mine, new ManualClock(1_000_000));
    const { key, record } = issueKey(theirs, { label: '', scopes: ['read'] }, 1);
    expect(keyring.match(makeKey().text, LOCAL)).toBeNull();
    expect(keyring.match(key, LOCAL)?.principal.id).toBe(record.id);
    const { text, parts } = makeKey(record.id);
    theirs.rotateKey(record.id, secretHash(parts.secret), 2000);
    expect(keyring.match(text, LOCAL)?.principal.id).toBe(record.id);
    expect(keyring.match(makeKey(record.id).text, LOCAL)).toBeNull();
    theirs.close();
    mine.close();
  });

  test('a change of other keys does not fill a bucket again', () => {
    const store = tempStore();
    const { key } = issueKey(store, { label: 'a', scopes: ['read'], rate: { perSecond: 1, burst: 2 } }, 1);
    const ring = new Keyring(store, new ManualClock(1_000_000));
    expect(ring.match(key, { ip: '' })!.bucket!.consume(2)).toBe(true);
    issueKey(store, { label: 'b', scopes: ['read'] }, 1);
    ring.reload();
    expect(ring.match(key, { ip: '' })!.bucket!.consume(1)).toBe(false);
    store.close();
  });
});

describe('addresses', () => {
  test('IPv6 is counted by /64, mapped IPv4 as IPv4', () => {
    expect(limitKey('2001:db8:1:2:3:4:5:6')).toBe(limitKey('2001:db8:1:2::9'));
    expect(limitKey('2001:db8:1:2::9')).not.toBe(limitKey('2001:db8:1:3::9'));
    expect(limitKey('::ffff:10.1.2.3')).toBe(limitKey('10.1.2.3'));
    for (const wrong of [
      '1.2.3',
      '1.2.3.256',
      '01.2.3.4',
      '1::2::3',
      '12345::',
      ':::',
      'g::1',
      '1:2:3:4:5:6:7',
      '1:2:3:4:5:6:7:8:9',
    ])
      expect([wrong, parseIp(wrong)]).toEqual([wrong, null]);
    expect(parseIp('::')!.length).toBe(16);
  });

  test('subnets', () => {
    expect(inSubnet('10.255.0.1', parseIpSubnet('10.0.0.0/8')!)).toBe(true);
    expect(inSubnet('11.0.0.1', parseIpSubnet('10.0.0.0/8')!)).toBe(false);
    expect(inSubnet('192.168.1.130', parseIpSubnet('192.168.1.128/25')!)).toBe(true);
    expect(inSubnet('192.168.1.127', parseIpSubnet('192.168.1.128/25')!)).toBe(false);
    expect(inSubnet('2001:db8::1', parseIpSubnet('2001:db8::/32')!)).toBe(true);
    expect(inSubnet('10.0.0.1', parseIpSubnet('::/0')!)).toBe(false);
    expect(parseIpSubnet('10.0.0.0/33')).toBeNull();
    expect(parseIpSubnet('10.0.0.0/8/8')).toBeNull();
  });
});

describe('limits', () => {
  test('a bucket allows its burst, then its rate; a cost above the burst leaves a debt', () => {
    const clock = new ManualClock(0);
    const bucket = new TokenBucket({ perSecond: 2, burst: 4 }, clock);
    expect([bucket.consume(3), bucket.consume(1), bucket.consume(1)]).toEqual([true, true, false]);
    expect(bucket.retryAfter(1)).toBe(1);
    clock.advance(500);
    expect([bucket.consume(1), bucket.consume(1)]).toEqual([true, false]);
    clock.advance(10_000);
    expect(bucket.remaining).toBe(4);
    expect(bucket.consume(10)).toBe(true);
    expect(bucket.retryAfter(1)).toBe(4);
  });

  test('the eleventh failure in a minute is over the limit, a later one is not', () => {
    const clock = new ManualClock(0);
    const failures = new FailureTable(10, clock);
    for (let i = 0; i < 10; i++) {
      expect(failures.record('a')).toBe(0);
      clock.advance(1000);
    }
    expect(failures.record('a')).toBeGreaterThan(0);
    expect(failures.record('b')).toBe(0);
    clock.advance(61_000);
    expect(failures.record('a')).toBe(0);
  });

  test('a bounded map forgets what was used longest ago', () => {
    const map = new BoundedMap<number>(2);
    map.getOrMake('a', () => 1);
    map.getOrMake('b', () => 2);
    map.getOrMake('a', () => 9);
    map.getOrMake('c', () => 3);
    expect(map.getOrMake('a', () => 9)).toBe(1);
    expect(map.getOrMake('b', () => 8)).toBe(8);
    expect(map.size).toBe(2);
  });
});

describe('identification of the caller', () => {
  test('a static key holds every scope; a short one is refused at start, a middling one warned about', async () => {
    await using it = startTestApi({ plugins: [routes] });
    expect(await (await it.get('/api/who', { headers: BEARER })).json()).toEqual({ id: 'static' });
    expect(it.logged.join()).not.toContain(STATIC_KEY);
    expect(existsSync(join(it.dir, 'initial.key'))).toBe(false);
    expect(() => startTestApi({ overrides: { auth: { staticKey: 'fifteen-letters' } } })).toThrow('shorter than 16');
    await using short = startTestApi({ overrides: { auth: { staticKey: 'sixteen-letters-' } } });
    expect(short.logged.join()).toContain('shorter than 32');
  });

  test('the first start without a key writes one with all scopes, once', async () => {
    await using it = startTestApi({ plugins: [routes], attached: false, overrides: { auth: { staticKey: null } } });
    const file = join(it.dir, 'initial.key');
    expect(it.attach()).toEqual({ initialKeyFile: file });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const key = readFileSync(file, 'utf8').trim();
    expect((await it.get('/metrics', { headers: bearer(key) })).status).toBe(200);
    // A header without a scheme is refused, also after the key was verified.
    expect((await it.get('/metrics', { headers: { authorization: key } })).status).toBe(401);
    expect(it.logged.join()).not.toContain(key);
    it.api.auth.close();
    expect(it.api.auth.open()).toBeNull();
    expect(readFileSync(file, 'utf8').trim()).toBe(key);
  });

  test('initial.key is reported at each start once another admin key is valid, until its key is revoked', async () => {
    await using it = startTestApi({ plugins: [routes], overrides: { auth: { staticKey: null } } });
    const reports = () => it.logged.filter((line) => line.includes('initial.key still holds')).length;
    const restart = () => {
      it.api.auth.close();
      it.api.auth.open();
    };
    restart();
    expect(reports()).toBe(0);
    it.api.auth.keys.create({ label: 'own', scopes: ['admin'] });
    restart();
    expect(reports()).toBe(1);
    const initial = readFileSync(join(it.dir, 'initial.key'), 'utf8').split('_')[1]!;
    it.api.auth.keys.revoke(initial, { force: false });
    expect(existsSync(join(it.dir, 'initial.key'))).toBe(false);
    restart();
    expect(reports()).toBe(1);
  });

  test('initial.key is not reported any more once the key in it was rotated', async () => {
    await using it = startTestApi({ plugins: [routes], overrides: { auth: { staticKey: null } } });
    const file = join(it.dir, 'initial.key');
    const text = readFileSync(file, 'utf8');
    const { keys, store } = it.api.auth;
    const now = Math.floor(Date.now() / 1000);
    const initial = text.split('_')[1]!;
    keys.rotate(initial, 3600);
    expect(initialKeyOf(it.dir, store!, now)).toMatchObject({ keyId: initial });
    expect(initialKeyOf(it.dir, store!, now + 7200)).toBeNull();
    expect(it.api.auth.hasInitialKeyFile).toBe(true);
    // Without an overlap the secret in the file ends at once, and the file goes with it.
    keys.rotate(initial, 0);
    expect(existsSync(file)).toBe(false);
    // A copy of it holds no valid secret.
    writeFileSync(file, text);
    expect(initialKeyOf(it.dir, store!, now)).toBeNull();
    expect(it.api.auth.hasInitialKeyFile).toBe(false);
  });

  test('a new secret does not end with the old one, and no key has more than eight', () => {
    const clock = new ManualClock(1_000_000);
    const store = tempStore();
    const admin = new KeyAdmin({ store, networkDir: '/nonexistent', now: () => clock.nowMs() / 1000 });
    const { key, record } = admin.create({ label: '', scopes: ['admin'] });
    const ring = new Keyring(store, clock);
    const first = ring.match(key, { ip: '' })!.principal;
    const next = admin.rotate(record.id, 60);
    ring.reload();
    const second = ring.match(next.key, { ip: '' })!.principal;
    expect(second.secretId).not.toBe(first.secretId);
    clock.advance(60_000);
    expect(ring.current(record.id, first.secretId, '')).toBeNull();
    // The same object, by which open connections see that nothing changed.
    expect(ring.current(record.id, second.secretId, '')!.principal).toBe(second);
    for (let i = 0; i < 7; i++) admin.rotate(record.id, 60);
    expect(() => admin.rotate(record.id, 60)).toThrow('8 valid secrets');
    admin.rotate(record.id, 0);
    expect(store.secrets()).toHaveLength(1);
    store.close();
  });

  test('all wrong credentials look the same', async () => {
    await using it = startTestApi({ plugins: [routes] });
    const { key: expired } = issueKey(it.api.auth.store!, { label: '', scopes: ['read'], expiresAt: 5 }, 1);
    const { key: revoked, record } = issueKey(it.api.auth.store!, { label: '', scopes: ['read'] }, 1);
    it.api.auth.store!.revokeKey(record.id, 5);
    it.api.auth.keysChanged();
    const bodies = new Set<string>();
    const wrong = [expired, revoked, makeKey().text, makeKey(record.id).text, 'nonsense'].map(bearer);
    for (const headers of [...wrong, basic('a:b'), { authorization: 'Bearer' }]) {
      const reply = await it.get('/api/who', { headers: { ...headers, 'x-request-id': 'same' } });
      expect(reply.status).toBe(401);
      bodies.add(await reply.text());
    }
    expect(bodies.size).toBe(1);
    expect([...bodies][0]).toContain('invalid_credentials');
  });

  test('a key may be bound to addresses and to a rate', async () => {
    await using it = startTestApi({ plugins: [routes] });
    const store = it.api.auth.store!;
    const elsewhere = issueKey(store, { label: '', scopes: ['read'], allowedIps: ['10.0.0.0/8', '::1'] }, 1).key;
    const slow = issueKey(store, { label: '', scopes: ['read'], rate: { perSecond: 0.001, burst: 6 } }, 1).key;
    it.api.auth.keysChanged();
    const refused = await it.get('/api/who', { headers: bearer(elsewhere) });
    expect(refused.status).toBe(403);
    expect(await refused.json()).toMatchObject({ error: { code: 'ip_not_allowed' } });
    expect((await it.get('/api/page', { headers: bearer(slow) })).status).toBe(200);
    const limited = await it.get('/api/page', { headers: bearer(slow) });
    expect(limited.status).toBe(429);
    expect(await limited.json()).toMatchObject({ error: { code: 'rate_limited', details: { scope: 'key' } } });
  });

  test('from the eleventh failure an address gets 429, but a valid key is never refused', async () => {
    await using it = startTestApi({ plugins: [routes] });
    for (let i = 0; i < 10; i++) expect((await it.get('/api/who', { headers: bearer('wrong') })).status).toBe(401);
    const reply = await it.get('/api/who', { headers: bearer('wrong') });
    expect(reply.status).toBe(429);
    expect(reply.headers.get('retry-after')).not.toBeNull();
    expect((await it.get('/api/who', { headers: BEARER })).status).toBe(200);
    const rpc = await it.get('/', { method: 'POST', body: '{}', headers: bearer('wrong') });
    expect(await rpc.json()).toMatchObject({ error: { code: -32029 }, id: null });
  });

  test('a change by another process is seen within two seconds', async () => {
    await using it = startTestApi({ plugins: [routes] });
    const other = new AuthStore(join(it.dir, 'auth.db'));
    const { key, record } = issueKey(other, { label: '', scopes: ['read'] }, 1);
    const becomesValid = async (valid: boolean) => {
      const until = performance.now() + 2000;
      while (performance.now() < until) {
        if ((await it.get('/api/who', { headers: bearer(key) })).ok === valid) return true;
        await Bun.sleep(50);
      }
      return false;
    };
    expect(await becomesValid(true)).toBe(true);
    other.revokeKey(record.id, 2);
    expect(await becomesValid(false)).toBe(true);
    other.close();
  });
});

describe('HTTP Basic', () => {
  test('the cookie works for JSON-RPC alone, and goes at stop', async () => {
    const extra = join(mkdtempSync(join(tmpdir(), 'auth-test-')), '.cookie');
    const it = startTestApi({ plugins: [routes], overrides: { extraCookieFiles: [extra] } });
    const file = join(it.dir, '.cookie');
    const cookie = readFileSync(file, 'utf8');
    expect(cookie).toMatch(/^__cookie__:[0-9a-f]{64}$/);
    expect(readFileSync(extra, 'utf8')).toBe(cookie);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const reply = await it.get('/', { method: 'POST', body: '{}', headers: basic(cookie) });
    expect(await reply.json()).toEqual({ id: 'cookie' });
    expect((await it.get('/api/who', { headers: basic(cookie) })).status).toBe(401);
    await it.api.stop('test');
    expect([existsSync(file), existsSync(extra)]).toEqual([false, false]);
    await it[Symbol.asyncDispose]();
  });

  test('rpcauth lines as Core writes them', async () => {
    const salt = '7d9ba5ae63c3d4dc30583ff4fe65a67e';
    const hash = createHmac('sha256', salt).update('pa:ss').digest('hex');
    await using it = startTestApi({
      plugins: [routes],
      overrides: { auth: { rpcUsers: [{ rpcauth: `alice:${salt}$${hash}`, scopes: ['read'], whitelist: null }] } },
    });
    const post = (headers: Record<string, string>) => it.get('/', { method: 'POST', body: '{}', headers });
    expect(await (await post(basic('alice:pa:ss'))).json()).toEqual({ id: 'rpcauth:alice' });
    const started = performance.now();
    for (const wrong of ['alice:pass', 'bob:pa:ss', '__cookie__:', 'nocolon']) {
      const reply = await post(basic(wrong));
      expect(reply.status).toBe(401);
      expect(reply.headers.get('www-authenticate')).toBe('Bearer realm="obverse", Basic realm="jsonrpc"');
      expect(await reply.json()).toMatchObject({ jsonrpc: '2.0', error: { code: -32001 }, id: null });
    }
    expect(performance.now() - started).toBeGreaterThan(4 * 240);
    expect(() =>
      startTestApi({
        overrides: { auth: { rpcUsers: [{ rpcauth: 'alice:password', scopes: ['read'], whitelist: null }] } },
      }),
    ).toThrow('rpcauth');
  });

  test('can be switched off', async () => {
    await using it = startTestApi({ plugins: [routes], overrides: { auth: { basic: false } } });
    expect(existsSync(join(it.dir, '.cookie'))).toBe(false);
    const refused = await it.get('/', { method: 'POST', body: '{}', headers: basic('a:b') });
    expect([refused.status, refused.headers.get('www-authenticate')]).toEqual([401, 'Bearer realm="obverse"']);
    expect((await it.get('/', { method: 'POST', body: '{}', headers: BEARER })).status).toBe(200);
  });
});
