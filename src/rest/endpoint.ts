import { type Static, t } from 'elysia';
import type { ApiOptions } from '../http/options.ts';
import type { ObjectSchema, Properties } from '../http/reply-schema.ts';
import { describeRoute, type RouteDescription } from '../http/route-description.ts';
import type { NetworkParams } from '../params/network-params.ts';
import type { ReadEndpoint } from '../queries/answer.ts';
import type { AnswerService } from '../queries/read-service.ts';
import type { MaybePromise } from '../util/maybe-promise.ts';
import type { RestContext } from './rest-context.ts';

/** A request whose parameters fit their schemas. */
export interface Asked<P extends Properties, Q extends Properties> {
  readonly params: Static<ObjectSchema<P>>;
  readonly query: Static<ObjectSchema<Q>>;
  readonly request: Request;
}

/** Answers requests of one route with a Response, a PlainReply, or an object that becomes the JSON of the reply. */
type Serve<P extends Properties, Q extends Properties> = (asked: Asked<P, Q>) => MaybePromise<object>;

interface Declared<P extends Properties, Q extends Properties> extends Omit<RouteDescription, 'limits'> {
  /** Path as a pattern of Elysia. */
  readonly path: string;
  readonly params?: P;
  /** A listed parameter that is given twice is rejected; unknown parameters are ignored. */
  readonly query?: Q;
  /** Limit of the request body, bytes. */
  readonly bodyLimit?: number | ((options: ApiOptions) => number);
  /** Whether the reply has no deadline. */
  readonly unlimitedTime?: boolean;
}

/** A route of the REST interface. Elysia validates, documents and serves it from this one declaration. */
export interface Endpoint {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly path: string;
  readonly params: ObjectSchema | undefined;
  readonly query: ObjectSchema | undefined;
  detail(options: ApiOptions): ReturnType<typeof describeRoute>;
  serve(ctx: RestContext, service: AnswerService): Serve<Properties, Properties>;
}

/** Returns an endpoint that does more than read, or that reads data outside of the chain. */
export function endpoint<P extends Properties = Record<never, never>, Q extends Properties = Record<never, never>>(
  declared: Declared<P, Q> & { serve(ctx: RestContext, service: AnswerService): Serve<P, Q> },
): Endpoint {
  const { method = 'GET', path, params, query, bodyLimit, unlimitedTime, serve } = declared;
  return {
    method,
    path,
    params: params && t.Object(params),
    query: query && t.Object(query),
    detail: (options) =>
      describeRoute({
        ...declared,
        limits: {
          ...(bodyLimit !== undefined && {
            bodyLimit: typeof bodyLimit === 'number' ? bodyLimit : bodyLimit(options),
          }),
          ...(unlimitedTime && { unlimitedTime }),
        },
      }),
    serve: serve as Endpoint['serve'],
  };
}

/** Data that an endpoint may use to read a request. */
export interface InputContext {
  readonly options: ApiOptions;
  readonly params: NetworkParams;
  /** Charges `cost` more to the caller's rate limit. Throws ApiError `rate_limited`. */
  charge(cost: number): void;
}

/**
 * Returns an endpoint that only reads the chain and the mempool. `input` turns the request into plain data, so that
 * `run` gives the same answer on the main thread and in a reader worker, which finds it by its name.
 */
export function readEndpoint<
  I,
  P extends Properties = Record<never, never>,
  Q extends Properties = Record<never, never>,
>(
  declared: Declared<P, Q> & ReadEndpoint<I> & { input(asked: Asked<P, Q>, known: InputContext): I | Promise<I> },
): Endpoint & ReadEndpoint<I> {
  const { name, run, mempoolPart, input } = declared;
  const read: ReadEndpoint<I> = { name, run, ...(mempoolPart && { mempoolPart }) };
  const serve = (ctx: RestContext, service: AnswerService): Serve<P, Q> => {
    const { options, params } = ctx;
    return (asked) => {
      const charge = (cost: number) => ctx.call(asked.request).charge(cost);
      const found = input(asked, { options, params, charge });
      if (found instanceof Promise) return found.then((ready) => service.respond(read, ready, asked.request));
      return service.respond(read, found, asked.request);
    };
  };
  return { ...endpoint({ hasEtag: declared.method !== 'POST', ...declared, serve }), ...read };
}
