import { taggedHasher } from '../../crypto/hash-functions.ts';
import { ByteWriter } from '../../util/bytes.ts';
import { random64 } from '../../util/random.ts';
import { WTXID_RELAY_VERSION } from '../p2p-protocol.ts';
import type { Peer } from './peer.ts';
import { maySendTransactions, type PeerContext } from './peer-context.ts';

/** Our version of the reconciliation of transactions (BIP-330). */
const RECONCILIATION_VERSION = 1;

/** The value of `sendtxrcncl`. */
interface Offer {
  readonly version: number;
  readonly salt: bigint;
}

/**
 * Negotiates the reconciliation of transactions (BIP-330), as far as Core has it: both sides offer it before `verack`, and
 * know afterwards whether they agree. Transactions are announced as without it.
 */
export class TxReconciliation {
  readonly #ctx: PeerContext;

  constructor(ctx: PeerContext) {
    this.#ctx = ctx;
  }

  /** Offers reconciliation to a peer whose `version` was accepted, if transactions are relayed in both directions. */
  offer(peer: Peer): void {
    const { options, random, log } = this.#ctx;
    const { link, negotiated, tx } = peer;
    if (!options.reconciliation || options.blocksOnly || negotiated.protocol < WTXID_RELAY_VERSION) return;
    if (tx === null || !tx.wanted || link.type === 'addr-fetch') return;
    const ourSalt = random64(random);
    negotiated.reconciliation = { ourSalt, agreed: null };
    log.debug('reconciliation offered', { peer: peer.id });
    link.send('sendtxrcncl', { version: RECONCILIATION_VERSION, salt: ourSalt });
  }

  /** Processes the offer of a peer. One that contradicts what it or we said before ends the connection. */
  onOffer(peer: Peer, { version, salt }: Offer): void {
    const { log, options } = this.#ctx;
    const { link, negotiated } = peer;
    if (!options.reconciliation) {
      log.debug('reconciliation ignored: it is not enabled', { peer: peer.id });
      return;
    }
    const state = negotiated.reconciliation;
    const common = Math.min(version, RECONCILIATION_VERSION);
    const problem = this.#problem(peer, common);
    if (problem !== null) link.disconnect(problem);
    else if (state === null) log.debug('reconciliation ignored: it was not offered', { peer: peer.id });
    else {
      state.agreed = { version: common, weInitiate: !peer.inbound, shortIdKeys: shortIdKeys(state.ourSalt, salt) };
      log.debug('reconciliation agreed', { peer: peer.id, inbound: peer.inbound });
    }
  }

  /** Returns why an offer ends the connection, or null. */
  #problem({ link, negotiated, tx }: Peer, common: number): string | null {
    const { established, reconciliation } = negotiated;
    if (established) return 'sendtxrcncl after verack';
    if (!maySendTransactions(this.#ctx, link)) return 'sendtxrcncl where we relay no transactions';
    if (tx === null || !tx.wanted) return 'sendtxrcncl of a peer that relays no transactions';
    if (reconciliation === null) return null;
    if (reconciliation.agreed !== null) return 'second sendtxrcncl';
    return common < 1 ? 'sendtxrcncl of an unknown version' : null;
  }

  /** Ends the negotiation at `verack`: without an offer of the peer, or without BIP-339, there is no reconciliation. */
  onEstablished({ id, negotiated }: Peer): void {
    const { reconciliation: state } = negotiated;
    if (state === null || (negotiated.wtxidRelay && state.agreed !== null)) return;
    negotiated.reconciliation = null;
    this.#ctx.log.debug('reconciliation dropped', { peer: id });
  }
}

const saltHash = taggedHasher('Tx Relay Salting');

/** Combines the salts of both sides, the lower one first (BIP-330). */
export function shortIdKeys(one: bigint, other: bigint): [bigint, bigint] {
  const w = new ByteWriter();
  w.u64(one < other ? one : other);
  w.u64(one < other ? other : one);
  const view = new DataView(saltHash(w.finish()).slice().buffer);
  return [view.getBigUint64(0, true), view.getBigUint64(8, true)];
}
