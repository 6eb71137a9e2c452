import { t } from 'elysia';
import { count, named, nullable, TIP, time } from '../../http/reply-schema.ts';

const ENTRY = named('AuditEntry', {
  id: count(),
  time: time(),
  who: t.String({ description: 'id of a key, static, cookie, rpcauth:USER, session:ID, anonymous or cli:UID' }),
  ip: t.String({ description: 'local for the command line' }),
  requestId: t.String(),
  method: t.String(),
  wallet: nullable(t.String()),
  outcome: nullable(t.String({ description: 'ok or the code of an error; null while the call runs' })),
  keyId: nullable(t.String({ description: 'the key, or the session, that the call is about' })),
  txid: nullable(t.String()),
});

export const AUDIT_PAGE = named('AuditPage', {
  tip: nullable(TIP),
  items: t.Array(ENTRY),
  nextCursor: nullable(t.String()),
  next: nullable(t.String()),
});
