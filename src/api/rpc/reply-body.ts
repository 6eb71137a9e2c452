/** JSON text in pieces: text, or ASCII bytes. So that the longest replies are never put together. */
export type JsonPieces = readonly (string | Uint8Array)[];

/** Up to here a reply is sent with its length. */
const WHOLE = 8 << 20;
/** Up to here it is made one text. */
const SHORT = 64 << 10;
/** What is sent of a longer one in a turn of the loop. */
const PIECE = 64 << 10;

/**
 * The body of a reply. A short one is a text; a long one is put together without copying texts; the longest, hundreds of
 * megabytes where somebody asks for all of a large mempool, is sent a piece at a time, as fast as the client takes it,
 * while others have their turn.
 */
export function replyBody(pieces: JsonPieces): string | Blob | ReadableStream<Uint8Array> {
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
  if (length <= SHORT) return joined(pieces);
  if (length <= WHOLE) return new Blob(pieces as (string | Uint8Array<ArrayBuffer>)[]);
  const encoder = new TextEncoder();
  const parts = partsOf(pieces);
  return new ReadableStream({
    async pull(controller) {
      await new Promise((resolve) => setImmediate(resolve));
      const { done, value } = parts.next();
      if (done) controller.close();
      else controller.enqueue(typeof value === 'string' ? encoder.encode(value) : value);
    },
  });
}

/** All pieces as one text. */
export function joined(pieces: JsonPieces): string {
  return pieces
    .map((piece) =>
      typeof piece === 'string' ? piece : Buffer.from(piece.buffer, piece.byteOffset, piece.length).toString('latin1'),
    )
    .join('');
}

/** Texts as one or more pieces; each but the last is about as long as is sent at once. */
export class PieceWriter {
  readonly #pieces: string[] = [];
  #parts: string[] = [];
  #length = 0;

  add(text: string): void {
    this.#parts.push(text);
    this.#length += text.length;
    if (this.#length >= PIECE) this.#flush();
  }

  /** All that was added. */
  end(): readonly string[] {
    this.#flush();
    return this.#pieces;
  }

  #flush(): void {
    this.#pieces.push(this.#parts.join(''));
    this.#parts = [];
    this.#length = 0;
  }
}

function* partsOf(pieces: JsonPieces): Generator<string | Uint8Array, void> {
  for (const piece of pieces)
    for (let at = 0; at < piece.length; ) {
      let end = Math.min(piece.length, at + PIECE);
      // Both halves of a character go together.
      if (typeof piece === 'string' && isHighSurrogate(piece.charCodeAt(end - 1))) end++;
      yield piece.slice(at, end);
      at = end;
    }
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code < 0xdc00;
}
