import openapiTypes from 'openapi-typescript';
import { pythonTypes, type Schema } from './python-types.ts';

/** A route of the OpenAPI document, with what the generated files use of it. */
interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly 'x-access': string;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: object;
  readonly responses: Readonly<Record<string, object>>;
}

interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query';
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

/** Routes that a client calls in another way: JSON-RPC has its own protocol, and these two stay open. */
const OTHERS: ReadonlySet<string> = new Set(['/', '/wallet/{name}', '/ws', '/api/stream']);
const NOTICE = '`npm run generate:clients` writes this file from the OpenAPI document of the node.';

/** Returns the generated files of the clients by their paths, for the OpenAPI document of a node as JSON text. */
export async function generatedClients(openApi: string): Promise<Readonly<Record<string, string>>> {
  const document = JSON.parse(openApi) as Document;
  return {
    'clients/typescript/api.ts': await typescriptFile(document),
    'clients/python/obverse/api.py': pythonFile(document),
  };
}

/** Operations with their method and path, in the order of the document. */
function operationsOf({ paths }: Document) {
  const called = Object.entries(paths).filter(([path]) => !OTHERS.has(path));
  return called.flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, ...operation })),
  );
}

/**
 * Returns the document without examples and without replies that are not those of success: they all have one form,
 * `Error`. The file has a third of the size, and stays the same when an example is recorded again.
 */
function reduced({ paths, components, ...document }: Document): object {
  const called = Object.entries(paths).filter(([path]) => !OTHERS.has(path));
  const kept = called.map(([path, methods]) => {
    const operations = Object.entries(methods).map(
      ([method, operation]) => [method, { ...operation, responses: { 200: operation.responses['200'] } }] as const,
    );
    return [path, Object.fromEntries(operations)] as const;
  });
  return { ...document, paths: withoutExamples(Object.fromEntries(kept)), components: { schemas: components.schemas } };
}

const LEFT_OUT: ReadonlySet<string> = new Set(['example', 'examples', 'headers']);

/** `areNames`: the keys are names that the routes have chosen, such as those of the members of a reply. */
function withoutExamples(value: unknown, areNames = false): unknown {
  if (Array.isArray(value)) return value.map((each) => withoutExamples(each));
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).filter(([key]) => areNames || !LEFT_OUT.has(key));
  return Object.fromEntries(
    members.map(([key, member]) => [key, withoutExamples(member, key === 'properties' && !areNames)]),
  );
}

async function typescriptFile(document: Document): Promise<string> {
  const types = await openapiTypes(reduced(document) as Parameters<typeof openapiTypes>[0], {
    commentHeader: '',
  });
  const rows = operationsOf(document).map(
    ({ operationId, method, path }) => `  ${operationId}: ['${method}', '${path}'],`,
  );
  return `// ${NOTICE}\n\n${types.trim()}\n\n${TYPED_FETCH.replace('  ROWS', rows.join('\n'))}`;
}

/** The part of the file that sends requests; the text of a client has no further dependency. */
const TYPED_FETCH = `/** Method and path of each operation. */
export const OPERATIONS = {
  ROWS
} as const satisfies Record<string, readonly [method: string, path: string]>;

export type Schemas = components['schemas'];
export type OperationName = keyof typeof OPERATIONS & keyof operations;

type Part<N extends OperationName, P extends 'path' | 'query'> = operations[N] extends {
  parameters: { [K in P]?: infer T };
}
  ? NonNullable<T>
  : unknown;
type Body<N extends OperationName> = operations[N] extends { requestBody: { content: { 'application/json': infer T } } }
  ? { body: T }
  : unknown;

/** Parameters of the path and the query of an operation, by name, and its \`body\`. */
export type Input<N extends OperationName> = Part<N, 'path'> & Part<N, 'query'> & Body<N>;

/** The reply of success of an operation: JSON, bytes or text. */
export type Output<N extends OperationName> = operations[N]['responses'][200] extends { content: infer C }
  ? C extends { 'application/json': infer T }
    ? T
    : C extends { 'application/octet-stream': unknown }
      ? Uint8Array
      : string
  : never;

/**
 * Sends one request, and resolves with its reply, whatever the status of that is. A redirect is a reply as well and is not
 * followed: the headers hold a key, which is for the node alone.
 */
export function sendOperation<N extends OperationName>(
  url: string,
  name: N,
  input: Input<N>,
  init: { readonly headers?: Readonly<Record<string, string>>; readonly signal?: AbortSignal } = {},
): Promise<Response> {
  const [method, template] = OPERATIONS[name];
  const { body, ...rest } = input as Readonly<Record<string, unknown>>;
  const query = new URLSearchParams();
  let path: string = template;
  for (const [key, value] of Object.entries(rest)) {
    if (path.includes(\`{\${key}}\`)) path = path.replace(\`{\${key}}\`, encodeURIComponent(String(value)));
    else if (value !== undefined) query.set(key, String(value));
  }
  const search = query.size > 0 ? \`?\${query}\` : '';
  return fetch(url + path + search, {
    method,
    redirect: 'manual',
    ...init,
    ...(body !== undefined && {
      body: JSON.stringify(body),
      headers: { ...init.headers, 'content-type': 'application/json' },
    }),
  });
}
`;

function pythonFile(document: Document): string {
  const rows = operationsOf(document).map(
    ({ operationId, method, path }) => `    "${operationId}": ("${method}", "${path}"),`,
  );
  return [
    `"""Types of the replies, and the operations. ${NOTICE}"""`,
    'from __future__ import annotations\n',
    'from typing import Any, Literal, NotRequired, TypedDict\n',
    pythonTypes(document.components.schemas),
    '# Method and path of each operation.',
    `OPERATIONS: dict[str, tuple[str, str]] = {\n${rows.join('\n')}\n}`,
    '',
  ].join('\n');
}
