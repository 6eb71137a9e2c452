import { expect, test } from 'bun:test';
import { Elysia } from 'elysia';
import { access } from '../../src/http/route-access.ts';
import { startTestApi } from '../lib/api-fixture.ts';

test('the beginning of a stop is announced while requests are running', async () => {
  const [begun, stopping] = [Promise.withResolvers<void>(), Promise.withResolvers<string>()];
  const answer = () => {
    begun.resolve();
    return stopping.promise;
  };
  const route = () => new Elysia().get('/held', answer, { detail: { ...access('open') } });
  await using it = startTestApi({ plugins: [route], onStopping: () => stopping.resolve('stopping') });
  const reply = it.get('/held');
  await begun.promise;
  const stopped = it.api.stop('the test stops it');
  expect(await (await reply).text()).toBe('stopping');
  await stopped;
});
