import { dirname, join, normalize } from 'node:path';
import { importsOf, type SourceFile, withoutComments } from './imports.ts';

/**
 * The import cycles among files, one line each: `a.ts -> b.ts -> a.ts`. Imports of types count as well. Of files that all
 * reach one another only one cycle is named: the next run names the next.
 */
export function findCycles(files: readonly SourceFile[]): string[] {
  const targets = new Map(files.map(({ path, text }) => [path, targetsOf(path, text)]));
  const cycles: string[] = [];
  /** Files that are known to be in no further cycle. */
  const done = new Set<string>();
  const way: string[] = [];
  const visit = (path: string): void => {
    if (done.has(path)) return;
    const start = way.indexOf(path);
    if (start >= 0) {
      cycles.push([...way.slice(start), path].join(' -> '));
      return;
    }
    way.push(path);
    for (const target of targets.get(path) ?? []) visit(target);
    way.pop();
    done.add(path);
  };
  for (const { path } of files) visit(path);
  return cycles;
}

function targetsOf(path: string, text: string): string[] {
  return importsOf(withoutComments(text))
    .filter((specifier) => specifier.startsWith('.'))
    .map((specifier) => normalize(join(dirname(path), specifier)));
}
