import type { Chain } from '../chain/chain.ts';
import type { ChainEntry } from '../chain/chain-entry.ts';
import type { Peer } from '../p2p/peer/peer.ts';
import type { SyncPhase, SyncState } from '../port/node-port.ts';

/** Height of a chain of headers, and the time of its last one in Unix seconds. */
interface HeadersAt {
  readonly height: number;
  readonly time: number;
}

/** The state of all peers; null where the peer network is disabled. */
export interface PeersAt {
  /** Number of peers that have completed the handshake. */
  readonly count: number;
  /** The furthest headers in presync, whose work is not proven yet; null where there are none. */
  readonly presync: HeadersAt | null;
  /** Whether a peer has shown a chain that has no more work than ours. */
  readonly confirmed: boolean;
}

/** Summarizes the chains that peers have shown. */
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

/** Returns the phase of the sync and its progress; `now` in Unix seconds. */
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
  // A single new block is not reported as a sync.
  if (!initialSync) return bestHeader.height - tip.height > 1 ? 'blocks' : 'following';
  // Without a peer network, blocks come from files.
  if (peers === null) return connecting ? 'blocks' : 'waiting';
  if (peers.count === 0) return 'waiting';
  // Beyond the minimum work, a peer that offers a chain without work changes nothing.
  if (bestHeader.chainwork < params.consensus.minimumChainWork) return peers.presync === null ? 'headers' : 'presync';
  return bestHeader.height > tip.height ? 'blocks' : 'waiting';
}

/** As in Core: the missing headers are estimated from the block interval. */
function headersProgress({ height, time }: HeadersAt, now: number, spacing: number): number {
  const missing = Math.max(0, (now - time) / spacing);
  return height + missing === 0 ? 1 : height / (height + missing);
}
