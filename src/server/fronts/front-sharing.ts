import type { SharedAuth } from '../../auth/shared-auth.ts';
import type { ReadinessView } from '../ops/readiness.ts';
import type { FirstFront } from './first-front.ts';
import type { FrontMemory } from './front-memory.ts';
import type { FurtherFronts } from './further-fronts.ts';
import { sumMetrics } from './sum-metrics.ts';

/** The parts that a front shares with others. */
export interface FrontSharing {
  readonly memory: FrontMemory;
  /** The first front; null on that front itself. */
  readonly first: FirstFront | null;
  /** The further fronts; null on each of these. */
  readonly further: FurtherFronts | null;
}

/** Returns what the authentication of a front shares. */
export function sharedAuthOf({ memory, first, further }: FrontSharing): SharedAuth {
  const { buckets, failures } = memory;
  return {
    buckets,
    failures,
    owner: first?.auth ?? null,
    announceKeys: async () => (first ?? further)?.announceKeys(),
    announceEndedSessions: async (ids) => further?.announceEndedSessions(ids),
  };
}

/** Returns the metrics of all fronts. `own` makes those of this one. */
export async function metricsOfAll({ first, further }: FrontSharing, own: () => Promise<string>): Promise<string> {
  if (first) return first.metrics();
  const [text, others] = await Promise.all([own(), further?.metrics() ?? []]);
  return sumMetrics(text, others);
}

/** Returns the readiness of the node, as a further front reports it. */
export function readinessOfFirst(first: FirstFront, memory: FrontMemory, service: string): ReadinessView {
  return {
    run: () => first.readiness(service),
    get ready() {
      return memory.ready;
    },
  };
}
