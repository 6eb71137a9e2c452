import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { V1Transport } from '../../../src/p2p/transport/v1-transport.ts';
import { bytesToHex, concatBytes, hexToBytes } from '../../../src/util/bytes.ts';
import { cuts, failureIn, feed, MAGIC, messages, messagesIn } from './transport-lib.ts';

const EMPTY = new Uint8Array(0);
const transport = () => new V1Transport(MAGIC);
const verack = () => transport().encode('verack', EMPTY);

test('verack is encoded byte for byte', () =>
  expect(bytesToHex(verack())).toBe(`fabfb5da${Buffer.from('verack').toString('hex')}000000000000000000005df6e0e2`));

test('any messages are decoded however the stream is cut', () => {
  fc.assert(
    fc.property(messages, cuts, (sent, sizes) => {
      const stream = concatBytes(...sent.map(({ type, payload }) => transport().encode(type, payload)));
      const events = feed(transport(), stream, sizes);
      expect(messagesIn(events)).toEqual(sent);
      expect(events).toHaveLength(sent.length);
      const wire = events.reduce((sum, event) => sum + (event.kind === 'message' ? event.message.wireSize : 0), 0);
      expect(wire).toBe(stream.length);
    }),
  );
});

test('a changed bit never yields the original message', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 100 }), fc.nat(), (payload, bit) => {
      const bytes = transport().encode('ping', payload);
      bytes[(bit >> 3) % bytes.length]! ^= 1 << (bit & 7);
      const events = feed(transport(), concatBytes(bytes, verack()));
      expect(messagesIn(events).filter(({ type }) => type === 'ping')).toEqual([]);
    }),
  );
});

test('a payload of 4,000,000 bytes is accepted and a longer one rejected', () => {
  const payload = new Uint8Array(4_000_000).fill(3);
  const [event] = feed(transport(), transport().encode('block', payload), [65_536]);
  expect(event?.kind === 'message' && Buffer.compare(event.message.payload, payload)).toBe(0);
  expect(() => transport().encode('block', new Uint8Array(4_000_001))).toThrow('limit');
  const header = verack();
  new DataView(header.buffer).setUint32(16, 4_000_001, true);
  expect(failureIn(feed(transport(), header))).toBe('message is too large');
});

test('a stream of single bytes is decoded', () => {
  const payload = new Uint8Array(300_000).fill(5);
  expect(messagesIn(feed(transport(), transport().encode('block', payload), [1]))).toEqual([
    { type: 'block', payload },
  ]);
});

describe('messages that Core ignores without disconnecting', () => {
  const goesOn = (bytes: Uint8Array) => {
    const events = feed(transport(), concatBytes(bytes, verack()));
    expect(events.map(({ kind }) => kind)).toEqual(['dropped', 'message']);
    return events[0];
  };
  test('a message with a wrong checksum is dropped', () => {
    const bytes = transport().encode('ping', new Uint8Array(8));
    bytes[30]! ^= 1;
    const facts = { type: 'ping', bytes: 8, expected: '8e190ff0', received: '7ef0ca62' };
    expect(goesOn(bytes)).toEqual({ kind: 'dropped', reason: 'wrong checksum', wireSize: 32, facts });
  });
  test.each([
    ['a character above 0x7e', '7f'],
    ['a control character', '1f'],
    ['bytes after a zero', '0041'],
  ])('a message type with %s is dropped', (_, hex) => {
    const bytes = verack();
    bytes.set(hexToBytes(hex), 10);
    expect(goesOn(bytes)).toEqual({
      kind: 'dropped',
      reason: 'invalid message type',
      wireSize: 24,
      facts: { type: expect.stringMatching(/^verack/), bytes: 0 },
    });
  });
});

test('the magic of another network fails the stream', () => {
  const peer = transport();
  const other = new V1Transport(hexToBytes('f9beb4d9')).encode('verack', EMPTY);
  expect(feed(peer, concatBytes(other, verack()))).toEqual([
    { kind: 'failed', reason: 'wrong network magic', facts: { magic: 'f9beb4d9' } },
  ]);
  expect(peer.receive(verack())).toEqual([]);
});
