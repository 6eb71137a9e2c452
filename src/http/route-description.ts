import type { DocumentDecoration, TSchema } from 'elysia';
import { FAILURES, type FailureCode } from './errors.ts';
import { ERROR } from './reply-schema.ts';
import { type Access, access, type RouteAccess } from './route-access.ts';

/** One format of a body. */
export interface Content {
  readonly type: string;
  readonly schema: TSchema | object;
}

/** The request and the replies of a route, for the description of the interface. */
export interface RouteDescription {
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;
  /** Default: `read`. */
  readonly access?: Access;
  /** Whether a key is the only credential, because the cookie of a session does not count on the path. */
  readonly keyOnly?: boolean;
  readonly limits?: { readonly bodyLimit?: number; readonly whileStarting?: boolean; readonly unlimitedTime?: boolean };
  /** GET by default. */
  readonly method?: 'GET' | 'POST' | 'DELETE';
  /** Name of the operation in generated clients. */
  readonly name: string;
  /** The allowed formats of the request body. */
  readonly body?: readonly Content[];
  readonly bodyRequired?: boolean;
  readonly response: Content;
  /** Further statuses whose body is not an error, with their descriptions. */
  readonly otherResponses?: Readonly<Record<number, { readonly description: string; readonly content?: Content }>>;
  /** Whether the reply has an ETag, and may be 304. */
  readonly hasEtag?: boolean;
  /** The body of errors. Default: `Error`. */
  readonly errorContent?: Content;
  /** Error codes in addition to those of every route. */
  readonly errors?: readonly FailureCode[];
}

export const json = (schema: TSchema | object): Content => ({ type: 'application/json', schema });
export const plainText = (schema: TSchema | object): Content => ({ type: 'text/plain', schema });
export const BYTES: Content = { type: 'application/octet-stream', schema: {} };

const EVERYWHERE: readonly FailureCode[] = ['invalid_request', 'internal_error', 'shutting_down'];
const KEYED: readonly FailureCode[] = [
  'invalid_parameter',
  'missing_credentials',
  'invalid_credentials',
  'insufficient_scope',
  'ip_not_allowed',
  'rate_limited',
  'overloaded',
];
const WITHOUT_KEY: readonly FailureCode[] = ['misdirected_request', 'rate_limited'];
/** Codes of requests with a session that change something. */
const BY_PAGES: readonly FailureCode[] = ['origin_not_allowed', 'invalid_csrf_token'];
const WITH_BODY: readonly FailureCode[] = ['payload_too_large', 'unsupported_media_type'];

/**
 * Returns the `detail` of a route: its access, its limits and its description. The descriptions of errors are left to the
 * document, which makes them of `x-error-codes`.
 */
export function describeRoute(route: RouteDescription): RouteAccess {
  const { tag, summary, description, limits, name, body, bodyRequired = true, keyOnly = false } = route;
  const detail = {
    tags: [tag],
    summary,
    operationId: name.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase()),
    ...(description !== undefined && { description }),
    ...(body && { requestBody: { required: bodyRequired, content: contentOf(body) } }),
    responses: responsesOf(route),
    ...access(route.access ?? 'read', limits),
    ...(keyOnly && { security: [{ bearer: [] }] }),
  };
  // Elysia's types only know OpenAPI 3.0.
  return detail as unknown as RouteAccess & DocumentDecoration;
}

function responsesOf(route: RouteDescription): Readonly<Record<string, object>> {
  const { response, otherResponses = {}, hasEtag, errorContent = json(ERROR) } = route;
  const responses: Record<string, object> = { 200: { description: 'success', content: contentOf([response]) } };
  if (hasEtag) responses[304] = { description: 'the reply is the one whose ETag the request names' };
  for (const [status, codes] of Map.groupBy(errorsOf(route), (code) => FAILURES[code].http))
    responses[status] = { description: '', 'x-error-codes': codes, content: contentOf([errorContent]) };
  for (const [status, { description, content }] of Object.entries(otherResponses))
    responses[status] = { ...responses[status], description, ...(content && { content: contentOf([content]) }) };
  return responses;
}

/** Access of routes whose methods that change something can be called with a session. */
const SESSION_ACCESS: ReadonlySet<Access> = new Set<Access>(['read', 'broadcast', 'session']);

function errorsOf(route: RouteDescription) {
  const { access: who = 'read', method = 'GET', keyOnly = false, limits, body, errors = [] } = route;
  const own = who === 'open' ? [] : who === 'public' ? WITHOUT_KEY : KEYED;
  const changes = method !== 'GET' && SESSION_ACCESS.has(who) && !keyOnly;
  return new Set<FailureCode>([
    ...EVERYWHERE,
    ...own,
    ...(changes ? BY_PAGES : []),
    ...(limits?.whileStarting ? [] : (['warming_up'] as const)),
    ...(body ? WITH_BODY : []),
    ...errors,
  ]);
}

function contentOf(forms: readonly Content[]): Readonly<Record<string, object>> {
  return Object.fromEntries(forms.map(({ type, schema }) => [type, { schema }]));
}
