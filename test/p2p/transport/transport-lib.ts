import fc from 'fast-check';
import type { Transport, TransportEvent } from '../../../src/p2p/transport/transport.ts';
import { V2Transport } from '../../../src/p2p/transport/v2-transport.ts';
import { concatBytes, hexToBytes } from '../../../src/util/bytes.ts';

export const MAGIC = hexToBytes('fabfb5da');

export interface Sent {
  readonly type: string;
  readonly payload: Uint8Array;
}

/** Message types with a short id, and ones without. */
export const messages = fc.array(
  fc.record({
    type: fc.constantFrom('version', 'verack', 'ping', 'tx', 'inv', 'addrv2', 'feature', 'x', 'twelve-chars'),
    payload: fc.uint8Array({ maxLength: 300 }),
  }),
  { maxLength: 8 },
);

/** Chunk sizes into which a stream is cut, used cyclically. */
export const cuts = fc.array(fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 200 }), fc.constant(1_000_000)), {
  minLength: 1,
  maxLength: 6,
});

function* chunked(bytes: Uint8Array, sizes: readonly number[]): Generator<Uint8Array> {
  for (let at = 0, i = 0; at < bytes.length; i++) {
    const size = sizes[i % sizes.length]!;
    // Each chunk is a copy that is overwritten afterwards: no view of a socket buffer may be kept.
    const chunk = bytes.slice(at, at + size);
    yield chunk;
    chunk.fill(0xee);
    at += size;
  }
}

export function feed(
  transport: Transport,
  bytes: Uint8Array,
  sizes: readonly number[] = [1_000_000],
): TransportEvent[] {
  const events: TransportEvent[] = [];
  for (const chunk of chunked(bytes, sizes)) events.push(...transport.receive(chunk));
  return events;
}

export function messagesIn(events: readonly TransportEvent[]): Sent[] {
  return events.flatMap((event) =>
    event.kind === 'message' ? [{ type: event.message.type, payload: event.message.payload }] : [],
  );
}

export function bytesToSend(events: readonly TransportEvent[]): Uint8Array {
  return concatBytes(...events.flatMap((event) => (event.kind === 'send' ? [event.bytes] : [])));
}

export const failureIn = (events: readonly TransportEvent[]) =>
  events.find((event) => event.kind === 'failed')?.reason ?? null;

/** Delivers the bytes of both sides until neither has more. Returns the events of each. */
export function shakeHands(a: Transport, b: Transport, sizes: readonly number[] = [1_000_000]) {
  const seen: [TransportEvent[], TransportEvent[]] = [[], []];
  let [toB, toA] = [a.start(), b.start()];
  while (toA.length + toB.length > 0) {
    const atB = feed(b, toB, sizes);
    const atA = feed(a, toA, sizes);
    seen[0].push(...atA);
    seen[1].push(...atB);
    [toB, toA] = [bytesToSend(atA), bytesToSend(atB)];
  }
  return seen;
}

/** Deterministic: keys, encodings and garbage are derived from the seed. */
export function v2Transport(initiating: boolean, seed = 1, garbage = new Uint8Array(seed % 50).fill(7)): V2Transport {
  let drawn = 0;
  return new V2Transport({
    initiating,
    magic: MAGIC,
    secret: new Uint8Array(32).fill(initiating ? 1 : 2).fill((seed % 250) + 1, 8, 16),
    random: (size) =>
      new Uint8Array(new Bun.CryptoHasher('sha256').update(`${seed} ${drawn++}`).digest()).slice(0, size),
    garbage,
  });
}
