import { isHighS, isOrderOrMore } from '../crypto/curve.ts';
import { parseDerLax } from '../crypto/der.ts';
import { SCRIPT_FLAGS, type ScriptFlags } from './flags.ts';
import type { ScriptError } from './script-error.ts';
import type { SigVersion } from './signature-checker.ts';

const { DERSIG, LOW_S, STRICTENC, WITNESS_PUBKEYTYPE } = SCRIPT_FLAGS;

/**
 * Checks the encoding of an ECDSA signature with its hash type, as the flags require. An empty signature passes: it is
 * a valid way to fail a check.
 */
export function checkSignatureEncoding(signature: Uint8Array, flags: ScriptFlags): ScriptError {
  if (signature.length === 0) return 'OK';
  if (flags & (DERSIG | LOW_S | STRICTENC) && !isStrictDer(signature)) return 'SIG_DER';
  if (flags & LOW_S && hasHighS(signature)) return 'SIG_HIGH_S';
  if (flags & STRICTENC && !isDefinedHashType(signature[signature.length - 1]!)) return 'SIG_HASHTYPE';
  return 'OK';
}

export function checkPublicKeyEncoding(key: Uint8Array, flags: ScriptFlags, sigVersion: SigVersion): ScriptError {
  if (flags & STRICTENC && !isCompressed(key) && !(key[0] === 4 && key.length === 65)) return 'PUBKEYTYPE';
  if (flags & WITNESS_PUBKEYTYPE && sigVersion === 'witness_v0' && !isCompressed(key)) return 'WITNESS_PUBKEYTYPE';
  return 'OK';
}

function isCompressed(key: Uint8Array): boolean {
  return (key[0] === 2 || key[0] === 3) && key.length === 33;
}

function isDefinedHashType(hashType: number): boolean {
  const type = hashType & ~0x80;
  return type >= 1 && type <= 3;
}

/**
 * Whether a signature with its hash type follows BIP-66: `30 <length> 02 <length R> R 02 <length S> S <type>`, R and S
 * positive and without needless leading zeros.
 */
export function isStrictDer(signature: Uint8Array): boolean {
  const size = signature.length;
  if (size < 9 || size > 73) return false;
  if (signature[0] !== 0x30 || signature[1] !== size - 3) return false;
  const lengthR = signature[3]!;
  if (5 + lengthR >= size) return false;
  const lengthS = signature[5 + lengthR]!;
  if (lengthR + lengthS + 7 !== size) return false;
  return isStrictInteger(signature, 2, lengthR) && isStrictInteger(signature, lengthR + 4, lengthS);
}

function isStrictInteger(signature: Uint8Array, at: number, length: number): boolean {
  if (signature[at] !== 0x02 || length === 0) return false;
  const first = signature[at + 2]!;
  if (first & 0x80) return false;
  return !(length > 1 && first === 0 && !(signature[at + 3]! & 0x80));
}

/** Scratch space of one call. */
const compact = new Uint8Array(64);

function hasHighS(signature: Uint8Array): boolean {
  if (!parseDerLax(signature.subarray(0, signature.length - 1), compact)) return true;
  // libsecp256k1 parses a signature with a number out of range as all zeros, and zero is a low S.
  return isHighS(compact, 32) && !isOrderOrMore(compact, 32) && !isOrderOrMore(compact, 0);
}
