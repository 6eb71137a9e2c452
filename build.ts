import { mkdirSync, statSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { parseArgs } from 'node:util';

const USAGE = `Usage: bun build.ts [--target bun-linux-arm64 [--runtime FILE]] [--outfile dist/obverse]

Makes one executable that holds the runtime and everything the node needs.
Targets besides this machine: bun-linux-x64, bun-linux-x64-baseline, bun-linux-x64-musl, bun-linux-arm64,
bun-linux-arm64-musl, bun-darwin-arm64, bun-darwin-x64, bun-windows-x64. The runtime of another target is downloaded
unless --runtime names its file.
`;

const root = import.meta.dir;
const { values } = parseArgs({
  options: {
    target: { type: 'string' },
    runtime: { type: 'string' },
    outfile: { type: 'string', default: join(root, 'dist/obverse') },
    help: { type: 'boolean', short: 'h', default: false },
  },
});
if (values.help) {
  console.log(USAGE);
  process.exit(0);
}

const outfile = resolve(values.outfile);
mkdirSync(dirname(outfile), { recursive: true });
// A worker is found in the executable only when its file is an entry of its own.
const workers = [...new Bun.Glob('src/**/*-worker.ts').scanSync({ cwd: root, absolute: true })].sort();
const started = performance.now();
const commit = commitOf(root);
const result = await Bun.build({
  entrypoints: [join(root, 'src/main.ts'), ...workers],
  // All modules end up in one folder of the executable, where each worker is looked for beside the code that starts it.
  naming: { entry: '[name].[ext]' },
  compile: {
    outfile,
    ...(values.target ? { target: values.target as Bun.Build.CompileTarget } : {}),
    ...(values.runtime ? { executablePath: resolve(values.runtime) } : {}),
    // The executable reads its own configuration and nothing that happens to lie in the working directory.
    autoloadDotenv: false,
    autoloadBunfig: false,
  },
  target: 'bun',
  format: 'esm',
  minify: true,
  bytecode: true,
  sourcemap: 'external',
  define: { BUILD_COMMIT: commit === null ? 'undefined' : JSON.stringify(commit) },
  throw: false,
});
for (const log of result.logs) console.error(String(log));
if (!result.success) process.exit(1);
const { path } = result.outputs.find(({ kind }) => kind === 'entry-point')!;
const mib = (statSync(path).size / 2 ** 20).toFixed(1);
console.log(`${relative('.', path)}: ${mib} MiB in ${((performance.now() - started) / 1000).toFixed(1)} s`);

/** Short hash of the checked-out commit; null outside a clone. */
function commitOf(directory: string): string | null {
  try {
    const git = Bun.spawnSync(['git', 'rev-parse', '--short=12', 'HEAD'], { cwd: directory, stderr: 'ignore' });
    return git.success ? git.stdout.toString().trim() : null;
  } catch {
    return null;
  }
}
