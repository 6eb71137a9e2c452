import { join } from 'node:path';

const root = join(import.meta.dir, '../..');

export interface CliResult {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Environment of this process without its OBVERSE_ variables, and with the given ones. */
function cleanEnv(extra: Readonly<Record<string, string>> = {}): Record<string, string | undefined> {
  const outer = Object.entries(process.env).filter(([name]) => !name.startsWith('OBVERSE_'));
  return { ...Object.fromEntries(outer), ...extra };
}

/**
 * Runs `obverse` with an argument list, variables and a standard input: the executable of `npm test`, or the sources where
 * none is built.
 */
export async function runCli(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  stdin = '',
): Promise<CliResult> {
  const { TEST_EXECUTABLE: executable } = process.env;
  const command = executable ? [executable] : [process.execPath, join(root, 'src/main.ts')];
  const child = Bun.spawn([...command, ...args], {
    env: cleanEnv(env),
    stdin: stdin === '' ? 'ignore' : Buffer.from(stdin),
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const [stdout, stderr, status] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return { status, stdout, stderr };
}
