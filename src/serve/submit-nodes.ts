import { ApiError } from '../http/errors.ts';
import type { Clock } from '../util/clock.ts';
import type { Log } from '../util/log.ts';

/** A node that accepts transactions of clients. */
export interface SubmitNode {
  /** Without a trailing slash. */
  readonly url: string;
  /** A key with the scope broadcast; null without one. */
  readonly key: string | null;
}

interface KnownNode extends SubmitNode {
  /** Monotonic time until which other nodes are tried first, milliseconds. */
  restsUntil: number;
}

interface Submission {
  readonly request: Request;
  readonly body: Uint8Array<ArrayBuffer>;
  /** Aborts at the time limit of a node. */
  readonly limit: AbortSignal;
}

export interface SubmitNodesOptions {
  readonly nodes: readonly SubmitNode[];
  readonly log: Log;
  readonly clock: Clock;
}

/** Time limits of one node, and of all that are tried for one request, milliseconds. */
const NODE_MS = 8000;
const TOTAL_MS = 15_000;
/** Time for which a node that failed is tried after the others, milliseconds. */
const REST_MS = 5000;
/** Limit of a reply, bytes. */
const MAX_REPLY = 4 << 20;
/** Statuses that say nothing about the transaction: another node may accept the request. */
const NO_VERDICT: ReadonlySet<number> = new Set([401, 403, 404, 405, 421, 429]);

/**
 * The nodes to which a server passes submitted transactions. A node that cannot be reached, is not ready or refuses the
 * server is skipped; the reply of the first other one is final. A transaction may reach two nodes when the first one does
 * not answer in time, which is safe: it is the same transaction.
 */
export class SubmitNodes {
  readonly #nodes: readonly KnownNode[];
  readonly #log: Log;
  readonly #clock: Clock;

  constructor({ nodes, log, clock }: SubmitNodesOptions) {
    this.#nodes = nodes.map((node) => ({ ...node, restsUntil: Number.NEGATIVE_INFINITY }));
    this.#log = log;
    this.#clock = clock;
  }

  get size(): number {
    return this.#nodes.length;
  }

  /** Returns the reply of a node to a POST of a client. Throws ApiError `overloaded` if no node gives one. */
  async forward(path: string, request: Request): Promise<Response> {
    const body = new Uint8Array(await request.arrayBuffer());
    const deadline = this.#clock.monotonicMs() + TOTAL_MS;
    for (const node of this.#inOrder()) {
      const leftMs = deadline - this.#clock.monotonicMs();
      if (leftMs <= 0) break;
      const limit = AbortSignal.timeout(Math.min(NODE_MS, leftMs));
      const reply = await this.#submit(node, path, { request, body, limit });
      if (reply !== null) return reply;
      if (request.signal.aborted) break;
    }
    throw new ApiError(
      'overloaded',
      'none of the nodes of this server has answered: send the same request again later',
    );
  }

  /** Returns the nodes that have failed a moment ago behind the others, in the order of the settings otherwise. */
  #inOrder(): readonly KnownNode[] {
    const now = this.#clock.monotonicMs();
    const rests = ({ restsUntil }: KnownNode) => (restsUntil > now ? restsUntil : 0);
    return this.#nodes.toSorted((a, b) => rests(a) - rests(b));
  }

  /** Returns the verdict of a node; null without one. */
  async #submit(node: KnownNode, path: string, { request, body, limit }: Submission): Promise<Response | null> {
    const type = request.headers.get('content-type');
    try {
      const reply = await fetch(`${node.url}${path}`, {
        method: 'POST',
        headers: {
          ...(type !== null && { 'content-type': type }),
          ...(node.key !== null && { authorization: `Bearer ${node.key}` }),
        },
        body,
        redirect: 'manual',
        signal: AbortSignal.any([request.signal, limit]),
      });
      const isVerdict =
        reply.status === 200 || (reply.status >= 400 && reply.status < 500 && !NO_VERDICT.has(reply.status));
      const content = isVerdict ? await readBounded(reply) : null;
      if (content === null) {
        await reply.body?.cancel();
        return this.#skip(node, isVerdict ? `a reply of more than ${MAX_REPLY} bytes` : `status ${reply.status}`);
      }
      node.restsUntil = Number.NEGATIVE_INFINITY;
      const contentType = reply.headers.get('content-type') ?? 'application/json';
      return new Response(content, { status: reply.status, headers: { 'content-type': contentType } });
    } catch (error) {
      // The client has gone, which says nothing about the node.
      if (request.signal.aborted) return null;
      return this.#skip(node, error instanceof Error ? error.message : String(error));
    }
  }

  #skip(node: KnownNode, problem: string): null {
    const now = this.#clock.monotonicMs();
    if (node.restsUntil <= now) this.#log.warn('a node does not accept transactions', { node: node.url, problem });
    node.restsUntil = now + REST_MS;
    return null;
  }
}

/** Returns the body of a reply; null where it is longer than the limit, and the rest of it is not read. */
async function readBounded({ body }: Response): Promise<Uint8Array<ArrayBuffer> | null> {
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const part of body ?? []) {
    length += part.length;
    if (length > MAX_REPLY) return null;
    parts.push(part);
  }
  return Buffer.concat(parts);
}
