import type { AcceptResult } from '../../mempool/accept-result.ts';
import type { ParsedTransaction } from '../../primitives/block.ts';
import { hashToHex } from '../../primitives/hash.ts';
import { printService } from '../address/address-text.ts';
import { INVENTORY, type InventoryItems } from '../messages/inventory.ts';
import type { Keepalive } from '../peer/keepalive.ts';
import type { Peer } from '../peer/peer.ts';
import type { PeerContext } from '../peer/peer-context.ts';
import { PrivateQueue, type PrivateTransaction } from './private-queue.ts';

/** Number of peers to which a transaction is sent at first. */
const PEERS_PER_TRANSACTION = 3;
/** Time limit of a connection, milliseconds. */
const MAX_LIFETIME_MS = 3 * 60_000;
/** Interval of the search for transactions that did not come back, and its random part, milliseconds. */
const RETRY_MS = 2 * 60_000;
const RETRY_SPREAD_MS = 60_000;

/** The messages of a peer that are processed on such a connection, besides those of the handshake. */
export const PRIVATE_MESSAGES: ReadonlySet<string> = new Set(['pong', 'getdata']);

/**
 * Sends transactions of clients on short connections through Tor, each to a few peers that learn nothing else about this node,
 * without putting them into the mempool (Core's -privatebroadcast). When a transaction comes back from another peer, it is
 * relayed like all others.
 */
export class PrivateBroadcast {
  readonly #ctx: PeerContext;
  readonly #keepalive: Keepalive;
  readonly #queue = new PrivateQueue();
  #nextRetryMs = 0;
  #isRetrying = false;

  constructor(ctx: PeerContext, keepalive: Keepalive) {
    this.#ctx = ctx;
    this.#keepalive = keepalive;
  }

  /** Schedules a transaction that the mempool would accept. Returns false where the queue is full. */
  schedule(parsed: ParsedTransaction): boolean {
    const outcome = this.#queue.add(parsed, this.#ctx.clock.nowMs());
    this.#ctx.log.debug(`private broadcast: transaction ${outcome}`, {
      ...idsOf(parsed),
      peers: PEERS_PER_TRANSACTION,
    });
    if (outcome === 'added') this.#ctx.connections.openPrivate(PEERS_PER_TRANSACTION);
    return outcome !== 'full';
  }

  /** Removes the transactions with a txid or wtxid, and returns them. */
  abort(id: Uint8Array): ParsedTransaction[] {
    const found = this.#queue.withId(id);
    for (const { wtxid } of found) this.#cancelConnections(this.#queue.remove(wtxid) ?? 0);
    return found;
  }

  list(): PrivateTransaction[] {
    return this.#queue.list();
  }

  /** Announces a transaction to a peer that has completed the handshake. */
  onEstablished(peer: Peer): void {
    const { link } = peer;
    const tx = this.#queue.assign(peer.id, printService(link.service), this.#ctx.clock.nowMs());
    if (tx === null) {
      link.disconnect('no transaction left to be sent privately');
      return;
    }
    this.#ctx.log.debug('private broadcast: transaction announced', { peer: peer.id, ...idsOf(tx) });
    link.send('inv', { items: [{ kind: INVENTORY.tx, hash: tx.txid }] });
  }

  /** Sends the transaction of a peer, which must request that one alone. */
  onGetData(peer: Peer, items: InventoryItems): void {
    const { link, ping } = peer;
    const tx = this.#queue.assignedTo(peer.id);
    if (tx === null || !isRequestOf(tx, items)) {
      link.disconnect('unexpected getdata for a private transaction');
      return;
    }
    link.sendPayload('tx', tx.raw);
    // The answer proves that the peer has read the transaction before.
    ping.queued = true;
    this.#keepalive.tick(peer, this.#ctx.clock.monotonicMs());
  }

  /** Ends the connection when the peer has answered the ping behind the transaction. */
  onPong({ id, ping, link }: Peer, nonce: bigint | null): void {
    if (nonce === null || nonce === 0n || nonce !== ping.nonce) return;
    this.#queue.confirm(id, this.#ctx.clock.nowMs());
    link.disconnect('private transaction received');
  }

  /** Ends a connection that lasts too long. */
  tick({ link, openedAt }: Peer, nowMs: number): void {
    if (nowMs - openedAt > MAX_LIFETIME_MS) link.disconnect('private transaction not sent in time');
  }

  /** A connection on which no transaction was received is replaced by another one. */
  onClosed({ id }: Peer): void {
    if (!this.#queue.forgetPeer(id) && this.#queue.hasPending) this.#ctx.connections.openPrivate(1);
  }

  /** A transaction that comes from a peer has reached the network. */
  onReceived(peer: Peer, parsed: ParsedTransaction): void {
    const received = this.#queue.remove(parsed.wtxid);
    if (received === null) return;
    this.#ctx.log.debug('private broadcast: transaction came back', { peer: peer.id, ...idsOf(parsed) });
    this.#cancelConnections(received);
  }

  /** Periodically sends transactions again that have not come back, and drops those that the mempool would reject. */
  retryStale(nowMs: number): void {
    if (nowMs < this.#nextRetryMs || this.#isRetrying) return;
    this.#nextRetryMs = nowMs + RETRY_MS + this.#ctx.random(RETRY_SPREAD_MS);
    const stale = this.#queue.stale(this.#ctx.clock.nowMs());
    if (stale.length === 0) return;
    this.#isRetrying = true;
    void this.#retry(stale)
      .catch((error) => {
        if (this.#ctx.chain.stopped === null) this.#ctx.log.error('private broadcast could not be retried', { error });
      })
      .finally(() => {
        this.#isRetrying = false;
      });
  }

  /** Makes the next `retryStale` due earlier. */
  advanceRetry(ms: number): void {
    this.#nextRetryMs -= ms;
  }

  async #retry(stale: readonly ParsedTransaction[]): Promise<void> {
    const { mempool, log, connections } = this.#ctx;
    for (const parsed of stale) {
      const { results } = await mempool.submissions.test([parsed.raw]);
      const reason = rejectReason(results.get(hashToHex(parsed.wtxid)));
      if (reason === null) {
        log.debug('private broadcast: transaction sent again', idsOf(parsed));
        connections.openPrivate(1);
      } else {
        log.debug('private broadcast: transaction dropped', { ...idsOf(parsed), reason });
        this.#queue.remove(parsed.wtxid);
      }
    }
  }

  /** Gives up the connections that a removed transaction does not need any more. */
  #cancelConnections(received: number): void {
    if (received < PEERS_PER_TRANSACTION) this.#ctx.connections.openPrivate(received - PEERS_PER_TRANSACTION);
  }
}

/** Whether a request has one item, which is the transaction by its txid. */
function isRequestOf({ txid }: ParsedTransaction, items: InventoryItems): boolean {
  const [first, second] = items;
  if (first?.kind !== INVENTORY.tx || second !== undefined) return false;
  return hashToHex(first.hash as typeof txid) === hashToHex(txid);
}

function idsOf({ txid, wtxid }: ParsedTransaction) {
  return { txid: hashToHex(txid), wtxid: hashToHex(wtxid) };
}

/** Returns why the mempool would not accept a transaction; null where it would. */
function rejectReason(result: AcceptResult | undefined): string | null {
  if (result?.status === 'accepted') return null;
  return result?.status === 'rejected' ? result.rejection.reason : 'txn-already-in-mempool';
}
