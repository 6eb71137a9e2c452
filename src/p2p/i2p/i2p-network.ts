import { printService } from '../address/address-text.ts';
import type { NetService } from '../address/net-address.ts';
import type { ByteStream } from '../connections/byte-stream.ts';
import { DialError } from '../connections/dial.ts';
import { type SamParts, SamSession } from './sam-session.ts';

/** Sessions without a connection that are kept for the next one: their tunnels take time to build. */
const MAX_UNUSED = 10;
/** First and longest pause before the node listens on I2P again after a failure, milliseconds; it doubles each time. */
const FIRST_PAUSE_MS = 1000;
const MAX_PAUSE_MS = 300_000;

export interface I2pParts extends SamParts {
  /** File of the private key of a lasting address, at which peers are accepted; null for a new address for each connection. */
  readonly keyFile: string | null;
}

/** Connections over I2P in both directions. */
export class I2pNetwork {
  readonly #parts: I2pParts;
  /** The session with the lasting address. */
  readonly #lasting: SamSession | null;
  #unused: SamSession[] = [];
  readonly #used = new Set<SamSession>();

  constructor(parts: I2pParts) {
    this.#parts = parts;
    this.#lasting = parts.keyFile === null ? null : new SamSession(parts.keyFile, parts);
  }

  /** Connects to a peer. Rejects with DialError, or with the signal's reason. */
  async connect(to: NetService, signal: AbortSignal): Promise<ByteStream> {
    try {
      return this.#lasting === null ? await this.#connectUnlinked(to, signal) : await this.#lasting.connect(to, signal);
    } catch (error) {
      if (error instanceof DialError)
        this.#parts.log.debug('connection over I2P failed', { to: printService(to), error: error.message });
      throw error;
    }
  }

  /**
   * Accepts peers at the lasting address, one after another. `onAddress` receives the address as long as peers can
   * connect to it, and null when they can not. Rejects with the signal's reason; does nothing without a lasting address.
   */
  async acceptPeers(
    onPeer: (stream: ByteStream) => void,
    onAddress: (own: NetService | null) => void,
    signal: AbortSignal,
  ): Promise<void> {
    const { timing, log } = this.#parts;
    const session = this.#lasting;
    if (session === null) return;
    let pause = FIRST_PAUSE_MS;
    for (;;) {
      try {
        const stream = await session.accept((own) => {
          pause = FIRST_PAUSE_MS;
          onAddress(own);
        }, signal);
        onPeer(stream);
      } catch (error) {
        onAddress(null);
        signal.throwIfAborted();
        if (!(error instanceof DialError)) throw error;
        log.debug('peers on I2P are not accepted', { reason: error.message });
        await timing.sleep(pause, signal);
        pause = Math.min(pause * 2, MAX_PAUSE_MS);
      }
    }
  }

  /** Closes all sessions. */
  close(): void {
    this.#lasting?.close();
    for (const session of [...this.#unused, ...this.#used]) session.close();
    this.#unused = [];
    this.#used.clear();
  }

  /** Connects from an address that no other connection has. Its session ends with the connection. */
  async #connectUnlinked(to: NetService, signal: AbortSignal): Promise<ByteStream> {
    const session = this.#unused.pop() ?? new SamSession(null, this.#parts);
    this.#used.add(session);
    try {
      const stream = await session.connect(to, signal);
      stream.onEnd = () => {
        this.#used.delete(session);
        session.close();
      };
      return stream;
    } catch (error) {
      this.#used.delete(session);
      if (this.#unused.length < MAX_UNUSED) this.#unused.push(session);
      else session.close();
      throw error;
    }
  }
}
