import type { Authenticator } from '../auth/authenticator.ts';
import { difficultyOf } from '../consensus/work.ts';
import { headerFromBytes } from '../primitives/header.ts';
import type { AnswerService } from '../queries/read-service.ts';
import type { EventFeed } from '../server/event-feed.ts';
import type { GaugeSources } from '../server/ops/state-gauges.ts';
import { hostClock, unixSeconds } from '../util/clock.ts';
import type { TailStatus } from './sink-tail.ts';

/** The parts of a server that its gauges read; most are made after the metrics. */
export interface ServeGaugeParts {
  /** Unix seconds. */
  readonly startedAt: number;
  tail(): TailStatus;
  feed(): EventFeed;
  auth(): Authenticator;
  queries(): Pick<AnswerService, 'textCounts'>;
}

/** Returns the sources of the gauges of a server. What only a node has is omitted. */
export function serveGauges(parts: ServeGaugeParts): GaugeSources {
  return {
    chain() {
      const { head } = parts.tail();
      if (head === null || head.header === null) return null;
      const { time, bits } = headerFromBytes(head.header);
      const { height } = head;
      return {
        ...{ height, headers: height, validatedHeight: height, tipTime: time, difficulty: difficultyOf(bits) },
        ...{ verificationProgress: 1, initialBlockDownload: false, unknownRules: false, heavierInvalidChain: false },
        ...{ circulating: null, utxos: null, pruneHeight: null, indexHeights: [] },
      };
    },
    tail() {
      const { ageMs, reads, failures, head, seq } = parts.tail();
      const behind = head === null ? null : head.nextSeq - 1 - seq;
      return { age: ageMs === null ? null : ageMs / 1000, reads, failures, behind, lapsed: head?.lapsed ?? null };
    },
    mempool: () => null,
    counters: () => null,
    fees: () => null,
    sink: () => null,
    eventsSeq: () => parts.tail().seq,
    blockFileBytes: async () => 0,
    databases: async () => [],
    wallets: () => [],
    walletBalances: null,
    wsConnections: () => parts.feed().hub.size,
    wsBackpressured: () => parts.feed().hub.backpressured,
    wsWatched: () => ({ connection: parts.feed().hub.watched, key: 0 }),
    txCache: () => parts.queries().textCounts,
    webhooks: () => [],
    auditWritable: () => true,
    sessions: () => parts.auth().sessions.size,
    initialKeyFile: () => false,
    cacheReady: () => false,
    threads: () => [],
    uptimeSeconds: () => Math.max(0, unixSeconds(hostClock) - parts.startedAt),
  };
}
