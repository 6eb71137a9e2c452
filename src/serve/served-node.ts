import { ApiError } from '../http/errors.ts';
import type { NodeCallName } from '../port/node-calls.ts';
import type { NodePort, NodeStatus, NodeUpdate } from '../port/node-port.ts';
import type { SinkHead } from './tail-database.ts';

/** Returns the error of what a server without a node cannot do. */
export function withoutNode(feature: string): ApiError {
  return new ApiError('feature_disabled', `this server has no node of its own: ${feature} is not served`, { feature });
}

/** The state of a database as a node's: its chain is complete and valid, and there is no node to call. */
export class ServedNode implements NodePort {
  readonly #listeners = new Set<(update: NodeUpdate) => void>();
  #status: NodeStatus;

  constructor(head: SinkHead) {
    this.#status = statusOf(head);
  }

  status(): NodeStatus {
    return this.#status;
  }

  counters(): null {
    return null;
  }

  call(name: NodeCallName, ..._: unknown[]): Promise<never> {
    return Promise.reject(withoutNode(name));
  }

  callUntil(_: AbortSignal, name: NodeCallName, ..._args: unknown[]): Promise<never> {
    return this.call(name);
  }

  onUpdate(listener: (update: NodeUpdate) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Nothing waits for it: the updates have no changes of a mempool. */
  acknowledge(): void {}

  onPeerChange(): () => void {
    return () => {};
  }

  /** Passes on that the events up to the number `lastSeq` and the tip of `head` can be read. */
  publish(head: SinkHead, lastSeq: number): void {
    this.#status = statusOf(head);
    const { height, hash } = head;
    for (const listener of [...this.#listeners]) listener({ changes: [], commit: { lastSeq, tip: { height, hash } } });
  }
}

function statusOf({ height, hash }: SinkHead): NodeStatus {
  return {
    headers: height,
    bestHeaderHash: hash,
    initialBlockDownload: false,
    verificationProgress: 1,
    lastCommit: null,
    connectingBlock: false,
    stopped: null,
    background: null,
    indexProblem: null,
    preparing: null,
    peers: { inbound: 0, outbound: 0 },
    sync: { phase: 'following', presynced: null, headersProgress: 1, confirmed: true },
    network: null,
    heavierInvalidChain: false,
    unknownRules: [],
    warnings: [],
  };
}
