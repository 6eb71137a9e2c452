import { bytesToHex } from '../../util/bytes.ts';

export interface MusigParticipants {
  readonly aggregateKey: Uint8Array;
  /** In the order they are aggregated in. */
  readonly participants: readonly Uint8Array[];
}

/** BIP-373: a public nonce (66 bytes) or partial signature (32 bytes) of one participant. */
export interface MusigContribution {
  readonly participant: Uint8Array;
  /** The key that is signed for: what derives from the aggregate, tweaked where it is the key of a tree of scripts. */
  readonly aggregateKey: Uint8Array;
  /** Null on the key path. */
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

/** Sorts by aggregate key, leaf and participant. */
export function musigKey(contribution: MusigContribution): string {
  return musigSessionKey(contribution) + bytesToHex(contribution.participant);
}

/** The shares of a session, to be added to. */
export function sharesOf(sessions: Map<string, MusigShares>, key: string): MusigShares {
  let shares = sessions.get(key);
  if (!shares) {
    shares = new Map();
    sessions.set(key, shares);
  }
  return shares;
}
