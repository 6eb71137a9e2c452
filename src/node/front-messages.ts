import type { MessagePort } from 'node:worker_threads';
import type { Config } from '../config/settings.ts';
import type { ListenAddress } from '../http/options.ts';
import type { EntryColumns } from '../mempool/entry-columns.ts';
import type { NodeStatus } from '../port/node-port.ts';
import type { FrontStart } from '../server/api-dependencies.ts';
import type { FrontBuffers } from '../server/fronts/front-memory.ts';
import type { DescriptorBudget } from './descriptor-budget.ts';

/** The message to the thread of a further front. */
export interface ToFront {
  readonly config: Config;
  readonly budget: DescriptorBudget | null;
  /** The operator's own API key. */
  readonly staticKey: string | null;
  /** The place of the front; the first one has 0. */
  readonly index: number;
  readonly fronts: number;
  readonly buffers: FrontBuffers;
  readonly fence: SharedArrayBuffer;
  /** The addresses where the first front listens. */
  readonly addresses: readonly ListenAddress[];
  /** Unix seconds. */
  readonly startedAt: number;
  readonly from: FrontStart;
  readonly status: NodeStatus;
  /** The columns of the mempool. */
  readonly columns: EntryColumns;
  /** Ports to the first front and to the node thread. */
  readonly firstPort: MessagePort;
  readonly nodePort: MessagePort;
}

/** The messages of a further front: when its code is loaded, and when it listens. */
export type FromFront = 'loaded' | 'listening';
