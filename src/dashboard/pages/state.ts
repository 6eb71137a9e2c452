import { createContext } from 'preact';
import { useContext, useEffect, useState } from 'preact/hooks';
import { ApiFailure, getJson, type Session } from './api.ts';
import type { LiveState } from './live.ts';
import type { ComingBlock } from './replies.ts';

/** The state that all pages share. */
export interface Shared {
  readonly session: Session;
  readonly live: LiveState;
  /** Grows with each change of the chain, so that pages which depend on it load anew. */
  readonly chainVersion: number;
  /** Grows with each change of the mempool that the node announces. */
  readonly mempoolVersion: number;
  /** The coming blocks as the node announced them last; null before. */
  readonly projected: readonly ComingBlock[] | null;
  /** Unix seconds, each second. */
  readonly now: number;
}

export const SharedContext = createContext<Shared | null>(null);

/** Returns what all pages share; only for parts inside of a session. */
export function useShared(): Shared {
  const shared = useContext(SharedContext);
  if (!shared) throw new Error('there is no session');
  return shared;
}

/** The state of a request. While it is repeated, the reply before remains. */
export interface LoadState<T> {
  readonly value: T | null;
  readonly failure: ApiFailure | null;
}

const RETRY_MS = 3000;

/**
 * Requests a path, again whenever `version` changes, and while the node cannot be reached or is starting. A path of null
 * requests nothing.
 */
export function useLoad<T>(path: string | null, version: number | string = 0): LoadState<T> {
  const [state, setState] = useState<LoadState<T> & { readonly path: string | null }>({
    path,
    value: null,
    failure: null,
  });
  const [attempt, setAttempt] = useState(0);
  // `version` and `attempt` are not used inside: their changes repeat the request.
  useEffect(() => {
    if (path === null) return;
    const abort = new AbortController();
    let retry: ReturnType<typeof setTimeout> | undefined;
    getJson<T>(path, abort.signal).then(
      (value) => setState({ path, value, failure: null }),
      (error: unknown) => {
        if (abort.signal.aborted) return;
        const failure = error instanceof ApiFailure ? error : new ApiFailure(0, 'unknown', String(error));
        setState((before) => ({ path, value: before.path === path ? before.value : null, failure }));
        if (failure.status === 0 || failure.status >= 500 || failure.status === 429)
          retry = setTimeout(() => setAttempt((count) => count + 1), RETRY_MS);
      },
    );
    return () => {
      abort.abort();
      clearTimeout(retry);
    };
  }, [path, version, attempt]);
  // The reply to another path is not shown under this one.
  return state.path === path ? state : { value: null, failure: null };
}
