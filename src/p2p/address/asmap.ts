import { hash256 } from '../../crypto/hash-functions.ts';

/** Size of the addresses that a map is made for, bits. */
const ADDRESS_BITS = 128;
/** A number that no code can have: it did not end before the end of the map. */
const UNFINISHED = -1;

type Instruction = 'return' | 'jump' | 'match' | 'default' | null;

/**
 * A code of integers in Core's ASMap format: class k has 2^sizes[k] numbers, and is written as k ones, a zero unless it
 * is the last class, and the position in the class with its highest bit first.
 */
interface IntegerCode {
  readonly least: number;
  readonly sizes: readonly number[];
}

const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => from + i);
const KINDS: readonly Instruction[] = ['return', 'jump', 'match', 'default'];
const KIND: IntegerCode = { least: 0, sizes: [0, 0, 1] };
const ASN: IntegerCode = { least: 1, sizes: range(15, 24) };
/** The highest one is followed by the bits that are compared, at most 8. */
const MATCH: IntegerCode = { least: 2, sizes: range(1, 8) };
const JUMP: IntegerCode = { least: 17, sizes: range(5, 30) };

/** Reads the bits of a map, the lowest bit of each byte first. */
class MapReader {
  at = 0;
  readonly end: number;
  readonly #bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.end = bytes.length * 8;
  }

  bit(): number {
    const bit = (this.#bytes[this.at >> 3]! >> (this.at & 7)) & 1;
    this.at++;
    return bit;
  }

  /** Returns UNFINISHED if the map ends within the number. */
  integer({ least, sizes }: IntegerCode): number {
    let value = least;
    const last = sizes.length - 1;
    for (let k = 0; k <= last; k++) {
      const size = sizes[k]!;
      if (k < last) {
        if (this.at >= this.end) return UNFINISHED;
        if (this.bit() === 1) {
          value += 2 ** size;
          continue;
        }
      }
      if (this.end - this.at < size) return UNFINISHED;
      let offset = 0;
      for (let i = 0; i < size; i++) offset = offset * 2 + this.bit();
      return value + offset;
    }
    return UNFINISHED;
  }

  instruction(): Instruction {
    const kind = this.integer(KIND);
    return kind === UNFINISHED ? null : KINDS[kind]!;
  }
}

/** Number of address bits that the argument of a match compares. */
function matchLength(argument: number): number {
  return 31 - Math.clz32(argument);
}

/** A jump that the check has seen: where it leads, and the number of address bits that are unused there. */
interface Jump {
  readonly to: number;
  readonly bitsLeft: number;
}

/**
 * Core's SanityCheckAsmap for addresses of 128 bits. Returns the reason why the bytes are no map, or null. A map that
 * passes has no unreachable part, and every address leads to a number in it.
 */
export function asmapProblem(bytes: Uint8Array): string | null {
  const r = new MapReader(bytes);
  /** Sorted: a jump may not lead beyond the one before it, so their number is at most the bits of an address. */
  const jumps: Jump[] = [];
  let bitsLeft = ADDRESS_BITS;
  let previous: Instruction = 'jump';
  let hasShortMatch = false;
  while (r.at !== r.end) {
    const next = jumps.at(-1);
    if (next !== undefined && r.at >= next.to) return 'a jump leads into an instruction';
    const instruction = r.instruction();
    if (instruction === null) return 'it ends within an instruction';
    const argument = r.integer(instruction === 'jump' ? JUMP : instruction === 'match' ? MATCH : ASN);
    if (argument === UNFINISHED) return 'it ends within an instruction';
    if (instruction === 'return') {
      if (previous === 'default') return 'a default is followed by a return';
      if (next === undefined) return paddingProblem(r);
      if (r.at !== next.to) return 'a part of it cannot be reached';
      bitsLeft = next.bitsLeft;
      jumps.pop();
      previous = 'jump';
      continue;
    }
    if (instruction === 'jump') {
      if (argument > r.end - r.at) return 'a jump leads beyond its end';
      if (bitsLeft === 0) return 'it uses more bits than an address has';
      bitsLeft--;
      const to = r.at + argument;
      if (next !== undefined && to >= next.to) return 'two jumps cross each other';
      jumps.push({ to, bitsLeft });
    } else if (instruction === 'match') {
      const length = matchLength(argument);
      if (previous !== 'match') hasShortMatch = false;
      if (length < 8 && hasShortMatch) return 'two short matches could be one';
      hasShortMatch = length < 8;
      if (bitsLeft < length) return 'it uses more bits than an address has';
      bitsLeft -= length;
    } else if (previous === 'default') return 'a default is followed by a default';
    previous = instruction;
  }
  return 'it ends without a return';
}

function paddingProblem(r: MapReader): string | null {
  if (r.end - r.at > 7) return 'bytes follow its last instruction';
  while (r.at !== r.end) if (r.bit() === 1) return 'its last bits are not zero';
  return null;
}

/** A map of IP addresses to the numbers of the autonomous systems that announce them, in Core's ASMap format. */
export class Asmap {
  readonly #bytes: Uint8Array;
  /** Hash of the map, which shows whether buckets were chosen with the same one. 32 bytes. */
  readonly version: Uint8Array;

  /** The bytes must have passed `asmapProblem`. */
  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.version = hash256(bytes);
  }

  /** Core's Interpret: returns the number for an address of 16 bytes; 0 if it has none (RFC 7607 reserves 0). */
  lookUp(address: Uint8Array): number {
    const r = new MapReader(this.#bytes);
    let used = 0;
    let otherwise = 0;
    const nextBit = () => {
      const bit = (address[used >> 3]! >> (7 - (used & 7))) & 1;
      used++;
      return bit;
    };
    for (;;) {
      switch (r.instruction()) {
        case 'return':
          return r.integer(ASN);
        case 'jump': {
          const distance = r.integer(JUMP);
          if (nextBit() === 1) r.at += distance;
          break;
        }
        case 'match': {
          const argument = r.integer(MATCH);
          for (let i = matchLength(argument) - 1; i >= 0; i--)
            if (nextBit() !== ((argument >> i) & 1)) return otherwise;
          break;
        }
        case 'default':
          otherwise = r.integer(ASN);
          break;
        default:
          throw new Error('a checked map of autonomous systems ends without a return');
      }
    }
  }
}
