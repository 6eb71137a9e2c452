import { restRoutes } from '../../src/rest/rest-routes.ts';
import { rpcRoutes } from '../../src/rpc/rpc-routes.ts';
import { startTestApi } from '../lib/api-fixture.ts';

/** Returns the OpenAPI document that a node serves, as JSON text. */
export async function openApiText(): Promise<string> {
  await using it = startTestApi({ plugins: [restRoutes, rpcRoutes] });
  return await (await it.get('/docs/openapi.json')).text();
}
