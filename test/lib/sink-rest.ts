import { type AnyElysia, Elysia } from 'elysia';
import type { Call } from '../../src/http/call.ts';
import { asResponse } from '../../src/http/plain-reply.ts';
import { ANONYMOUS } from '../../src/http/principal.ts';
import { ReplyLedger } from '../../src/http/reply-ledger.ts';
import { regtest } from '../../src/params/regtest.ts';
import { READ_ROUTES } from '../../src/rest/endpoints.ts';
import type { RestContext } from '../../src/rest/rest-context.ts';
import { SinkReadService } from '../../src/serve/sink-read-service.ts';
import { errorBoundary } from '../../src/server/error-boundary.ts';
import { silentLog } from './chain-fixture.ts';
import { defaultApiOptions, defaultReadSources } from './default-options.ts';
import type { Reply } from './node-client.ts';

const CALL: Call = {
  ...{ requestId: 'test', principal: ANONYMOUS, ip: '127.0.0.1', rate: null },
  require: () => {},
  charge: () => {},
};

/** The routes that read the chain, over the tables of a sink. */
export class SinkRest implements AsyncDisposable {
  readonly service: SinkReadService;
  readonly #app: AnyElysia;

  constructor(url: string, { network = 'regtest', maxRowBytes }: { network?: string; maxRowBytes?: number } = {}) {
    const options = defaultApiOptions({ network: 'regtest', networkDir: '', chainDir: '' });
    const replies = new ReplyLedger({ perOwner: 1 << 30, total: 1 << 30 });
    const call = () => CALL;
    this.service = new SinkReadService({
      ...{ url, network, name: 'test', options, sources: defaultReadSources(regtest), replies, call, maxRowBytes },
    });
    const ctx = { options, params: regtest, call, log: silentLog } as unknown as RestContext;
    this.#app = new Elysia().use(errorBoundary(ctx as unknown as Parameters<typeof errorBoundary>[0])) as AnyElysia;
    for (const endpoint of READ_ROUTES) {
      const { method, path, params, query } = endpoint;
      const serve = endpoint.serve(ctx, this.service);
      const hook = {
        ...(params && { params }),
        ...(query && { query }),
        ...(method !== 'GET' && { parse: 'none' as const }),
      };
      const handle = async ({ params: given, query: asked, request }: Parameters<typeof serve>[0]) =>
        asResponse(await serve({ params: given, query: asked, request }));
      this.#app.route(
        method,
        path,
        ({ params: given, query: asked, request }) => handle({ params: given, query: asked, request }),
        hook,
      );
    }
  }

  async request<T = unknown>(path: string, init: RequestInit = {}): Promise<Reply<T>> {
    const response: Response = await this.#app.handle(new Request(`http://127.0.0.1${path}`, init));
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.startsWith('application/json') && text !== '';
    return { status: response.status, headers: response.headers, text, body: (isJson ? JSON.parse(text) : text) as T };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.service.close();
  }
}
