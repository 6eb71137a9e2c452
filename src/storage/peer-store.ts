import type { Database } from 'bun:sqlite';

/** What is remembered of other nodes, in node.db: the address manager's tables as one row, and anchors. */
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

  /** The tables of the address manager, in the form of a file; null where none were saved. */
  addresses(): Uint8Array | null {
    return this.#get.get()?.tables ?? null;
  }

  saveAddresses(tables: Uint8Array, at: number): void {
    this.#put.run(at, tables);
  }

  /** Peers to connect to first, encoded. They are forgotten by this: one that brings us down is not tried twice. */
  takeAnchors(): Uint8Array[] {
    return this.#db.transaction(() => {
      const peers = this.#anchors.all().map(({ peer }) => peer);
      this.#db.run('DELETE FROM anchors');
      return peers;
    })();
  }

  /** In place of those that were there. */
  saveAnchors(peers: readonly Uint8Array[]): void {
    this.#db.transaction(() => {
      this.#db.run('DELETE FROM anchors');
      peers.forEach((peer, position) => void this.#putAnchor.run(position, peer));
    })();
  }
}
