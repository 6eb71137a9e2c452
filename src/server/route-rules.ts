import type { Access, RouteAccess } from '../http/route-access.ts';

/** The properties of a route that the gate checks. */
export interface Route {
  readonly method: string;
  /** `/api/block/{hash}`: the `route` of metrics. */
  readonly template: string;
  readonly access: Access;
  /** Limit of the request body, bytes. */
  readonly bodyLimit: number;
  readonly whileStarting: boolean;
  readonly unlimitedTime: boolean;
  /** Names of its query parameters. */
  readonly query: readonly string[];
}

/** All methods of one path. */
export interface RouteEntry {
  readonly template: string;
  readonly methods: ReadonlyMap<string, Route>;
  /** Access of the first method, used for a request with an unknown method. */
  readonly access: Access;
  /** For the `Allow` header. */
  readonly allow: string;
}

/** The members of Elysia's list of routes that are read here. */
interface DeclaredRoute {
  readonly method: string;
  readonly path: string;
  readonly hooks?: { readonly detail?: Partial<RouteAccess>; readonly query?: unknown } | undefined;
}

/** The members of an Elysia app that its routes are read from. */
export interface RoutedApp {
  readonly routes: readonly DeclaredRoute[];
  readonly router: {
    /** Finds the routes with parameters; `store` is the same object for each request of a route. */
    readonly http: { find(method: string, path: string): { readonly store: object } | null };
  };
}

const DEFAULT_BODY_LIMIT = 1024 ** 2;

/** The rules of an app's routes. */
export class RouteRules {
  readonly #router: RoutedApp['router'];
  /** By the pattern of the route. */
  readonly #entries: ReadonlyMap<string, RouteEntry>;
  /** By the object that Elysia's router finds. */
  readonly #found: ReadonlyMap<object, RouteEntry>;

  constructor({ routes, router }: RoutedApp) {
    this.#router = router;
    const declared = routes.filter(({ method }) => method !== 'ALL');
    const groups = Map.groupBy(declared, ({ path }) => withoutSlash(path));
    this.#entries = new Map([...groups].map(([path, some]) => [path, routeEntry(path, some)]));
    const found = new Map<object, RouteEntry>();
    // A pattern also fits itself. Paths without parameters are not in the router.
    for (const { method, path } of routes.filter((route) => /[:*]/.test(route.path))) {
      const store = router.http.find(method, path)?.store;
      const entry = this.#entries.get(withoutSlash(path));
      if (store && entry) found.set(store, entry);
    }
    this.#found = found;
  }

  /** Returns the entry of a pattern, as Elysia has found it; null if no route matches the request. */
  entry(pattern: string): RouteEntry | null {
    return this.#entries.get(pattern) ?? this.#entries.get(withoutSlash(pattern)) ?? null;
  }

  /** Returns the entry that Elysia will find for a request. */
  find(method: string, path: string): RouteEntry | null {
    const entry = this.entry(path);
    if (entry) return entry;
    const { http } = this.#router;
    const found = http.find(method === 'HEAD' ? 'GET' : method, path) ?? http.find('ALL', path);
    return found && (this.#found.get(found.store) ?? null);
  }
}

function routeEntry(path: string, declared: readonly DeclaredRoute[]): RouteEntry {
  const template = path.replace(/:(\w+)/g, '{$1}').replace(/\*$/, '{name}');
  const methods = new Map<string, Route>();
  for (const { method, hooks } of declared) {
    const detail = hooks?.detail ?? {};
    const route: Route = {
      method,
      template,
      access: detail['x-access'] ?? (path.startsWith('/api/') ? 'read' : 'admin'),
      bodyLimit: detail['x-body-limit'] ?? DEFAULT_BODY_LIMIT,
      whileStarting: detail['x-while-starting'] ?? false,
      unlimitedTime: detail['x-unlimited-time'] ?? false,
      query: Object.keys((hooks?.query as { properties?: object } | undefined)?.properties ?? {}),
    };
    methods.set(method, route);
    if (method === 'GET') methods.set('HEAD', route);
  }
  return { template, methods, access: methods.values().next().value!.access, allow: [...methods.keys()].join(', ') };
}

function withoutSlash(path: string): string {
  return path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path;
}
