import { useEffect, useState } from 'preact/hooks';

/** A page of the dashboard, by the path behind /dashboard. */
export type PageRoute =
  | { readonly page: 'overview' | 'mempool' | 'charts' | 'peers' | 'keys' }
  | { readonly page: 'block' | 'tx' | 'address'; readonly id: string }
  | { readonly page: 'unknown' };

const ROOT = '/dashboard';
const MOVED = 'dashboard:moved';

/** Returns the page of a path such as /dashboard/block/100. */
export function routeOf(path: string): PageRoute {
  const [page = '', id, ...rest] = path
    .slice(ROOT.length)
    .split('/')
    .filter((part) => part !== '');
  if (rest.length > 0) return { page: 'unknown' };
  if (page === 'block' || page === 'tx' || page === 'address')
    return id === undefined ? { page: 'unknown' } : { page, id: decode(id) };
  if (id !== undefined) return { page: 'unknown' };
  if (page === '') return { page: 'overview' };
  if (page === 'mempool' || page === 'charts' || page === 'peers' || page === 'keys') return { page };
  return { page: 'unknown' };
}

/** Returns the path of a page. */
export function pathTo(page: string, id?: string | number): string {
  const name = page === 'overview' ? '' : `/${page}`;
  return id === undefined ? `${ROOT}${name}` : `${ROOT}${name}/${encodeURIComponent(id)}`;
}

/** Shows another page without a request for a document. */
export function navigateTo(path: string): void {
  if (path !== location.pathname) history.pushState(null, '', path);
  dispatchEvent(new Event(MOVED));
  scrollTo(0, 0);
}

/** Returns the path that is shown, and follows links, the search box and the history of the browser. */
export function usePath(): string {
  const [path, setPath] = useState(location.pathname);
  useEffect(() => {
    const follow = () => setPath(location.pathname);
    const onClick = (event: MouseEvent) => {
      const link = (event.target as Element).closest('a');
      const isPlain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
      if (!link || !isPlain || link.origin !== location.origin || link.target) return;
      if (link.pathname !== ROOT && !link.pathname.startsWith(`${ROOT}/`)) return;
      // A link to a part of the page that is shown is the browser's.
      if (link.hash) return;
      event.preventDefault();
      navigateTo(link.pathname);
    };
    addEventListener('popstate', follow);
    addEventListener(MOVED, follow);
    document.addEventListener('click', onClick);
    return () => {
      removeEventListener('popstate', follow);
      removeEventListener(MOVED, follow);
      document.removeEventListener('click', onClick);
    };
  }, []);
  return path;
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
