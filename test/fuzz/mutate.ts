import { concatBytes } from '../../src/util/bytes.ts';
import type { Random } from './random.ts';

const MAX_SIZE = 1 << 20;
const MAX_CHANGES = 6;

const EDGES: readonly Uint8Array[] = [
  '00',
  '01',
  '7f',
  '80',
  'fc',
  'fd',
  'ff',
  'fdfc00',
  'fdfd00',
  'fdffff',
  'feffff0000',
  'fe00000100',
  'fe00000002',
  'fe01000002',
  'feffffffff',
  'ff0000000001000000',
  'ffffffffffffffffff',
  '00000080',
  'ffffff7f',
  '0000000000000080',
  'ffffffffffffff7f',
].map((hex) => Uint8Array.fromHex(hex));

/** Returns `input` with a few changes that an attacker or a faulty disk might make. Some bytes come from `other`. */
export function mutate(input: Uint8Array, other: Uint8Array, random: Random): Uint8Array {
  let bytes: Uint8Array = input.slice();
  for (let left = 1 + random.int(MAX_CHANGES); left > 0; left--) bytes = change(bytes, other, random);
  return bytes.length > MAX_SIZE ? bytes.slice(0, MAX_SIZE) : bytes;
}

function change(bytes: Uint8Array, other: Uint8Array, random: Random): Uint8Array {
  const at = random.int(bytes.length + 1);
  const length = random.length(bytes.length - at);
  switch (random.int(9)) {
    case 0:
      if (at < bytes.length) bytes[at]! ^= 1 << random.int(8);
      return bytes;
    case 1:
      if (at < bytes.length) bytes[at] = random.u32();
      return bytes;
    case 2: {
      const edge = random.pick(EDGES);
      bytes.set(edge.subarray(0, bytes.length - at), at);
      return bytes;
    }
    case 3:
      return spliced(bytes, at, 0, random.pick(EDGES));
    case 4:
      return spliced(bytes, at, 0, random.bytes(random.length(64)));
    case 5:
      return spliced(bytes, at, length, new Uint8Array(0));
    case 6:
      return spliced(bytes, random.int(bytes.length + 1), 0, bytes.slice(at, at + length));
    case 7: {
      const from = random.int(other.length + 1);
      return spliced(bytes, at, length, other.subarray(from, from + random.length(other.length - from)));
    }
    default:
      return random.once(4) ? bytes.slice(0, at) : bytes;
  }
}

function spliced(bytes: Uint8Array, at: number, remove: number, insert: Uint8Array): Uint8Array {
  return concatBytes(bytes.subarray(0, at), insert, bytes.subarray(Math.min(at + remove, bytes.length)));
}
