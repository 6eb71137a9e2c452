import { join, resolve } from 'node:path';

const ROOT = resolve(import.meta.dir, '../..');

/** Builds the executable that operators run, of this checkout or of another one. Throws with the output of a build that fails. */
export async function buildExecutable(file: string, root = ROOT): Promise<void> {
  await runToEnd([process.execPath, join(root, 'build.ts'), '--outfile', file], root);
}

/** Runs a command. Throws with its output where it fails. */
export async function runToEnd(command: readonly string[], cwd: string): Promise<void> {
  const child = Bun.spawn([...command], { cwd, stdout: 'ignore', stderr: 'pipe' });
  const text = await new Response(child.stderr).text();
  if ((await child.exited) !== 0) throw new Error(text);
}
