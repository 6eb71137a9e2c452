import type { ByteReader, ByteWriter } from '../../util/bytes.ts';
import { addressFromV1, addressToV1, type NetService } from '../address/net-address.ts';
import { bytesOfText, messageCodec, readBytes, textOf, writeBytes } from './codec.ts';

const MAX_USER_AGENT = 256;
const OLD_ADDRESS_SIZE = 16;
/** Services, address and port of the sender, which are ignored. */
const SENDER_SIZE = 8 + OLD_ADDRESS_SIZE + 2;

export interface VersionMessage {
  /** Protocol version of the sender. */
  readonly version: number;
  readonly services: bigint;
  /** Unix seconds by the sender's clock, at least 0. */
  readonly time: bigint;
  readonly receiverServices: bigint;
  /** The receiver's address as the sender sees it. */
  readonly receiver: NetService;
  /** Random number by which a node detects a connection to itself. */
  readonly nonce: bigint;
  /** As received, one character per byte. Only `printableAgent` of it may be shown or logged. */
  readonly userAgent: string;
  /** Height of the sender's chain; -1 if absent. */
  readonly startHeight: number;
  /** BIP-37: whether the sender wants transactions announced. */
  readonly relay: boolean;
}

/** All fields after the receiver's address are optional when decoding. */
export const version = messageCodec<VersionMessage>('version', write, read);

function write(w: ByteWriter, message: VersionMessage): void {
  w.u32(message.version >>> 0);
  w.u64(message.services);
  w.i64(message.time);
  w.u64(message.receiverServices);
  w.bytes(addressToV1(message.receiver.address));
  writePort(w, message.receiver.port);
  // The sender's address is left empty, as in Core.
  w.u64(message.services);
  w.bytes(new Uint8Array(OLD_ADDRESS_SIZE));
  writePort(w, 0);
  w.u64(message.nonce);
  writeBytes(w, bytesOfText(message.userAgent), MAX_USER_AGENT);
  w.u32(message.startHeight >>> 0);
  w.u8(message.relay ? 1 : 0);
}

function read(r: ByteReader): VersionMessage {
  const number = r.i32();
  const services = r.u64();
  const time = r.i64();
  const receiverServices = r.u64();
  const receiver = { address: addressFromV1(r.bytes(OLD_ADDRESS_SIZE)), port: readPort(r) };
  const rest = { nonce: 1n, userAgent: '', startHeight: -1, relay: true };
  if (r.remaining > 0) {
    r.skip(SENDER_SIZE);
    rest.nonce = r.u64();
  }
  if (r.remaining > 0) rest.userAgent = textOf(readBytes(r, MAX_USER_AGENT, 'user agent'));
  if (r.remaining > 0) rest.startHeight = r.i32();
  if (r.remaining > 0) rest.relay = r.u8() !== 0;
  return { version: number, services, time: time < 0n ? 0n : time, receiverServices, receiver, ...rest };
}

/** Reads a port, the only big-endian field of the protocol. */
export function readPort(r: ByteReader): number {
  const high = r.u8();
  return (high << 8) | r.u8();
}

export function writePort(w: ByteWriter, port: number): void {
  w.u8(port >> 8);
  w.u8(port & 0xff);
}

/** Core's SanitizeString: removes characters that are unsafe in logs and web pages. */
export function printableAgent(userAgent: string): string {
  return userAgent.replaceAll(/[^A-Za-z0-9 .,;\-_/:?@()]/g, '');
}
