import { afterAll, describe, expect, test } from 'bun:test';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import fc from 'fast-check';
import { isWithin, resolveLinks, resolveWithin } from '../../src/util/confined-path.ts';

const base = resolveLinks(mkdtempSync(join(tmpdir(), 'obverse-confined-')))!;
const root = join(base, 'root');
const outside = join(base, 'outside');
afterAll(() => rmSync(base, { recursive: true, force: true }));

mkdirSync(join(root, 'inner'), { recursive: true });
mkdirSync(join(outside, 'secret'), { recursive: true });
writeFileSync(join(outside, 'file'), '');
symlinkSync('inner', join(root, 'link'));
symlinkSync('..', join(root, 'up'));
symlinkSync(outside, join(root, 'out'));
symlinkSync(join(outside, 'missing'), join(root, 'dangling'));
symlinkSync('loop', join(root, 'loop'));
symlinkSync(root, join(base, 'rootlink'));

describe('a confined path', () => {
  test('keeps its missing names and loses its links', () => {
    expect(resolveWithin(join(root, 'a/b'), [root])).toBe(join(root, 'a/b'));
    expect(resolveWithin(join(root, 'link/b'), [root])).toBe(join(root, 'inner/b'));
    expect(resolveWithin(root, [root])).toBe(root);
    // The operator may name the directory by a link.
    expect(resolveWithin(join(base, 'rootlink/inner'), [join(base, 'rootlink')])).toBe(join(root, 'inner'));
    expect(resolveWithin(join(root, 'inner'), [join(base, 'rootlink')])).toBe(join(root, 'inner'));
  });

  test('is null outside, whether anything is there or not', () => {
    for (const path of [base, outside, join(outside, 'secret'), join(outside, 'no'), `${root}2`, '/', '/etc/passwd'])
      expect(resolveWithin(path, [root])).toBeNull();
    for (const name of [
      'out',
      'out/secret',
      'out/secret/x',
      'out/no',
      'out/file/x',
      'up',
      'up/outside',
      'dangling',
      'loop',
    ])
      expect(resolveWithin(join(root, name), [root])).toBeNull();
    for (const name of ['dangling/x', 'loop/x', 'link/../up/outside'])
      expect(resolveWithin(resolve(root, name), [root])).toBeNull();
  });

  test('never resolves to a path outside', () => {
    const part = fc.constantFrom(
      'inner',
      'link',
      'up',
      'out',
      'dangling',
      'loop',
      'secret',
      'root',
      'outside',
      'x',
      '..',
      '.',
    );
    fc.assert(
      fc.property(fc.array(part, { maxLength: 8 }), (parts) => {
        const found = resolveWithin(resolve(root, ...parts), [root]);
        if (found !== null) expect(isWithin(found, root)).toBe(true);
      }),
      { numRuns: 500 },
    );
  });
});
