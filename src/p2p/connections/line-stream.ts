import { concatBytes } from '../../util/bytes.ts';
import type { ByteStream } from './byte-stream.ts';
import { DialError } from './dial.ts';
import { type Timing, within } from './timing.ts';

const NEWLINE = 0x0a;
const CARRIAGE_RETURN = 0x0d;
/** Unread bytes at which the socket pauses, beyond a line of the maximum length. */
const SPARE = 4096;

export interface LineOptions {
  /** Maximum length of a line without its newline, bytes. */
  readonly maxLength: number;
  readonly timing: Timing;
  /** Ends the current and all further reads. */
  readonly signal: AbortSignal;
}

/**
 * The control protocol of a program on a byte stream, line by line. The other end is not trusted: a line that is too
 * long ends the stream, and lines that are not read stay in the socket.
 */
export class LineStream {
  readonly #stream: ByteStream;
  readonly #options: LineOptions;
  readonly #abort: () => void;
  #bytes: Uint8Array = new Uint8Array(0);
  /** Bytes that are known to have no newline. */
  #searched = 0;
  #failure: { readonly reason: unknown } | null = null;
  #paused = false;
  #wake: () => void = () => {};

  constructor(stream: ByteStream, options: LineOptions) {
    this.#stream = stream;
    this.#options = options;
    this.#abort = () => this.#fail(options.signal.reason);
    if (options.signal.aborted) this.#abort();
    else options.signal.addEventListener('abort', this.#abort, { once: true });
    stream.attach({
      data: (bytes) => {
        this.#bytes = concatBytes(this.#bytes, bytes);
        if (this.#bytes.length > options.maxLength + SPARE && !this.#paused) {
          this.#paused = true;
          stream.pause();
        }
        this.#wake();
      },
      drain: () => {},
      closed: (error) => this.#fail(new DialError(`connection closed${error === null ? '' : `: ${error}`}`)),
    });
  }

  /** Whether the stream has failed or was closed. */
  get closed(): boolean {
    return this.#failure !== null;
  }

  /** Sends a line. Throws DialError if the other end does not accept it at once; lines are far shorter than a socket's buffer. */
  send(line: string): void {
    if (this.#failure !== null) throw this.#failure.reason;
    const bytes = new TextEncoder().encode(line);
    if (this.#stream.write(bytes) < bytes.length) throw this.#failed(new DialError('it does not accept data'));
  }

  /**
   * Returns the next line without its end (LF or CRLF). Rejects with DialError if the line is too long, the stream
   * ends, or no line is there after `timeoutMs`; with the signal's reason if it aborts.
   */
  async readLine(timeoutMs: number | null = null): Promise<string> {
    const line = this.#nextLine();
    if (line !== null) return line;
    if (timeoutMs === null) return await this.#arrived();
    const late = () => this.#failed(new DialError('no reply in time'));
    return await within(this.#options.timing, timeoutMs, this.#arrived(), late);
  }

  /** Returns unread bytes to the stream, for its next handlers. */
  release(): ByteStream {
    this.#options.signal.removeEventListener('abort', this.#abort);
    this.#stream.unread(this.#bytes);
    return this.#stream;
  }

  close(): void {
    this.#options.signal.removeEventListener('abort', this.#abort);
    this.#fail(new DialError('connection closed'));
    this.#stream.close();
  }

  async #arrived(): Promise<string> {
    for (;;) {
      const line = this.#nextLine();
      if (line !== null) return line;
      if (this.#failure !== null) throw this.#failure.reason;
      if (this.#paused) {
        this.#paused = false;
        this.#stream.resume();
      }
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  /** Throws DialError if the line is too long. */
  #nextLine(): string | null {
    const { maxLength } = this.#options;
    const end = this.#bytes.indexOf(NEWLINE, this.#searched);
    if ((end < 0 ? this.#bytes.length : end) > maxLength)
      throw this.#failed(new DialError(`a line exceeds ${maxLength} bytes`));
    if (end < 0) {
      this.#searched = this.#bytes.length;
      return null;
    }
    const length = end > 0 && this.#bytes[end - 1] === CARRIAGE_RETURN ? end - 1 : end;
    // Every byte is one character, as in these protocols.
    const line = Buffer.from(this.#bytes.buffer, this.#bytes.byteOffset, length).toString('latin1');
    this.#bytes = this.#bytes.subarray(end + 1);
    this.#searched = 0;
    return line;
  }

  #failed(error: DialError): DialError {
    this.#fail(error);
    return error;
  }

  #fail(reason: unknown): void {
    this.#failure ??= { reason };
    this.#wake();
  }
}
