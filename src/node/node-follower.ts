import type { ChainFollower } from '../chain/events.ts';
import type { MempoolService } from '../mempool/service.ts';
import type { NodeUpdate } from '../port/node-port.ts';
import { hashToHex } from '../primitives/hash.ts';
import type { GivenEventNumbers } from './given-event-numbers.ts';
import type { TipLog } from './tip-log.ts';
import type { Wallets } from './wallets.ts';

interface FollowerDeps {
  readonly mempool: MempoolService;
  readonly wallets: Wallets | null;
  readonly given: GivenEventNumbers;
  readonly tips: TipLog;
  readonly notifyUpdate: (update: NodeUpdate) => void;
}

/** Returns the follower of the chain that passes each change on to mempool, wallets, log and observers, in this order. */
export function nodeFollower({ mempool, wallets, given, tips, notifyUpdate }: FollowerDeps): ChainFollower {
  const follower = wallets?.alongside(mempool) ?? mempool;
  return {
    follow: (move) => {
      // Transactions of the blocks no longer count as unsaved, but a kill before the commit still removes them.
      const { unsavedFrom } = mempool;
      follower.follow(move);
      // A kill right behind the commit must not hide the removals by its blocks.
      given.addChanges(mempool.waitingChanges);
      given.record(unsavedFrom);
    },
    has: (txid) => follower.has(txid),
    onCommitted: (moved) => {
      const { lastSeq, tip } = moved;
      tips.onCommitted(moved);
      const commit = { lastSeq, tip: { height: tip.height, hash: hashToHex(tip.hash) } };
      const changes = mempool.committed();
      // The wallets apply the changes before any observer is notified.
      wallets?.manager.afterChainCommit(moved);
      wallets?.manager.follower.onMempoolChanges(changes);
      notifyUpdate({ changes, commit });
    },
  };
}
