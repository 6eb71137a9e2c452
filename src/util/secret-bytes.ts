/**
 * Room for a secret that threads hand to each other. The memory is shared, so that no copy is made on the way, and one
 * owner overwrites it for all.
 */
export function sharedBytes(size: number): Uint8Array {
  return new Uint8Array(new SharedArrayBuffer(size));
}

/** A text as UTF-8 in such memory. The text itself stays where it is. */
export function sharedText(text: string): Uint8Array {
  const encoded = new TextEncoder().encode(text);
  const bytes = sharedBytes(encoded.length);
  bytes.set(encoded);
  encoded.fill(0);
  return bytes;
}
