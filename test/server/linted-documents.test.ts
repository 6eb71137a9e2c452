import { afterAll, describe, expect, test } from 'bun:test';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import { restRoutes } from '../../src/rest/rest-routes.ts';
import { rpcRoutes } from '../../src/rpc/rpc-routes.ts';
import { startTestApi } from '../lib/api-fixture.ts';

/** Findings that remain, and why. */
const ACCEPTED = [
  // The only reply of success to an upgrade has the status 101.
  'operation-2xx-response #/paths/~1ws/get/responses',
];

describe('the recommended rules of Redocly find nothing in', async () => {
  const it = startTestApi({ plugins: [restRoutes, rpcRoutes] });
  afterAll(() => it[Symbol.asyncDispose]());
  // The linter reads nothing but the text, since every reference is within the document.
  const config = await createConfig({ extends: ['recommended'] });

  for (const name of ['openapi', 'asyncapi'])
    test(`/docs/${name}.json`, async () => {
      const source = await (await it.get(`/docs/${name}.json`)).text();
      const findings = await lintFromString({ source, absoluteRef: `/${name}.json`, config });
      const shown = findings.map(({ ruleId, message, location }) => ({
        at: `${ruleId} ${location[0]?.pointer}`,
        message,
      }));
      expect(shown.filter(({ at }) => !ACCEPTED.includes(at))).toEqual([]);
      if (name === 'openapi') expect(shown.map(({ at }) => at)).toEqual(ACCEPTED);
    });
});
