import { expect, test } from 'bun:test';
import { DirectRoutes } from '../../src/server/direct-routes.ts';

const HASH = 'Ab'.repeat(32);
const route = (method: 'GET' | 'POST', path: string) => ({ method, path, answer: () => ({}) });
const routes = new DirectRoutes([
  route('GET', '/api/info'),
  route('GET', '/api/tx/:txid'),
  route('GET', '/api/tx/:txid/hex'),
  route('POST', '/'),
]);
const found = (method: string, target: string) => {
  const direct = routes.find(method, target);
  return direct && [direct.route.path, direct.hash];
};

test('a direct route is found by its exact path and by a valid hash', () => {
  expect(found('GET', '/api/info')).toEqual(['/api/info', '']);
  expect(found('GET', `/api/tx/${HASH}`)).toEqual(['/api/tx/:txid', HASH]);
  expect(found('GET', `/api/tx/${HASH}/hex`)).toEqual(['/api/tx/:txid/hex', HASH]);
  expect(found('POST', '/')).toEqual(['/', '']);
});

test('Elysia finds the route of every other spelling', () => {
  const others = [
    ['POST', '/api/info'],
    ['HEAD', '/api/info'],
    ['GET', '/'],
    ['GET', '/api/info/'],
    ['GET', '/api/info?a=1'],
    ['GET', '/api/tx/'],
    ['GET', '/api/tx//hex'],
    ['GET', '/api/tx/:txid'],
    ['GET', `/api/tx/${HASH}/`],
    ['GET', `/api/tx/${HASH}?a=1`],
    ['GET', `/api/tx/${HASH}0`],
    ['GET', `/api/tx/${HASH.slice(1)}`],
    ['GET', `/api/tx/${HASH.slice(1)}g`],
    ['GET', `/api/tx/%41${HASH.slice(3)}`],
    ['GET', `/api/nothing/${HASH}`],
    ['GET', ''],
  ] as const;
  for (const [method, target] of others)
    expect([method, target, found(method, target)]).toEqual([method, target, null]);
});
