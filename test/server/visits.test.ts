import { expect, test } from 'bun:test';
import { ClientAddresses } from '../../src/auth/client-address.ts';
import { ANONYMOUS } from '../../src/http/principal.ts';
import { Visitors } from '../../src/server/connections/visitors.ts';
import { type Visit, Visits } from '../../src/server/visit.ts';
import { ManualClock } from '../lib/manual-clock.ts';

const BURST = 1000;
const KEY = { authorization: 'Bearer a-key' };

/** Visits whose requests come over the ports that they name, with the number of look-ups. */
function visitsOf() {
  let lookUps = 0;
  const clock = new ManualClock(0);
  const visitors = new Visitors(clock);
  const clients = new ClientAddresses({ trustedProxies: [], proxyHeader: 'x-forwarded-for' });
  const visits = new Visits({ clients, visitors });
  const server = {
    requestIP: (request: Request) => {
      lookUps++;
      return { address: '203.0.113.1', port: Number(request.headers.get('x-port')) };
    },
    upgrade: () => false,
  };
  const begin = (port: number, headers: Record<string, string> = {}, init: RequestInit = {}): Visit =>
    visits.begin(
      new Request('http://localhost/', { ...init, headers: { 'x-port': String(port), ...headers } }),
      server,
      false,
    );
  return { clock, visitors, visits, begin, lookUps: () => lookUps };
}

const nameOf = (port: number) => `203.0.113.1 ${port}`;

/** Answers a request at once, for a caller with this id. */
function answer({ begin, visits }: ReturnType<typeof visitsOf>, port: number, id: string | null): Visit {
  const visit = begin(port, KEY);
  if (id !== null) visit.principal = { ...ANONYMOUS, kind: 'key', id };
  visits.recordPrompt(visit);
  return visit;
}

test('above a rate, the connections of prompt requests of one caller are not looked up', () => {
  const all = visitsOf();
  for (let i = 0; i < 20 * BURST; i++) answer(all, i % 8, 'a');
  expect(all.lookUps()).toBe(BURST);
  all.clock.advance(100);
  for (let i = 0; i < 20 * BURST; i++) answer(all, i % 8, 'a');
  expect(all.lookUps()).toBe(BURST + 200);
  for (let port = 0; port < 8; port++) expect(all.visitors.get(nameOf(port))).toMatchObject({ keyed: true });
});

test('neither another caller nor one without a valid credential uses up the allowance of a caller', () => {
  const all = visitsOf();
  for (let i = 0; i < 10 * BURST; i++) {
    answer(all, 1, 'other');
    answer(all, 2, null);
  }
  for (let port = 100; port < 200; port++) {
    answer(all, port, 'a');
    expect(all.visitors.get(nameOf(port))).toMatchObject({ keyed: true });
  }
});

test('a request that is not expected to be prompt, or has no valid credential, is always recorded', () => {
  const all = visitsOf();
  const { visitors, begin } = all;
  for (let i = 0; i < 10 * BURST; i++) answer(all, 1, 'a');
  const others: [number, Record<string, string>, RequestInit?][] = [
    [2, {}],
    [3, { ...KEY, 'content-length': '100000' }, { method: 'POST', body: 'x' }],
    [4, KEY, { method: 'POST' }],
  ];
  for (const [port, headers, init] of others) {
    begin(port, headers, init);
    expect(visitors.get(nameOf(port))).toMatchObject({ running: 1, keyed: false });
  }
  answer(all, 5, null);
  expect(visitors.get(nameOf(5))).toMatchObject({ running: 1, keyed: false });
});

test('a request that waits is recorded once, with its credential', () => {
  const { visitors, visits, begin } = visitsOf();
  const visit = begin(5, KEY);
  expect(visitors.get(nameOf(5))).toBeNull();
  visit.principal = { ...ANONYMOUS, kind: 'key', id: 'k' };
  visits.recordVisitor(visit);
  visits.recordVisitor(visit);
  visits.recordPrompt(visit);
  expect(visitors.get(nameOf(5))).toMatchObject({ running: 1, keyed: true });
});
