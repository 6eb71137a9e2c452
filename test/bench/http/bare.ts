import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { Elysia } from 'elysia';

/** The node's reply to one row of the benchmark. */
export interface RecordedReply {
  readonly row: string;
  readonly method: string;
  /** Pattern in Elysia's syntax. */
  readonly pattern: string;
  readonly path: string;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Base64. */
  readonly body: string;
}

type Reply = Pick<RecordedReply, 'status' | 'headers'> & { readonly body: Uint8Array<ArrayBuffer> | null };

const NULL_BODY: readonly number[] = [204, 304];

/** Returns the replies by row. A server that only parses bodies and sends these has the minimum cost on this machine. */
function replyTable(recorded: readonly RecordedReply[]): ReadonlyMap<string, Reply> {
  return new Map(
    recorded.map(({ row, status, headers, body }) => [
      row,
      { status, headers, body: NULL_BODY.includes(status) ? null : Uint8Array.fromBase64(body) },
    ]),
  );
}

const toResponse = ({ status, headers, body }: Reply) => new Response(body, { status, headers });

/** `port` is null for a listener that is alone, and 0 for the first of several. */
function serveBun(recorded: readonly RecordedReply[], port: number | null): number {
  const replies = replyTable(recorded);
  const paths = new Map(recorded.map(({ path, row }) => [path.split('?', 1)[0]!, row]));
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: port ?? 0,
    reusePort: port !== null,
    async fetch(request, server) {
      const { url } = request;
      const path = url.slice(url.indexOf('/', 8)).split('?', 1)[0]!;
      if (path === '/ws') return server.upgrade(request) ? undefined : new Response(null, { status: 426 });
      if (!paths.has(path)) return new Response('not found', { status: 404 });
      if (request.method === 'POST') {
        const text = await request.text();
        if (text !== '') JSON.parse(text);
      }
      return toResponse(replies.get(request.headers.get('x-row')!)!);
    },
    websocket: { message() {} },
  });
  return server.port!;
}

function serveElysia(recorded: readonly RecordedReply[]): number {
  const replies = replyTable(recorded);
  const app = new Elysia({ precompile: true }).ws('/ws', { message() {} });
  const done = new Set<string>();
  for (const { method, pattern } of recorded) {
    if (done.has(`${method} ${pattern}`)) continue;
    done.add(`${method} ${pattern}`);
    const answer = ({ request }: { request: Request }) => toResponse(replies.get(request.headers.get('x-row')!)!);
    if (method === 'GET') app.get(pattern, answer);
    else app.post(pattern, ({ request, body: _body }) => answer({ request }));
  }
  app.compile();
  return app.listen({ hostname: '127.0.0.1', port: 0 }).server!.port!;
}

/** Serves the replies with several threads on one port, and resolves with the port when all of them listen. */
async function serveThreads(file: string, recorded: readonly RecordedReply[], threads: number): Promise<number> {
  const port = serveBun(recorded, threads > 1 ? 0 : null);
  for (let thread = 1; thread < threads; thread++) {
    const { promise, resolve } = Promise.withResolvers<void>();
    const worker = new Worker(new URL(import.meta.url), { workerData: { file, port } });
    worker.once('message', () => resolve());
    await promise;
  }
  return port;
}

const read = async (file: string) => (await Bun.file(file).json()) as RecordedReply[];

if (!isMainThread) {
  const { file, port } = workerData as { file: string; port: number };
  serveBun(await read(file), port);
  parentPort!.postMessage('listening');
} else if (import.meta.main) {
  const [kind, file = '', threads = '1'] = process.argv.slice(2);
  const recorded = await read(file);
  console.log(`port ${kind === 'bun' ? await serveThreads(file, recorded, Number(threads)) : serveElysia(recorded)}`);
}
