import { sha256 } from '../../crypto/hash-functions.ts';
import type { NetAddress } from '../address/net-address.ts';

/** Members of a reply of the SAM protocol, such as RESULT; those without a value are left out. */
export function parseSamReply(line: string): ReadonlyMap<string, string> {
  const members = new Map<string, string>();
  for (const word of line.split(' ')) {
    const equals = word.indexOf('=');
    const key = word.slice(0, equals);
    if (equals > 0 && !members.has(key)) members.set(key, word.slice(equals + 1));
  }
  return members;
}

/** Characters of I2P's base64, which has `-` and `~` for `+` and `/`. */
const I2P_BASE64 = /^[A-Za-z0-9\-~]*={0,2}$/;

/** Decodes I2P's base64; null if the text is not of it. */
export function decodeI2pBase64(text: string): Uint8Array | null {
  if (!I2P_BASE64.test(text) || text.length % 4 !== 0) return null;
  try {
    return Uint8Array.fromBase64(text.replaceAll('-', '+').replaceAll('~', '/'));
  } catch {
    return null;
  }
}

export function encodeI2pBase64(bytes: Uint8Array): string {
  return bytes.toBase64().replaceAll('+', '-').replaceAll('/', '~');
}

/** Size of a destination without its certificate, and where the length of that is (I2P's common structures). */
const DESTINATION_SIZE = 387;
const CERTIFICATE_LENGTH_AT = 385;

/** Returns the destination at the beginning of a private key; null if the key is too short for it. */
export function destinationOf(privateKey: Uint8Array): Uint8Array | null {
  if (privateKey.length < DESTINATION_SIZE) return null;
  const size = DESTINATION_SIZE + ((privateKey[CERTIFICATE_LENGTH_AT]! << 8) | privateKey[CERTIFICATE_LENGTH_AT + 1]!);
  return privateKey.length < size ? null : privateKey.subarray(0, size);
}

/** Returns the address of a destination: its hash. */
export function addressOfDestination(destination: Uint8Array): NetAddress {
  return { network: 'i2p', bytes: sha256(destination).slice() };
}

/** Returns the address of a peer from the line by which the router announces it; null if it is malformed. */
export function addressOfPeerLine(line: string): NetAddress | null {
  // Routers may add ports behind the destination.
  const destination = decodeI2pBase64(line.split(' ', 1)[0]!);
  return destination === null || destination.length < DESTINATION_SIZE ? null : addressOfDestination(destination);
}
