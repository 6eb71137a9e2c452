import { join } from 'node:path';

/**
 * Returns the browser code of the dashboard as one minified module. It runs as a macro: while the executable is built, or,
 * from the sources, when the dashboard is requested first. A macro cannot call `Bun.build`, so it starts a program.
 */
export function bundleScript(): string {
  return bundle('main.tsx');
}

/** Returns the minified style sheet of the dashboard, with that of the charts. It runs as a macro. */
export function bundleStyle(): string {
  return bundle('style.css');
}

function bundle(entry: string): string {
  const { success, stdout, stderr } = Bun.spawnSync(
    [process.execPath, 'build', join(import.meta.dir, 'pages', entry), '--minify', '--target=browser', '--production'],
    // Under the name of the executable alone, a compiled program would run itself.
    { env: { ...process.env, BUN_BE_BUN: '1' } },
  );
  if (!success) throw new Error(`the pages of the dashboard cannot be bundled: ${stderr.toString()}`);
  return stdout.toString();
}
