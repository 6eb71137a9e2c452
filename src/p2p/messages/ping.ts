import { messageCodec } from './codec.ts';

export interface PingMessage {
  readonly nonce: bigint;
}

/** BIP-31: the receiver replies with a `pong` of the same nonce. */
export const ping = messageCodec<PingMessage>(
  'ping',
  (w, { nonce }) => w.u64(nonce),
  (r) => ({ nonce: r.u64() }),
);

export interface PongMessage {
  /** Null if the payload is too short for a nonce; such a pong also ends the wait for an answer. */
  readonly nonce: bigint | null;
}

export const pong = messageCodec<PongMessage>(
  'pong',
  (w, { nonce }) => {
    if (nonce !== null) w.u64(nonce);
  },
  (r) => ({ nonce: r.remaining < 8 ? null : r.u64() }),
);
