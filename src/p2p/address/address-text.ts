import { base32, base32nopad } from '@scure/base';
import { concatBytes, equalBytes } from '../../util/bytes.ts';
import { parseIp } from '../../util/ip-address.ts';
import { addressFromV1, type NetAddress, type NetService } from './net-address.ts';

const TOR_VERSION = 3;
const TOR_KEY_SIZE = 32;
const TOR_SIZE = TOR_KEY_SIZE + 2 + 1;
const I2P_TEXT = /^([a-z2-7]{52})\.b32\.i2p$/i;
const PORT = /^\d+$/;
/** The port of addresses on I2P: SAM 3.1 has none. Core's I2P_SAM31_PORT. */
export const I2P_PORT = 0;

/**
 * Parses an IPv4, IPv6, Tor v3 or I2P address; returns null for anything else. Host names are not resolved, and IPv6
 * zone ids are not supported.
 */
export function parseNetAddress(text: string): NetAddress | null {
  const ip = text.includes('%') ? null : parseIp(text);
  if (ip?.length === 4) return { network: 'ipv4', bytes: ip };
  if (ip) {
    const address = addressFromV1(ip);
    return address.network === 'internal' ? null : address;
  }
  return parseOnion(text) ?? parseI2p(text);
}

/** Formats an address as Core does; IPv6 follows RFC 5952. */
export function printAddress({ network, bytes }: NetAddress): string {
  switch (network) {
    case 'ipv4':
      return bytes.join('.');
    case 'ipv6':
    case 'cjdns':
      return printIpv6(bytes);
    case 'onion':
      return `${base32.encode(concatBytes(bytes, torChecksum(bytes), Uint8Array.of(TOR_VERSION))).toLowerCase()}.onion`;
    case 'i2p':
      return `${base32nopad.encode(bytes).toLowerCase()}.b32.i2p`;
    case 'internal':
      return `${base32.encode(bytes).toLowerCase()}.internal`;
  }
}

/**
 * Parses `host:port`, `[ipv6]:port`, or an address alone, for which `defaultPort` is used, or 0 on I2P; the host may be a short form
 * like `127.1`. Returns null for anything else.
 */
export function parseService(text: string, defaultPort: number): NetService | null {
  let host = text;
  let port = defaultPort;
  let hasPort = false;
  const colon = text.lastIndexOf(':');
  const bracketed = text.startsWith('[') && text[colon - 1] === ']';
  // Text with several colons and no brackets is an IPv6 address without a port.
  if (colon >= 0 && (bracketed || text.indexOf(':') === colon)) {
    const digits = text.slice(colon + 1);
    if (!PORT.test(digits) || Number(digits) > 0xffff) return null;
    port = Number(digits);
    hasPort = true;
    host = text.slice(0, colon);
  }
  if (host.startsWith('[') && host.endsWith(']')) host = host.slice(1, -1);
  const address = parseNetAddress(host) ?? parseShortIpv4(host);
  if (address === null) return null;
  return { address, port: address.network === 'i2p' && !hasPort ? I2P_PORT : port };
}

export function printService({ address, port }: NetService): string {
  const text = printAddress(address);
  return address.network === 'ipv6' || address.network === 'cjdns' ? `[${text}]:${port}` : `${text}:${port}`;
}

/** Parses `127.1` and the like, whose last number has the remaining bytes of the address, as `inet_aton` does. */
function parseShortIpv4(text: string): NetAddress | null {
  if (!/^\d{1,3}\.\d{1,8}$|^\d{1,3}\.\d{1,3}\.\d{1,5}$/.test(text) || /(?:^|\.)0\d/.test(text)) return null;
  const numbers = text.split('.').map(Number);
  const last = numbers.pop()!;
  const rest = 4 - numbers.length;
  if (numbers.some((number) => number > 255) || last >= 256 ** rest) return null;
  const tail = Array.from({ length: rest }, (_, i) => (last >>> (8 * (rest - 1 - i))) & 0xff);
  return { network: 'ipv4', bytes: Uint8Array.from([...numbers, ...tail]) };
}

function printIpv6(bytes: Uint8Array): string {
  const groups = Array.from({ length: 8 }, (_, i) => (bytes[i * 2]! << 8) | bytes[i * 2 + 1]!);
  // The first of the longest runs of at least two zero groups is compressed.
  let [start, length] = [0, 1];
  for (let at = 0, run = 0; at < groups.length; at++) {
    run = groups[at] === 0 ? run + 1 : 0;
    if (run > length) [start, length] = [at - run + 1, run];
  }
  const print = (from: number, to: number) =>
    groups
      .slice(from, to)
      .map((group) => group.toString(16))
      .join(':');
  return length < 2 ? print(0, 8) : `${print(0, start)}::${print(start + length, 8)}`;
}

function parseOnion(text: string): NetAddress | null {
  if (!text.endsWith('.onion')) return null;
  const decoded = base32Bytes(text.slice(0, -'.onion'.length));
  if (decoded?.length !== TOR_SIZE || decoded[TOR_SIZE - 1] !== TOR_VERSION) return null;
  const key = decoded.slice(0, TOR_KEY_SIZE);
  const checksum = decoded.subarray(TOR_KEY_SIZE, TOR_SIZE - 1);
  return equalBytes(checksum, torChecksum(key)) ? { network: 'onion', bytes: key } : null;
}

function parseI2p(text: string): NetAddress | null {
  const bytes = base32Bytes(`${I2P_TEXT.exec(text)?.[1] ?? ''}====`);
  return bytes === null ? null : { network: 'i2p', bytes };
}

/** Returns null if the text is empty or is not padded base32. */
function base32Bytes(text: string): Uint8Array | null {
  try {
    const bytes = base32.decode(text.toUpperCase());
    return bytes.length > 0 ? bytes : null;
  } catch {
    return null;
  }
}

/** Checksum of an onion address (Tor's rend-spec-v3): the first two bytes of a SHA3-256. */
function torChecksum(key: Uint8Array): Uint8Array {
  const data = concatBytes(new TextEncoder().encode('.onion checksum'), key, Uint8Array.of(TOR_VERSION));
  return new Uint8Array(new Bun.CryptoHasher('sha3-256').update(data).digest()).slice(0, 2);
}
