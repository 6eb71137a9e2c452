import type { Database } from 'bun:sqlite';

/** Data of other nodes in node.db: the address manager's tables in one row, and the anchors. */
export class PeerStore {
  readonly #db: Database;
  readonly #put;
  readonly #get;
  readonly #anchors;
  readonly #putAnchor;

  constructor(db: Database) {
    this.#db = db;
    this.#put = db.prepare('INSERT OR REPLACE INTO addresses (id, saved_at, tables) VALUES (1, ?, ?)');
    this.#get = db.prepare<{ tables: Uint8Array }, []>('SELECT tables FROM addresses WHERE id = 1');
    this.#anchors = db.prepare<{ peer: Uint8Array }, []>('SELECT peer FROM anchors ORDER BY position');
    this.#putAnchor = db.prepare('INSERT INTO anchors (position, peer) VALUES (?, ?)');
  }

  /** Returns the saved tables of the address manager; null if there are none. */
  addresses(): Uint8Array | null {
    return this.#get.get()?.tables ?? null;
  }

  saveAddresses(tables: Uint8Array, at: number): void {
    this.#put.run(at, tables);
  }

  /**
   * Returns and deletes the encoded anchors, to which the node connects first. They are deleted so that a peer that
   * crashes the node is not tried again.
   */
  popAnchors(): Uint8Array[] {
    return this.#db.transaction(() => {
      const peers = this.#anchors.all().map(({ peer }) => peer);
      this.#db.run('DELETE FROM anchors');
      return peers;
    })();
  }

  /** Replaces the saved anchors. */
  saveAnchors(peers: readonly Uint8Array[]): void {
    this.#db.transaction(() => {
      this.#db.run('DELETE FROM anchors');
      peers.forEach((peer, position) => void this.#putAnchor.run(position, peer));
    })();
  }
}
