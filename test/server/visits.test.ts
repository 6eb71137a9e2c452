import { expect, test } from 'bun:test';
import { ClientAddresses } from '../../src/auth/client-address.ts';
import { ANONYMOUS } from '../../src/http/principal.ts';
import { Visitors } from '../../src/server/connections/visitors.ts';
import { type Visit, Visits } from '../../src/server/visit.ts';

const BURST = 1000;
const KEY = { authorization: 'Bearer a-key' };

/** Visits whose requests come over the ports that they name, with the number of look-ups. */
function visitsOf() {
  let lookUps = 0;
  const visitors = new Visitors();
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
  return { visitors, visits, begin, lookUps: () => lookUps };
}

const nameOf = (port: number) => `203.0.113.1 ${port}`;

test('above a rate, the connections of prompt requests with a credential are not looked up', () => {
  const { visitors, begin, lookUps } = visitsOf();
  const from = performance.now();
  const count = 20 * BURST;
  for (let i = 0; i < count; i++) begin(i % 8, KEY);
  const most = BURST + ((performance.now() - from) / 1000) * 2000 + 1;
  expect(lookUps()).toBeGreaterThanOrEqual(BURST);
  expect(lookUps()).toBeLessThanOrEqual(most);
  for (let port = 0; port < 8; port++) expect(visitors.get(nameOf(port))?.running).toBeGreaterThan(0);
});

test('requests without a credential, and those with a long or an unknown body, are always recorded', () => {
  const { visitors, begin } = visitsOf();
  for (let i = 0; i < 10 * BURST; i++) begin(1, KEY);
  const others: [number, Record<string, string>, RequestInit?][] = [
    [2, {}],
    [3, { ...KEY, 'content-length': '100000' }, { method: 'POST', body: 'x' }],
    [4, KEY, { method: 'POST' }],
  ];
  for (const [port, headers, init] of others) {
    begin(port, headers, init);
    expect(visitors.get(nameOf(port))).toMatchObject({ running: 1, keyed: false });
  }
});

test('a request that turns out to wait is recorded once, with its credential', () => {
  const { visitors, visits, begin } = visitsOf();
  for (let i = 0; i < 10 * BURST; i++) begin(1, KEY);
  // Some of them are still recorded.
  let port = 5;
  let visit = begin(port, KEY);
  while (visitors.get(nameOf(port)) !== null) visit = begin(++port, KEY);
  visit.principal = { ...ANONYMOUS, kind: 'key', id: 'k' };
  visits.recordVisitor(visit);
  visits.recordVisitor(visit);
  expect(visitors.get(nameOf(port))).toMatchObject({ running: 1, keyed: true });
});
