import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { JsonText, LongText } from '../../../src/rpc/engine/method.ts';
import { joined } from '../../../src/rpc/engine/reply-body.ts';
import { resultPieces } from '../../../src/rpc/engine/result-pieces.ts';
import { asciiBytes } from '../../../src/util/ascii-text.ts';

const BASE64 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=';
const base64 = fc.string({ unit: fc.constantFrom(...BASE64), maxLength: 20 });

test('a result with long texts has the JSON text of the same result with strings', () => {
  fc.assert(
    fc.property(
      fc.dictionary(fc.string(), fc.oneof(fc.jsonValue(), fc.constant(undefined), fc.array(base64))),
      fc.array(base64),
      fc.boolean(),
      (members, texts, isLast) => {
        const result = (psbt: unknown) => (isLast ? { ...members, psbt } : { psbt, ...members });
        // A member of that name would replace the long text.
        fc.pre(!('psbt' in members));
        const long = new LongText({ pieces: texts.map(asciiBytes) });
        return joined(resultPieces(result(long))) === JSON.stringify(result(texts.join('')));
      },
    ),
  );
});

test('the pieces of a long text are sent as they are', () => {
  const piece = asciiBytes('cHNidP8B');
  expect(resultPieces({ psbt: new LongText({ pieces: [piece] }), complete: true })).toContain(piece);
});

test('results without long texts are one text, and JSON text stays as it is', () => {
  expect(resultPieces({ a: [1] })).toEqual(['{"a":[1]}']);
  expect(resultPieces(undefined)).toEqual(['null']);
  expect(resultPieces(new JsonText('[', '1]'))).toEqual(['[', '1]']);
});
