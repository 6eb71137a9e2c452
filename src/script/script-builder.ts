import { concatBytes } from '../util/bytes.ts';
import { Op } from './opcodes.ts';
import { scriptNumBytes } from './script-num.ts';

/** Builds a script of opcodes (numbers, see `Op`) and data (bytes), which is pushed in the shortest form. */
export function scriptOf(...parts: readonly (number | Uint8Array)[]): Uint8Array {
  return concatBytes(...parts.map((part) => (typeof part === 'number' ? Uint8Array.of(part) : minimalPush(part))));
}

/** Returns the shortest operation that pushes `data`: OP_0, OP_1NEGATE or OP_1 to OP_16 if possible. */
export function minimalPush(data: Uint8Array): Uint8Array {
  if (data.length === 1) {
    const byte = data[0]!;
    if (byte >= 1 && byte <= 16) return Uint8Array.of(Op.OP_1 + byte - 1);
    if (byte === 0x81) return Uint8Array.of(Op.OP_1NEGATE);
  }
  return pushData(data);
}

/** Returns a push with an explicit length, as Core serializes bytes into a script, even if an opcode would do. */
export function pushData(data: Uint8Array): Uint8Array {
  const size = data.length;
  const header = pushHeaderLength(size);
  const out = new Uint8Array(header + size);
  writePushHeader(out, size);
  out.set(data, header);
  return out;
}

/** Returns the size of the push opcode with its length, bytes. */
export function pushHeaderLength(size: number): number {
  return size < Op.OP_PUSHDATA1 ? 1 : size <= 0xff ? 2 : size <= 0xffff ? 3 : 5;
}

function writePushHeader(out: Uint8Array, size: number): void {
  if (size < Op.OP_PUSHDATA1) out[0] = size;
  else if (size <= 0xff) {
    out[0] = Op.OP_PUSHDATA1;
    out[1] = size;
  } else {
    const wide = size > 0xffff;
    out[0] = wide ? Op.OP_PUSHDATA4 : Op.OP_PUSHDATA2;
    for (let i = 0; i < (wide ? 4 : 2); i++) out[1 + i] = (size >>> (8 * i)) & 0xff;
  }
}

/** Returns the push of a number, as Core's `CScript() << number`; also for the height in a coinbase (BIP-34). */
export function pushNumber(value: number): Uint8Array {
  if (value === 0) return Uint8Array.of(Op.OP_0);
  if (value === -1 || (value >= 1 && value <= 16)) return Uint8Array.of(value + Op.OP_1 - 1);
  return pushData(scriptNumBytes(value));
}
