import { bytesToHex } from '../../util/bytes.ts';

export interface MusigParticipants {
  readonly aggregateKey: Uint8Array;
  /** Participants in the order of aggregation. */
  readonly participants: readonly Uint8Array[];
}

/** Public nonce (66 bytes) or partial signature (32 bytes) of one participant (BIP-373). */
export interface MusigContribution {
  readonly participant: Uint8Array;
  /** Signed key: it derives from the aggregate, and is tweaked if it is an output key with scripts. */
  readonly aggregateKey: Uint8Array;
  /** Hash of the leaf; null on the key path. */
  readonly leafHash: Uint8Array | null;
  readonly value: Uint8Array;
}

/** Contributions of the participants of one session, by hex key. */
export type MusigShares = Map<string, MusigContribution>;

const NO_LEAF = '00'.repeat(32);

/** Returns the key of a session: one signed key in one place. */
export function musigSessionKey({
  aggregateKey,
  leafHash,
}: Pick<MusigContribution, 'aggregateKey' | 'leafHash'>): string {
  return bytesToHex(aggregateKey) + (leafHash === null ? NO_LEAF : bytesToHex(leafHash));
}

/** Returns the sort key by aggregate key, leaf and participant. */
export function musigKey(contribution: MusigContribution): string {
  return musigSessionKey(contribution) + bytesToHex(contribution.participant);
}

/** Returns the shares of a session, which the caller may add to. */
export function sharesOf(sessions: Map<string, MusigShares>, key: string): MusigShares {
  let shares = sessions.get(key);
  if (!shares) {
    shares = new Map();
    sessions.set(key, shares);
  }
  return shares;
}
