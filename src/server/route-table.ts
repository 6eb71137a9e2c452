import type { Access, RouteAccess } from '../http/route-access.ts';

/** One route as the gate needs it. */
export interface Route {
  readonly method: string;
  /** `/api/block/{hash}`: the `route` of metrics. */
  readonly template: string;
  readonly access: Access;
  /** Bytes of a request body. */
  readonly bodyLimit: number;
  readonly whileStarting: boolean;
  readonly unlimitedTime: boolean;
  /** Names of the parameters that its query may have. */
  readonly query: readonly string[];
}

/** All methods of one path. */
export interface RouteEntry {
  readonly template: string;
  readonly methods: ReadonlyMap<string, Route>;
  /** Of its first method; for a request with one that is not there. */
  readonly access: Access;
  /** For the `Allow` header. */
  readonly allow: string;
}

/** The part of Elysia's list of routes that is read here. */
export interface DeclaredRoute {
  readonly method: string;
  readonly path: string;
  readonly hooks?: { readonly detail?: Partial<RouteAccess>; readonly query?: unknown } | undefined;
}

const DEFAULT_BODY_LIMIT = 1024 ** 2;

interface Node {
  readonly literal: Map<string, Node>;
  parameter: Node | null;
  /** `*`: takes the rest of the path. */
  rest: RouteEntry | null;
  entry: RouteEntry | null;
}

/**
 * Finds the route of a path before Elysia does: limits, credentials and scope come before the body is parsed, and a
 * wrong method must be told from an unknown path.
 */
export class RouteTable {
  readonly #plain = new Map<string, RouteEntry>();
  readonly #root = emptyNode();

  constructor(routes: readonly DeclaredRoute[]) {
    for (const [path, declared] of Map.groupBy(routes, ({ path }) => withoutSlash(path))) {
      const entry = routeEntry(path, declared);
      if (/[:*]/.test(path)) this.#insert(path, entry);
      else this.#plain.set(path, entry);
    }
  }

  /** `path` without its query; a slash at the end does not matter. */
  find(path: string): RouteEntry | null {
    const bare = withoutSlash(path);
    return this.#plain.get(bare) ?? walk(this.#root, bare.split('/'), 1);
  }

  #insert(path: string, entry: RouteEntry): void {
    let node = this.#root;
    for (const segment of path.split('/').slice(1)) {
      if (segment === '*') {
        node.rest = entry;
        return;
      }
      if (segment.startsWith(':')) node = node.parameter ??= emptyNode();
      else {
        const next = node.literal.get(segment) ?? emptyNode();
        node.literal.set(segment, next);
        node = next;
      }
    }
    node.entry = entry;
  }
}

function walk(node: Node, segments: readonly string[], at: number): RouteEntry | null {
  const segment = segments[at];
  if (segment === undefined) return node.entry;
  const literal = node.literal.get(segment);
  const found =
    (literal && walk(literal, segments, at + 1)) ||
    (segment !== '' && node.parameter && walk(node.parameter, segments, at + 1));
  return found || (segment !== '' ? node.rest : null);
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

function emptyNode(): Node {
  return { literal: new Map(), parameter: null, rest: null, entry: null };
}

function withoutSlash(path: string): string {
  return path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path;
}
