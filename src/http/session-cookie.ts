import { timingSafeEqual } from 'node:crypto';
import { sha256 } from '../crypto/hash-functions.ts';

export const SESSION_COOKIE = 'obverse_session';
/** 32 random bytes in base64url. */
const VALUE = /^[A-Za-z0-9_-]{43}$/;
const CSRF_TOKEN = /^[0-9a-f]{64}$/;

const encoder = new TextEncoder();

/**
 * Returns the value of the session cookie in a `Cookie` header; null without one. Two cookies of the name are none: the
 * second one comes from another name of the domain, whose pages must not replace a session.
 */
export function sessionCookieOf(header: string | null): string | null {
  if (header === null || !header.includes(SESSION_COOKIE)) return null;
  const values = header
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${SESSION_COOKIE}=`));
  return values.length === 1 ? values[0]!.slice(SESSION_COOKIE.length + 1) : null;
}

/** Returns the key under which a session is kept, which does not reveal its cookie; null for a text of another form. */
export function sessionHash(cookie: string): string | null {
  return VALUE.test(cookie) ? sha256(encoder.encode(cookie)).toHex() : null;
}

/** Returns the `Set-Cookie` of a new session. `isPlain` leaves out `Secure`, which some browsers reject on loopback. */
export function sessionCookie(value: string, { maxAge, isPlain }: { maxAge: number; isPlain: boolean }): string {
  const attributes = `HttpOnly; SameSite=Strict; Path=/; Max-Age=${maxAge}`;
  return `${SESSION_COOKIE}=${value}; ${attributes}${isPlain ? '' : '; Secure'}`;
}

/** Returns the token that a page sends with every request that changes something, hex. It follows from the cookie. */
export function csrfTokenOf(cookie: string): string {
  return sha256(encoder.encode(`csrf:${cookie}`)).toHex();
}

/** Whether a header holds the token of a cookie, compared in constant time. */
export function isCsrfToken(given: string | null, cookie: string): boolean {
  if (given === null || !CSRF_TOKEN.test(given)) return false;
  return timingSafeEqual(encoder.encode(given), encoder.encode(csrfTokenOf(cookie)));
}
