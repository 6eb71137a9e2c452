import type { NodeUpdate } from '../../../port/node-port.ts';
import { hashToHex } from '../../../primitives/hash.ts';
import type { Counts } from '../../../util/counts.ts';
import type { MainThreadEnv } from '../../engine/method.ts';
import type { RpcContext } from '../../engine/rpc-context.ts';
import { rpcFail } from '../../engine/rpc-error.ts';

/** Waiting calls of all callers together. */
const MAX_WAITING = 256;
/** Waiting calls of one caller. */
const MAX_WAITING_OF_ONE = 32;
const ALL_WAITS = 'tip waits';

export type Tip = NonNullable<NodeUpdate['commit']>['tip'];

/** Returns the committed tip. Observers are notified of it later. */
export function newestTip(ctx: RpcContext): Tip {
  const { height, hash } = ctx.reads().tip();
  return { height, hash: hashToHex(hash) };
}

/**
 * Resolves with the tip as soon as it is `enough`, or with the current tip when the time is over or the server stops.
 * `timeoutMs` is below 2^31; 0 means no limit.
 */
export async function waitForTip(env: MainThreadEnv, enough: (tip: Tip) => boolean, timeoutMs: number): Promise<Tip> {
  const { ctx, call, queueSlot, state } = env;
  const now = newestTip(ctx);
  if (enough(now)) return now;
  const leave = enter(state.counts, call?.principal.id ?? '');
  try {
    return await queueSlot.releaseDuring(() => tipChange(env, enough, timeoutMs));
  } finally {
    leave();
  }
}

function tipChange({ ctx, signal }: MainThreadEnv, enough: (tip: Tip) => boolean, timeoutMs: number): Promise<Tip> {
  const { promise, resolve } = Promise.withResolvers<Tip>();
  const resolveNow = () => resolve(newestTip(ctx));
  const leave = ctx.node().onUpdate(({ commit }) => {
    if (commit && enough(commit.tip)) resolve(commit.tip);
  });
  const timer = timeoutMs > 0 ? setTimeout(resolveNow, timeoutMs) : null;
  // The tip may have moved before the observer was added.
  if (enough(newestTip(ctx))) resolveNow();
  const ended = AbortSignal.any([signal, ctx.stopping]);
  if (ended.aborted) resolveNow();
  ended.addEventListener('abort', resolveNow, { once: true });
  return promise.finally(() => {
    leave();
    if (timer) clearTimeout(timer);
    ended.removeEventListener('abort', resolveNow);
  });
}

/** Counts a waiting call. Returns the function that ends the count; throws RpcError if too many calls wait. */
function enter(counts: Counts, id: string): () => void {
  const own = `${ALL_WAITS} ${id}`;
  const fits = counts.add(ALL_WAITS, MAX_WAITING);
  if (!fits || !counts.add(own, MAX_WAITING_OF_ONE)) {
    if (fits) counts.subtract(ALL_WAITS);
    rpcFail('resourceFull', 'Too many calls wait already', 'limit_exceeded');
  }
  return () => {
    counts.subtract(own);
    counts.subtract(ALL_WAITS);
  };
}
