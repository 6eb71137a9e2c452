import { describe, expect, test } from 'bun:test';
import { LoginCodes } from '../../src/auth/login-codes.ts';
import { MinuteTable } from '../../src/auth/rate-limits.ts';
import { SessionKeeper } from '../../src/auth/session-keeper.ts';
import { heldScopes, sessionScopesOf } from '../../src/auth/session-scopes.ts';
import { csrfTokenOf, isCsrfToken, sessionCookieOf, sessionHash } from '../../src/http/session-cookie.ts';
import { ManualClock } from '../lib/manual-clock.ts';

const NOW = 1_700_000_000_000;
const MINUTE = 60_000;

describe('a code', () => {
  test('has 80 bits in groups, is valid once, and is read as people type it', () => {
    const codes = new LoginCodes(new ManualClock(NOW));
    const { code, id, expiresAt } = codes.issueCode(null, ['read']);
    expect(code).toMatch(/^[0-9A-HJKMNP-TV-Z]{4}(?:-[0-9A-HJKMNP-TV-Z]{4}){3}$/);
    expect(id).toMatch(/^session:[a-z2-7]{10}$/);
    expect(expiresAt).toBe(NOW / 1000 + 600);
    const typed = code.toLowerCase().replaceAll('-', ' ').replaceAll('0', 'o').replaceAll('1', 'l');
    expect(codes.consumeCode(typed)).toEqual({ id, issuer: null, scopes: ['read'] });
    for (const again of [typed, code, '', 'x'.repeat(16)]) expect(codes.consumeCode(again)).toBeNull();
  });

  test('ends after ten minutes, also when the host sleeps or its clock is set back', () => {
    const clock = new ManualClock(NOW);
    const codes = new LoginCodes(clock);
    const [early, late, asleep] = [1, 2, 3].map(() => codes.issueCode(null, ['read']).code);
    clock.advance(10 * MINUTE - 1);
    expect(codes.consumeCode(early!)).not.toBeNull();
    clock.advance(1);
    clock.set(NOW - MINUTE);
    expect(codes.consumeCode(late!)).toBeNull();
    const fresh = codes.issueCode(null, ['read']).code;
    clock.set(NOW + 30 * MINUTE);
    for (const code of [asleep!, fresh]) expect(codes.consumeCode(code)).toBeNull();
  });

  test('ends with its issuer, and as the oldest of a hundred when another is made', () => {
    const codes = new LoginCodes(new ManualClock(NOW));
    const byKey = codes.issueCode({ id: 'key', secretId: 's' }, ['read']).code;
    const [first, second] = Array.from({ length: 100 }, () => codes.issueCode(null, ['read']).code);
    codes.checkIssuers((issuer) => issuer === null);
    expect(codes.consumeCode(byKey)).toBeNull();
    codes.issueCode(null, ['read']);
    expect([codes.consumeCode(first!), codes.consumeCode(second!)?.issuer]).toEqual([null, null]);
    expect(codes.consumeCode(second!)).toBeNull();
  });
});

test('attempts of an address are limited in any minute, and refused ones do not count', () => {
  const clock = new ManualClock(NOW);
  const table = new MinuteTable(10, clock);
  const attempt = (address: string) => table.count(address, { countsRefused: false });
  for (let i = 0; i < 10; i++) {
    expect(attempt('a')).toBe(0);
    clock.advance(1000);
  }
  for (let i = 0; i < 20; i++) expect(attempt('a')).toBe(50);
  expect(attempt('b')).toBe(0);
  clock.advance(50_000);
  expect([attempt('a'), attempt('a')]).toEqual([0, 1]);
});

describe('a session', () => {
  function keeper() {
    const clock = new ManualClock(NOW);
    const ended: string[] = [];
    const counted: string[] = [];
    const sessions = new SessionKeeper(clock, {
      perMinute: 1000,
      onEnded: (ids) => ended.push(...ids),
      count: (result) => counted.push(result),
    });
    const logIn = (
      scopes: Parameters<SessionKeeper['createLoginCode']>[1] = ['read'],
      replaces: string | null = null,
    ) => {
      const { code } = sessions.createLoginCode(null, scopes);
      const result = sessions.logIn({ code, address: 'a', replaces });
      if (result.kind !== 'ok') throw new Error(result.kind);
      return { ...result, hash: sessionHash(result.cookie)! };
    };
    return { clock, ended, counted, sessions, logIn };
  }

  test('ends after thirty minutes without a request', () => {
    const { clock, ended, sessions, logIn } = keeper();
    const { hash, session, maxAge } = logIn();
    expect([session.expiresAt, session.idleExpiresAt, maxAge]).toEqual([
      NOW / 1000 + 8 * 3600,
      NOW / 1000 + 1800,
      28_800,
    ]);
    clock.advance(30 * MINUTE - 1);
    expect(sessions.useSession(hash)?.idleExpiresAt).toBe(Math.floor((NOW + 60 * MINUTE - 1) / 1000));
    clock.advance(30 * MINUTE - 1);
    // Reading the session by its id is no request.
    expect(sessions.sessionOfId(session.id)).not.toBeNull();
    clock.advance(1);
    expect([sessions.useSession(hash), sessions.sessionOfId(session.id), ended]).toEqual([null, null, [session.id]]);
  });

  test('ends after eight hours with requests, and with admin after thirty minutes', () => {
    const { clock, sessions, logIn } = keeper();
    const reads = logIn();
    const admin = logIn(['admin']);
    expect([admin.session.scopes, admin.maxAge]).toEqual([['read', 'metrics', 'wallet.read', 'admin'], 1800]);
    for (let minutes = 20; minutes < 480; minutes += 20) {
      clock.advance(20 * MINUTE);
      expect([minutes, sessions.useSession(reads.hash) !== null]).toEqual([minutes, true]);
      expect([minutes, sessions.useSession(admin.hash) !== null]).toEqual([minutes, minutes < 30]);
    }
    clock.advance(20 * MINUTE);
    expect(sessions.useSession(reads.hash)).toBeNull();
  });

  test('is replaced by a new login of the same browser, and ends by its id', () => {
    const { ended, sessions, logIn } = keeper();
    const first = logIn();
    const second = logIn(['read'], first.hash);
    expect([sessions.useSession(first.hash), ended, sessions.size]).toEqual([null, [first.session.id], 1]);
    expect([sessions.endSession(second.session.id), sessions.endSession(second.session.id)]).toEqual([true, false]);
    expect(sessions.useSession(second.hash)).toBeNull();
  });

  test('with the oldest last request ends when there are a hundred, so that a login always succeeds', () => {
    const { ended, sessions, logIn } = keeper();
    const [first, second] = Array.from({ length: 100 }, () => logIn());
    sessions.useSession(first!.hash);
    logIn();
    expect([ended, sessions.size]).toEqual([[second!.session.id], 100]);
  });

  test('is counted by the result of its login', () => {
    const { counted, sessions, logIn } = keeper();
    logIn();
    sessions.logIn({ code: 'wrong', address: 'a', replaces: null });
    expect(counted).toEqual(['ok', 'wrong']);
  });
});

test('a session holds the scopes that read, and broadcast', () => {
  expect(sessionScopesOf(['broadcast', 'read'])).toEqual(['read', 'broadcast']);
  for (const texts of [[], ['wallet'], ['read', 'wallet.spend'], ['mining'], ['']])
    expect(sessionScopesOf(texts)).toBeNull();
  expect(heldScopes(['broadcast', 'admin'])).toEqual(['read', 'broadcast', 'metrics', 'wallet.read', 'admin']);
});

describe('the cookie', () => {
  const value = 'A'.repeat(43);

  test('is found among others, and two of its name are none', () => {
    expect(sessionCookieOf(`theme=dark; obverse_session=${value}; x=1`)).toBe(value);
    for (const header of [
      null,
      '',
      'other=1',
      `xobverse_session=${value}`,
      `obverse_session=a; obverse_session=${value}`,
    ])
      expect(sessionCookieOf(header)).toBeNull();
  });

  test('has one token, compared as a whole', () => {
    const token = csrfTokenOf(value);
    expect(token).toBe(new Bun.CryptoHasher('sha256').update(`csrf:${value}`).digest('hex'));
    expect(isCsrfToken(token, value)).toBe(true);
    for (const wrong of [null, '', token.slice(1), `${token}0`, token.toUpperCase(), csrfTokenOf('B'.repeat(43))])
      expect(isCsrfToken(wrong, value)).toBe(false);
  });
});
