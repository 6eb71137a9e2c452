import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { batchTexts } from '../../../src/rpc/engine/batch-texts.ts';

describe('the texts of the calls of a batch', () => {
  test.each([
    ['one call', '[{"id":1}]', ['{"id":1}']],
    ['nested values', '[{"a":[{"b":[1]}]},{"c":{}}]', ['{"a":[{"b":[1]}]}', '{"c":{}}']],
    ['brackets in strings', '[{"a":"]}"},{"b":"[{"}]', ['{"a":"]}"}', '{"b":"[{"}']],
    ['white space around calls', '[ {"a":1}\n,\t{"b":2}\r] \n', ['{"a":1}', '{"b":2}']],
  ])('are found: %s', (_, text, texts) => {
    expect(batchTexts(text)).toEqual(texts);
  });

  test.each([
    ['an object', '{"id":1}'],
    ['no call', '[]'],
    ['white space before the array', ' [{}]'],
    ['an element that is no object', '[{},1]'],
    ['an array in the array', '[[]]'],
    ['a missing comma', '[{} {}]'],
    ['two commas', '[{},,{}]'],
    ['a comma at the end', '[{},]'],
    ['a comma at the beginning', '[,{}]'],
    ['no end', '[{}'],
    ['a string without an end', '[{"a'],
    ['an object that a bracket ends', '[{]]'],
    ['more behind the array', '[{}]{}'],
    ['an escape', '[{"a":"\\n"}]'],
    ['a long batch', `[${Array.from({ length: 5000 }, () => '{"a":1}').join(',')}]`],
  ])('are not found: %s', (_, text) => {
    expect(batchTexts(text)).toBeNull();
  });

  test('are the batch if all of them are JSON, and are found in every batch without escapes', () => {
    const piece = fc.constantFrom('[', ']', '{', '}', ',', ' ', '"a":1', '"a":"}"', '{"b":[]}', '"', '{}');
    const broken = fc.array(piece, { maxLength: 12 }).map((pieces) => `[${pieces.join('')}]`);
    const whole = fc
      .array(fc.dictionary(fc.string(), fc.jsonValue()), { minLength: 1, maxLength: 5 })
      .map((calls) => JSON.stringify(calls));
    fc.assert(
      fc.property(fc.oneof(broken, whole), (text) => {
        const texts = batchTexts(text);
        const parsed = parsedOf(text);
        const elements = texts?.map(parsedOf);
        if (elements?.every((each) => each !== undefined)) expect<unknown>(elements).toEqual(parsed);
        const isBatch = Array.isArray(parsed) && parsed.length > 0 && parsed.every(isObject);
        if (isBatch && !text.includes('\\')) expect(texts).not.toBeNull();
      }),
      { numRuns: 2000 },
    );
  });
});

/** Returns undefined for a text that is not JSON. */
function parsedOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
