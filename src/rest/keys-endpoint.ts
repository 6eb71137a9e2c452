import { keyView } from '../auth/key-admin.ts';
import { json } from '../http/route-description.ts';
import { endpoint } from './endpoint.ts';
import { uncachedJson } from './json-body.ts';
import { API_KEYS } from './schemas/session-schemas.ts';

/** The API keys, for the pages of an administrator. Keys are made and changed by the command line and JSON-RPC alone. */
export const keysEndpoint = endpoint({
  name: 'keys',
  path: '/api/keys',
  tag: 'operations',
  summary: 'API keys without their secrets, oldest first, with revoked and expired ones',
  access: 'admin',
  response: json(API_KEYS),
  serve: (ctx) => () => uncachedJson({ items: ctx.keys().list().map(keyView) }),
});
