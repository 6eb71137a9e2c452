/** Core's MAX_PROTOCOL_MESSAGE_LENGTH: no payload may be longer. */
export const MAX_PAYLOAD = 4_000_000;

/** Bytes that hold the name of a message, where it is spelt out. */
export const TYPE_SIZE = 12;

/** A message as it came, not yet decoded. The payload is the receiver's own copy. */
export interface NetMessage {
  readonly type: string;
  readonly payload: Uint8Array;
  /** Bytes it took on the wire, framing included. */
  readonly wireSize: number;
}

/** `detecting` until it is known what the peer speaks and, with v2, that both sides have the same keys. */
export type Protocol = 'detecting' | 'v1' | 'v2';

export type TransportEvent =
  /** Bytes of the handshake that must go out before anything that `encode` yields from here on. */
  | { readonly kind: 'send'; readonly bytes: Uint8Array }
  /** From here on `encode` may be called. */
  | { readonly kind: 'writable' }
  | { readonly kind: 'message'; readonly message: NetMessage }
  /** A message without a meaning, which Core drops without blaming the peer. */
  | { readonly kind: 'dropped'; readonly reason: string; readonly wireSize: number }
  /** The stream cannot be understood any longer: disconnect. Always the last event. */
  | { readonly kind: 'failed'; readonly reason: string };

/** Turns a stream of bytes into messages and back. Opens no sockets and keeps no time. */
export interface Transport {
  readonly protocol: Protocol;
  /** BIP-324: 32 bytes both sides can compare, once the peer has proven to have the same keys; null before and with v1. */
  readonly sessionId: Uint8Array | null;
  /** Whether `encode` may be called. */
  readonly writable: boolean;
  /** Bytes of memory that a message takes which has not come to its end. */
  readonly held: number;
  /** What must be sent when the connection opens, before anything was received. Call it once. */
  start(): Uint8Array;
  /** What the next bytes of the stream bring about, in order. After a failure it yields nothing. */
  receive(bytes: Uint8Array): TransportEvent[];
  /** The bytes of a message, to be sent in the order of the calls. Throws before it is writable and on long payloads. */
  encode(type: string, payload: Uint8Array): Uint8Array;
}
