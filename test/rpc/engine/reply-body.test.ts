import { describe, expect, test } from 'bun:test';
import { NODE } from '../../../src/http/owner.ts';
import { ReplyLedger } from '../../../src/http/reply-ledger.ts';
import { type JsonPieces, joined, PieceWriter, replyBody } from '../../../src/rpc/engine/reply-body.ts';

const bytes = (text: string) => new TextEncoder().encode(text);
const limits = { perOwner: 1e9, total: 1e9 };
const to = { owner: NODE, signal: new AbortController().signal };
const body = (pieces: JsonPieces) =>
  replyBody(pieces, (encoded, length) => new ReplyLedger(limits).stream(encoded, length, to));
const sent = async (pieces: JsonPieces) => new Response(body(pieces)).text();

describe('a reply arrives completely', () => {
  const long = (length: number) => `"${'0123456789'.repeat(length / 10)}"`;
  for (const [name, pieces] of [
    ['short', ['{"a":', bytes('[1,2]'), ',"b":"ü𝄞"}']],
    ['of some length, whole', ['[', bytes(long(200_000)), ',', long(200_000), ',"ü"]']],
    ['the longest, in pieces', ['[', bytes(long(5_000_000)), ',', long(5_000_000), ']']],
    // A surrogate pair stands at every possible boundary.
    ['the longest, of characters of two halves', ['x', '𝄞'.repeat(5_000_000)]],
  ] as const satisfies [string, JsonPieces][])
    test(name, async () => {
      expect(Bun.hash(await sent(pieces))).toBe(Bun.hash(joined(pieces)));
    });
});

test('a long reply is sent in slices, and no slice is encoded after its reader has left', async () => {
  const reader = (body(['a'.repeat(20_000_000)]) as ReadableStream<Uint8Array>).getReader();
  let slices = 0;
  let going = true;
  const turn = () => {
    slices++;
    if (going) setImmediate(turn);
  };
  turn();
  for (let read = 0; read < 10; read++) expect((await reader.read()).value!.length).toBeLessThan(1_000_000);
  expect(slices).toBeGreaterThan(5);
  await reader.cancel();
  expect((await reader.read()).done).toBe(true);
  going = false;
});

test('many short texts are joined into few pieces', () => {
  const writer = new PieceWriter();
  const texts = Array.from({ length: 10_000 }, (_, i) => `${i},`);
  for (const text of texts) writer.add(text.repeat(5));
  const pieces = writer.end();
  expect(pieces.length).toBeLessThan(10);
  expect(pieces.join('')).toBe(texts.map((text) => text.repeat(5)).join(''));
});
