import { randomFillSync } from 'node:crypto';
import { secretBytes } from '../util/secret-bytes.ts';

/**
 * Returns bytes of the system's randomness. `crypto.getRandomValues` is not used: it serves small amounts from a buffer
 * of the runtime, in which they remain.
 */
export function randomSecretBytes(size: number): Uint8Array<ArrayBuffer> {
  return randomFillSync(secretBytes(size));
}
