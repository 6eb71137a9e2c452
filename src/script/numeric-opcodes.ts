import { Op } from './opcodes.ts';
import { readScriptNum, scriptNumBytes } from './script-num.ts';

/**
 * Executes a numeric opcode: replaces its operands on top of the stack by the result. The caller has checked their
 * number. Returns false if an operand is not a valid number.
 */
export function calculate(opcode: number, stack: Uint8Array[], requireMinimal: boolean): boolean {
  const operands = opcode === Op.OP_WITHIN ? 3 : opcode >= Op.OP_ADD ? 2 : 1;
  const top = stack.length - 1;
  const c = readScriptNum(stack[top]!, requireMinimal);
  const b = operands > 1 ? readScriptNum(stack[top - 1]!, requireMinimal) : 0;
  const a = operands > 2 ? readScriptNum(stack[top - 2]!, requireMinimal) : 0;
  if (a === null || b === null || c === null) return false;
  stack.length -= operands;
  stack.push(
    scriptNumBytes(operands === 1 ? unary(opcode, c) : operands === 2 ? binary(opcode, b, c) : within(a, b, c)),
  );
  return true;
}

function within(value: number, least: number, above: number): number {
  return least <= value && value < above ? 1 : 0;
}

function unary(opcode: number, a: number): number {
  switch (opcode) {
    case Op.OP_1ADD:
      return a + 1;
    case Op.OP_1SUB:
      return a - 1;
    case Op.OP_NEGATE:
      return -a;
    case Op.OP_ABS:
      return Math.abs(a);
    case Op.OP_NOT:
      return a === 0 ? 1 : 0;
    default:
      return a !== 0 ? 1 : 0;
  }
}

function binary(opcode: number, a: number, b: number): number {
  switch (opcode) {
    case Op.OP_ADD:
      return a + b;
    case Op.OP_SUB:
      return a - b;
    case Op.OP_BOOLAND:
      return a !== 0 && b !== 0 ? 1 : 0;
    case Op.OP_BOOLOR:
      return a !== 0 || b !== 0 ? 1 : 0;
    case Op.OP_NUMEQUAL:
    case Op.OP_NUMEQUALVERIFY:
      return a === b ? 1 : 0;
    case Op.OP_NUMNOTEQUAL:
      return a !== b ? 1 : 0;
    case Op.OP_LESSTHAN:
      return a < b ? 1 : 0;
    case Op.OP_GREATERTHAN:
      return a > b ? 1 : 0;
    case Op.OP_LESSTHANOREQUAL:
      return a <= b ? 1 : 0;
    case Op.OP_GREATERTHANOREQUAL:
      return a >= b ? 1 : 0;
    case Op.OP_MIN:
      return Math.min(a, b);
    default:
      return Math.max(a, b);
  }
}
