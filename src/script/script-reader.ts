import { Op } from './opcodes.ts';
import { MAX_SCRIPT_ELEMENT_SIZE } from './script-limits.ts';

/**
 * Returns the position after the operation at `pos`; -1 if its push runs past the end. The opcode is `script[pos]`, and
 * its data begins at `pushStart`. Allocates nothing.
 */
export function operationEnd(script: Uint8Array, pos: number, end = script.length): number {
  const opcode = script[pos]!;
  if (opcode > Op.OP_PUSHDATA4) return pos + 1;
  const start = pushStart(opcode, pos);
  if (start > end) return -1;
  let size = opcode;
  if (opcode === Op.OP_PUSHDATA1) size = script[pos + 1]!;
  else if (opcode === Op.OP_PUSHDATA2) size = script[pos + 1]! | (script[pos + 2]! << 8);
  else if (opcode === Op.OP_PUSHDATA4)
    size = script[pos + 1]! + script[pos + 2]! * 0x100 + script[pos + 3]! * 0x1_0000 + script[pos + 4]! * 0x100_0000;
  return size > end - start ? -1 : start + size;
}

/** Returns the position of a push's data: after the opcode and its length bytes. */
export function pushStart(opcode: number, pos: number): number {
  if (opcode < Op.OP_PUSHDATA1 || opcode > Op.OP_PUSHDATA4) return pos + 1;
  return pos + (opcode === Op.OP_PUSHDATA1 ? 2 : opcode === Op.OP_PUSHDATA2 ? 3 : 5);
}

export interface Operation {
  readonly opcode: number;
  /** The pushed data, a view into the script; empty for opcodes above OP_PUSHDATA4. */
  readonly data: Uint8Array;
}

/** Yields the operations of a script; null as the last one if a push runs past the end. */
export function* readOperations(script: Uint8Array): Generator<Operation | null> {
  let pos = 0;
  while (pos < script.length) {
    const opcode = script[pos]!;
    const next = operationEnd(script, pos);
    if (next < 0) {
      yield null;
      return;
    }
    yield { opcode, data: script.subarray(pushStart(opcode, pos), next) };
    pos = next;
  }
}

/**
 * Whether all operations can be decoded, have a defined opcode and push at most the maximum item size (Core's
 * HasValidOps).
 */
export function hasValidOps(script: Uint8Array): boolean {
  for (const operation of readOperations(script)) {
    if (operation === null || operation.opcode > Op.OP_NOP10) return false;
    if (operation.data.length > MAX_SCRIPT_ELEMENT_SIZE) return false;
  }
  return true;
}

/**
 * Whether a script contains only pushes from `pos` on. OP_RESERVED counts as one, as in Core: it fails when executed.
 */
export function isPushOnly(script: Uint8Array, pos = 0): boolean {
  const end = script.length;
  for (let at = pos; at < end; ) {
    if (script[at]! > Op.OP_16) return false;
    at = operationEnd(script, at, end);
    if (at < 0) return false;
  }
  return true;
}

/** Whether the opcode is the shortest push of the bytes from `start` to `end` (BIP-62). */
export function isMinimalPush(opcode: number, script: Uint8Array, start: number, end: number): boolean {
  const size = end - start;
  if (size === 0) return opcode === Op.OP_0;
  if (size === 1) {
    const byte = script[start]!;
    // OP_1 to OP_16 and OP_1NEGATE push these bytes.
    if ((byte >= 1 && byte <= 16) || byte === 0x81) return false;
  }
  if (size <= 75) return opcode === size;
  if (size <= 255) return opcode === Op.OP_PUSHDATA1;
  return size > 65_535 || opcode === Op.OP_PUSHDATA2;
}
