import { inheritedVariables } from './shell-commands.ts';

export interface ProgramRun {
  /** Program and arguments; no shell reads them. */
  readonly command: readonly string[];
  /** Written to its standard input, which then ends. */
  readonly input: Uint8Array;
  /** Time after which it is ended, milliseconds. */
  readonly limitMs: number;
  /** Maximum of its output, bytes; a program that writes more is ended. */
  readonly maxBytes: number;
  /** Ends it. */
  readonly signal: AbortSignal;
}

export interface ProgramResult {
  readonly code: number;
  readonly output: string;
  /** The beginning of what it has written to its standard error. */
  readonly errors: string;
}

/** A program could not be started, or was ended before it was done. */
export class ProgramFailure extends Error {
  override readonly name = 'ProgramFailure';
}

const MAX_ERROR_BYTES = 16_384;
const START_ERRORS: Readonly<Record<string, string>> = {
  ENOENT: 'No such file or directory',
  EACCES: 'Permission denied',
  ENOEXEC: 'Exec format error',
};

/**
 * Runs a program in a process group of its own, without the variables of the node. Resolves when it has exited. Throws
 * ProgramFailure, or the reason of the signal.
 */
export async function runProgram({ command, input, limitMs, maxBytes, signal }: ProgramRun): Promise<ProgramResult> {
  signal.throwIfAborted();
  const child = startProgram(command, input);
  const ending = new AbortController();
  let failure: ProgramFailure | null = null;
  const end = (why: string | null) => {
    if (ending.signal.aborted) return;
    if (why !== null) failure = new ProgramFailure(why);
    endGroup(child.pid);
    // A process that has left the group may keep the pipes open.
    ending.abort();
  };
  const timer = setTimeout(() => end(`${command[0]} did not end within ${limitMs / 1000} seconds`), limitMs);
  const abort = () => end(null);
  signal.addEventListener('abort', abort, { once: true });
  try {
    const tooMuch = () => end(`${command[0]} wrote more than ${maxBytes} bytes`);
    const [output, errors, code] = await Promise.all([
      readText(child.stdout, maxBytes, ending.signal, tooMuch),
      readText(child.stderr, MAX_ERROR_BYTES, ending.signal, () => {}),
      child.exited,
    ]);
    signal.throwIfAborted();
    if (failure !== null) throw failure;
    return { code, output, errors };
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', abort);
  }
}

function startProgram(command: readonly string[], input: Uint8Array) {
  try {
    return Bun.spawn([...command], {
      stdin: input,
      stdout: 'pipe',
      stderr: 'pipe',
      detached: true,
      env: inheritedVariables(process.env),
    });
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    // Core's words.
    throw new ProgramFailure(`execve failed: ${START_ERRORS[code] ?? (code || String(error))}`);
  }
}

/** Reads a stream to its end, or until the signal aborts. Text beyond the limit is discarded after a call of `onExcess`. */
async function readText(
  stream: ReadableStream<Uint8Array>,
  maxBytes: number,
  signal: AbortSignal,
  onExcess: () => void,
): Promise<string> {
  const reader = stream.getReader();
  const cancel = () => void reader.cancel().catch(() => {});
  signal.addEventListener('abort', cancel, { once: true });
  const decoder = new TextDecoder();
  let text = '';
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    const room = maxBytes - size;
    size += value.length;
    if (room > 0) text += decoder.decode(value.subarray(0, room), { stream: true });
    if (value.length > room) onExcess();
  }
}

function endGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // All processes of the group have exited.
  }
}
