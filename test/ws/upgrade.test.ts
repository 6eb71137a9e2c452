import { afterAll, expect, test } from 'bun:test';
import type { Authenticator } from '../../src/auth/authenticator.ts';
import type { ApiOptions } from '../../src/http/options.ts';
import { ANONYMOUS, type Principal } from '../../src/http/principal.ts';
import { Hub, type HubOptions } from '../../src/ws/hub.ts';
import { upgradeToWebSocket } from '../../src/ws/upgrade.ts';
import type { SocketData } from '../../src/ws/ws-connection.ts';

const KEY: Principal = { ...ANONYMOUS, kind: 'key', id: 'one', secretId: 'a', scopes: new Set(['read']) };
const FROM = { ip: '127.0.0.1', requestId: 'x' };
const options = {
  limits: { wsTotal: 2, wsPerKey: 1, wsAnonymousPerIp: 1 },
  ws: { sweepMs: 1000, auth: 'key' },
} as unknown as ApiOptions;

const hub = new Hub({
  options,
  events: { onGrown: () => {}, close: () => {} },
  watches: { onAdded: () => {} },
  sharedCounts: null,
} as unknown as HubOptions);
afterAll(() => hub.stop());

/** Begins an upgrade with a ticket that another front consumes. */
function begin(principal: Principal) {
  const consumed = Promise.withResolvers<boolean>();
  const result = { ok: true, principal, bucket: null };
  const auth = { authenticateTicket: () => ({ result, consume: () => consumed.promise }) };
  const request = new Request('http://localhost/ws?ticket=t', { headers: { upgrade: 'websocket' } });
  const opened: SocketData[] = [];
  const server = { upgrade: (_: Request, { data }: { data: SocketData }) => opened.push(data) > 0 };
  const upgraded = (async () =>
    upgradeToWebSocket(request, server as never, FROM, { options, auth: auth as unknown as Authenticator, hub }))();
  return { consumed, upgraded, opened };
}

test('upgrades that wait for their tickets count towards the limits', async () => {
  const first = begin(KEY);
  const refused = (failure: unknown) => expect(failure).toMatchObject({ failure: 'too_many_connections' });
  await begin(KEY).upgraded.then(() => expect.unreachable(), refused);
  const other = begin({ ...KEY, id: 'two' });
  await begin({ ...KEY, id: 'three' }).upgraded.then(() => expect.unreachable(), refused);
  first.consumed.resolve(true);
  await first.upgraded;
  expect(first.opened).toMatchObject([{ principal: KEY, countedAs: 'sockets key one' }]);
  expect(hub.countOf(KEY, FROM.ip)).toBe(1);
  // A ticket that another request has consumed, and a call that fails, leave their places.
  other.consumed.resolve(false);
  await other.upgraded.then(
    () => expect.unreachable(),
    (error) => expect(error).toMatchObject({ failure: 'invalid_credentials' }),
  );
  const failing = begin({ ...KEY, id: 'two' });
  failing.consumed.reject(new Error('the other front is gone'));
  await failing.upgraded.then(
    () => expect.unreachable(),
    (error: Error) => expect(error.message).toBe('the other front is gone'),
  );
  expect(hub.countOf({ ...KEY, id: 'two' }, FROM.ip)).toBe(0);
  const last = begin({ ...KEY, id: 'three' });
  last.consumed.resolve(true);
  await last.upgraded;
  expect(last.opened.length).toBe(1);
});
