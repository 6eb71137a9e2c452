/**
 * Room for a secret that is to be overwritten. It has a buffer from the start: the engine keeps a small array without one in
 * its heap, and leaves that copy behind when a native function, `subarray` or a DataView asks for the buffer later.
 */
export function secretBytes(size: number): Uint8Array<ArrayBuffer> {
  return new Uint8Array(new ArrayBuffer(size));
}

/** A copy in such room. */
export function secretCopy(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const copy = secretBytes(bytes.length);
  copy.set(bytes);
  return copy;
}

/** All bytes one behind the other, in such room. */
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
 * Room for a secret that threads hand to each other. The memory is shared, so that no copy is made on the way, and one
 * owner overwrites it for all.
 */
export function sharedBytes(size: number): Uint8Array<SharedArrayBuffer> {
  return new Uint8Array(new SharedArrayBuffer(size));
}

/** A text as UTF-8 in such memory. The text itself stays where it is. */
export function sharedText(text: string): Uint8Array<SharedArrayBuffer> {
  const encoded = new TextEncoder().encode(text);
  const bytes = sharedBytes(encoded.length);
  bytes.set(encoded);
  encoded.fill(0);
  return bytes;
}
