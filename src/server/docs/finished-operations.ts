import type { FailureCode } from '../../http/errors.ts';
import { describeCodes, type ErrorCode } from './error-descriptions.ts';
import type { Json } from './finished-schemas.ts';
import type { RouteExample, RouteExamples } from './route-examples.ts';
import { mapMembers } from './shared-responses.ts';

type Members = Readonly<Record<string, Json>>;
type Examples = Readonly<Record<string, RouteExample>>;

/** Headers of replies. Those of limits are there if the key or the address has a limit. */
const HEADERS = {
  RequestId: ['X-Request-Id', 'string', 'names the request in errors and in the log of the node', true],
  ApiVersion: ['X-Api-Version', 'string', 'version of the interface', true],
  ChainHeight: ['X-Chain-Height', 'integer', 'height of the tip that the reply belongs to'],
  ChainHash: ['X-Chain-Hash', 'string', 'hash of that tip'],
  NodeSyncing: ['X-Node-Syncing', 'string', '1 until the initial block download is over, then absent'],
  RateLimitLimit: ['RateLimit-Limit', 'integer', 'requests that may be made at once, if there is a limit'],
  RateLimitRemaining: ['RateLimit-Remaining', 'integer', 'requests that may be made now, if there is a limit'],
  RateLimitReset: ['RateLimit-Reset', 'integer', 'seconds until all may be made again, if there is a limit'],
  RetryAfter: ['Retry-After', 'integer', 'seconds after which the request may succeed', true],
  ETag: ['ETag', 'string', 'identifies the content; the request header If-None-Match repeats it'],
  Link: ['Link', 'string', 'the next page, as in RFC 8288; absent on the last one'],
  WwwAuthenticate: ['WWW-Authenticate', 'string', 'the ways to authenticate', true],
} as const;

type HeaderName = keyof typeof HEADERS;

const ON_ALL: readonly HeaderName[] = ['RequestId', 'ApiVersion'];
const OF_TIP: readonly HeaderName[] = ['ChainHeight', 'ChainHash', 'NodeSyncing'];
const OF_LIMITS: readonly HeaderName[] = ['RateLimitLimit', 'RateLimitRemaining', 'RateLimitReset'];
const OF_STATUS: Readonly<Record<string, readonly HeaderName[]>> = {
  401: ['WwwAuthenticate'],
  429: ['RetryAfter'],
  503: ['RetryAfter'],
};

/** Returns `components.headers`. */
export function headerComponents(): Json {
  return Object.fromEntries(
    Object.entries(HEADERS).map(([name, [, type, description, required = false]]) => [
      name,
      { description, required, schema: { type } },
    ]),
  );
}

/** Adds to all operations their examples, the headers of their replies, and the meaning of their errors. */
export function finishedOperations(paths: Json, examples: RouteExamples): Json {
  return mapMembers(paths, (methods, path) =>
    mapMembers(methods as Json, (operation, method) =>
      finishedOperation(operation as Json, path, examples[`${method.toUpperCase()} ${path}`] ?? {}),
    ),
  );
}

function finishedOperation(operation: Json, path: string, examples: Examples): Json {
  const {
    operationId,
    parameters,
    requestBody,
    responses = {},
    ...rest
  } = operation as Json & {
    parameters?: readonly Json[];
    requestBody?: Json;
    responses?: Members;
  };
  const isPage = JSON.stringify(responses[200] ?? '').includes('Page"');
  return {
    operationId: methodName(operationId as string),
    ...rest,
    ...(parameters && { parameters: parameters.map((parameter) => parameterWith(parameter, examples)) }),
    ...(requestBody && {
      requestBody: { ...requestBody, content: contentWith(requestBody.content, examples, ({ body }) => body) },
    }),
    responses: mapMembers(responses, (given, status) => {
      const own = pick(examples, (each) => String(each.status ?? 200) === status);
      const { content, 'x-error-codes': codes, description, ...more } = given as Json;
      const headers = headersOf(path, status, { hasEtag: responses[304] !== undefined, isPage });
      return {
        description: codes && !description ? describeCodes(codes as ErrorCode[]) : description,
        ...more,
        ...(headers.length > 0 && { headers: references(headers) }),
        ...(codes !== undefined && { 'x-error-codes': codes }),
        ...(content !== undefined && { content: contentWith(content, own, (each) => each.response) }),
      };
    }),
  };
}

/** The codes of one status, for a response whose description is made of them. */
export function errorResponses(
  codes: Iterable<readonly [status: number, codes: readonly FailureCode[]]>,
  content: Json,
) {
  return Object.fromEntries(
    [...codes].map(([status, some]) => [status, { description: '', 'x-error-codes': some, content }]),
  );
}

/** Names that begin with one of these verbs are good names of methods; all others are those of a thing that is read. */
const VERB = /^(?:broadcast|call|create|open|pause|put|remove|replace|replay|resume|stream|test|validate)(?=[A-Z])/;

function methodName(name: string): string {
  return VERB.test(name) ? name : `get${name[0]!.toUpperCase()}${name.slice(1)}`;
}

function headersOf(path: string, status: string, { hasEtag, isPage }: { hasEtag: boolean; isPage: boolean }) {
  const ofApi = path.startsWith('/api/') && path !== '/api/health';
  const isRead = status === '200' || status === '304';
  return [
    ...(status === '101' ? [] : ON_ALL),
    ...(ofApi ? [...OF_TIP, ...OF_LIMITS] : []),
    ...(isRead && hasEtag ? (['ETag'] as const) : []),
    ...(isRead && isPage && ofApi ? (['Link'] as const) : []),
    ...(path === '/readyz' ? [] : (OF_STATUS[status] ?? [])),
  ];
}

function references(names: readonly HeaderName[]): Json {
  return Object.fromEntries(names.map((name) => [HEADERS[name][0], { $ref: `#/components/headers/${name}` }]));
}

function parameterWith(parameter: Json, examples: Examples): Json {
  const part = parameter.in as 'path' | 'query';
  const values = valuesOf(examples, (each) => each[part]?.[parameter.name as string]);
  return values === null ? parameter : { ...parameter, examples: values };
}

function contentWith(content: unknown, examples: Examples, part: (each: RouteExample) => unknown): Json {
  const values = valuesOf(examples, part);
  return mapMembers(content as Json, (form, type) => {
    if (values === null || !isFormOf(type, values)) return form;
    return { ...(form as Json), examples: values };
  });
}

/** A text is an example of text, anything else of JSON. */
function isFormOf(type: string, values: Members): boolean {
  const isText = Object.values(values).every(({ value }) => typeof value === 'string');
  return type.startsWith('text/') ? isText : type === 'application/json' && !isText;
}

/** Returns the values of a part by the name of the example; null if none has that part. */
function valuesOf(examples: Examples, part: (each: RouteExample) => unknown): Members | null {
  const values = Object.entries(examples).flatMap(([name, each]) => {
    const value = part(each);
    return value === undefined ? [] : [[name, { ...(each.summary && { summary: each.summary }), value }] as const];
  });
  return values.length === 0 ? null : Object.fromEntries(values);
}

function pick(examples: Examples, keep: (each: RouteExample) => boolean): Examples {
  return Object.fromEntries(Object.entries(examples).filter(([, each]) => keep(each)));
}
