import type { ConnectionTable } from './connection-table.ts';
import type { PeerLink } from './peer-link.ts';

/** The number in our `version` message on each connection. One that comes back to us tells a connection to ourselves. */
export class OwnNonces {
  readonly #nonces = new WeakMap<PeerLink, bigint>();
  readonly #table: ConnectionTable;

  constructor(table: ConnectionTable) {
    this.#table = table;
  }

  /** Always the same for a link. */
  of(link: PeerLink): bigint {
    const old = this.#nonces.get(link);
    if (old !== undefined) return old;
    const nonce = crypto.getRandomValues(new BigUint64Array(1))[0]!;
    this.#nonces.set(link, nonce);
    return nonce;
  }

  /** Whether a nonce that came in is of an outbound connection whose handshake goes on. */
  isOwn(nonce: bigint): boolean {
    const isIts = (link: PeerLink) => link.type !== 'inbound' && !link.standing.established;
    return this.#table.countIf((link) => isIts(link) && this.#nonces.get(link) === nonce) > 0;
  }
}
