import { readSync } from 'node:fs';
import { OperatorError } from '../util/operator-error.ts';

/** Longest text that is read from standard input, bytes. The node accepts no longer request. */
const MAX_BYTES = 64 * 1024 * 1024;
const LINE_FEED = 0x0a;

/** Returns the remaining lines of standard input without their ends. Throws OperatorError beyond MAX_BYTES. */
export async function readStdinLines(): Promise<string[]> {
  const text = readBytes(() => false);
  if (text === '') return [];
  const lines = text.split(/\r?\n/);
  if (lines.at(-1) === '') lines.pop();
  return lines;
}

/**
 * Reads one line of standard input, and no byte behind it. A terminal does not show what is typed. Throws OperatorError
 * where there is no line.
 */
export async function readSecretLine(prompt: string): Promise<string> {
  const isTerminal = process.stdin.isTTY === true;
  if (isTerminal) {
    process.stderr.write(prompt);
    setEcho(false);
  }
  try {
    const line = readBytes((byte) => byte === LINE_FEED).replace(/\r?\n$/, '');
    if (line === '') throw new OperatorError('standard input holds no line with a passphrase');
    return line;
  } finally {
    if (isTerminal) {
      setEcho(true);
      process.stderr.write('\n');
    }
  }
}

function setEcho(on: boolean): void {
  Bun.spawnSync(['stty', on ? 'echo' : '-echo'], { stdin: 'inherit', stdout: 'ignore', stderr: 'ignore' });
}

/** Reads until the end of standard input, or byte by byte up to the one that `isLast` accepts. */
function readBytes(isLast: (byte: number) => boolean): string {
  const chunks: Buffer[] = [];
  const byByte = isLast(LINE_FEED);
  for (let total = 0; ; ) {
    const chunk = Buffer.alloc(byByte ? 1 : 64 * 1024);
    const count = readSome(chunk);
    if (count === 0) break;
    total += count;
    if (total > MAX_BYTES) throw new OperatorError(`standard input holds more than ${MAX_BYTES} bytes`);
    chunks.push(chunk.subarray(0, count));
    if (byByte && isLast(chunk[0]!)) break;
  }
  return Buffer.concat(chunks).toString('utf8');
}

function readSome(chunk: Buffer): number {
  for (;;) {
    try {
      return readSync(0, chunk);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'EOF') return 0;
      if (code !== 'EAGAIN') throw new OperatorError(`standard input cannot be read: ${code}`);
      Bun.sleepSync(1);
    }
  }
}
