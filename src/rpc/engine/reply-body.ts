import { LONG_REPLY } from '../../http/reply-ledger.ts';

/** JSON text in pieces: text, or ASCII bytes. The longest replies are never joined into one text. */
export type JsonPieces = readonly (string | Uint8Array)[];

/** Characters or bytes of a long reply that are sent per slice. */
const PIECE = 256 << 10;

/** Returns a body whose pieces are encoded while they are sent. `length` is their approximate number of bytes. */
export type SendLong = (pieces: Iterator<Uint8Array>, length: number) => ReadableStream<Uint8Array>;

/**
 * Returns the body of a reply. A short one is a text. A long one, such as the hundreds of megabytes of a large mempool,
 * is sent by `send` in slices, as fast as the client reads it.
 */
export function replyBody(pieces: JsonPieces, send: SendLong | null): string | ReadableStream<Uint8Array> {
  let length = 0;
  for (let i = 0; i < pieces.length; i++) length += pieces[i]!.length;
  return send === null || length <= LONG_REPLY ? joined(pieces) : send(encodedParts(pieces), length);
}

/** Joins all pieces into one text. */
export function joined(pieces: JsonPieces): string {
  let text = '';
  for (let i = 0; i < pieces.length; i++) {
    const piece = pieces[i]!;
    text +=
      typeof piece === 'string' ? piece : Buffer.from(piece.buffer, piece.byteOffset, piece.length).toString('latin1');
  }
  return text;
}

/** Collects texts into pieces of about the size of a slice. */
export class PieceWriter {
  readonly #pieces: string[] = [];
  #parts: string[] = [];
  #length = 0;

  add(text: string): void {
    this.#parts.push(text);
    this.#length += text.length;
    if (this.#length >= PIECE) this.#flush();
  }

  /** Returns all pieces. */
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
      // A surrogate pair is never split.
      if (typeof piece === 'string' && isHighSurrogate(piece.charCodeAt(end - 1))) end++;
      yield piece.slice(at, end);
      at = end;
    }
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code < 0xdc00;
}
