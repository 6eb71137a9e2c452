import { inspect } from 'node:util';
import type { MusigSecretNonce } from '../../crypto/musig-nonce.ts';

/** Limit of stored secret nonces, each for one key, input and participant. */
const MAX_MUSIG_NONCES = 10_000;

/**
 * Secret nonces between the two rounds of MuSig2. They exist in memory only: a nonce restored from a disk could be used
 * twice, which reveals the key. Each is returned once. A full store drops the oldest, whose signer has to start again
 * with a new nonce.
 */
export class MusigNonces {
  readonly #limit: number;
  /** Nonces by session, oldest first. */
  readonly #nonces = new Map<string, MusigSecretNonce>();

  constructor(limit = MAX_MUSIG_NONCES) {
    this.#limit = limit;
  }

  get size(): number {
    return this.#nonces.size;
  }

  add(session: string, nonce: MusigSecretNonce): void {
    this.consume(session)?.wipe();
    this.#nonces.set(session, nonce);
    if (this.#nonces.size <= this.#limit) return;
    const [oldest] = this.#nonces.keys();
    this.consume(oldest!)?.wipe();
  }

  has(session: string): boolean {
    return this.#nonces.has(session);
  }

  /** Returns a nonce and removes it; null if there is none. */
  consume(session: string): MusigSecretNonce | null {
    const nonce = this.#nonces.get(session) ?? null;
    this.#nonces.delete(session);
    return nonce;
  }

  /** Wipes all. */
  clear(): void {
    for (const nonce of this.#nonces.values()) nonce.wipe();
    this.#nonces.clear();
  }

  [inspect.custom](): string {
    return `[${this.size} secret nonces]`;
  }
}
