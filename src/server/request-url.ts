/** Elysia searches for the path from the twelfth character on, so it expects a host of four characters or more. */
const USUAL = /^https?:\/\/[\w.:[\]-]{4,}\//;

/** The last match, up to the slash before the path: most clients name the same host. */
let lastUsual = 'http://localhost/';

/**
 * Returns the URL that routes a request. Bun gives the bare target if the Host header is missing or names no host, and
 * a host may be shorter than Elysia expects; such a URL gets another host. The gate and Elysia both use this URL: if
 * each found the path in its own way, a request could pass the gate as a public path and reach a protected one.
 */
export function routedUrl(url: string): string {
  if (url.startsWith(lastUsual)) return url;
  const [usual] = USUAL.exec(url) ?? [];
  if (usual !== undefined) {
    lastUsual = usual;
    return url;
  }
  const from = url.startsWith('/') ? 0 : url.indexOf('/', url.indexOf('//') + 2);
  return new URL(`http://localhost${from < 0 ? '/' : url.slice(from)}`).href;
}

/** Returns path and query of a URL of `routedUrl`. */
export function targetOf(url: string): string {
  return url.slice(url.indexOf('/', 8));
}

/** Returns the path of a target. */
export function pathOf(target: string): string {
  const query = target.indexOf('?');
  return query < 0 ? target : target.slice(0, query);
}
