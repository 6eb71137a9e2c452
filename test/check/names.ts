import { basename } from 'node:path';
import type { SourceFile } from './imports.ts';

const DECLARATION =
  /^export\s+(?:declare\s+|default\s+|abstract\s+|async\s+)*(?:function\*?|class|interface|type|enum|const|let)\s+([A-Za-z_$][\w$]*)/gm;

/** Names that several files may export. */
const COMMON_NAMES = [
  // Each file of the command line has one, which src/cli/commands.ts loads by its path.
  { path: /^src\/cli\//, name: /^command$/ },
];

/** Returns a line for each name that several files export: an exported name means one thing in the whole program. */
export function checkExportedNames(files: readonly SourceFile[]): string[] {
  const paths = new Map<string, Set<string>>();
  for (const { path, text } of files)
    for (const [, name = ''] of text.matchAll(DECLARATION))
      if (!COMMON_NAMES.some((common) => common.path.test(path) && common.name.test(name)))
        paths.set(name, (paths.get(name) ?? new Set()).add(path));
  return [...paths]
    .filter(([, at]) => at.size > 1)
    .map(([name, at]) => `${name} is exported by ${[...at].sort().join(' and ')}`);
}

/** Returns a line for each file name that several folders have: a reader searches files by their names. */
export function checkFileNames(files: readonly SourceFile[]): string[] {
  return [...Map.groupBy(files, ({ path }) => basename(path))]
    .filter(([, same]) => same.length > 1)
    .map(([name, same]) => `${name} is the name of ${same.map(({ path }) => path).join(' and ')}`);
}
