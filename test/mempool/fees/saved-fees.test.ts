import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { decodeSavedFees, encodeSavedFees } from '../../../src/mempool/fees/saved-fees.ts';
import { DecodeError } from '../../../src/util/bytes.ts';

const weight = fc.integer({ min: 0, max: 4_000_000 });
const saved = fc
  .record({
    first: fc.nat(1_000_000),
    blocks: fc.array(fc.record({ weight, knownWeight: weight }), { maxLength: 6 }),
    hash: fc.uint8Array({ minLength: 32, maxLength: 32 }),
    history: fc.uint8Array({ maxLength: 300 }),
  })
  .map(({ first, blocks, hash, history }) => ({
    tip: blocks.length > 0 ? hash : null,
    mined: blocks.map((block, i) => ({ height: first + i, ...block })),
    history,
  }));

test('saved fees are decoded as they were encoded', () => {
  fc.assert(fc.property(saved, (fees) => expect(decodeSavedFees(encodeSavedFees(fees))).toEqual(fees)));
});

test('saved fees with any changed, missing or extra byte are rejected', () => {
  fc.assert(
    fc.property(saved, fc.nat(), fc.integer({ min: 1, max: 255 }), (fees, at, flip) => {
      const good = encodeSavedFees(fees);
      const bad = good.slice();
      bad[at % good.length]! ^= flip;
      for (const bytes of [bad, good.subarray(0, at % good.length), new Uint8Array([...good, flip])])
        expect(() => decodeSavedFees(bytes)).toThrow(DecodeError);
    }),
  );
});

test('saved fees with a valid checksum and invalid content are rejected', () => {
  const block = (height: number) => ({ height, weight: 1000, knownWeight: 900 });
  const encode = (heights: number[]) =>
    encodeSavedFees({ tip: new Uint8Array(32), mined: heights.map(block), history: new Uint8Array(4) });
  expect(() => decodeSavedFees(encode([1, 2, 4]))).toThrow('not consecutive');
  expect(() => decodeSavedFees(encode([1, 2, 3, 4, 5, 6, 7]))).toThrow('too many blocks');
  expect(decodeSavedFees(encode([1, 2, 3, 4, 5, 6])).mined).toHaveLength(6);
});
