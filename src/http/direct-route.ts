import type { MaybePromise } from '../util/maybe-promise.ts';

/**
 * A frequent route that the server answers without Elysia, after the same checks. It is also a route of Elysia, which
 * answers every other spelling of its path: with a query, with a slash at the end, or with an invalid hash.
 */
export interface DirectRoute {
  readonly method: 'GET' | 'POST';
  /** Pattern of the same route in Elysia. It has at most one parameter, which is a hash. */
  readonly path: string;
  /** Present where the answer depends on the body, which is read after this check. Throws ApiError. */
  readonly checkBeforeBody?: (request: Request) => void;
  /**
   * Returns a Response, a PlainReply, or an object that becomes the JSON of the reply. `hash` is the parameter of the
   * path, 64 hex digits, and empty without one. `body` is empty without `checkBeforeBody`.
   */
  answer(request: Request, hash: string, body: Uint8Array): MaybePromise<object>;
}
