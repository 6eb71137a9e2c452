import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { findCycles } from './cycles.ts';
import { checkImports, type SourceFile } from './imports.ts';
import { checkExportedNames, checkFileNames } from './names.ts';
import { checkTerminology } from './terminology.ts';

const root = resolve(import.meta.dir, '../..');

interface Outcome {
  readonly name: string;
  readonly ok: boolean;
  readonly output: string;
}

/**
 * One checker and fewer collections take half of the processor time of `tsc`, and no more memory: four checkers each resolve
 * the types that they share.
 */
const TSC = ['--checkers', '1'];
const TSC_ENV = { GOGC: '400' };

/** Tools come from node_modules and run on this runtime, so that Node is not needed. */
async function tool(name: string, script: string, ...args: string[]): Promise<Outcome> {
  const child = Bun.spawn([process.execPath, join(root, 'node_modules', script), ...args], {
    cwd: root,
    env: { ...process.env, ...TSC_ENV },
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const [stdout, stderr, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return { name, ok: code === 0, output: stdout + stderr };
}

function filesOf(...patterns: readonly string[]): SourceFile[] {
  const paths = patterns.flatMap((pattern) => [...new Bun.Glob(pattern).scanSync({ cwd: root })]);
  return paths.sort().map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }));
}

const sources = filesOf('src/**/*.{ts,tsx}');
/** Everything that is written for readers. The glossary and the check itself name the words that they replace. */
const texts = filesOf(
  '{src,test,examples,packaging}/**/*.{ts,tsx}',
  'clients/**/*.{ts,py,md}',
  '*.md',
  'docs/**/*.md',
  'examples/*.md',
).filter(({ path }) => path !== 'docs/glossary.md' && !path.startsWith('test/check/terminology'));

function outcome(name: string, lines: readonly string[]): Outcome {
  return { name, ok: lines.length === 0, output: lines.join('\n') };
}

const outcomes = await Promise.all([
  tool('types (tsc)', 'typescript/bin/tsc', '-p', '.', ...TSC),
  tool('types of the dashboard (tsc)', 'typescript/bin/tsc', '-p', 'src/dashboard/pages', ...TSC),
  tool('lint and format (biome)', '@biomejs/biome/bin/biome', 'check', '.'),
  tool('unused code (knip)', 'knip/bin/knip-bun.js', '--no-progress'),
  tool('code that tests alone use (knip)', 'knip/bin/knip-bun.js', '--no-progress', '--production'),
  outcome('import directions', sources.flatMap(checkImports)),
  outcome('import cycles', findCycles(sources)),
  outcome('exported names', checkExportedNames(sources)),
  outcome('file names', checkFileNames(sources)),
  outcome('terminology', texts.flatMap(checkTerminology)),
]);
for (const { ok, name, output } of outcomes) {
  console.log(`${ok ? 'ok    ' : 'FAILED'} ${name}`);
  if (!ok) console.log(`${output.trim().replaceAll(/^/gm, '  ')}\n`);
}
process.exit(outcomes.every(({ ok }) => ok) ? 0 : 1);
