import { hash160, sha256 } from '../crypto/hash-functions.ts';
import { SCRIPT_FLAGS, type ScriptFlags } from './flags.ts';
import { Op } from './opcodes.ts';
import { scriptOf } from './script-builder.ts';
import {
  MAX_PUBKEYS_PER_MULTISIG,
  MAX_SCRIPT_SIZE,
  WITNESS_V0_KEYHASH_SIZE,
  WITNESS_V0_SCRIPTHASH_SIZE,
  WITNESS_V1_TAPROOT_SIZE,
} from './script-limits.ts';
import { readScriptNum } from './script-num.ts';
import { isMinimalPush, isPushOnly, operationEnd, pushStart } from './script-reader.ts';

export type ScriptType =
  | 'pubkey'
  | 'pubkeyhash'
  | 'scripthash'
  | 'multisig'
  | 'nulldata'
  | 'witness_v0_keyhash'
  | 'witness_v0_scripthash'
  | 'witness_v1_taproot'
  | 'anchor'
  | 'witness_unknown'
  | 'nonstandard';

export interface ScriptTemplate {
  readonly type: ScriptType;
  /**
   * The variable parts of the template, as views into the script: the key, hash or witness program; for `multisig` one
   * byte with the number of signatures, the keys, and one byte with their number; for `witness_unknown` one byte with
   * the version, and the program.
   */
  readonly solutions: readonly Uint8Array[];
}

const NO_SOLUTIONS: readonly Uint8Array[] = [];

/** Returns the standard form of an output script (Core's Solver). */
export function scriptType(script: Uint8Array): ScriptTemplate {
  if (isPayToScriptHash(script)) return { type: 'scripthash', solutions: [script.subarray(2, 22)] };
  const version = witnessVersion(script);
  if (version >= 0) return witnessTemplate(version, witnessProgram(script));
  if (script[0] === Op.OP_RETURN && isPushOnly(script, 1)) return { type: 'nulldata', solutions: NO_SOLUTIONS };
  const key = payToPubkeyKey(script);
  if (key !== null) return { type: 'pubkey', solutions: [key] };
  if (isPayToPubkeyHash(script)) return { type: 'pubkeyhash', solutions: [script.subarray(3, 23)] };
  const multisig = multisigSolutions(script);
  if (multisig !== null) return { type: 'multisig', solutions: multisig };
  return { type: 'nonstandard', solutions: NO_SOLUTIONS };
}

function witnessTemplate(version: number, program: Uint8Array): ScriptTemplate {
  const { length } = program;
  if (version === 0) {
    if (length === WITNESS_V0_KEYHASH_SIZE) return { type: 'witness_v0_keyhash', solutions: [program] };
    if (length === WITNESS_V0_SCRIPTHASH_SIZE) return { type: 'witness_v0_scripthash', solutions: [program] };
    return { type: 'nonstandard', solutions: NO_SOLUTIONS };
  }
  if (version === 1 && length === WITNESS_V1_TAPROOT_SIZE) return { type: 'witness_v1_taproot', solutions: [program] };
  if (isPayToAnchor(version, program)) return { type: 'anchor', solutions: NO_SOLUTIONS };
  return { type: 'witness_unknown', solutions: [Uint8Array.of(version), program] };
}

export function isPayToScriptHash(script: Uint8Array): boolean {
  return script.length === 23 && script[0] === Op.OP_HASH160 && script[1] === 20 && script[22] === Op.OP_EQUAL;
}

function isPayToPubkeyHash(script: Uint8Array): boolean {
  return (
    script.length === 25 &&
    script[0] === Op.OP_DUP &&
    script[1] === Op.OP_HASH160 &&
    script[2] === 20 &&
    script[23] === Op.OP_EQUALVERIFY &&
    script[24] === Op.OP_CHECKSIG
  );
}

/** Whether a script has witness version 1 and a program of 32 bytes (BIP-341). */
export function isPayToTaproot(script: Uint8Array): boolean {
  return script.length === 34 && script[0] === Op.OP_1 && script[1] === 32;
}

/** Whether a witness program is pay-to-anchor, OP_1 4e73. */
export function isPayToAnchor(version: number, program: Uint8Array): boolean {
  return version === 1 && program.length === 2 && program[0] === 0x4e && program[1] === 0x73;
}

/** Whether a script is a witness program (BIP-141): a version opcode and one push of 2 to 40 bytes. */
export function isWitnessProgram(script: Uint8Array): boolean {
  return witnessVersion(script) >= 0;
}

/** Returns the version of a witness program, 0 to 16; -1 for other scripts. */
export function witnessVersion(script: Uint8Array): number {
  const { length } = script;
  if (length < 4 || length > 42 || script[1]! + 2 !== length) return -1;
  return versionOf(script[0]!);
}

/** Returns the program of a witness program, as a view. */
export function witnessProgram(script: Uint8Array): Uint8Array {
  return script.subarray(2);
}

function versionOf(opcode: number): number {
  if (opcode === Op.OP_0) return 0;
  return opcode >= Op.OP_1 && opcode <= Op.OP_16 ? opcode - Op.OP_1 + 1 : -1;
}

/** Whether an output can never be spent, so that it is not added to the UTXO set. */
export function isUnspendable(script: Uint8Array): boolean {
  return script[0] === Op.OP_RETURN || script.length > MAX_SCRIPT_SIZE;
}

/** As `isUnspendable`, for the script from `from` up to before `to`. */
export function isUnspendableAt(bytes: Uint8Array, from: number, to: number): boolean {
  return (from < to && bytes[from] === Op.OP_RETURN) || to - from > MAX_SCRIPT_SIZE;
}

/** Whether a push has the length of a public key (Core's CPubKey::ValidSize). */
function hasKeyLength(script: Uint8Array, start: number, end: number): boolean {
  const prefix = script[start];
  if (prefix === 2 || prefix === 3) return end - start === 33;
  return (prefix === 4 || prefix === 6 || prefix === 7) && end - start === 65;
}

function payToPubkeyKey(script: Uint8Array): Uint8Array | null {
  const { length } = script;
  if (length !== 35 && length !== 67) return null;
  if (script[0] !== length - 2 || script[length - 1] !== Op.OP_CHECKSIG) return null;
  return hasKeyLength(script, 1, length - 1) ? script.subarray(1, length - 1) : null;
}

function multisigSolutions(script: Uint8Array): Uint8Array[] | null {
  const last = script.length - 1;
  if (last < 0 || script[last] !== Op.OP_CHECKMULTISIG) return null;
  let pos = operationEnd(script, 0);
  if (pos < 0) return null;
  const required = multisigNumber(script, 0, pos);
  if (required < 1 || required > MAX_PUBKEYS_PER_MULTISIG) return null;
  const solutions: Uint8Array[] = [Uint8Array.of(required)];
  let next = pos;
  for (; pos <= last; pos = next) {
    next = operationEnd(script, pos);
    if (next < 0) return null;
    const start = pushStart(script[pos]!, pos);
    if (script[pos]! > Op.OP_PUSHDATA4 || !hasKeyLength(script, start, next)) break;
    solutions.push(script.subarray(start, next));
  }
  if (pos > last) return null;
  const keys = multisigNumber(script, pos, next);
  if (keys < required || keys > MAX_PUBKEYS_PER_MULTISIG || keys !== solutions.length - 1 || next !== last) return null;
  solutions.push(Uint8Array.of(keys));
  return solutions;
}

/** Returns the number that the operation pushes minimally; -1 for other operations. */
function multisigNumber(script: Uint8Array, pos: number, end: number): number {
  const opcode = script[pos]!;
  if (opcode > Op.OP_PUSHDATA4) return opcode >= Op.OP_1 ? versionOf(opcode) : -1;
  const start = pushStart(opcode, pos);
  if (!isMinimalPush(opcode, script, start, end)) return -1;
  return readScriptNum(script.subarray(start, end), true) ?? -1;
}

export function p2pk(publicKey: Uint8Array): Uint8Array {
  return scriptOf(publicKey, Op.OP_CHECKSIG);
}

/** `hash20`: HASH160 of the public key. */
export function p2pkh(hash20: Uint8Array): Uint8Array {
  const script = new Uint8Array(25);
  script[0] = Op.OP_DUP;
  script[1] = Op.OP_HASH160;
  script[2] = 20;
  script.set(hash20, 3);
  script[23] = Op.OP_EQUALVERIFY;
  script[24] = Op.OP_CHECKSIG;
  return script;
}

/** `hash20`: HASH160 of the redeem script. */
export function p2sh(hash20: Uint8Array): Uint8Array {
  return scriptOf(Op.OP_HASH160, hash20, Op.OP_EQUAL);
}

/** `hash20`: HASH160 of the compressed public key. */
export function p2wpkh(hash20: Uint8Array): Uint8Array {
  return witnessScript(0, hash20);
}

/** `hash32`: SHA-256 of the witness script. */
function p2wsh(hash32: Uint8Array): Uint8Array {
  return witnessScript(0, hash32);
}

/** `outputKey32`: the tweaked output key (BIP-341). */
export function p2tr(outputKey32: Uint8Array): Uint8Array {
  return witnessScript(1, outputKey32);
}

export function p2shOf(redeemScript: Uint8Array): Uint8Array {
  return p2sh(hash160(redeemScript));
}

export function p2wshOf(script: Uint8Array): Uint8Array {
  return p2wsh(sha256(script));
}

/** Returns the output script of a witness program of version 0 to 16. */
export function witnessScript(version: number, program: Uint8Array): Uint8Array {
  const script = new Uint8Array(2 + program.length);
  script[0] = version === 0 ? Op.OP_0 : Op.OP_1 + version - 1;
  script[1] = program.length;
  script.set(program, 2);
  return script;
}

/** Returns a multisig script for `required` signatures of up to 20 keys, in their order. */
export function multisig(required: number, publicKeys: readonly Uint8Array[]): Uint8Array {
  const number = (n: number): Uint8Array => Uint8Array.of(n);
  return scriptOf(number(required), ...publicKeys, number(publicKeys.length), Op.OP_CHECKMULTISIG);
}

/**
 * Counts the signature operations in a script. A multisig counts twenty, or the number of its keys if `accurate` and
 * known. Stops at a push that runs past the end.
 */
export function countSigops(script: Uint8Array, accurate: boolean): number {
  return countSigopsIn(script, 0, script.length, accurate);
}

/** Counts those of the script from `start` up to before `end`, as `countSigops` does. */
export function countSigopsIn(script: Uint8Array, start: number, end: number, accurate: boolean): number {
  let count = 0;
  let last: number = Op.OP_INVALIDOPCODE;
  for (let pos = start; pos < end; ) {
    const opcode = script[pos]!;
    if (opcode <= Op.OP_PUSHDATA4) {
      pos = operationEnd(script, pos, end);
      if (pos < 0) break;
    } else {
      pos++;
      if (opcode === Op.OP_CHECKSIG || opcode === Op.OP_CHECKSIGVERIFY) count++;
      else if (opcode === Op.OP_CHECKMULTISIG || opcode === Op.OP_CHECKMULTISIGVERIFY)
        count += accurate && last >= Op.OP_1 && last <= Op.OP_16 ? last - Op.OP_1 + 1 : MAX_PUBKEYS_PER_MULTISIG;
    }
    last = opcode;
  }
  return count;
}

/** Counts the signature operations of an input's redeem script (BIP-16); 0 for outputs other than P2SH. */
export function countP2shSigops(scriptSig: Uint8Array, scriptPubKey: Uint8Array): number {
  if (!isPayToScriptHash(scriptPubKey) || scriptSig.length === 0) return 0;
  const start = lastPushStart(scriptSig);
  return start < 0 ? 0 : countSigopsIn(scriptSig, start, scriptSig.length, true);
}

/** Counts the signature operations of a witness spend (BIP-141), bare or inside P2SH; 0 without the WITNESS flag. */
export function countWitnessSigops(
  scriptSig: Uint8Array,
  scriptPubKey: Uint8Array,
  witness: readonly Uint8Array[],
  flags: ScriptFlags,
): number {
  if (!(flags & SCRIPT_FLAGS.WITNESS)) return 0;
  if (witnessVersion(scriptPubKey) >= 0) return witnessSigops(scriptPubKey, 0, witness);
  if (!isPayToScriptHash(scriptPubKey) || scriptSig.length === 0) return 0;
  const start = lastPushStart(scriptSig);
  return start < 0 ? 0 : witnessSigops(scriptSig, start, witness);
}

/** Counts those of the witness program in `script` from `start` on; 0 for other scripts. */
function witnessSigops(script: Uint8Array, start: number, witness: readonly Uint8Array[]): number {
  const length = script.length - start;
  // Only version 0 counts; tapscript has a budget instead (BIP-342).
  if (script[start] !== Op.OP_0 || script[start + 1]! + 2 !== length) return 0;
  if (length === 2 + WITNESS_V0_KEYHASH_SIZE) return 1;
  if (length !== 2 + WITNESS_V0_SCRIPTHASH_SIZE || witness.length === 0) return 0;
  return countSigops(witness[witness.length - 1]!, true);
}

/**
 * Returns the position of the last operation's data, the end if it pushes none; -1 for a script that contains other
 * operations than pushes.
 */
function lastPushStart(script: Uint8Array): number {
  const end = script.length;
  let start = end;
  for (let pos = 0; pos < end; ) {
    const opcode = script[pos]!;
    if (opcode > Op.OP_16) return -1;
    start = pushStart(opcode, pos);
    pos = operationEnd(script, pos, end);
    if (pos < 0) return -1;
  }
  return start;
}
