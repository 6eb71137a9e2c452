import { ApiError, fail } from '../http/errors.ts';
import type { Scope } from '../http/scopes.ts';
import type { ApiContext } from '../queries/api-context.ts';

/** A request that waits for events. */
export interface EventWait {
  /** Aborts when the client disconnects, and with an ApiError when its key may no longer read the events. */
  readonly signal: AbortSignal;
  /** Called when the request has ended. */
  end(): void;
}

/** Counts the requests that wait for events, since each holds a connection and memory. */
export class EventWaits {
  readonly #byKey = new Map<string, number>();
  #total = 0;

  /** Counts a request until its `end`. Throws ApiError if too many requests wait. */
  begin(ctx: ApiContext, request: Request, scope: Scope): EventWait {
    const { eventWaitsPerKey, eventWaitsTotal } = ctx.options.limits;
    const call = ctx.call(request);
    const { id } = call.principal;
    const own = this.#byKey.get(id) ?? 0;
    if (this.#total >= eventWaitsTotal) throw new ApiError('overloaded', 'too many requests are waiting for events');
    if (own >= eventWaitsPerKey) fail('too_many_connections', 'too many requests of this key are waiting for events');
    this.#byKey.set(id, own + 1);
    this.#total++;
    const following = ctx.follow(call, scope);
    let isOpen = true;
    return {
      signal: AbortSignal.any([request.signal, following.signal]),
      end: () => {
        if (!isOpen) return;
        isOpen = false;
        following.end();
        this.#end(id);
      },
    };
  }

  #end(id: string): void {
    const left = this.#byKey.get(id)! - 1;
    if (left > 0) this.#byKey.set(id, left);
    else this.#byKey.delete(id);
    this.#total--;
  }
}
