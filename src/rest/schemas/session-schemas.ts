import { t } from 'elysia';
import { SESSION_SCOPES } from '../../auth/session-scopes.ts';
import { count, named, nullable, time, words } from '../../http/reply-schema.ts';
import { SCOPES } from '../../http/scopes.ts';

const HELD = t.Array(words(SESSION_SCOPES), { description: 'rights of the session; admin only reads' });
const ENDS = time('Unix seconds from which the session is no longer valid');

export const LOGIN = named('Login', { code: t.String({ description: 'as obverse login prints it' }) });

export const LOGGED_IN = named('LoggedIn', { expiresAt: ENDS, scopes: HELD });

export const SESSION = named('Session', {
  id: t.String({ description: 'names the session in the audit log' }),
  expiresAt: ENDS,
  idleExpiresAt: time('Unix seconds at which it ends if no further request is made'),
  scopes: HELD,
  csrfToken: t.String({
    pattern: '^[0-9a-f]{64}$',
    description: 'for the header X-CSRF-Token of POST and DELETE',
  }),
});

export const LOGGED_OUT = named('LoggedOut', { ended: t.Boolean() });

const KEY = named('Key', {
  id: t.String(),
  label: t.String(),
  scopes: t.Array(words(SCOPES)),
  createdAt: time(),
  expiresAt: nullable(time()),
  allowedIps: nullable(t.Array(t.String(), { description: 'addresses and subnets; null for all' })),
  rate: nullable(named('KeyRate', { perSecond: t.Number(), burst: count() })),
  wallets: nullable(t.Array(t.String(), { description: 'wallets that the key may use; null for all' })),
  lastUsedAt: nullable(time()),
  revokedAt: nullable(time()),
});

export const API_KEYS = named('Keys', { items: t.Array(KEY) });
