import type { ConnectionTable } from './connection-table.ts';
import type { PeerLink } from './peer-link.ts';

/** The nonces of our `version` messages per connection, by which a connection to ourselves is detected. */
export class OwnNonces {
  readonly #nonces = new WeakMap<PeerLink, bigint>();
  readonly #table: ConnectionTable;

  constructor(table: ConnectionTable) {
    this.#table = table;
  }

  /** Returns the nonce of a link, always the same one. */
  nonceOf(link: PeerLink): bigint {
    const old = this.#nonces.get(link);
    if (old !== undefined) return old;
    const nonce = crypto.getRandomValues(new BigUint64Array(1))[0]!;
    this.#nonces.set(link, nonce);
    return nonce;
  }

  /** Returns whether a received nonce belongs to an outbound connection in its handshake. */
  isOwn(nonce: bigint): boolean {
    const isIts = (link: PeerLink) => link.type !== 'inbound' && !link.standing.established;
    return this.#table.countIf((link) => isIts(link) && this.#nonces.get(link) === nonce) > 0;
  }
}
