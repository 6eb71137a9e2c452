import type { DirectRoute } from '../http/direct-route.ts';

/** A direct route for one request. */
export interface FoundDirectly {
  readonly route: DirectRoute;
  readonly hash: string;
}

const HASH = /^[0-9a-fA-F]{64}$/;
const HASH_DIGITS = 64;
/** Length of `/api/`: a pattern with a hash has one name between this and the hash. */
const PREFIX = 5;

/** Finds the direct route of a request. */
export class DirectRoutes {
  /** By path, in which a hash is left out. */
  readonly #get = new Map<string, FoundDirectly>();
  readonly #post = new Map<string, FoundDirectly>();

  constructor(routes: readonly DirectRoute[]) {
    for (const route of routes)
      (route.method === 'GET' ? this.#get : this.#post).set(route.path.replace(/:\w+/, ''), { route, hash: '' });
  }

  /** Returns null where Elysia has to find the route. `target` is the path with the query. */
  find(method: string, target: string): FoundDirectly | null {
    const routes = method === 'GET' ? this.#get : method === 'POST' ? this.#post : null;
    if (routes === null) return null;
    const exact = routes.get(target);
    if (exact !== undefined) return exact.route.path === target ? exact : null;
    const at = target.indexOf('/', PREFIX) + 1;
    if (at === 0 || target.length < at + HASH_DIGITS) return null;
    const hash = target.slice(at, at + HASH_DIGITS);
    const found = routes.get(target.slice(0, at) + target.slice(at + HASH_DIGITS));
    return found !== undefined && HASH.test(hash) ? { route: found.route, hash } : null;
  }
}
