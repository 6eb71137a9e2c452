import { hash160, hash256, ripemd160, sha1, sha256 } from '../crypto/hash-functions.ts';
import { equalBytes } from '../util/bytes.ts';
import { checkMultisig, checkSig, Execution } from './checksig.ts';
import { SCRIPT_FLAGS, type ScriptFlags } from './flags.ts';
import { calculate } from './numeric-opcodes.ts';
import { isDisabledOpcode, Op } from './opcodes.ts';
import type { ScriptError } from './script-error.ts';
import { MAX_OPS_PER_SCRIPT, MAX_SCRIPT_ELEMENT_SIZE, MAX_SCRIPT_SIZE, MAX_STACK_SIZE } from './script-limits.ts';
import { readScriptNum, scriptNumBytes } from './script-num.ts';
import { isMinimalPush, operationEnd, pushStart } from './script-reader.ts';
import { NO_CODE_SEPARATOR, type SignatureChecker, type SigVersion, type TaprootSpend } from './signature-checker.ts';
import { isTrue, moveItems, pickOrRoll } from './stack-opcodes.ts';

const {
  CHECKLOCKTIMEVERIFY,
  CHECKSEQUENCEVERIFY,
  CONST_SCRIPTCODE,
  DISCOURAGE_UPGRADABLE_NOPS,
  MINIMALDATA,
  MINIMALIF: REQUIRE_MINIMAL_IF,
} = SCRIPT_FLAGS;

const EMPTY = new Uint8Array(0);
const TRUE = scriptNumBytes(1);
const FALSE = scriptNumBytes(0);

/** Locktimes are unsigned 32-bit numbers, which take a fifth byte as script numbers. */
const MAX_LOCKTIME_SIZE = 5;
const SEQUENCE_LOCKTIME_DISABLE_FLAG = 0x8000_0000;

/** Number of stack items that an opcode needs, for opcodes that check it first. */
const NEEDS = new Uint8Array(256);
for (const [items, opcodes] of [
  [1, [Op.OP_VERIFY, Op.OP_TOALTSTACK, Op.OP_IFDUP, Op.OP_DROP, Op.OP_DUP, Op.OP_SIZE]],
  [1, [Op.OP_1ADD, Op.OP_1SUB, Op.OP_NEGATE, Op.OP_ABS, Op.OP_NOT, Op.OP_0NOTEQUAL]],
  [1, [Op.OP_RIPEMD160, Op.OP_SHA1, Op.OP_SHA256, Op.OP_HASH160, Op.OP_HASH256]],
  [2, [Op.OP_2DROP, Op.OP_2DUP, Op.OP_NIP, Op.OP_OVER, Op.OP_PICK, Op.OP_ROLL, Op.OP_SWAP, Op.OP_TUCK]],
  [2, [Op.OP_EQUAL, Op.OP_EQUALVERIFY, Op.OP_ADD, Op.OP_SUB, Op.OP_BOOLAND, Op.OP_BOOLOR, Op.OP_NUMEQUAL]],
  [2, [Op.OP_NUMEQUALVERIFY, Op.OP_NUMNOTEQUAL, Op.OP_LESSTHAN, Op.OP_GREATERTHAN, Op.OP_LESSTHANOREQUAL]],
  [2, [Op.OP_GREATERTHANOREQUAL, Op.OP_MIN, Op.OP_MAX, Op.OP_CHECKSIG, Op.OP_CHECKSIGVERIFY]],
  [3, [Op.OP_3DUP, Op.OP_ROT, Op.OP_WITHIN]],
  [4, [Op.OP_2OVER, Op.OP_2SWAP]],
  [6, [Op.OP_2ROT]],
] as const)
  for (const opcode of opcodes) NEEDS[opcode] = items;

/**
 * Runs a script on `stack` and leaves its result there (Core's EvalScript). `spend` is present for tapscript alone.
 * Returns `OK` or the error; the caller checks whether the top item is true. Stack items are shared and must not be
 * modified.
 */
export function evalScript(
  stack: Uint8Array[],
  script: Uint8Array,
  flags: ScriptFlags,
  checker: SignatureChecker,
  sigVersion: SigVersion,
  spend: TaprootSpend | null = null,
): ScriptError {
  const end = script.length;
  const tapscript = sigVersion === 'tapscript';
  if (!tapscript && end > MAX_SCRIPT_SIZE) return 'SCRIPT_SIZE';
  const requireMinimal = (flags & MINIMALDATA) !== 0;
  const x = new Execution(stack, script, flags, checker, sigVersion, spend);
  if (spend !== null) spend.codeSeparatorPosition = NO_CODE_SEPARATOR;
  const altstack: Uint8Array[] = [];
  // Nested conditions: only their number and the outermost false one matter (Core's ConditionStack).
  let depth = 0;
  let firstFalse = -1;

  let pc = 0;
  for (let position = 0; pc < end; position++) {
    const opcode = script[pc]!;
    const next = operationEnd(script, pc, end);
    if (next < 0) return 'BAD_OPCODE';
    const executing = firstFalse < 0;

    if (opcode <= Op.OP_PUSHDATA4) {
      const start = pushStart(opcode, pc);
      if (next - start > MAX_SCRIPT_ELEMENT_SIZE) return 'PUSH_SIZE';
      pc = next;
      if (!executing) continue;
      if (requireMinimal && !isMinimalPush(opcode, script, start, next)) return 'MINIMALDATA';
      stack.push(start === next ? EMPTY : script.subarray(start, next));
      if (stack.length + altstack.length > MAX_STACK_SIZE) return 'STACK_SIZE';
      continue;
    }
    pc = next;

    // OP_RESERVED is not counted.
    if (opcode > Op.OP_16 && !tapscript && ++x.opCount > MAX_OPS_PER_SCRIPT) return 'OP_COUNT';
    if (isDisabledOpcode(opcode)) return 'DISABLED_OPCODE';
    if (opcode === Op.OP_CODESEPARATOR && sigVersion === 'base' && flags & CONST_SCRIPTCODE) return 'OP_CODESEPARATOR';
    // Opcodes of conditions are processed in branches that are not executed too, OP_VERIF and OP_VERNOTIF among them.
    if (!executing && (opcode < Op.OP_IF || opcode > Op.OP_ENDIF)) continue;
    if (executing && stack.length < NEEDS[opcode]!) return 'INVALID_STACK_OPERATION';

    // The opcodes of common outputs come first, since the cases are compared in order.
    switch (opcode) {
      case Op.OP_DUP:
        stack.push(stack[stack.length - 1]!);
        break;
      case Op.OP_HASH160:
        stack.push(hash160(stack.pop()!));
        break;
      case Op.OP_EQUAL:
      case Op.OP_EQUALVERIFY: {
        const equal = equalBytes(stack.pop()!, stack.pop()!);
        if (opcode === Op.OP_EQUAL) stack.push(equal ? TRUE : FALSE);
        else if (!equal) return 'EQUALVERIFY';
        break;
      }
      case Op.OP_CHECKSIG:
      case Op.OP_CHECKSIGVERIFY: {
        const publicKey = stack.pop()!;
        const valid = checkSig(x, stack.pop()!, publicKey);
        if (typeof valid === 'string') return valid;
        if (opcode === Op.OP_CHECKSIG) stack.push(valid ? TRUE : FALSE);
        else if (!valid) return 'CHECKSIGVERIFY';
        break;
      }
      case Op.OP_CHECKMULTISIG:
      case Op.OP_CHECKMULTISIGVERIFY: {
        const valid = checkMultisig(x);
        if (typeof valid === 'string') return valid;
        if (opcode === Op.OP_CHECKMULTISIG) stack.push(valid ? TRUE : FALSE);
        else if (!valid) return 'CHECKMULTISIGVERIFY';
        break;
      }
      case Op.OP_CHECKSIGADD: {
        if (!tapscript) return 'BAD_OPCODE';
        if (stack.length < 3) return 'INVALID_STACK_OPERATION';
        const publicKey = stack.pop()!;
        const count = readScriptNum(stack.pop()!, requireMinimal);
        if (count === null) return 'SCRIPTNUM';
        const valid = checkSig(x, stack.pop()!, publicKey);
        if (typeof valid === 'string') return valid;
        stack.push(scriptNumBytes(count + (valid ? 1 : 0)));
        break;
      }

      case Op.OP_1NEGATE:
      case Op.OP_1:
      case Op.OP_2:
      case Op.OP_3:
      case Op.OP_4:
      case Op.OP_5:
      case Op.OP_6:
      case Op.OP_7:
      case Op.OP_8:
      case Op.OP_9:
      case Op.OP_10:
      case Op.OP_11:
      case Op.OP_12:
      case Op.OP_13:
      case Op.OP_14:
      case Op.OP_15:
      case Op.OP_16:
        stack.push(scriptNumBytes(opcode - Op.OP_1 + 1));
        break;

      case Op.OP_IF:
      case Op.OP_NOTIF: {
        if (executing) {
          if (stack.length < 1) return 'INVALID_STACK_OPERATION';
          const condition = stack.pop()!;
          if (condition.length > 1 || (condition.length === 1 && condition[0] !== 1)) {
            if (tapscript) return 'TAPSCRIPT_MINIMALIF';
            if (sigVersion === 'witness_v0' && flags & REQUIRE_MINIMAL_IF) return 'MINIMALIF';
          }
          if (isTrue(condition) !== (opcode === Op.OP_IF)) firstFalse = depth;
        }
        depth++;
        break;
      }
      case Op.OP_ELSE:
        if (depth === 0) return 'UNBALANCED_CONDITIONAL';
        // Toggling a condition within a false one has no effect.
        if (executing) firstFalse = depth - 1;
        else if (firstFalse === depth - 1) firstFalse = -1;
        break;
      case Op.OP_ENDIF:
        if (depth === 0) return 'UNBALANCED_CONDITIONAL';
        depth--;
        if (firstFalse === depth) firstFalse = -1;
        break;
      case Op.OP_VERIFY:
        if (!isTrue(stack[stack.length - 1]!)) return 'VERIFY';
        stack.length--;
        break;
      case Op.OP_RETURN:
        return 'OP_RETURN';

      case Op.OP_NOP:
        break;
      case Op.OP_CHECKLOCKTIMEVERIFY: {
        if (!(flags & CHECKLOCKTIMEVERIFY)) break;
        if (stack.length < 1) return 'INVALID_STACK_OPERATION';
        const lockTime = readScriptNum(stack[stack.length - 1]!, requireMinimal, MAX_LOCKTIME_SIZE);
        if (lockTime === null) return 'SCRIPTNUM';
        if (lockTime < 0) return 'NEGATIVE_LOCKTIME';
        if (!checker.checkLockTime(lockTime)) return 'UNSATISFIED_LOCKTIME';
        break;
      }
      case Op.OP_CHECKSEQUENCEVERIFY: {
        if (!(flags & CHECKSEQUENCEVERIFY)) break;
        if (stack.length < 1) return 'INVALID_STACK_OPERATION';
        const sequence = readScriptNum(stack[stack.length - 1]!, requireMinimal, MAX_LOCKTIME_SIZE);
        if (sequence === null) return 'SCRIPTNUM';
        if (sequence < 0) return 'NEGATIVE_LOCKTIME';
        // `&` uses the low 32 bits of the number, as consensus does.
        if (sequence & SEQUENCE_LOCKTIME_DISABLE_FLAG) break;
        if (!checker.checkSequence(sequence)) return 'UNSATISFIED_LOCKTIME';
        break;
      }
      case Op.OP_NOP1:
      case Op.OP_NOP4:
      case Op.OP_NOP5:
      case Op.OP_NOP6:
      case Op.OP_NOP7:
      case Op.OP_NOP8:
      case Op.OP_NOP9:
      case Op.OP_NOP10:
        if (flags & DISCOURAGE_UPGRADABLE_NOPS) return 'DISCOURAGE_UPGRADABLE_NOPS';
        break;

      case Op.OP_TOALTSTACK:
        altstack.push(stack.pop()!);
        break;
      case Op.OP_FROMALTSTACK:
        if (altstack.length === 0) return 'INVALID_ALTSTACK_OPERATION';
        stack.push(altstack.pop()!);
        break;
      case Op.OP_DROP:
        stack.length--;
        break;
      case Op.OP_PICK:
      case Op.OP_ROLL: {
        const error = pickOrRoll(opcode, stack, requireMinimal);
        if (error !== 'OK') return error;
        break;
      }
      case Op.OP_2DROP:
      case Op.OP_2DUP:
      case Op.OP_3DUP:
      case Op.OP_2OVER:
      case Op.OP_2ROT:
      case Op.OP_2SWAP:
      case Op.OP_IFDUP:
      case Op.OP_DEPTH:
      case Op.OP_NIP:
      case Op.OP_OVER:
      case Op.OP_ROT:
      case Op.OP_SWAP:
      case Op.OP_TUCK:
      case Op.OP_SIZE:
        moveItems(opcode, stack);
        break;

      case Op.OP_1ADD:
      case Op.OP_1SUB:
      case Op.OP_NEGATE:
      case Op.OP_ABS:
      case Op.OP_NOT:
      case Op.OP_0NOTEQUAL:
      case Op.OP_ADD:
      case Op.OP_SUB:
      case Op.OP_BOOLAND:
      case Op.OP_BOOLOR:
      case Op.OP_NUMEQUAL:
      case Op.OP_NUMNOTEQUAL:
      case Op.OP_LESSTHAN:
      case Op.OP_GREATERTHAN:
      case Op.OP_LESSTHANOREQUAL:
      case Op.OP_GREATERTHANOREQUAL:
      case Op.OP_MIN:
      case Op.OP_MAX:
      case Op.OP_WITHIN:
        if (!calculate(opcode, stack, requireMinimal)) return 'SCRIPTNUM';
        break;
      case Op.OP_NUMEQUALVERIFY:
        if (!calculate(opcode, stack, requireMinimal)) return 'SCRIPTNUM';
        if (!isTrue(stack.pop()!)) return 'NUMEQUALVERIFY';
        break;

      case Op.OP_RIPEMD160:
        stack.push(ripemd160(stack.pop()!));
        break;
      case Op.OP_SHA1:
        stack.push(sha1(stack.pop()!));
        break;
      case Op.OP_SHA256:
        stack.push(sha256(stack.pop()!));
        break;
      case Op.OP_HASH256:
        stack.push(hash256(stack.pop()!));
        break;
      case Op.OP_CODESEPARATOR:
        // Tapscript signatures commit to the position instead (BIP-342); a script may have millions of them.
        if (spend !== null) spend.codeSeparatorPosition = position;
        else x.scriptCode = script.subarray(pc);
        break;

      default:
        return 'BAD_OPCODE';
    }
    if (stack.length + altstack.length > MAX_STACK_SIZE) return 'STACK_SIZE';
  }
  return depth === 0 ? 'OK' : 'UNBALANCED_CONDITIONAL';
}
