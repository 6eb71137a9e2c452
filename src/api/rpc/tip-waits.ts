import { hashToHex } from '../../primitives/hash.ts';
import type { ApiContext } from '../context.ts';
import type { NodeNews } from '../node-port.ts';
import type { FrontEnv } from './method.ts';
import { rpcFail } from './rpc-error.ts';

/** Calls that may wait at a time, of all callers and of one. */
const MAX_WAITING = 256;
const MAX_WAITING_OF_ONE = 32;

export type Tip = NonNullable<NodeNews['commit']>['tip'];

/** Who waits, by the caller's name. */
const waiting = new WeakMap<ApiContext, Map<string, number>>();

/** What is committed, which those who are told of it hear of later. */
export function newestTip(ctx: ApiContext): Tip {
  const { height, hash } = ctx.reads().tip();
  return { height, hash: hashToHex(hash) };
}

/** The tip as soon as it is `enough`, or as it is when the time (below 2^31) is over or the server stops; 0 for no end. */
export async function waitForTip(env: FrontEnv, enough: (tip: Tip) => boolean, timeoutMs: number): Promise<Tip> {
  const { ctx, call, turn } = env;
  const now = newestTip(ctx);
  if (enough(now)) return now;
  const leave = enter(ctx, call?.principal.id ?? '');
  try {
    return await turn.pause(() => tipChange(env, enough, timeoutMs));
  } finally {
    leave();
  }
}

function tipChange({ ctx, signal }: FrontEnv, enough: (tip: Tip) => boolean, timeoutMs: number): Promise<Tip> {
  const { promise, resolve } = Promise.withResolvers<Tip>();
  const asItIs = () => resolve(newestTip(ctx));
  const leave = ctx.node().onNews(({ commit }) => {
    if (commit && enough(commit.tip)) resolve(commit.tip);
  });
  const timer = timeoutMs > 0 ? setTimeout(asItIs, timeoutMs) : null;
  // The tip may have moved before this began to listen.
  if (enough(newestTip(ctx))) asItIs();
  const ended = AbortSignal.any([signal, ctx.stopping]);
  if (ended.aborted) asItIs();
  ended.addEventListener('abort', asItIs, { once: true });
  return promise.finally(() => {
    leave();
    if (timer) clearTimeout(timer);
    ended.removeEventListener('abort', asItIs);
  });
}

/** Counts a call among those that wait. Returns how to leave; throws where there are too many. */
function enter(ctx: ApiContext, id: string): () => void {
  const counts = waiting.get(ctx) ?? new Map<string, number>();
  waiting.set(ctx, counts);
  const own = counts.get(id) ?? 0;
  const all = counts.values().reduce((sum, count) => sum + count, 0);
  if (own >= MAX_WAITING_OF_ONE || all >= MAX_WAITING)
    rpcFail('resourceFull', 'Too many calls wait already', 'limit_exceeded');
  counts.set(id, own + 1);
  return () => {
    const left = counts.get(id)! - 1;
    if (left === 0) counts.delete(id);
    else counts.set(id, left);
  };
}
