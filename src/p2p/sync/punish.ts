import type { BlockRejection } from '../../consensus/rejection.ts';
import type { PeerContext } from '../peer/context.ts';
import type { Peer } from '../peer/peer.ts';

/**
 * What a bad block or header says of who sent it. A compact block may be relayed before it is checked (BIP-152), so that
 * only its header is held against the peer.
 */
export function punishForBlock(ctx: PeerContext, peer: Peer, rejection: BlockRejection, viaCompact = false): void {
  const what = `${rejection.reason}${rejection.debug ? `, ${rejection.debug}` : ''}`;
  switch (rejection.kind) {
    case 'consensus':
    case 'mutated':
      if (!viaCompact) ctx.misbehaving(peer, what);
      return;
    case 'cached-invalid':
      // An inbound peer may follow another chain; to look for one ourselves would be a waste.
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
