import { ApiError, fail } from '../http/errors.ts';
import type { Scope } from '../http/scopes.ts';
import type { ApiContext } from '../queries/api-context.ts';
import { type Counts, LocalCounts } from '../util/counts.ts';

const ALL = 'event waits';
const READS = 'event reads';

/** A request that waits for events. */
export interface EventWait {
  /** Aborts when the client disconnects, and with an ApiError when its key may no longer read the events. */
  readonly signal: AbortSignal;
  /** Called when the request has ended. */
  end(): void;
}

/** Counts the requests that read or wait for events, since each holds a connection and memory. */
export class EventWaits {
  readonly #counts: Counts;

  /** `counts` are those of all fronts. */
  constructor(counts: Counts = new LocalCounts()) {
    this.#counts = counts;
  }

  /**
   * Counts a page that is read until the returned function is called: its route has no deadline, so it is not among the
   * parallel requests of the key. Throws ApiError `rate_limited` at the limit of those.
   */
  beginRead(ctx: ApiContext, request: Request): () => void {
    const most = ctx.options.limits.parallelPerKey;
    const own = `${READS} ${ctx.call(request).principal.id}`;
    if (!this.#counts.add(own, most))
      fail('rate_limited', `more than ${most} requests of one key at a time`, { scope: 'parallel', retryAfter: 1 });
    return () => this.#counts.subtract(own);
  }

  /** Counts a request until its `end`, or until its client disconnects. Throws ApiError if too many requests wait. */
  begin(ctx: ApiContext, request: Request, scope: Scope): EventWait {
    const { eventWaitsPerKey, eventWaitsTotal } = ctx.options.limits;
    const call = ctx.call(request);
    const { id } = call.principal;
    const counts = this.#counts;
    const own = `${ALL} ${id}`;
    if (!counts.add(ALL, eventWaitsTotal)) throw new ApiError('overloaded', 'too many requests are waiting for events');
    if (!counts.add(own, eventWaitsPerKey)) {
      counts.subtract(ALL);
      fail('too_many_connections', 'too many requests of this key are waiting for events');
    }
    const following = ctx.follow(call, scope);
    let isOpen = true;
    const end = () => {
      if (!isOpen) return;
      isOpen = false;
      request.signal.removeEventListener('abort', end);
      following.end();
      counts.subtract(own);
      counts.subtract(ALL);
    };
    // A client may disconnect before the first part of its reply is requested.
    if (request.signal.aborted) end();
    else request.signal.addEventListener('abort', end, { once: true });
    return { signal: AbortSignal.any([request.signal, following.signal]), end };
  }
}
