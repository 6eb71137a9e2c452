import type { PeerStore } from '../../storage/peer-store.ts';
import { ByteReader, ByteWriter, DecodeError } from '../../util/bytes.ts';
import type { PeerAddress } from '../address/net-address.ts';
import { readV2Address, writeV2Address } from '../messages/addresses.ts';

/** More are not kept: who has got hold of all our connections shall not keep them over a restart. */
const MAX_ANCHORS = 2;

/**
 * Block-relay-only peers of the last run, which are tried first: a restart is no chance for whoever wants all our
 * connections. Reading forgets them.
 */
export function takeAnchors(store: PeerStore): PeerAddress[] {
  const peers: PeerAddress[] = [];
  for (const bytes of store.takeAnchors()) {
    try {
      peers.push(readV2Address(new ByteReader(bytes)));
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error;
    }
  }
  return peers.slice(0, MAX_ANCHORS);
}

export function saveAnchors(store: PeerStore, peers: readonly PeerAddress[]): void {
  store.saveAnchors(
    peers.slice(0, MAX_ANCHORS).map((peer) => {
      const w = new ByteWriter();
      writeV2Address(w, peer);
      return w.finish();
    }),
  );
}
