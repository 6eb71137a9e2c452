import { Elysia } from 'elysia';
import { ApiError, errorResponse, type FailureCode, shownError } from '../http/errors.ts';
import type { Log } from '../util/log.ts';
import type { ServerContext } from './context.ts';
import { requestFields } from './trace-context.ts';
import type { Visit } from './visit.ts';

/** Path parameters whose invalid values have an error code of their own. */
const PATH_FAILURES: Readonly<Record<string, FailureCode>> = {
  hash: 'invalid_hash',
  txid: 'invalid_txid',
  height: 'invalid_height',
  address: 'invalid_address',
  cursor: 'invalid_cursor',
};

/** The public part of Elysia's validation error: the name of the value, and the expected form. */
interface InvalidValue {
  readonly type: string;
  readonly valueError?:
    | { readonly path?: string; readonly message?: string; readonly schema?: { readonly error?: unknown } }
    | undefined;
}

/**
 * Turns every exception of a handler into an error body. Exceptions that the client did not cause are logged and not
 * shown.
 */
export const errorBoundary = ({ log, call }: ServerContext) =>
  new Elysia({ name: 'api.errors' }).onError({ as: 'global' }, ({ code, error, request, path }) => {
    const { requestId } = call(request);
    const shape = request.method === 'POST' && isRpc(path) ? 'rpc' : 'rest';
    const answer = (failure: ApiError) => errorResponse(failure, requestId, shape);
    const shown = shownError(error);
    if (shown) return answer(shown);
    if (code === 'NOT_FOUND') return answer(new ApiError('not_found', 'no such route'));
    if (code === 'PARSE') return answer(new ApiError('invalid_request', 'malformed body'));
    if (code === 'VALIDATION') {
      const invalid = error as unknown as InvalidValue;
      // Elysia also raises this error for a malformed reply of the server. That is a bug of the server, so it falls
      // through.
      if (invalid.type !== 'response') return answer(invalidValue(invalid));
    }
    return handlerError(error, { request, requestId, path, shape }, log);
  });

/** Returns the error body of an exception of a handler. One that the client did not cause is logged and not shown. */
export function handlerError(
  error: unknown,
  visit: Pick<Visit, 'request' | 'requestId' | 'path' | 'shape'>,
  log: Log,
): Response {
  const shown = shownError(error);
  if (!shown) log.error('request failed', { ...requestFields(visit), error });
  return errorResponse(shown ?? new ApiError('internal_error', 'internal error'), visit.requestId, visit.shape);
}

function invalidValue({ type, valueError }: InvalidValue): ApiError {
  const parameter = (valueError?.path ?? '').replace(/^\//, '').replaceAll('/', '.');
  const said = valueError?.schema?.error;
  if (typeof said === 'string') {
    const ofPath = type === 'params' ? PATH_FAILURES[parameter] : undefined;
    if (ofPath) return new ApiError(ofPath, said);
    return new ApiError('invalid_parameter', `${parameter} ${said}`, { parameter, reason: said });
  }
  const reason = valueError?.message ?? 'invalid value';
  const failure = (type === 'params' && PATH_FAILURES[parameter]) || 'invalid_parameter';
  // Elysia loses the name of a value that it decodes before validation.
  const name = parameter || (type === 'property' ? 'value' : type);
  return new ApiError(failure, `${name}: ${reason}`, { parameter: parameter || null, reason });
}

function isRpc(path: string): boolean {
  return path === '/' || path.startsWith('/wallet/');
}
