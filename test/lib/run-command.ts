import { getPriority } from 'node:os';
import { runCommandLine } from '../../src/cli/run-command-line.ts';
import { lowerThreadPriority } from '../../src/util/nice.ts';
import type { ProgramOptions, RunResult } from './node-process.ts';

/**
 * Runs a command in this process, as the program does: a start of the program takes ten times the processor time of most
 * commands. Not for commands that log, read the standard input, or are killed. `env` changes the environment meanwhile;
 * undefined takes a variable away.
 */
export async function runCommand(
  args: readonly string[],
  { env = {} }: Pick<ProgramOptions, 'env'> = {},
): Promise<RunResult> {
  let stdout = '';
  let stderr = '';
  const { signal } = new AbortController();
  const own = Object.keys(process.env).filter((name) => name.startsWith('OBVERSE_'));
  const restore = changeEnvironment({ ...Object.fromEntries(own.map((name) => [name, undefined])), ...env });
  // A command limits the rights of its files by the mask of the process.
  const mask = process.umask();
  const priority = getPriority();
  try {
    const status = await runCommandLine(args, {
      signal,
      out: (text) => (stdout += text),
      err: (text) => (stderr += text),
    });
    return { status, signal: null, stdout, stderr };
  } finally {
    process.umask(mask);
    // A command that works beside a node lowers its own.
    if (getPriority() !== priority) lowerThreadPriority(priority);
    restore();
  }
}

/** Sets variables, and takes those away that are undefined. Returns a function that undoes it. */
function changeEnvironment(variables: Readonly<Record<string, string | undefined>>): () => void {
  const set = (name: string, value: string | undefined) => {
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  };
  const before = Object.keys(variables).map((name) => [name, process.env[name]] as const);
  for (const [name, value] of Object.entries(variables)) set(name, value);
  return () => {
    for (const [name, value] of before) set(name, value);
  };
}
