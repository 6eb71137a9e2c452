import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { type PeerAddress, UNSPECIFIED } from '../../src/p2p/address/net-address.ts';
import { decodeMessage, encodeMessage, type MessageType, type ValueOf } from '../../src/p2p/messages/messages.ts';
import { V1Transport } from '../../src/p2p/transport/v1-transport.ts';
import { type BlockHeader, headerHash } from '../../src/primitives/header.ts';

const REGTEST_MAGIC = Uint8Array.of(0xfa, 0xbf, 0xb5, 0xda);
const FULL_NODE = 1n | (1n << 3n);
const BLOCK_KINDS = new Set([2, 4, 0x4000_0002]);
const MAX_HEADERS = 2000;

/**
 * A peer that tells of a chain of headers and of addresses, and never gives a block that it is asked for. Speaks v1 only,
 * and with nobody but the first.
 */
export class ListeningPeer implements Disposable {
  /** `127.0.0.1:port` */
  address = '';
  /** Blocks that it was asked for. */
  asked = 0;
  /** Its last connection is over. */
  gone = false;
  readonly #headers: readonly BlockHeader[];
  readonly #addresses: readonly PeerAddress[];
  readonly #server: Server;
  #transport = new V1Transport(REGTEST_MAGIC);
  #socket: Socket | null = null;

  private constructor(headers: readonly BlockHeader[], addresses: readonly PeerAddress[]) {
    this.#headers = headers;
    this.#addresses = addresses;
    this.#server = createServer((socket) => {
      this.#socket = socket;
      this.#transport = new V1Transport(REGTEST_MAGIC);
      socket.on('data', (bytes: Buffer) => {
        for (const event of this.#transport.receive(bytes)) {
          if (event.kind === 'message') this.#answer(event.message.type, event.message.payload);
          // Whoever tried v2 comes again.
          if (event.kind === 'failed') socket.destroy();
        }
      });
      socket.on('close', () => (this.gone = true));
      socket.on('error', () => {});
    });
  }

  /** `headers` from height 1 on. */
  static async listen({
    headers = [],
    addresses = [],
  }: {
    headers?: readonly BlockHeader[];
    addresses?: readonly PeerAddress[];
  }): Promise<ListeningPeer> {
    const peer = new ListeningPeer(headers, addresses);
    await new Promise<void>((resolve) => peer.#server.listen(0, '127.0.0.1', resolve));
    peer.address = `127.0.0.1:${(peer.#server.address() as AddressInfo).port}`;
    return peer;
  }

  hangUp(): void {
    this.#socket?.destroy();
  }

  [Symbol.dispose](): void {
    this.hangUp();
    this.#server.close();
  }

  #send<K extends MessageType>(type: K, value: ValueOf<K>): void {
    this.#socket?.write(this.#transport.encode(type, encodeMessage(type, value)));
  }

  #answer(type: string, payload: Uint8Array): void {
    const message = decodeMessage(type, payload);
    switch (message?.type) {
      case 'version':
        this.#server.close();
        this.gone = false;
        this.#introduce();
        this.#send('verack', null);
        break;
      case 'ping':
        this.#send('pong', message.value);
        break;
      case 'getheaders':
        this.#send('headers', { headers: this.#after(message.value.locator) });
        break;
      case 'getaddr':
        this.#send('addr', { addresses: this.#addresses });
        break;
      case 'getdata':
        this.asked += message.value.items.filter(({ kind }) => BLOCK_KINDS.has(kind)).length;
    }
  }

  #introduce(): void {
    this.#send('version', {
      version: 70016,
      services: FULL_NODE,
      time: BigInt(Math.floor(Date.now() / 1000)),
      receiverServices: 0n,
      receiver: { address: UNSPECIFIED, port: 0 },
      nonce: 7n,
      userAgent: '/listens/',
      startHeight: this.#headers.length,
      relay: false,
    });
  }

  /** What follows the first block of the locator that is known; of none, everything. */
  #after(locator: readonly Uint8Array[]): BlockHeader[] {
    const known = new Set(locator.map((hash) => hash.toHex()));
    const at = this.#headers.findLastIndex((header) => known.has(headerHash(header).toHex()));
    return this.#headers.slice(at + 1, at + 1 + MAX_HEADERS);
  }
}
