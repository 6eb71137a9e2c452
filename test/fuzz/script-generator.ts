import { Op } from '../../src/script/opcodes.ts';
import { minimalPush, pushData, pushNumber } from '../../src/script/script-builder.ts';
import { concatBytes } from '../../src/util/bytes.ts';
import type { Random } from './random.ts';

const CHECKS = [Op.OP_CHECKSIG, Op.OP_CHECKSIGVERIFY, Op.OP_CHECKSIGADD];
const LOCKS = [Op.OP_CHECKLOCKTIMEVERIFY, Op.OP_CHECKSEQUENCEVERIFY];
const CONDITIONS = [Op.OP_IF, Op.OP_NOTIF, Op.OP_ELSE, Op.OP_ENDIF];

/** The signatures and keys that generated scripts contain. */
export interface ScriptParts {
  readonly signatures: readonly Uint8Array[];
  readonly keys: readonly Uint8Array[];
}

/** Returns a script that usually keeps items on its stack and closes its conditions, so that it runs for a while. */
export function randomScript(random: Random, parts: ScriptParts): Uint8Array {
  const pieces: Uint8Array[] = [];
  let open = 0;
  for (let left = random.length(60); left > 0; left--) {
    const kind = random.int(20);
    if (kind < 5) pieces.push(randomPush(random));
    else if (kind < 7) pieces.push(pushNumber(random.int(20) - 2));
    else if (kind < 12) pieces.push(Uint8Array.of(Op.OP_NOP + random.int(Op.OP_CHECKSIGADD - Op.OP_NOP + 1)));
    else if (kind < 13) pieces.push(Uint8Array.of(Op.OP_1ADD + random.int(Op.OP_WITHIN - Op.OP_1ADD + 1)));
    else if (kind < 14) pieces.push(pushNumber(random.int(4)), Uint8Array.of(random.pick([Op.OP_PICK, Op.OP_ROLL])));
    else if (kind < 15) pieces.push(multisigCheck(random, parts));
    else if (kind < 16)
      pieces.push(
        minimalPush(random.pick(parts.signatures)),
        minimalPush(random.pick(parts.keys)),
        Uint8Array.of(random.pick(CHECKS)),
      );
    else if (kind < 17) pieces.push(pushNumber(random.u32() >>> random.int(32)), Uint8Array.of(random.pick(LOCKS)));
    else if (kind < 19) {
      const opcode = open > 0 ? random.pick(CONDITIONS) : random.pick([Op.OP_IF, Op.OP_NOTIF]);
      if (opcode === Op.OP_IF || opcode === Op.OP_NOTIF) {
        open++;
        if (random.once(2)) pieces.push(pushNumber(random.int(2)));
      } else if (opcode === Op.OP_ENDIF) open--;
      pieces.push(Uint8Array.of(opcode));
    } else pieces.push(Uint8Array.of(random.int(256)));
  }
  if (!random.once(8)) pieces.push(new Uint8Array(open).fill(Op.OP_ENDIF));
  if (random.once(2)) pieces.push(Uint8Array.of(Op.OP_1));
  return concatBytes(...pieces);
}

const HASH_TYPES = [0, 1, 2, 3, 4, 0x41, 0x80, 0x81, 0x82, 0x83];

/** Returns a script of signature checks only, whose number of valid ones decides. `der` begins every signature. */
export function signatureScript(random: Random, der: Uint8Array, { keys }: ScriptParts): Uint8Array {
  const pieces: Uint8Array[] = [Uint8Array.of(Op.OP_0)];
  const checks = 2 + random.int(14);
  for (let i = 0; i < checks; i++) {
    const signature = Uint8Array.of(...der, random.once(20) ? random.int(256) : random.pick(HASH_TYPES));
    pieces.push(pushData(signature), pushData(random.once(4) ? random.pick(keys) : keys[0]!));
    pieces.push(Uint8Array.of(Op.OP_CHECKSIG, Op.OP_ADD));
    if (random.once(3)) pieces.push(Uint8Array.of(Op.OP_CODESEPARATOR));
  }
  pieces.push(pushNumber(random.int(checks + 1)), Uint8Array.of(Op.OP_NUMEQUAL));
  return concatBytes(...pieces);
}

function multisigCheck(random: Random, { signatures, keys }: ScriptParts): Uint8Array {
  const keyCount = random.int(22);
  const count = random.int(keyCount + 2);
  return concatBytes(
    pushNumber(random.once(5) ? 1 : 0),
    ...Array.from({ length: count }, () => minimalPush(random.pick(signatures))),
    pushNumber(count),
    ...Array.from({ length: keyCount }, () => minimalPush(random.pick(keys))),
    pushNumber(keyCount),
    Uint8Array.of(random.pick([Op.OP_CHECKMULTISIG, Op.OP_CHECKMULTISIGVERIFY])),
  );
}

function randomPush(random: Random): Uint8Array {
  const size = random.pick([0, 1, 1, 2, 3, 4, 5, 6, 20, 32, 33, 65, 71, 75, 76, 255, 256, 519, 520, 521]);
  const data = random.once(4) ? new Uint8Array(size) : random.bytes(size);
  if (!random.once(6)) return random.once(2) ? minimalPush(data) : pushData(data);
  // The encoding is longer than necessary.
  return random.once(2)
    ? concatBytes(Uint8Array.of(Op.OP_PUSHDATA2, size & 0xff, size >> 8), data)
    : concatBytes(Uint8Array.of(Op.OP_PUSHDATA4, size & 0xff, size >> 8, 0, 0), data);
}

/** Returns a script that pushes the items of a stack, bottom first. */
export function pushesOf(items: readonly Uint8Array[]): Uint8Array {
  return concatBytes(...items.map(minimalPush));
}
