import type { Chain } from '../chain/chain.ts';
import type { ChainEntry } from '../chain/chain-entry.ts';
import type { Peer } from '../p2p/peer/peer.ts';
import type { SyncPhase, SyncState } from '../port/node-port.ts';

/** How far a chain of headers goes, and the time of its last one in Unix seconds. */
interface HeadersAt {
  readonly height: number;
  readonly time: number;
}

/** What is known of peers; null where there is no network of them. */
export interface PeersAt {
  /** Whose handshake is over. */
  readonly count: number;
  /** The furthest that headers of unproven work were looked at; null where none are. */
  readonly presync: HeadersAt | null;
  /** One has shown its chain, and that is no better than ours. */
  readonly confirmed: boolean;
}

/** What all peers together tell of the sync. */
export function peersAt(peers: Iterable<Peer>, tip: ChainEntry): PeersAt {
  let count = 0;
  let presync: HeadersAt | null = null;
  let confirmed = false;
  for (const { negotiated, sync } of peers) {
    if (!negotiated.established) continue;
    count++;
    if (sync.bestKnown !== null && sync.bestKnown.chainwork <= tip.chainwork) confirmed = true;
    if (sync.presync?.phase !== 'presync') continue;
    const { height, time } = sync.presync;
    if (presync === null || height > presync.height) presync = { height, time };
  }
  return { count, presync, confirmed };
}

type ChainAt = Pick<Chain, 'tip' | 'bestHeader' | 'initialSync' | 'connecting' | 'params'>;

/** What the node does to follow the network, and how far it has come; `now` in Unix seconds. */
export function syncState(chain: ChainAt, peers: PeersAt | null, now: number): SyncState {
  const phase = phaseOf(chain, peers);
  const presync = phase === 'presync' ? peers!.presync : null;
  const { powTargetSpacing } = chain.params.consensus;
  return {
    phase,
    presynced: presync?.height ?? null,
    headersProgress: headersProgress(presync ?? chain.bestHeader, now, powTargetSpacing),
    confirmed: peers?.confirmed ?? false,
  };
}

function phaseOf({ tip, bestHeader, initialSync, connecting, params }: ChainAt, peers: PeersAt | null): SyncPhase {
  // One block that is on its way is nothing to speak of.
  if (!initialSync) return bestHeader.height - tip.height > 1 ? 'blocks' : 'following';
  // Without peers, blocks come from files.
  if (peers === null) return connecting ? 'blocks' : 'waiting';
  if (peers.count === 0) return 'waiting';
  // Later somebody may always offer a chain without work.
  if (bestHeader.chainwork < params.consensus.minimumChainWork) return peers.presync === null ? 'headers' : 'presync';
  return bestHeader.height > tip.height ? 'blocks' : 'waiting';
}

/** As Core estimates it: what is missing came at the pace that blocks are meant to have. */
function headersProgress({ height, time }: HeadersAt, now: number, spacing: number): number {
  const missing = Math.max(0, (now - time) / spacing);
  return height + missing === 0 ? 1 : height / (height + missing);
}
