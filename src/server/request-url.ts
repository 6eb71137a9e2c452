/** Elysia looks for the path from the twelfth character on: behind a host of four characters or more. */
const USUAL = /^https?:\/\/[\w.:[\]-]{4,}\//;

/**
 * The URL a request is routed by. Bun gives the bare target where the Host header is missing or names no host, and a
 * host may be shorter than Elysia expects; such a URL is given another host. The gate and Elysia both go by this one:
 * if each looked for the path in its own way, one could be shown a public path and the other serve a protected one.
 */
export function routedUrl(url: string): string {
  if (USUAL.test(url)) return url;
  const from = url.startsWith('/') ? 0 : url.indexOf('/', url.indexOf('//') + 2);
  return new URL(`http://localhost${from < 0 ? '/' : url.slice(from)}`).href;
}

/** The path and its query, of a URL that `routedUrl` returned. */
export function splitTarget(url: string): { target: string; path: string } {
  const target = url.slice(url.indexOf('/', 8));
  const query = target.indexOf('?');
  return { target, path: query < 0 ? target : target.slice(0, query) };
}
