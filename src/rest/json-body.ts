import { fail } from '../http/errors.ts';
import { checkValues } from '../http/input.ts';
import { mediaType } from '../http/media-type.ts';

interface JsonBodyLimits {
  /** Accepted media types; a missing type is accepted as well. */
  readonly types: readonly string[];
  /** The types that an error names, if not all of them. */
  readonly named?: readonly string[];
  /** Maximum number of JSON values. */
  readonly maxValues: number;
  /** The value of an empty body, which is an error otherwise. */
  readonly empty?: unknown;
}

/** Returns the JSON value of a request body. Throws ApiError. */
export async function readJsonBody(
  request: Request,
  { types, named = types, maxValues, empty }: JsonBodyLimits,
): Promise<unknown> {
  const type = mediaType(request);
  if (type !== '' && !types.includes(type))
    fail('unsupported_media_type', `unsupported media type ${type}`, { accepted: named });
  const bytes = await request.bytes();
  if (bytes.length === 0 && empty !== undefined) return empty;
  await checkValues(bytes, maxValues);
  return parseJsonText(new TextDecoder().decode(bytes));
}

/** Throws ApiError `invalid_request`. */
export function parseJsonText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return fail('invalid_request', 'the body is not JSON');
  }
}

/** Returns a reply that no cache may store. */
export function uncachedJson(body: object): Response {
  return new Response(JSON.stringify(body), {
    headers: { 'content-type': 'application/json', 'cache-control': 'no-store' },
  });
}
