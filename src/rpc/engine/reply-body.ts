import { LONG_REPLY } from '../../http/reply-ledger.ts';

/** JSON text in pieces: text, or ASCII bytes. So that the longest replies are never put together. */
export type JsonPieces = readonly (string | Uint8Array)[];

/** What is sent of a long reply in a turn of the loop. */
const PIECE = 256 << 10;

/** Makes a body of pieces that are encoded while they are sent; `length` is about what they hold. */
export type SendLong = (pieces: Iterator<Uint8Array>, length: number) => ReadableStream<Uint8Array>;

/**
 * The body of a reply. A short one is a text; a long one, hundreds of megabytes where somebody asks for all of a large
 * mempool, is sent a piece at a time by `send`, as fast as the client reads it, while others have their turn.
 */
export function replyBody(pieces: JsonPieces, send: SendLong | null): string | ReadableStream<Uint8Array> {
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
  return send === null || length <= LONG_REPLY ? joined(pieces) : send(encodedParts(pieces), length);
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

function* encodedParts(pieces: JsonPieces): Generator<Uint8Array, void> {
  const encoder = new TextEncoder();
  for (const part of partsOf(pieces)) yield typeof part === 'string' ? encoder.encode(part) : part;
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
