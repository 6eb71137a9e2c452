import type { ErrorCode } from './error-descriptions.ts';
import { type Json, sortedMembers } from './finished-schemas.ts';

/** Names of the responses without an error code of their own. */
const STATUS_NAMES: Readonly<Record<string, string>> = {
  304: 'NotModified',
  400: 'InvalidRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  503: 'Unavailable',
};
/** Codes that say nothing about a route. */
const COMMON: ReadonlySet<string> = new Set<ErrorCode>([
  ...(['invalid_request', 'invalid_parameter', 'missing_credentials', 'invalid_credentials'] as const),
  ...(['insufficient_scope', 'ip_not_allowed', 'shutting_down', 'overloaded', 'warming_up'] as const),
]);
/** Number of equal responses that are worth a name. */
const SHARED = 2;

/**
 * Moves responses that several operations have to `components.responses`, the most frequent first. They are named after
 * their codes; of two with one name the less frequent remains where it is.
 */
export function shareResponses(paths: Json): { readonly paths: Json; readonly responses: Json } {
  const all = Object.values(paths).flatMap((methods) =>
    Object.values(methods as Json).flatMap((operation) => Object.entries((operation as Json).responses as Json)),
  );
  const equal = Map.groupBy(all, ([status, response]) => status + JSON.stringify(response));
  const names = new Map<string, string>();
  const responses: Json = {};
  for (const [key, [[status, response] = ['', {}], ...others]] of [...equal].toSorted(
    ([, a], [, b]) => b.length - a.length,
  )) {
    const name = nameOf(status, response as Json);
    if (name === null || responses[name] !== undefined || others.length + 1 < SHARED) continue;
    responses[name] = response;
    names.set(key, name);
  }
  const shared = (status: string, response: unknown) => {
    const name = names.get(status + JSON.stringify(response));
    return name === undefined ? response : { $ref: `#/components/responses/${name}` };
  };
  return {
    paths: mapMembers(paths, (methods) =>
      mapMembers(methods as Json, (operation) => {
        const { responses, ...rest } = operation as Json;
        return { ...rest, responses: mapMembers(responses as Json, (response, status) => shared(status, response)) };
      }),
    ),
    responses: sortedMembers(responses),
  };
}

function nameOf(status: string, { 'x-error-codes': codes = [] }: Json): string | null {
  const own = (codes as readonly string[]).filter((code) => !COMMON.has(code));
  if (own.length === 0) return STATUS_NAMES[status] ?? null;
  return own.map((code) => code.replaceAll(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase())).join('Or');
}

/** Returns an object with the same names and other values. */
export function mapMembers(of: Json, map: (value: unknown, name: string) => unknown): Json {
  return Object.fromEntries(Object.entries(of).map(([name, value]) => [name, map(value, name)]));
}
