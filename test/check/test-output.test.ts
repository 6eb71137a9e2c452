import { expect, test } from 'bun:test';
import { TestOutput } from '../lib/test-output.ts';

function outputOf(text: string, partSize = text.length): TestOutput {
  const output = new TestOutput();
  for (let at = 0; at < text.length; at += partSize) output.addText(text.slice(at, at + partSize));
  return output;
}

const CRASH = `
test/a.test.ts:
(pass) one [0.30ms]
(fail) two [0.10ms]

test/b.test.ts:
(pass) begun [1.00ms]
✗ test/b.test.ts (worker crashed: SIGSEGV)

error: a test worker process crashed with SIGSEGV while running test/b.test.ts.
✗ test/c.test.ts (aborted: worker panicked)

test/d.test.ts:
✗ test/d.test.ts (aborted: sibling worker panicked)

 2 pass
 4 fail
`;

test('a crash of a test process leaves the files that did not end, and the results of those that did', () => {
  for (const partSize of [CRASH.length, 7, 1]) {
    const output = outputOf(CRASH, partSize);
    expect(output.crashed).toBe(true);
    expect(output.unfinished).toEqual(['test/b.test.ts', 'test/c.test.ts', 'test/d.test.ts']);
    expect(output.totals()).toEqual({ passed: 1, failed: 1 });
  }
});

test('colours do not matter, and a process that a test ends is no crash', () => {
  const output = outputOf(
    '\x1b[1mtest/a.test.ts:\x1b[0m\n\x1b[32m(pass)\x1b[0m one\n✗ test/a.test.ts (worker crashed: exit code 7)\n',
  );
  expect(output.crashed).toBe(false);
  expect(output.unfinished).toEqual([]);
  expect(output.totals()).toEqual({ passed: 1, failed: 0 });
});

test('the first failures are kept with the lines before them', () => {
  const noise = Array.from({ length: 100 }, (_, i) => `log line ${i}`);
  const one = ['test/a.test.ts:', '(pass) one', ...noise, 'error: expected 1', '(fail) two'];
  const output = outputOf([...one, 'test/b.test.ts:', 'error: expected 2', '(fail) three', ''].join('\n'));
  expect(output.failures).toEqual([
    ['test/a.test.ts:', ...noise.slice(41), 'error: expected 1', '(fail) two'].join('\n'),
    'test/b.test.ts:\nerror: expected 2\n(fail) three',
  ]);
  const many = outputOf(`test/a.test.ts:\n${'(fail) again\n'.repeat(1000)}`);
  expect(many.failures).toHaveLength(20);
});
