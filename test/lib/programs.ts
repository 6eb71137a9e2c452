/** Path of a program that a test runs. Throws where it is missing: `.ci/install-programs` installs all of them. */
export function requireProgram(name: string): string {
  const path = Bun.which(name);
  if (path === null) throw new Error(`${name} is not installed; .ci/install-programs installs what the tests run`);
  return path;
}

/** Path of a Python with the package `websockets`. Throws where there is none, as `requireProgram` does. */
export function requirePython(): string {
  return firstThat(
    'python3 with the package websockets',
    [Bun.which('python3'), '/usr/bin/python3'],
    ['-c', 'import sys, websockets; sys.exit(sys.version_info < (3, 11))'],
  );
}

/** Path of a Node that runs TypeScript, from 22.18 on. Throws where there is none, as `requireProgram` does. */
export function requireNode(): string {
  return firstThat(
    'Node from 22.18 on',
    [Bun.which('node'), Bun.which('node22')],
    ['--eval', 'process.exit(process.features.typescript && typeof WebSocket === "function" ? 0 : 1)'],
  );
}

function firstThat(what: string, paths: readonly (string | null)[], check: readonly string[]): string {
  for (const path of new Set(paths))
    if (path !== null && Bun.spawnSync([path, ...check], { stdout: 'ignore', stderr: 'ignore' }).success) return path;
  throw new Error(`${what} is not installed; .ci/install-programs installs what the tests run`);
}
