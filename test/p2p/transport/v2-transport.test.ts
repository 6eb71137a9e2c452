import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { ellswiftCreate } from '../../../src/crypto/ellswift.ts';
import { Bip324Cipher } from '../../../src/p2p/transport/bip324-cipher.ts';
import { V1Transport } from '../../../src/p2p/transport/v1-transport.ts';
import { V2Transport } from '../../../src/p2p/transport/v2-transport.ts';
import { bytesToHex, concatBytes, hexToBytes } from '../../../src/util/bytes.ts';
import {
  bytesToSend,
  cuts,
  failureIn,
  feed,
  MAGIC,
  messages,
  messagesIn,
  shakeHands,
  v2Transport,
} from './transport-lib.ts';

const EMPTY = new Uint8Array(0);
const seeds = fc.integer({ min: 0, max: 1_000_000 });

function connected(seed = 1): { a: V2Transport; b: V2Transport } {
  const [a, b] = [v2Transport(true, seed), v2Transport(false, seed + 1)];
  shakeHands(a, b);
  return { a, b };
}

test('after the handshake any messages pass both ways however the streams are cut', () => {
  fc.assert(
    fc.property(seeds, messages, messages, cuts, (seed, there, back, sizes) => {
      const [a, b] = [v2Transport(true, seed), v2Transport(false, seed + 1)];
      expect([a.writable, b.writable, a.protocol, b.sessionId]).toEqual([false, false, 'detecting', null]);
      shakeHands(a, b, sizes);
      expect([a.protocol, b.protocol]).toEqual(['v2', 'v2']);
      expect(a.sessionId).toHaveLength(32);
      expect(b.sessionId).toEqual(a.sessionId);
      const toB = feed(b, concatBytes(...there.map(({ type, payload }) => a.encode(type, payload))), sizes);
      expect(messagesIn(toB)).toEqual(there);
      const toA = feed(a, concatBytes(...back.map(({ type, payload }) => b.encode(type, payload))), sizes);
      expect(messagesIn(toA)).toEqual(back);
    }),
    { numRuns: 25 },
  );
});

test('one side may send as soon as it has the keys, before the other has authenticated', () => {
  const [a, b] = [v2Transport(true), v2Transport(false)];
  const reply = bytesToSend(feed(b, a.start()));
  const events = feed(b, concatBytes(bytesToSend(feed(a, reply)), a.encode('ping', new Uint8Array(8))));
  expect(messagesIn(events)).toEqual([{ type: 'ping', payload: new Uint8Array(8) }]);
});

test('keys, encodings and garbage are random by default', () => {
  const [a, b] = [
    new V2Transport({ initiating: true, magic: MAGIC }),
    new V2Transport({ initiating: false, magic: MAGIC }),
  ];
  expect(a.start().length).toBeLessThanOrEqual(64 + 4095);
  shakeHands(a, b);
  expect(b.sessionId).toEqual(a.sessionId!);
});

test('the ciphers rekey after every 224 packets, including decoys', () => {
  const { a, b } = connected();
  for (let i = 0; i < 700; i++) {
    if (i % 3 === 0) expect(feed(b, a.encodeDecoy(new Uint8Array(i % 40)))).toEqual([]);
    expect(messagesIn(feed(b, a.encode('pong', Uint8Array.of(i & 255))))).toEqual([
      { type: 'pong', payload: Uint8Array.of(i & 255) },
    ]);
  }
});

test('a short message type takes one byte and a full one thirteen', () => {
  const { a } = connected();
  expect(a.encode('ping', new Uint8Array(8))).toHaveLength(3 + 1 + 1 + 8 + 16);
  expect(a.encode('verack', EMPTY)).toHaveLength(3 + 1 + 13 + 16);
});

test('a stream of single bytes and the largest payload are decoded', () => {
  const { a, b } = connected();
  const payload = new Uint8Array(300_000).fill(9);
  expect(messagesIn(feed(b, a.encode('block', payload), [1]))).toEqual([{ type: 'block', payload }]);
  const largest = new Uint8Array(4_000_000).fill(4);
  const [event] = feed(b, a.encode('unknown', largest), [65_536]);
  expect(event?.kind === 'message' && Buffer.compare(event.message.payload, largest)).toBe(0);
  expect(() => a.encode('block', new Uint8Array(4_000_001))).toThrow('limit');
});

test('garbage of the maximum length is accepted and one byte more rejected', () => {
  const [a, b] = [v2Transport(true, 1, new Uint8Array(4095).fill(1)), v2Transport(false, 2, EMPTY)];
  shakeHands(a, b);
  expect([a.protocol, b.protocol]).toEqual(['v2', 'v2']);
  expect(() => v2Transport(true, 1, new Uint8Array(4096))).toThrow('4095');
  const responder = v2Transport(false);
  const key = v2Transport(true, 5, EMPTY).start();
  expect(failureIn(feed(responder, concatBytes(key, new Uint8Array(4095 + 15))))).toBeNull();
  expect(feed(responder, new Uint8Array(1))).toEqual([{ kind: 'failed', reason: 'no garbage terminator', facts: {} }]);
  expect(feed(responder, new Uint8Array(9))).toEqual([]);
});

describe('a changed bit disconnects', () => {
  test('a changed bit in the handshake yields no message', () => {
    fc.assert(
      fc.property(seeds, fc.nat(), fc.boolean(), (seed, at, fromInitiator) => {
        const [a, b] = [v2Transport(true, seed), v2Transport(false, seed + 1)];
        const flip = (bytes: Uint8Array) => {
          bytes[(at >> 3) % bytes.length]! ^= 1 << (at & 7);
          return bytes;
        };
        const first = fromInitiator ? flip(a.start()) : a.start();
        const reply = bytesToSend(feed(b, first));
        const atA = feed(a, fromInitiator ? reply : flip(reply));
        const toB = bytesToSend(atA);
        const failing = fromInitiator ? b : a;
        const packet = fromInitiator ? a.encode('ping', EMPTY) : b.encode('ping', EMPTY);
        // A changed key is detected when no terminator follows in time, a changed length when the announced bytes have
        // arrived.
        const events = [
          ...feed(failing, concatBytes(fromInitiator ? toB : EMPTY, packet)),
          ...feed(failing, new Uint8Array(4_000_040)),
        ];
        expect(messagesIn(events)).toEqual([]);
        expect(failing.sessionId).toBeNull();
        expect(failureIn([...atA, ...events])).not.toBeNull();
        expect(feed(failing, new Uint8Array(5000))).toEqual([]);
      }),
      { numRuns: 25 },
    );
  });

  test('a changed bit in a packet fails the stream', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), fc.nat(), (payload, at) => {
        const { a, b } = connected();
        const bytes = a.encode('tx', payload);
        bytes[(at >> 3) % bytes.length]! ^= 1 << (at & 7);
        // A changed length may require more bytes; at most this many.
        const events = feed(b, concatBytes(bytes, new Uint8Array(4_000_040)));
        expect(events.map(({ kind }) => kind)).toEqual(['failed']);
      }),
      { numRuns: 15 },
    );
  });

  test('a missing, repeated or oversized packet fails the stream', () => {
    const { a, b } = connected();
    a.encode('ping', EMPTY);
    expect(failureIn(feed(b, a.encode('ping', EMPTY)))).toMatch(/not authentic|too large/);
    const other = connected();
    const packet = other.a.encode('ping', EMPTY);
    expect(failureIn(feed(other.b, packet))).toBeNull();
    expect(failureIn(feed(other.b, concatBytes(packet, new Uint8Array(4_000_040))))).toMatch(/not authentic|too large/);
    const third = connected();
    expect(failureIn(feed(third.b, third.a.encodeDecoy(new Uint8Array(4_000_014))))).toBe('packet is too large');
  });
});

describe('a peer with hand-made packets', () => {
  /** The keys are exchanged; the responder receives the garbage terminator and the version packet next. */
  function byHand(): { b: V2Transport; cipher: Bip324Cipher } {
    const b = v2Transport(false);
    const secret = new Uint8Array(32).fill(5);
    const key = ellswiftCreate(secret);
    const reply = bytesToSend(feed(b, key));
    return { b, cipher: new Bip324Cipher(secret, key, reply.subarray(0, 64), true, MAGIC) };
  }

  function versioned(): { b: V2Transport; cipher: Bip324Cipher } {
    const { b, cipher } = byHand();
    feed(b, concatBytes(cipher.sendTerminator, cipher.encrypt(EMPTY, EMPTY, EMPTY)));
    return { b, cipher };
  }

  test.each([
    ['empty contents', '', 'packet without a message type'],
    ['an unknown short id', '26', 'unknown short message type'],
    ['a truncated message type', '0070696e6700000000000000', 'invalid message type'],
    ['a message type with a control character', '0070696e1f0000000000000000', 'invalid message type'],
    ['a message type with bytes after a zero', '0070696e0067000000000000000000', 'invalid message type'],
  ])('a packet with %s is dropped, and the stream continues', (_, contents, reason) => {
    const { b, cipher } = versioned();
    const dropped = feed(b, cipher.encrypt(EMPTY, hexToBytes(contents), EMPTY));
    expect(dropped).toEqual([
      {
        kind: 'dropped',
        reason,
        wireSize: contents.length / 2 + 20,
        facts: expect.objectContaining({ bytes: contents.length / 2 }),
      },
    ]);
    expect(messagesIn(feed(b, cipher.encrypt(Uint8Array.of(18), EMPTY, EMPTY)))).toEqual([
      { type: 'ping', payload: EMPTY },
    ]);
  });

  // Core maps reserved ids to an empty message type, which is ignored.
  test('a reserved id yields a message with an empty type', () => {
    const { b, cipher } = versioned();
    expect(messagesIn(feed(b, cipher.encrypt(Uint8Array.of(29), EMPTY, EMPTY)))).toEqual([
      { type: '', payload: EMPTY },
    ]);
  });

  test.each([
    [1, 'addr'],
    [2, 'block'],
    [6, 'filteradd'],
    [14, 'inv'],
    [21, 'tx'],
    [28, 'addrv2'],
    [37, 'feature'],
  ])('the short id %p means %s', (id, type) => {
    const { b, cipher } = versioned();
    expect(messagesIn(feed(b, cipher.encrypt(Uint8Array.of(id), EMPTY, EMPTY)))).toEqual([{ type, payload: EMPTY }]);
  });

  test('with decoys before the version packet, the first packet authenticates the garbage', () => {
    const garbage = new Uint8Array(100).fill(3);
    const { b, cipher } = byHand();
    const decoys = [cipher.encrypt(EMPTY, new Uint8Array(9), garbage, true), cipher.encrypt(EMPTY, EMPTY, EMPTY, true)];
    feed(b, concatBytes(garbage, cipher.sendTerminator, ...decoys));
    expect(b.protocol).toBe('detecting');
    // The contents of the version packet are reserved for extensions.
    expect(feed(b, cipher.encrypt(EMPTY, new Uint8Array(30), EMPTY))).toEqual([]);
    expect(b.protocol).toBe('v2');
  });

  test('unauthenticated garbage fails the stream', () => {
    const { b, cipher } = byHand();
    const events = feed(b, concatBytes(new Uint8Array(1), cipher.sendTerminator, cipher.encrypt(EMPTY, EMPTY, EMPTY)));
    expect(failureIn(events)).toBe('packet is not authentic');
  });
});

describe('a responder with a v1 peer', () => {
  test('the responder falls back to v1, and messages pass both ways', () => {
    fc.assert(
      fc.property(messages, cuts, (sent, sizes) => {
        const [peer, b] = [new V1Transport(MAGIC), v2Transport(false)];
        const all = [{ type: 'version', payload: EMPTY }, ...sent];
        const events = feed(b, concatBytes(...all.map(({ type, payload }) => peer.encode(type, payload))), sizes);
        expect(messagesIn(events)).toEqual(all);
        expect(bytesToSend(events)).toHaveLength(0);
        expect([b.protocol, b.sessionId, b.writable]).toEqual(['v1', null, true]);
        expect(messagesIn(feed(peer, b.encode('verack', EMPTY)))).toEqual([{ type: 'verack', payload: EMPTY }]);
      }),
      { numRuns: 30 },
    );
  });

  test('the responder sends nothing on a v1 prefix', () => {
    const b = v2Transport(false);
    const version = new V1Transport(MAGIC).encode('version', EMPTY);
    expect(feed(b, version.subarray(0, 15))).toEqual([]);
    expect(b.protocol).toBe('detecting');
    expect(feed(b, version.subarray(15, 16))).toEqual([{ kind: 'writable' }]);
    expect(b.protocol).toBe('v1');
  });

  test('the responder sends its key at the first byte that differs from v1', () => {
    for (let at = 0; at < 16; at++) {
      const b = v2Transport(false, 3);
      const start = new V1Transport(MAGIC).encode('version', EMPTY).slice(0, at + 1);
      start[at]! ^= 0x80;
      expect(feed(b, start.subarray(0, at))).toEqual([]);
      const events = feed(b, start.subarray(at));
      // A peer of another network is disconnected once it is recognized.
      expect(bytesToSend(events)).toHaveLength(64 + 3);
    }
  });

  test('a v1 peer of another network is recognized', () => {
    const version = new V1Transport(hexToBytes('f9beb4d9')).encode('version', EMPTY);
    for (const sizes of [[1], [1000]])
      expect(failureIn(feed(v2Transport(false), version, sizes))).toBe('v1 peer with wrong network magic');
  });

  test('any other first message is read as a key', () => {
    const b = v2Transport(false);
    feed(b, new V1Transport(MAGIC).encode('verack', EMPTY));
    expect(b.protocol).toBe('detecting');
  });
});

test('an initiator whose peer disconnects without a byte retries v1 if enough was sent', () => {
  const a = v2Transport(true);
  expect([a.shouldReconnectV1(23), a.shouldReconnectV1(24)]).toEqual([false, true]);
  a.receive(new Uint8Array(1));
  expect(a.shouldReconnectV1(64)).toBe(false);
  expect(v2Transport(false).shouldReconnectV1(64)).toBe(false);
});

test('a v1 peer reads the key as another network and fails', () =>
  expect(failureIn(feed(new V1Transport(MAGIC), v2Transport(true).start()))).toStartWith('wrong network magic'));

test('no two handshakes have bytes in common', () => {
  const starts = [1, 2, 3].map((seed) => bytesToHex(v2Transport(true, seed).start().subarray(0, 4)));
  expect(new Set(starts).size).toBe(3);
});
