import type { Session } from './api.ts';

const KEY = 'obverse-session-until';

/** Remembers in this browser until when there is a session; null: there is none. The cookie itself is out of reach. */
export function rememberSession(session: Session | null): void {
  try {
    if (session) localStorage.setItem(KEY, String(session.expiresAt));
    else localStorage.removeItem(KEY);
  } catch {
    // The browser keeps nothing for this page: the form asks for a new code after a reload.
  }
}

/** Returns whether this browser may have the cookie of a session. */
export function mayHaveSession(): boolean {
  try {
    return Number(localStorage.getItem(KEY) ?? 0) > Date.now() / 1000;
  } catch {
    return false;
  }
}
