import type { PeerAddress } from '../../src/p2p/address/net-address.ts';
import { type BlockHeader, headerHash } from '../../src/primitives/header.ts';
import { listenAsPeer, type TestPeer } from './test-peer.ts';

const FULL_NODE = 1n | (1n << 3n);
const BLOCK_KINDS = new Set([2, 4, 0x4000_0002]);
const MAX_HEADERS = 2000;

/** The headers, from height 1 on, and the addresses that the peer announces. */
interface Known {
  readonly headers?: readonly BlockHeader[];
  readonly addresses?: readonly PeerAddress[];
}

/**
 * A peer that announces a chain of headers and addresses, and never delivers a block that is requested. It serves the
 * first connection alone.
 */
export class ListeningPeer implements Disposable {
  /** `127.0.0.1:port` */
  readonly address: string;
  /** Number of blocks that were requested from it. */
  asked = 0;
  readonly #server = listenAsPeer('v2');
  readonly #headers: readonly BlockHeader[];
  readonly #addresses: readonly PeerAddress[];
  #peer: TestPeer | null = null;

  constructor({ headers = [], addresses = [] }: Known) {
    this.#headers = headers;
    this.#addresses = addresses;
    this.address = this.#server.address;
    void this.#server.next().then((peer) => this.#speak(peer));
  }

  /** Whether its connection has ended. */
  get gone(): boolean {
    return this.#peer?.isClosed ?? false;
  }

  hangUp(): void {
    this.#peer?.close();
  }

  [Symbol.dispose](): void {
    this.#server.stop();
  }

  #speak(peer: TestPeer): void {
    this.#peer = peer;
    this.#server.close();
    peer.answer('version', () => {
      peer.introduce({ services: FULL_NODE, relay: false, agent: '/listens/', height: this.#headers.length });
      peer.send('verack', null);
    });
    peer.answer('getheaders', ({ locator }) => peer.send('headers', { headers: this.#after(locator) }));
    peer.answer('getaddr', () => peer.send('addr', { addresses: this.#addresses }));
    peer.answer('getdata', ({ items }) => {
      this.asked += items.filter(({ kind }) => BLOCK_KINDS.has(kind)).length;
    });
  }

  /** Returns the headers behind the first block of the locator that is known; all of them where none is known. */
  #after(locator: readonly Uint8Array[]): BlockHeader[] {
    const known = new Set(locator.map((hash) => hash.toHex()));
    const at = this.#headers.findLastIndex((header) => known.has(headerHash(header).toHex()));
    return this.#headers.slice(at + 1, at + 1 + MAX_HEADERS);
  }
}
