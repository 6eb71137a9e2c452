import type { RouteExample } from '../../src/server/docs/route-examples.ts';
import { type JsonSchema, schemaProblems } from './json-schema.ts';

interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly parameters?: readonly OperationParameter[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: JsonSchema }>> };
  readonly responses: Readonly<Record<string, OperationResponse>>;
  readonly security?: readonly object[];
}

interface OperationParameter {
  readonly name: string;
  readonly in: 'path' | 'query';
  readonly required?: boolean;
  readonly description?: string;
  readonly schema: JsonSchema;
}

interface OperationResponse {
  readonly description: string;
  readonly headers?: Readonly<Record<string, { readonly $ref: string }>>;
  /** The codes that an error of this status may have. */
  readonly 'x-error-codes'?: readonly string[];
  readonly content?: Readonly<Record<string, { readonly schema: JsonSchema }>>;
}

interface Document {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, JsonSchema>>;
    readonly responses: Readonly<Record<string, OperationResponse>>;
    readonly headers: Readonly<Record<string, { readonly required: boolean }>>;
  };
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
    const operation = this.document.paths[path]![method.toLowerCase()]!;
    const responses = Object.entries(operation.responses).map(([status, response]) => [
      status,
      '$ref' in response ? this.document.components.responses[(response.$ref as string).split('/').at(-1)!] : response,
    ]);
    return { ...operation, responses: Object.fromEntries(responses) as Operation['responses'] };
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
    const missing = Object.entries(response.headers ?? {}).filter(
      ([name, { $ref }]) =>
        this.document.components.headers[$ref.split('/').at(-1)!]!.required && !reply.headers.has(name),
    );
    if (missing.length > 0) return [`${route} ${reply.status}: no header ${missing.map(([name]) => name).join(', ')}`];
    const type = reply.headers.get('content-type')?.split(';', 1)[0] ?? null;
    if (type === null) return response.content ? [`${route}: the reply has no body`] : [];
    const content = response.content?.[type];
    if (!content) return [`${route}: ${type} is not documented for ${reply.status}`];
    if (type === 'application/octet-stream') return [];
    const text = await reply.text();
    const value: unknown = type === 'application/json' ? JSON.parse(text) : text;
    const { 'x-error-codes': codes } = response;
    const code = (value as { error?: { code?: unknown } } | null)?.error?.code;
    if (codes && typeof code === 'string' && !codes.includes(code))
      return [`${route}: the code ${code} is not documented`];
    return this.#fit(content.schema, value, `${route} ${reply.status}`);
  }

  /** Returns the contradictions between a request and the document. */
  requestProblems(route: string, request: RouteExample): string[] {
    const { parameters = [], requestBody } = this.operation(route);
    const known = (part: 'path' | 'query') => parameters.filter((each) => each.in === part).map(({ name }) => name);
    const unknown = (['path', 'query'] as const).flatMap((part) =>
      Object.keys(request[part] ?? {}).filter((name) => !known(part).includes(name)),
    );
    const wrong = parameters.flatMap(({ name, in: part, required, schema }) => {
      const value = request[part]?.[name];
      if (value === undefined) return required ? [`${route}: the parameter ${name} is missing`] : [];
      return this.#fit(schema, value, `${route} ${name}`);
    });
    const { body } = request;
    if (body !== undefined && !requestBody) return [`${route}: the request has no body`];
    const ofBody =
      body === undefined ? [] : this.#fit(requestBody!.content['application/json']!.schema, body, `${route} body`);
    return [...unknown.map((name) => `${route}: no parameter is named ${name}`), ...wrong, ...ofBody];
  }

  /** Returns the contradictions between a recorded example and the document. */
  exampleProblems(route: string, example: RouteExample): string[] {
    const { status = 200, response } = example;
    const { content = {} } = this.operation(route).responses[status]!;
    const [[type, { schema }] = [null, { schema: {} }]] = Object.entries(content);
    const isRecorded = response !== undefined || type === null || type === 'application/octet-stream';
    return [
      ...this.requestProblems(route, example),
      ...(isRecorded ? [] : [`${route}: the reply is not recorded`]),
      ...(response === undefined ? [] : this.#fit(schema, response, `${route} example`)),
    ];
  }

  #fit(schema: JsonSchema, value: unknown, path: string): string[] {
    return schemaProblems(this.#resolved(schema) as JsonSchema, value, path);
  }

  #resolved(schema: unknown): unknown {
    if (Array.isArray(schema)) return schema.map((each) => this.#resolved(each));
    if (typeof schema !== 'object' || schema === null) return schema;
    const { $ref } = schema as { $ref?: string };
    if ($ref !== undefined) return this.#resolved(this.document.components.schemas[$ref.split('/').at(-1)!]);
    return Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, this.#resolved(value)]));
  }
}
