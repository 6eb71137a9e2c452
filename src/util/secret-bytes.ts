/**
 * Allocates bytes for a secret that will be overwritten. They have a buffer from the start: the engine keeps a small
 * array without one in its heap, and leaves that copy behind when a native function, `subarray` or a DataView asks for
 * the buffer later.
 */
export function secretBytes(size: number): Uint8Array<ArrayBuffer> {
  return new Uint8Array(new ArrayBuffer(size));
}

/** Copies bytes into memory of `secretBytes`. */
export function secretCopy(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const copy = secretBytes(bytes.length);
  copy.set(bytes);
  return copy;
}

/** Concatenates bytes in memory of `secretBytes`. */
export function secretConcat(...parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const joined = secretBytes(parts.reduce((size, { length }) => size + length, 0));
  let at = 0;
  for (const part of parts) {
    joined.set(part, at);
    at += part.length;
  }
  return joined;
}

/**
 * Allocates shared memory for a secret that is passed between threads, so that no copy is made on the way and its owner
 * overwrites it for all of them.
 */
export function sharedBytes(size: number): Uint8Array<SharedArrayBuffer> {
  return new Uint8Array(new SharedArrayBuffer(size));
}

/** Encodes a text as UTF-8 in shared memory. The string itself cannot be overwritten. */
export function sharedText(text: string): Uint8Array<SharedArrayBuffer> {
  const encoded = new TextEncoder().encode(text);
  const bytes = sharedBytes(encoded.length);
  bytes.set(encoded);
  encoded.fill(0);
  return bytes;
}
