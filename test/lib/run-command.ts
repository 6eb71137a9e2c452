import { runCommandLine } from '../../src/cli/run-command-line.ts';
import type { RunResult } from './node-process.ts';

/**
 * Runs a command in this process, as the program does: a start of the program takes ten times the processor time of most
 * commands. Not for commands that log, read the standard input, or are killed.
 */
export async function runCommand(args: readonly string[]): Promise<RunResult> {
  let stdout = '';
  let stderr = '';
  const { signal } = new AbortController();
  const variables = Object.entries(process.env).filter(([name]) => name.startsWith('OBVERSE_'));
  // A command limits the rights of its files by the mask of the process.
  const mask = process.umask();
  try {
    for (const [name] of variables) delete process.env[name];
    const status = await runCommandLine(args, {
      signal,
      out: (text) => (stdout += text),
      err: (text) => (stderr += text),
    });
    return { status, signal: null, stdout, stderr };
  } finally {
    process.umask(mask);
    for (const [name, value] of variables) process.env[name] = value;
  }
}
