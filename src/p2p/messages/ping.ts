import { messageCodec } from './codec.ts';

export interface PingMessage {
  readonly nonce: bigint;
}

/** BIP-31: to be answered with the same nonce. */
export const ping = messageCodec<PingMessage>(
  'ping',
  (w, { nonce }) => w.u64(nonce),
  (r) => ({ nonce: r.u64() }),
);

export interface PongMessage {
  /** Null where the payload is too short to hold one; it still answers the ping. */
  readonly nonce: bigint | null;
}

export const pong = messageCodec<PongMessage>(
  'pong',
  (w, { nonce }) => {
    if (nonce !== null) w.u64(nonce);
  },
  (r) => ({ nonce: r.remaining < 8 ? null : r.u64() }),
);
