import { expect, test } from 'bun:test';
import { Elysia } from 'elysia';
import { RouteRules } from '../../src/server/route-rules.ts';

const PATHS = ['/plain', '/api/:hash', '/api/:hash/txs', '/api/fixed', '/docs/*', '/wallet/:name'];

const REQUESTS = [
  ...['/plain', '/plain/', '/api/00', '/api/00/', '/api/fixed', '/api/00/txs', '/docs/a/b', '/wallet/w', '/wallet/w/'],
  ...['/', '/api', '/api/', '/api/00/other', '/nothing', '/wallet/a%20b', '/api/%', '/plain/x', '/docs', '/docs/'],
];

test('the rules find the route of a path that Elysia finds', async () => {
  const matched: string[] = [];
  const app = new Elysia({ precompile: true }).derive({ as: 'global' }, ({ route }) => void matched.push(route));
  for (const path of PATHS) {
    app.get(path, () => 'found');
    app.post(path, () => 'found');
  }
  for (const path of PATHS) app.all(path, () => 'other');
  app.all('/*', () => 'none').compile();
  const rules = new RouteRules(app);
  for (const method of ['GET', 'POST', 'HEAD', 'DELETE'])
    for (const path of REQUESTS) {
      matched.length = 0;
      await app.fetch(new Request(`http://localhost${path}`, { method: method === 'HEAD' ? 'GET' : method }));
      const byElysia = rules.entry(matched[0]!);
      expect([method, path, rules.find(method, path)?.template]).toEqual([method, path, byElysia?.template]);
    }
  expect(rules.find('GET', '/api/00')?.template).toBe('/api/{hash}');
  expect(rules.find('DELETE', '/docs/a')?.allow).toBe('GET, HEAD, POST');
});
