import { Op, opcodeName } from '../../src/script/opcodes.ts';
import { pushData, pushNumber } from '../../src/script/script-builder.ts';
import { concatBytes, hexToBytes } from '../../src/util/bytes.ts';

const OPCODES = new Map<string, number>();
for (let opcode = 0x50; opcode <= 0xb9; opcode++) {
  // Small numbers are written as numbers; OP_RESERVED has a name.
  if (opcode < Op.OP_NOP && opcode !== Op.OP_RESERVED) continue;
  const name = opcodeName(opcode);
  OPCODES.set(name, opcode);
  OPCODES.set(name.replace(/^OP_/, ''), opcode);
}

/**
 * Parses the notation of the published vectors: decimal numbers, raw `0x` bytes, 'text', opcodes with or without OP_.
 */
export function parseScript(text: string): Uint8Array {
  return concatBytes(...text.split(/[ \t\n]/).map(parseWord));
}

function parseWord(word: string): Uint8Array {
  if (word === '') return new Uint8Array(0);
  if (/^-?\d+$/.test(word)) return pushNumber(Number(word));
  if (word.startsWith('0x')) return hexToBytes(word.slice(2));
  if (word.startsWith("'")) return pushData(new TextEncoder().encode(word.slice(1, -1)));
  const opcode = OPCODES.get(word);
  if (opcode === undefined) throw new Error(`unknown opcode ${word}`);
  return Uint8Array.of(opcode);
}
