import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A status of a proxy or of the node; no reply at all; a request that is carried out and whose reply is lost. */
export type Fault = '429' | '500' | '502' | '503' | 'drop' | 'hang' | 'lost';

const CODES: Readonly<Record<string, string>> = { '429': 'rate_limited', '500': 'internal_error', '503': 'overloaded' };
const RETRY_AFTER_SECONDS = 1;

/**
 * Stands in front of a node and spoils requests. The URL of a client begins with `/NAME/FAULTS`, the faults of its first
 * requests, separated by commas; all later requests are forwarded. `GET /NAME` returns the number of its requests.
 */
export class FaultProxy implements AsyncDisposable {
  readonly url: string;
  /** Called with the path of each request before it is forwarded. */
  beforeForward: (path: string) => Promise<void> = () => Promise.resolve();
  readonly #server: Server;
  readonly #target: () => string;
  readonly #requests = new Map<string, number>();

  private constructor(server: Server, target: () => string) {
    this.#server = server;
    this.#target = target;
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    server.on('request', (request, reply) => void this.#serve(request, reply).catch(() => reply.destroy()));
  }

  /** `target` returns the URL of the node. */
  static async start(target: () => string): Promise<FaultProxy> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return new FaultProxy(server, target);
  }

  /** Returns the URL for a client whose first requests have these faults. */
  urlWith(name: string, ...faults: readonly Fault[]): string {
    return `${this.url}/${name}/${faults.join(',') || 'none'}`;
  }

  requests(name: string): number {
    return this.#requests.get(name) ?? 0;
  }

  async #serve(request: IncomingMessage, reply: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const [, name = '', faults, ...rest] = request.url!.split('/');
    const number = this.requests(name);
    if (faults === undefined) return void reply.end(String(number));
    this.#requests.set(name, number + 1);
    const fault = faults.split(',')[number] as Fault | 'none' | undefined;
    if (fault === 'hang') return;
    if (fault === 'drop') return void request.socket.destroy();
    if (fault !== undefined && fault !== 'none' && fault !== 'lost') return spoil(reply, fault);
    const path = `/${rest.join('/')}`;
    await this.beforeForward(path);
    const { authorization = '', 'content-type': type = '' } = request.headers;
    const answer = await fetch(this.#target() + path, {
      method: request.method!,
      headers: { authorization, ...(type && { 'content-type': type }) },
      ...(chunks.length > 0 && { body: Buffer.concat(chunks) }),
    });
    const body = Buffer.from(await answer.arrayBuffer());
    if (fault === 'lost') return void request.socket.destroy();
    const headers = ['content-type', 'retry-after'].flatMap((key) =>
      answer.headers.has(key) ? [[key, answer.headers.get(key)!]] : [],
    );
    reply.writeHead(answer.status, Object.fromEntries(headers)).end(body);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

function spoil(reply: ServerResponse, status: string): void {
  const code = CODES[status];
  const body = code ? JSON.stringify({ error: { code, message: code, details: null, requestId: 'r' } }) : '<html>';
  if (status === '429') reply.setHeader('retry-after', RETRY_AFTER_SECONDS);
  reply.writeHead(Number(status)).end(body);
}
