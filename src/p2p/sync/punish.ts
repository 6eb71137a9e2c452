import type { BlockRejection } from '../../consensus/rejection.ts';
import type { Peer } from '../peer/peer.ts';
import type { PeerContext } from '../peer/peer-context.ts';

/**
 * Core's MaybePunishNodeForBlock: discourages a peer for an invalid block or header. Peers may relay a compact block
 * before its validation (BIP-152), so only its header is held against them.
 */
export function punishForBlock(ctx: PeerContext, peer: Peer, rejection: BlockRejection, viaCompact = false): void {
  const what = `${rejection.reason}${rejection.debug ? `, ${rejection.debug}` : ''}`;
  ctx.log.debug('block or header rejected', { peer: peer.id, reason: what });
  switch (rejection.kind) {
    case 'consensus':
    case 'mutated':
      // As in Core, bytes that do not parse are ignored, so that the rest of what the peer sends counts.
      if (rejection.reason === 'bad-blk-decode') return;
      if (!viaCompact) ctx.misbehaving(peer, what);
      return;
    case 'cached-invalid':
      // Inbound peers may follow another chain; outbound slots are reserved for peers on ours.
      if (!viaCompact && !peer.inbound) ctx.misbehaving(peer, what);
      return;
    case 'invalid-header':
    case 'invalid-prev':
    case 'missing-prev':
      ctx.misbehaving(peer, what);
      return;
    case 'time-future':
    case 'header-low-work':
      return;
  }
}
