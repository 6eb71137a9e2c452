import { type Static, t } from 'elysia';
import type { ApiOptions } from '../http/options.ts';
import { describeRoute, type RouteDescription } from '../http/route-description.ts';
import type { ObjectSchema, Properties } from '../http/schema.ts';
import type { NetworkParams } from '../params/network-params.ts';
import type { ReadEndpoint } from '../queries/answer.ts';
import type { ReadService } from '../queries/read-service.ts';
import type { RestContext } from './context.ts';

/** A request whose parameters fit their schemas. */
export interface Asked<P extends Properties, Q extends Properties> {
  readonly params: Static<ObjectSchema<P>>;
  readonly query: Static<ObjectSchema<Q>>;
  readonly request: Request;
}

/** Answers requests of one route. */
type Serve<P extends Properties, Q extends Properties> = (
  asked: Asked<P, Q>,
) => Response | object | Promise<Response | object>;

interface Declared<P extends Properties, Q extends Properties> extends Omit<RouteDescription, 'limits'> {
  /** GET unless given. */
  readonly method?: 'GET' | 'POST' | 'DELETE';
  /** As a pattern of Elysia. */
  readonly path: string;
  readonly params?: P;
  /** Of its parameters those that are given twice are rejected; unknown ones are ignored. */
  readonly query?: Q;
  /** Bytes of a request body. */
  readonly bodyLimit?: number | ((options: ApiOptions) => number);
  /** Sets no limit on the time of the reply. */
  readonly unlimitedTime?: boolean;
}

/** A route of the REST interface: its one declaration, which Elysia checks, documents and serves. */
export interface Endpoint {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly path: string;
  readonly params: ObjectSchema | undefined;
  readonly query: ObjectSchema | undefined;
  detail(options: ApiOptions): ReturnType<typeof describeRoute>;
  serve(ctx: RestContext, service: ReadService): Serve<Properties, Properties>;
}

/** A route that does more than read, or reads what is no part of the chain. */
export function endpoint<P extends Properties = Record<never, never>, Q extends Properties = Record<never, never>>(
  declared: Declared<P, Q> & { serve(ctx: RestContext, service: ReadService): Serve<P, Q> },
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

/** What an endpoint that reads may know to understand a request. */
export interface InputContext {
  readonly options: ApiOptions;
  readonly params: NetworkParams;
  /** Takes `cost` more from the caller's allowance. Throws ApiError `rate_limited`. */
  charge(cost: number): void;
}

/**
 * A route that only reads the chain and the mempool. `input` makes plain data of the request, so that `run` gives the
 * same answer on the main thread and in a reader worker, which knows it by its name.
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
  const serve = (ctx: RestContext, service: ReadService): Serve<P, Q> => {
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
