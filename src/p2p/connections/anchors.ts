import type { PeerStore } from '../../storage/peer-store.ts';
import { ByteReader, ByteWriter, DecodeError } from '../../util/bytes.ts';
import type { PeerAddress } from '../address/net-address.ts';
import { readV2Address, writeV2Address } from '../messages/addresses.ts';

/** Only two, so that an eclipse attacker keeps at most two of our connections across a restart. */
const MAX_ANCHORS = 2;

/**
 * Reads and deletes the anchors: block-relay-only peers of the last run, which are connected to first, so that a
 * restart does not help an eclipse attacker.
 */
export function loadAnchors(store: PeerStore): PeerAddress[] {
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
