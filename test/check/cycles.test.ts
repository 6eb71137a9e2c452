import { expect, test } from 'bun:test';
import { findCycles } from './cycles.ts';

const files = (sources: Record<string, string>) =>
  Object.entries(sources).map(([path, text]) => ({ path: `src/${path}`, text }));

test('a cycle is named with its files in order', () => {
  expect(
    findCycles(
      files({
        'main.ts': "import { a } from './chain/a.ts';",
        'chain/a.ts': "import { b } from './b.ts';",
        'chain/b.ts': "import { c } from '../util/c.ts';",
        'util/c.ts': "import { a } from '../chain/a.ts';",
      }),
    ),
  ).toEqual(['src/chain/a.ts -> src/chain/b.ts -> src/util/c.ts -> src/chain/a.ts']);
});

test('imports of types, dynamic imports and workers count, and comments do not', () => {
  const back = (text: string) => findCycles(files({ 'a.ts': "import { b } from './b.ts';", 'b.ts': text }));
  expect(back("import type { A } from './a.ts';")).toHaveLength(1);
  expect(back("const a = await import('./a.ts');")).toHaveLength(1);
  expect(back("new Worker(new URL('./a.ts', import.meta.url))")).toHaveLength(1);
  expect(back("// import { a } from './a.ts';")).toEqual([]);
});

test('two ways to the same file are no cycle', () => {
  expect(
    findCycles(
      files({
        'a.ts': "import './b.ts';\nimport './c.ts';",
        'b.ts': "import './d.ts';",
        'c.ts': "import './d.ts';",
        'd.ts': '',
      }),
    ),
  ).toEqual([]);
});
