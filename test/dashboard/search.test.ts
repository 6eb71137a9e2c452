import { expect, test } from 'bun:test';
import { classifySearch } from '../../src/dashboard/pages/search.ts';

const HASH = '0f9188f13cb7b2c71f2a335e3a4fc328bf5beb436012afca590b1a11466e2206';

test.each([
  ['0', 0],
  [' 123 ', 123],
  ['840 000', 840_000],
  ['840,000', 840_000],
  ['840\u202f000', 840_000],
  ['2147483647', 2_147_483_647],
])('%j is a height', (text, height) => expect(classifySearch(text)).toEqual({ kind: 'height', height }));

test.each([HASH, ` ${HASH}\n`, HASH.toUpperCase(), `${'0'.repeat(63)}1`, '1'.repeat(64)])('%j is a hash', (text) =>
  expect(classifySearch(text)).toEqual({ kind: 'hash', hash: text.trim().toLowerCase() }),
);

test.each([
  '1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa',
  '3J98t1WpEZ73CNmQviecrnyiWrnqRhWNLy',
  'bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4',
  'BC1QW508D6QEJXTDG4Y5R3ZARVARY0C5XW7KV8F3T4',
  'bcrt1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqc8gma6',
  ' bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080 ',
])('%j can be an address', (text) => expect(classifySearch(text)).toEqual({ kind: 'address', address: text.trim() }));

test.each([
  ['', 'Enter a height'],
  ['   ', 'Enter a height'],
  ['2147483648', 'A height is at most 2147483647.'],
  [HASH.slice(1), '64 hexadecimal digits; this has 63'],
  [`${HASH}0`, '64 hexadecimal digits; this has 65'],
  ['-1', 'This is not'],
  ['1.5', 'This is not'],
  ['../../api/keys', 'This is not'],
  ['<script>alert(1)</script>', 'This is not'],
  ['bc1', 'This is not'],
  ['a'.repeat(41) + 'z'.repeat(60), 'This is not'],
])('%j finds nothing', (text, reason) => {
  const found = classifySearch(text);
  expect(found.kind).toBe('nothing');
  expect(found.kind === 'nothing' && found.reason).toContain(reason);
});
