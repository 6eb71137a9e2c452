/**
 * ASCII text in pieces. Each piece has a buffer of its own, which can be transferred to another thread, so a text of any
 * length is neither joined nor copied.
 */
export interface AsciiText {
  readonly pieces: readonly Uint8Array<ArrayBuffer>[];
}

/** Returns the bytes of a text, in a buffer of their own. The text must be ASCII. */
export function asciiBytes(text: string): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(text.length);
  new TextEncoder().encodeInto(text, bytes);
  return bytes;
}

function isAsciiText(value: unknown): value is AsciiText {
  if (typeof value !== 'object' || value === null || !('pieces' in value)) return false;
  return Array.isArray(value.pieces) && value.pieces.every((piece) => piece instanceof Uint8Array);
}

/** Returns the buffers of all ASCII texts among the members of a value, to be transferred with it. */
export function transferredBuffers(value: unknown): ArrayBuffer[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap((member) =>
    isAsciiText(member) ? member.pieces.map(({ buffer }) => buffer) : [],
  );
}
