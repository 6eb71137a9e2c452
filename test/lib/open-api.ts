import { type JsonSchema, schemaProblems } from './json-schema.ts';

interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly parameters?: readonly { readonly in: string; readonly description?: string; readonly schema: JsonSchema }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: JsonSchema }>> };
  readonly responses: Readonly<Record<string, OperationResponse>>;
  readonly security?: readonly object[];
}

interface OperationResponse {
  readonly description: string;
  readonly content?: Readonly<Record<string, { readonly schema: JsonSchema }>>;
}

interface Document {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, JsonSchema>> };
}

/** The OpenAPI document of a node, against which its replies are checked. */
export class OpenApi {
  readonly document: Document;
  readonly #routes: readonly { readonly template: string; readonly pattern: RegExp }[];

  constructor(document: object) {
    this.document = document as Document;
    // A path without parameters is the better match.
    this.#routes = Object.keys(this.document.paths)
      .toSorted((a, b) => a.split('{').length - b.split('{').length)
      .map((template) => ({
        template,
        pattern: new RegExp(`^${template.replaceAll(/[.?]/g, '\\$&').replaceAll(/\{\w+\}/g, '[^/]+')}$`),
      }));
  }

  static async of(url: string): Promise<OpenApi> {
    return new OpenApi((await (await fetch(`${url}/docs/openapi.json`)).json()) as object);
  }

  /** Every route, as `GET /path`. */
  get routes(): string[] {
    return Object.entries(this.document.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    );
  }

  operation(route: string): Operation {
    const [method, path] = route.split(' ') as [string, string];
    return this.document.paths[path]![method.toLowerCase()]!;
  }

  /** The route of a request, as `GET /path`. */
  routeOf(method: string, path: string): string {
    const bare = path.split('?', 1)[0]!;
    const found = this.#routes.find(({ pattern }) => pattern.test(bare));
    if (!found) throw new Error(`no route for ${bare}`);
    return `${method} ${found.template}`;
  }

  /** Returns the contradictions between a reply and the document; none where it fits. Reads the body. */
  async problems(method: string, path: string, reply: Response): Promise<string[]> {
    const route = this.routeOf(method, path);
    const response = this.operation(route).responses[reply.status];
    if (!response) return [`${route}: the status ${reply.status} is not documented`];
    const type = reply.headers.get('content-type')?.split(';', 1)[0] ?? null;
    if (type === null) return response.content ? [`${route}: the reply has no body`] : [];
    const content = response.content?.[type];
    if (!content) return [`${route}: ${type} is not documented for ${reply.status}`];
    if (type === 'application/octet-stream') return [];
    const text = await reply.text();
    const value: unknown = type === 'application/json' ? JSON.parse(text) : text;
    return schemaProblems(this.#resolved(content.schema) as JsonSchema, value, `${route} ${reply.status}`);
  }

  #resolved(schema: unknown): unknown {
    if (Array.isArray(schema)) return schema.map((each) => this.#resolved(each));
    if (typeof schema !== 'object' || schema === null) return schema;
    const { $ref } = schema as { $ref?: string };
    if ($ref !== undefined) return this.#resolved(this.document.components.schemas[$ref.split('/').at(-1)!]);
    return Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, this.#resolved(value)]));
  }
}
