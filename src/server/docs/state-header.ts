import { ERROR } from '../../http/reply-schema.ts';
import { json } from '../../http/route-description.ts';
import type { Json } from './finished-schemas.ts';
import { mapMembers } from './shared-responses.ts';

const ERROR_FORM = json(ERROR);

/** The header by which a client of several servers names the tip that it was shown. */
const CHAIN_HEIGHT = {
  name: 'X-Chain-Height',
  in: 'header',
  required: false,
  description: 'height that the client was shown; a server with a lower tip waits, then answers 503 syncing',
  schema: { type: 'integer', minimum: 0 },
};

/** Adds the header X-Chain-Height, and the error of a server that has a lower tip, to all operations of the REST interface. */
export function withStateHeader(paths: Json): Json {
  return mapMembers(paths, (methods, path) =>
    path.startsWith('/api/') ? mapMembers(methods as Json, (operation) => withHeader(operation as Json)) : methods,
  );
}

function withHeader(operation: Json): Json {
  const { parameters = [], responses = {} } = operation as { parameters?: readonly Json[]; responses?: Json };
  const unavailable = (responses[503] ?? {}) as { 'x-error-codes'?: readonly string[] };
  const codes = new Set([...(unavailable['x-error-codes'] ?? []), 'syncing']);
  const content = { [ERROR_FORM.type]: { schema: ERROR_FORM.schema } };
  const changed = { description: '', content, ...unavailable, 'x-error-codes': [...codes] };
  return { ...operation, parameters: [...parameters, CHAIN_HEIGHT], responses: { ...responses, 503: changed } };
}
