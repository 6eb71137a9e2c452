import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const root = resolve(import.meta.dir, '../..');
const ROW = /^\| (.+) \| `(.+)` \| `(src\/.+)` \|$/gm;
/** A search with more results than this does not lead to the answer. */
const MAX_FILES = 12;

const rows = [...readFileSync(join(root, 'docs/questions.md'), 'utf8').matchAll(ROW)].map(
  ([, question = '', pattern = '', file = '']) => ({ question, pattern, file }),
);
const sources = [...new Bun.Glob('src/**/*.ts').scanSync({ cwd: root })].map((path) => ({
  path,
  text: readFileSync(join(root, path), 'utf8'),
}));

test('the document has ten questions', () => expect(rows).toHaveLength(10));

test.each(rows)('one search answers: $question', ({ pattern, file }) => {
  const found = sources.filter(({ text }) => new RegExp(pattern).test(text)).map(({ path }) => path);
  expect(found).toContain(file);
  expect(found.length).toBeLessThanOrEqual(MAX_FILES);
});
