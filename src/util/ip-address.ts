/**
 * Returns the bytes of an IPv4 (4) or IPv6 (16) address, in network order; those of an IPv4-mapped one are its IPv4
 * bytes. Returns null for any other text. The zone of an IPv6 address is ignored.
 */
export function parseIp(text: string): Uint8Array | null {
  if (!text.includes(':')) return parseIpv4(text);
  const halves = text.split('%', 1)[0]!.split('::');
  if (halves.length > 2) return null;
  const head = parseGroups(halves[0]!, halves.length === 1);
  const tail = halves.length === 2 ? parseGroups(halves[1]!, true) : [];
  if (!head || !tail) return null;
  const missing = 16 - head.length - tail.length;
  if (halves.length === 2 ? missing < 2 : missing !== 0) return null;
  const bytes = Uint8Array.from([...head, ...new Array<number>(missing).fill(0), ...tail]);
  const mapped = bytes.subarray(0, 10).every((b) => b === 0) && bytes[10] === 0xff && bytes[11] === 0xff;
  return mapped ? bytes.slice(12) : bytes;
}

function parseIpv4(text: string): Uint8Array | null {
  const parts = text.split('.');
  if (parts.length !== 4 || !parts.every((part) => /^(?:0|[1-9][0-9]{0,2})$/.test(part) && Number(part) < 256))
    return null;
  return Uint8Array.from(parts, Number);
}

/** `isEnd`: the groups end the address, so the last one may be an IPv4 address. */
function parseGroups(text: string, isEnd: boolean): number[] | null {
  if (text === '') return [];
  const bytes: number[] = [];
  const groups = text.split(':');
  for (const [i, group] of groups.entries()) {
    const v4 = isEnd && i === groups.length - 1 ? parseIpv4(group) : null;
    if (v4) bytes.push(...v4);
    else if (/^[0-9a-fA-F]{1,4}$/.test(group))
      bytes.push(Number.parseInt(group, 16) >> 8, Number.parseInt(group, 16) & 0xff);
    else return null;
  }
  return bytes;
}

/** Whether the text is a loopback address. */
export function isLoopback(ip: string): boolean {
  if (ip === '127.0.0.1') return true;
  const bytes = parseIp(ip);
  if (!bytes) return false;
  return bytes.length === 4 ? bytes[0] === 127 : bytes.every((b, i) => b === (i === 15 ? 1 : 0));
}

/**
 * Returns the key that limits count by: the address, or the /64 prefix of an IPv6 address, since one host commonly has
 * the whole prefix.
 */
export function limitKey(ip: string): string {
  if (ip !== lastLimited.ip) {
    const bytes = parseIp(ip);
    lastLimited = { ip, key: bytes ? bytes.subarray(0, bytes.length === 4 ? 4 : 8).toHex() : ip };
  }
  return lastLimited.key;
}

/** The last result of `limitKey`: one request asks several times. */
let lastLimited = { ip: '', key: '' };

/** Addresses with a common prefix of `bits` bits. */
export interface IpSubnet {
  readonly bytes: Uint8Array;
  readonly bits: number;
}

/** Parses `10.0.0.0/8`, `2001:db8::/32` or a single address. Returns null for any other text. */
export function parseIpSubnet(text: string): IpSubnet | null {
  const [address, bits, ...rest] = text.split('/');
  const bytes = parseIp(address!);
  if (!bytes || rest.length > 0) return null;
  if (bits === undefined) return { bytes, bits: bytes.length * 8 };
  const prefix = parsePrefix(bits, bytes.length);
  return prefix === null ? null : { bytes, bits: prefix };
}

/** Parses the prefix length of an address with `size` bytes, in bits. Returns null if it is not one. */
export function parsePrefix(text: string, size: number): number | null {
  return /^[0-9]{1,3}$/.test(text) && Number(text) <= size * 8 ? Number(text) : null;
}

export function inSubnet(ip: string, { bytes, bits }: IpSubnet): boolean {
  const address = parseIp(ip);
  return address !== null && address.length === bytes.length && sharePrefix(address, bytes, bits);
}

/** Whether the first `bits` bits of two addresses of the same size are equal. */
export function sharePrefix(a: Uint8Array, b: Uint8Array, bits: number): boolean {
  const whole = bits >> 3;
  for (let i = 0; i < whole; i++) if (a[i] !== b[i]) return false;
  const mask = (0xff00 >> (bits & 7)) & 0xff;
  return (bits & 7) === 0 || (a[whole]! & mask) === (b[whole]! & mask);
}
