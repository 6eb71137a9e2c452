import { type FailureCode, fail } from '../../http/errors.ts';
import { type Answer, bytesAnswer } from '../../queries/answer.ts';
import type { RestFormat } from './rest-target.ts';

/** Failures of the status codes that Core's REST interface uses. */
const FAILURE_OF_STATUS = {
  400: 'invalid_parameter',
  404: 'not_found',
  500: 'internal_error',
} as const satisfies Record<number, FailureCode>;

/** Marks an error whose reply has the form of Core: its message as text. */
export const CORE_REST_ERROR = { coreRest: true } as const;

/** Throws an ApiError that becomes a reply in Core's form. */
export function restFail(status: keyof typeof FAILURE_OF_STATUS, message: string): never {
  return fail(FAILURE_OF_STATUS[status], message, CORE_REST_ERROR);
}

/** Throws the error of a request without a known format. */
export function noFormat(available = '.bin, .hex, .json'): never {
  return restFail(404, `output format not found (available: ${available})`);
}

/** Returns bytes as `bin`, or as a line of hex. `tag`: the ETag of a reply that never changes; null if it can change. */
export function encodedReply(format: 'bin' | 'hex', bytes: Uint8Array, tag: string | null): Answer {
  if (format === 'bin') return bytesAnswer(bytes, freshnessOf(tag, format));
  return textReply(bytes.toHex(), tag, format);
}

/** Returns a line of text. */
export function textReply(text: string, tag: string | null, format: RestFormat): Answer {
  return { type: 'coreText', body: `${text}\n`, freshness: freshnessOf(tag, format), next: null };
}

/** Returns a value as a line of JSON. */
export function jsonReply(value: unknown, tag: string | null = null): Answer {
  return { type: 'coreJson', body: `${JSON.stringify(value)}\n`, freshness: freshnessOf(tag, 'json'), next: null };
}

function freshnessOf(tag: string | null, format: RestFormat): Answer['freshness'] {
  return tag === null ? 'none' : { immutable: `${tag}-${format}` };
}
