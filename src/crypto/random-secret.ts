import { randomFillSync } from 'node:crypto';
import { secretBytes } from '../util/secret-bytes.ts';

/**
 * From the system's randomness. `crypto.getRandomValues` takes small amounts from a store of the runtime, where what it gave
 * out stays.
 */
export function randomSecretBytes(size: number): Uint8Array<ArrayBuffer> {
  return randomFillSync(secretBytes(size));
}
