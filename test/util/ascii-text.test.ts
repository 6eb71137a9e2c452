import { expect, test } from 'bun:test';
import { joined } from '../../src/rpc/engine/reply-body.ts';
import { asciiBytes, transferredBuffers } from '../../src/util/ascii-text.ts';

test('an ASCII text is transferred without a copy, wherever it stands among the members', () => {
  const text = { pieces: ['cHNi', '', 'dP8B'].map(asciiBytes) };
  const reply = { complete: true, psbt: text, raw: Uint8Array.of(1), none: null };
  const received = structuredClone(reply, { transfer: transferredBuffers(reply) });
  expect(joined(received.psbt.pieces)).toBe('cHNidP8B');
  expect(received).toMatchObject({ complete: true, raw: Uint8Array.of(1), none: null });
  // The sender no longer has the bytes of the text, and keeps all other ones.
  expect(text.pieces.map(({ length }) => length)).toEqual([0, 0, 0]);
  expect(reply.raw).toEqual(Uint8Array.of(1));
});

test('a value without ASCII texts transfers nothing', () => {
  for (const value of [null, 'psbt', 1, ['a'], { pieces: 'a' }, { a: { pieces: [1] } }, Uint8Array.of(1)])
    expect(transferredBuffers(value)).toEqual([]);
});

test('each piece has a buffer of its own', () => {
  const [first, second] = [asciiBytes('a'), asciiBytes('b')];
  expect(first.buffer).not.toBe(second.buffer);
  expect(first.buffer.byteLength).toBe(1);
});
