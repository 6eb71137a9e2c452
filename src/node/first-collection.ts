import { fullGC } from 'bun:jsc';

/**
 * Collects the garbage of a front before it serves. A full collection of a loaded front stops the thread for 10 to 30 ms.
 * The engine makes the next one when the heap has doubled, and counts the reserved columns of the mempool as part of it.
 */
export function collectGarbage(): void {
  fullGC();
}
