import { expect, test } from 'bun:test';
import { didYouMean, suggest } from '../../src/util/suggest.ts';

const WORDS = ['start', 'import', 'probe', 'http.listen', 'http.allowedHosts', 'log.level'];

test.each([
  ['strat', 'start'],
  ['imprt', 'import'],
  ['PROBE', 'probe'],
  ['http.allowed-hosts', 'http.allowedHosts'],
  ['http_listen', 'http.listen'],
  ['listen', 'http.listen'],
  ['loglevel', 'log.level'],
  ['x', null],
  ['', null],
  ['completely-different', null],
])('%s -> %s', (word, expected) => expect(suggest(word, WORDS)).toBe(expected));

test('didYouMean returns a sentence', () => {
  expect(didYouMean('strat', WORDS)).toBe(' (did you mean start?)');
  expect(didYouMean('zzz', WORDS)).toBe('');
});
