import type { ApiOptions } from './options.ts';

/** Limits that all parts read at each use, so that a running node can change them. */
const LIVE_LIMITS = [
  'publicRate',
  'connectionsPerAddress',
  'urlBytes',
  'parallelPerKey',
  'rpcMaxBatch',
  'rpcMaxRunning',
  'rpcMaxQueued',
  'wsPerKey',
  'wsTotal',
  'wsAnonymousPerIp',
  'wsMessagesPer10s',
  'wsMaxLagEvents',
  'wsMaxLagMs',
  'watchesPerKey',
  'watchesTotal',
] as const satisfies readonly (keyof ApiOptions['limits'])[];

/** The options that a running node can change. */
export interface LiveOptions {
  readonly limits: Pick<ApiOptions['limits'], (typeof LIVE_LIMITS)[number]>;
  readonly pages: ApiOptions['pages'];
  readonly requestTimeoutMs: number;
}

/** A certificate chain and its key, PEM. */
export interface TlsPair {
  readonly cert: string;
  readonly key: string;
}

/** The changes of a reload, as they are passed to every front. */
export interface ApiReload {
  readonly live: LiveOptions;
  /** The new certificate; null where it stays. */
  readonly tls: TlsPair | null;
}

/** Returns the options that a running node can change. */
export function liveOptionsOf({ limits, pages, http }: ApiOptions): LiveOptions {
  const chosen = Object.fromEntries(LIVE_LIMITS.map((name) => [name, limits[name]])) as LiveOptions['limits'];
  return { limits: chosen, pages, requestTimeoutMs: http.requestTimeoutMs };
}

/** Changes the options of a running server in place, since all its parts read them there. */
export function applyLiveOptions(options: ApiOptions, { limits, pages, requestTimeoutMs }: LiveOptions): void {
  // The buckets of a rate are full again when it is replaced, so an equal one stays.
  const { publicRate } = options.limits;
  const isSame = Bun.deepEquals(publicRate, limits.publicRate);
  Object.assign(options.limits, limits, isSame && { publicRate });
  Object.assign(options, { pages });
  Object.assign(options.http, { requestTimeoutMs });
}
