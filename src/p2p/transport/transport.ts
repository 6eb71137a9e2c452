import type { LogFields } from '../../util/log-levels.ts';

/** Core's MAX_PROTOCOL_MESSAGE_LENGTH: maximum size of a payload, bytes. */
export const MAX_PAYLOAD = 4_000_000;

/** Size of a message type that is sent in full, bytes. */
export const TYPE_SIZE = 12;

/** A received message before decoding. The payload is a copy owned by the receiver. */
export interface NetMessage {
  readonly type: string;
  readonly payload: Uint8Array;
  /** Size on the wire including framing, bytes. */
  readonly wireSize: number;
}

/** `detecting` until the peer's protocol is known and, with v2, the key exchange is confirmed by its version packet. */
export type Protocol = 'detecting' | 'v1' | 'v2';

export type TransportEvent =
  /** Handshake bytes that must be sent before any bytes that `encode` returns from now on. */
  | { readonly kind: 'send'; readonly bytes: Uint8Array }
  /** `encode` may be called from now on. */
  | { readonly kind: 'writable' }
  | { readonly kind: 'message'; readonly message: NetMessage }
  /**
   * A message that cannot be interpreted and that Core ignores without a consequence for the peer. `facts` belong to the
   * reason, for the log.
   */
  | { readonly kind: 'dropped'; readonly reason: string; readonly wireSize: number; readonly facts?: LogFields }
  /** The stream cannot be decoded any further and the peer must be disconnected. Always the last event. */
  | { readonly kind: 'failed'; readonly reason: string; readonly facts?: LogFields };

/** Converts a byte stream to messages and back. Performs no I/O and uses no clock. */
export interface Transport {
  readonly protocol: Protocol;
  /** BIP-324 session id, 32 bytes that both sides can compare. Null with v1 and before the peer has authenticated. */
  readonly sessionId: Uint8Array | null;
  /** Whether `encode` may be called. */
  readonly writable: boolean;
  /** Memory used by an incomplete message, bytes. */
  readonly held: number;
  /** Returns the bytes to send when the connection opens. Must be called once. */
  start(): Uint8Array;
  /** Processes received bytes and returns the resulting events in order. Returns none after a failure. */
  receive(bytes: Uint8Array): TransportEvent[];
  /**
   * Returns the bytes of a message, which must be sent in the order of the calls. Throws if the transport is not
   * writable or the payload is too long.
   */
  encode(type: string, payload: Uint8Array): Uint8Array;
}
