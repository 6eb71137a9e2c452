import { closeSync, constants, fsyncSync, openSync, renameSync, rmSync, statSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { ByteWriter } from '../../../util/bytes.ts';
import { withDescriptors } from '../../../util/descriptors.ts';
import { syncDirectory } from '../../../util/sync-directory.ts';
import { rpcFail } from '../../engine/rpc-error.ts';

const WRITE_BUFFER = 1 << 20;
/** Interval at which a named pipe is tried again that has no reader or no room, milliseconds. */
const PIPE_RETRY_MS = 10;

/** Receives the bytes of a UTXO set in large pieces. */
export abstract class DumpOutput {
  readonly writer = new ByteWriter(WRITE_BUFFER + (1 << 16));

  write(bytes: Uint8Array): void {
    this.writer.bytes(bytes);
  }

  flushFull(): void {
    if (this.writer.length >= WRITE_BUFFER) this.flush();
  }

  /** Completes the output and closes it. */
  abstract finish(): void;
  /** Closes the output and removes what was written. */
  abstract discard(): void;
  protected abstract flush(): void;
}

/** A file that is readable by the owner alone, and has the name `.incomplete` until it is finished. */
export class DumpFile extends DumpOutput {
  readonly #path: string;
  readonly #temporary: string;
  #fd: number | null;

  /** Throws RpcError where the file cannot be created. */
  constructor(path: string) {
    super();
    this.#path = path;
    this.#temporary = `${path}.incomplete`;
    this.#fd = openForWriting(this.#temporary);
  }

  override finish(): void {
    this.flush();
    fsyncSync(this.#fd!);
    closeSync(this.#fd!);
    this.#fd = null;
    renameSync(this.#temporary, this.#path);
    syncDirectory(dirname(this.#path));
  }

  override discard(): void {
    if (this.#fd !== null) closeSync(this.#fd);
    this.#fd = null;
    rmSync(this.#temporary, { force: true });
  }

  protected override flush(): void {
    const bytes = this.writer.finish();
    for (let done = 0; done < bytes.length; ) done += writeSync(this.#fd!, bytes, done, bytes.length - done);
    this.writer.reset();
  }
}

/**
 * A named pipe, whose reader gets the bytes as they are made. Opening it and writing to it never block the thread: while the
 * pipe has no reader or no room, `checkpoint` is called again and again, which throws when the job ends.
 */
export class DumpPipe extends DumpOutput {
  readonly #path: string;
  readonly #checkpoint: () => void;
  #fd: number | null = null;

  /** Waits for a reader. Throws RpcError where the pipe cannot be opened. */
  constructor(path: string, checkpoint: () => void) {
    super();
    this.#path = path;
    this.#checkpoint = checkpoint;
    // Without O_NONBLOCK the thread would wait for a reader in the kernel, where nothing can end it.
    this.#fd = this.#untilReady('ENXIO', () =>
      openForWriting(path, constants.O_WRONLY | constants.O_NONBLOCK, ['ENXIO']),
    );
  }

  override finish(): void {
    this.flush();
    this.discard();
  }

  override discard(): void {
    if (this.#fd !== null) closeSync(this.#fd);
    this.#fd = null;
  }

  protected override flush(): void {
    const bytes = this.writer.finish();
    for (let done = 0; done < bytes.length; ) done += this.#untilReady('EAGAIN', () => this.#writeSome(bytes, done));
    this.writer.reset();
  }

  #writeSome(bytes: Uint8Array, done: number): number {
    try {
      return writeSync(this.#fd!, bytes, done, bytes.length - done);
    } catch (error) {
      if (codeOf(error) !== 'EPIPE') throw error;
      return rpcFail('misc', `Couldn't write ${this.#path}: its reader has closed it`);
    }
  }

  /** Returns the result of `attempt`, which is repeated while it fails with an error code. */
  #untilReady<T>(code: string, attempt: () => T): T {
    for (;;) {
      this.#checkpoint();
      try {
        return attempt();
      } catch (error) {
        if (codeOf(error) !== code) throw error;
      }
      Bun.sleepSync(PIPE_RETRY_MS);
    }
  }
}

export function isNamedPipe(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFIFO() ?? false;
}

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code;
}

/** Throws RpcError; errors with one of the `known` codes are thrown unchanged. */
function openForWriting(path: string, flags: string | number = 'w', known: readonly string[] = []): number {
  try {
    return withDescriptors(() => openSync(path, flags, 0o600));
  } catch (error) {
    if (known.includes(codeOf(error) ?? '')) throw error;
    return rpcFail('invalidParameter', `Couldn't open file ${path} for writing.`);
  }
}
