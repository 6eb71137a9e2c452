import { Op } from './opcodes.ts';
import { readScriptNum, scriptNumBytes } from './script-num.ts';

/** Whether a stack item is true: any bit set, except for the sign bit of a zero. */
export function isTrue(item: Uint8Array): boolean {
  const last = item.length - 1;
  for (let i = 0; i < last; i++) if (item[i] !== 0) return true;
  return last >= 0 && item[last] !== 0 && item[last] !== 0x80;
}

/** Executes an opcode that only moves items; the caller has checked their number. */
export function moveItems(opcode: number, stack: Uint8Array[]): void {
  const top = stack.length - 1;
  switch (opcode) {
    case Op.OP_2DROP:
      stack.length -= 2;
      break;
    case Op.OP_2DUP:
      stack.push(stack[top - 1]!, stack[top]!);
      break;
    case Op.OP_3DUP:
      stack.push(stack[top - 2]!, stack[top - 1]!, stack[top]!);
      break;
    case Op.OP_2OVER:
      stack.push(stack[top - 3]!, stack[top - 2]!);
      break;
    case Op.OP_2ROT:
      stack.push(...stack.splice(top - 5, 2));
      break;
    case Op.OP_2SWAP:
      swap(stack, top - 3, top - 1);
      swap(stack, top - 2, top);
      break;
    case Op.OP_IFDUP:
      if (isTrue(stack[top]!)) stack.push(stack[top]!);
      break;
    case Op.OP_DEPTH:
      stack.push(scriptNumBytes(stack.length));
      break;
    case Op.OP_NIP:
      stack[top - 1] = stack[top]!;
      stack.length--;
      break;
    case Op.OP_OVER:
      stack.push(stack[top - 1]!);
      break;
    case Op.OP_ROT:
      swap(stack, top - 2, top - 1);
      swap(stack, top - 1, top);
      break;
    case Op.OP_SWAP:
      swap(stack, top - 1, top);
      break;
    case Op.OP_TUCK:
      stack.push(stack[top]!);
      stack[top] = stack[top - 1]!;
      stack[top - 1] = stack[top + 1]!;
      break;
    case Op.OP_SIZE:
      stack.push(scriptNumBytes(stack[top]!.length));
      break;
  }
}

function swap(stack: Uint8Array[], a: number, b: number): void {
  const item = stack[a]!;
  stack[a] = stack[b]!;
  stack[b] = item;
}

/** Executes OP_PICK or OP_ROLL: copies or moves the item at the depth that the top number gives. */
export function pickOrRoll(
  opcode: number,
  stack: Uint8Array[],
  requireMinimal: boolean,
): 'OK' | 'SCRIPTNUM' | 'INVALID_STACK_OPERATION' {
  const depth = readScriptNum(stack[stack.length - 1]!, requireMinimal);
  if (depth === null) return 'SCRIPTNUM';
  stack.length--;
  if (depth < 0 || depth >= stack.length) return 'INVALID_STACK_OPERATION';
  const at = stack.length - 1 - depth;
  const item = stack[at]!;
  if (opcode === Op.OP_ROLL) stack.splice(at, 1);
  stack.push(item);
  return 'OK';
}
