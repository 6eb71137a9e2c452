import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkExportedNames, checkFileNames } from './names.ts';

const file = (path: string, text: string) => ({ path, text });

test('a name that two files export is reported once, with both', () => {
  expect(
    checkExportedNames([
      file('src/b.ts', 'export class Peer {}\nexport async function* load() {}'),
      file('src/a.ts', 'export interface Peer {}\nexport type Load = () => void;'),
    ]),
  ).toEqual(['Peer is exported by src/a.ts and src/b.ts']);
});

test('overloads, re-exports, and names of a file of its own are not reported', () => {
  expect(
    checkExportedNames([
      file(
        'src/a.ts',
        'export function read(a: string): string;\nexport function read(a: number): number;\nconst b = 1;',
      ),
      file('src/b.ts', "export { read } from './a.ts';\nconst b = 2;"),
      file('src/cli/start-command.ts', 'export const command = {};'),
      file('src/cli/key-command.ts', 'export const command = {};'),
    ]),
  ).toEqual([]);
});

test('a name that files of two folders have is reported with both', () => {
  expect(checkFileNames([file('src/a/run.ts', ''), file('src/b/run.ts', ''), file('src/b/walk.ts', '')])).toEqual([
    'run.ts is the name of src/a/run.ts and src/b/run.ts',
  ]);
});

test('every exported name of the program means one thing', () => {
  const root = join(import.meta.dir, '../..');
  const paths = [...new Bun.Glob('src/**/*.ts').scanSync({ cwd: root })];
  expect(checkExportedNames(paths.map((path) => file(path, readFileSync(join(root, path), 'utf8'))))).toEqual([]);
});
