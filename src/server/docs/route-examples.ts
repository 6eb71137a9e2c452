import addresses from './examples/addresses.json' with { type: 'text' };
import blocks from './examples/blocks.json' with { type: 'text' };
import chain from './examples/chain.json' with { type: 'text' };
import events from './examples/events.json' with { type: 'text' };
import jsonRpc from './examples/json-rpc.json' with { type: 'text' };
import mempool from './examples/mempool.json' with { type: 'text' };
import messages from './examples/messages.json' with { type: 'text' };
import operations from './examples/operations.json' with { type: 'text' };
import transactions from './examples/transactions.json' with { type: 'text' };

/** A request of a route, and its reply on a node of regtest in developer mode. */
export interface RouteExample {
  readonly summary?: string;
  readonly path?: Readonly<Record<string, unknown>>;
  readonly query?: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
  /** Default: 200. */
  readonly status?: number;
  /** Absent where the reply is bytes. */
  readonly response?: unknown;
  /** Name of the data without which the request fails; the test of the examples prepares it. */
  readonly needs?: string;
}

/** Examples of routes by `GET /path`, and of one route by a name. */
export type RouteExamples = Readonly<Record<string, Readonly<Record<string, RouteExample>>>>;

// They are texts because most runs of a node never parse them. TypeScript takes the type from the name of the file.
const FILES = [
  addresses,
  blocks,
  chain,
  events,
  jsonRpc,
  mempool,
  operations,
  transactions,
] as readonly unknown[] as readonly string[];

/** Returns the examples of all routes. */
export function routeExamples(): RouteExamples {
  return Object.assign({}, ...FILES.map((text) => JSON.parse(text) as RouteExamples)) as RouteExamples;
}

/** Returns one message of each name of the AsyncAPI document, as a client sent it or a node of regtest. */
export function messageExamples(): Readonly<Record<string, object>> {
  return JSON.parse(messages as unknown as string) as Record<string, object>;
}
