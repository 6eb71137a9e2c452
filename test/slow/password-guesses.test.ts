import { expect, test } from 'bun:test';
import { cleanUpAfterTests } from '../lib/node-process.ts';
import { guessPasswords } from '../proof/password-guesses.ts';

cleanUpAfterTests();

test('passwords are compared at a fixed rate, over HTTP and TLS, and right ones pass meanwhile', async () => {
  const { signal } = new AbortController();
  const results = await Promise.all([guessPasswords('http', 1, signal), guessPasswords('https', 1, signal)]);
  expect(results.flatMap(({ violations }) => violations)).toEqual([]);
});
