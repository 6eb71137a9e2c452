import { existsSync } from 'node:fs';
import { relative, resolve } from 'node:path';

/** Options of `bun test` whose value can be the next argument. */
const WITH_VALUE: ReadonlySet<string> = new Set([
  ...['--timeout', '--rerun-each', '--retry', '--seed', '--coverage-reporter', '--coverage-dir', '--bail'],
  ...['-t', '--test-name-pattern', '--reporter', '--reporter-outfile', '--max-concurrency', '--path-ignore-patterns'],
  ...['--changed', '--parallel', '--parallel-delay', '--shard', '--timings', '--preload'],
]);

const ALL = './test/';
const SLOW = 'test/slow';

/** Arguments of `bun test`: the files, and the options of the caller. */
export interface TestArguments {
  /** Paths that begin with `./`, or parts of paths. */
  readonly paths: readonly string[];
  readonly options: readonly string[];
}

/**
 * Returns the arguments of `bun test` for those of the caller: with paths only these are run, without any all tests. Slow
 * tests are left out unless `--all` or a path in their folder asks for them. `cwd` is the folder that paths are relative to,
 * `root` the one in which the tests run.
 */
export function testArguments(args: readonly string[], root: string, cwd: string): TestArguments {
  const paths: string[] = [];
  const options: string[] = [];
  let isValue = false;
  for (const arg of args) {
    const isPath = !isValue && !arg.startsWith('-');
    if (isPath) paths.push(pathFrom(root, cwd, arg));
    else if (arg !== '--all') options.push(arg);
    isValue = !isValue && WITH_VALUE.has(arg);
  }
  const isSlow = args.includes('--all') || paths.some((path) => path.startsWith(`./${SLOW}`) || path.startsWith(SLOW));
  return {
    paths: paths.length > 0 ? paths : [ALL],
    options: isSlow ? options : ['--path-ignore-patterns', `${SLOW}/**`, ...options],
  };
}

/** `bun test` takes an argument for a path only if it begins with `./`, and otherwise for a part of one. */
function pathFrom(root: string, cwd: string, arg: string): string {
  const path = resolve(cwd, arg);
  return existsSync(path) ? `./${relative(root, path)}` : arg;
}
