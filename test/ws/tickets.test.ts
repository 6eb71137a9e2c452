import { describe, expect, test } from 'bun:test';
import { issueKey } from '../../src/auth/issue-key.ts';
import { Tickets } from '../../src/auth/tickets.ts';
import { ApiError } from '../../src/http/errors.ts';
import { restRoutes } from '../../src/rest/rest-routes.ts';
import { BEARER, STATIC_KEY, startTestApi, type TestApi } from '../lib/api-fixture.ts';
import type { ApiOverrides } from '../lib/default-options.ts';
import { ManualClock } from '../lib/manual-clock.ts';

const LIMITS = { perKey: 3, inAll: 5 };

function refusalOf(make: () => unknown): ApiError {
  try {
    make();
  } catch (error) {
    if (error instanceof ApiError) return error;
  }
  throw new Error('it was not refused');
}

const owner = (id: string) => ({ id, secretId: null });

describe('tickets', () => {
  test('open one door once, within a minute', () => {
    const clock = new ManualClock(1_700_000_000_500);
    const tickets = new Tickets(clock, LIMITS);
    const { ticket, expiresAt } = tickets.issue(owner('alice'));
    expect(ticket).toMatch(/^obvt_[A-Za-z0-9_-]{43}$/);
    expect(expiresAt).toBe(1_700_000_060);
    expect(tickets.find(ticket)!.owner).toEqual(owner('alice'));
    // Looking does not use it up.
    const found = tickets.find(ticket)!;
    found.consume();
    expect([tickets.find(ticket), tickets.size]).toEqual([null, 0]);
    found.consume();
    const late = tickets.issue(owner('alice')).ticket;
    clock.advance(59_999);
    expect(tickets.find(late)).not.toBeNull();
    clock.advance(1);
    expect([tickets.find(late), tickets.size]).toEqual([null, 0]);
    for (const text of ['', 'obvt_', ticket.slice(0, -1), `${ticket}x`]) expect(tickets.find(text)).toBeNull();
  });

  test('do not outlive their minute when the host clock is set back', () => {
    const clock = new ManualClock(1_700_000_000_000);
    const tickets = new Tickets(clock, LIMITS);
    const { ticket } = tickets.issue(owner('alice'));
    clock.advance(60_000);
    clock.set(1_600_000_000_000);
    expect(tickets.find(ticket)).toBeNull();
  });

  test('are bounded by key and in all; those that are out stay good, and places come free', () => {
    const clock = new ManualClock(0);
    const tickets = new Tickets(clock, LIMITS);
    const first = tickets.issue(owner('alice')).ticket;
    clock.advance(20_000);
    for (let i = 0; i < 2; i++) tickets.issue(owner('alice'));
    const refused = refusalOf(() => tickets.issue(owner('alice')));
    expect([refused.failure, refused.details]).toEqual(['rate_limited', { scope: 'tickets', retryAfter: 40 }]);
    expect(tickets.find(first)).not.toBeNull();
    for (let i = 0; i < 2; i++) tickets.issue(owner('bob'));
    expect(refusalOf(() => tickets.issue(owner('bob'))).failure).toBe('overloaded');
    tickets.find(first)!.consume();
    tickets.issue(owner('bob'));
    clock.advance(60_000);
    expect(tickets.size).toBe(0);
    for (let i = 0; i < 3; i++) tickets.issue(owner('alice'));
  });

  test('go with their key', () => {
    const tickets = new Tickets(new ManualClock(0), LIMITS);
    const [alice, bob] = ['alice', 'bob'].map((id) => tickets.issue(owner(id)).ticket);
    tickets.check(({ id }) => id === 'bob');
    expect([tickets.find(alice!), tickets.find(bob!)?.owner.id]).toEqual([null, 'bob']);
  });
});

const upgradeHeaders = {
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
};

const start = (overrides: ApiOverrides = {}) =>
  startTestApi({ overrides, plugins: [(context) => restRoutes(context)] });

async function ticketFor(it: TestApi, key = STATIC_KEY): Promise<string> {
  const response = await it.get('/api/ws-ticket', { method: 'POST', headers: { authorization: `Bearer ${key}` } });
  expect([response.status, response.headers.get('cache-control')]).toEqual([200, 'no-store']);
  const body = (await response.json()) as { ticket: string; expiresAt: number };
  expect(Object.keys(body)).toEqual(['ticket', 'expiresAt']);
  expect(Math.abs(body.expiresAt - 60 - Date.now() / 1000)).toBeLessThan(5);
  return body.ticket;
}

/** The socket, or the status and code it was refused with. */
async function open(it: TestApi, query: string, headers: Record<string, string> = {}) {
  const socket = new WebSocket(`${it.api.url.replace('http', 'ws')}/ws${query}`, { headers } as unknown as string[]);
  const opened = Promise.withResolvers<boolean>();
  const closed = Promise.withResolvers<number>();
  socket.onopen = () => opened.resolve(true);
  socket.onclose = ({ code }) => {
    opened.resolve(false);
    closed.resolve(code);
  };
  return { socket, closed: closed.promise, opened: await opened.promise };
}

async function refused(it: TestApi, query: string, headers: Record<string, string> = {}): Promise<[number, string]> {
  const response = await it.get(`/ws${query}`, { headers: { ...upgradeHeaders, ...headers } });
  const { error } = (await response.json()) as { error: { code: string } };
  return [response.status, error.code];
}

describe('GET /ws?ticket=', () => {
  test('upgrades once, from a page of any origin, as the key', async () => {
    await using it = start();
    const { key, record } = issueKey(it.api.auth.store!, { label: '', scopes: ['read'] }, 1);
    it.api.auth.keysChanged();
    const ticket = await ticketFor(it, key);
    // A request that is no handshake leaves it unused.
    expect((await it.get(`/ws?ticket=${ticket}`)).status).toBe(426);
    const page = await open(it, `?ticket=${ticket}`, { origin: 'https://shop.example' });
    expect(page.opened).toBe(true);
    expect(await refused(it, `?ticket=${ticket}`)).toEqual([401, 'invalid_credentials']);
    // It ends with the key.
    it.api.auth.store!.revokeKey(record.id, 2);
    it.api.auth.keysChanged();
    expect(await page.closed).toBe(4001);
    for (const line of it.logged) expect(line).not.toContain(ticket);
  });

  test('holds the limits of the key, and is not used up by a refusal', async () => {
    await using it = start({ limits: { wsPerKey: 1, wsTicketsPerKey: 2 } });
    const [one, two] = [await ticketFor(it), await ticketFor(it)];
    const over = await it.get('/api/ws-ticket', { method: 'POST', headers: BEARER });
    expect([over.status, over.headers.get('retry-after')]).toEqual([429, expect.stringMatching(/^\d+$/)]);
    const first = await open(it, `?ticket=${one}`);
    expect(await refused(it, `?ticket=${two}`)).toEqual([429, 'too_many_connections']);
    first.socket.close();
    await first.closed;
    while (!(await open(it, `?ticket=${two}`)).opened) await Bun.sleep(2);
  });

  test('knows the key as it is now: revoked, without the scope, bound to addresses', async () => {
    await using it = start();
    const store = it.api.auth.store!;
    const allowedIps = ['127.0.0.0/8'];
    const [revoked, narrowed, bound] = [1, 2, 3].map(() =>
      issueKey(store, { label: '', scopes: ['read'], allowedIps }, 1),
    );
    it.api.auth.keysChanged();
    const tickets = await Promise.all([revoked, narrowed, bound].map((made) => ticketFor(it, made!.key)));
    store.revokeKey(revoked!.record.id, 2);
    store.changeKey(narrowed!.record.id, { scopes: ['metrics'] });
    it.api.auth.keysChanged();
    expect(await refused(it, `?ticket=${tickets[0]}`)).toEqual([401, 'invalid_credentials']);
    expect(await refused(it, `?ticket=${tickets[1]}`)).toEqual([403, 'insufficient_scope']);
    expect((await it.api.auth.authenticateTicket(tickets[2]!, '10.0.0.1')).result).toMatchObject({
      error: { failure: 'ip_not_allowed' },
    });
    expect((await open(it, `?ticket=${tickets[2]}`)).opened).toBe(true);
  });

  test('is asked for with a key that may read, and a key is no ticket', async () => {
    await using it = start({ ws: { auth: 'public' } });
    const { key } = issueKey(it.api.auth.store!, { label: '', scopes: ['metrics'] }, 1);
    it.api.auth.keysChanged();
    expect((await it.get('/api/ws-ticket', { method: 'POST' })).status).toBe(401);
    const scoped = await it.get('/api/ws-ticket', { method: 'POST', headers: { authorization: `Bearer ${key}` } });
    expect(scoped.status).toBe(403);
    expect((await it.get('/api/ws-ticket', { headers: BEARER })).status).toBe(405);
    // Not taken for a client without any credentials either.
    for (const text of [STATIC_KEY, key, '', 'x'])
      expect(await refused(it, `?ticket=${text}`)).toEqual([401, 'invalid_credentials']);
  });

  test('wrong ones are counted as wrong keys are', async () => {
    await using it = start();
    const wrong = `?ticket=obvt_${'A'.repeat(43)}`;
    for (let i = 0; i < 10; i++) expect((await refused(it, wrong))[0]).toBe(401);
    expect(await refused(it, wrong)).toEqual([429, 'rate_limited']);
    expect((await open(it, `?ticket=${await ticketFor(it)}`)).opened).toBe(true);
    const metrics = await (await it.get('/metrics', { headers: BEARER })).text();
    expect(metrics).toContain('obverse_auth_failures_total{kind="ticket"} 11');
  });
});
