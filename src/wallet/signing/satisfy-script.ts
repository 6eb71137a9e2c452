import { bytesToHex } from '../../util/bytes.ts';
import type { MiniscriptContext } from '../descriptor/miniscript/fragment.ts';
import { satisfyMiniscript } from '../descriptor/miniscript/satisfy.ts';
import { solveMiniscript } from '../descriptor/miniscript/solve.ts';
import type { SigningProvider } from '../keys/signing-data.ts';
import type { SignatureCreator } from './signature-creator.ts';
import type { SignatureData } from './signature-data.ts';

export interface ScriptSigning {
  readonly provider: SigningProvider;
  readonly creator: SignatureCreator;
  readonly data: SignatureData;
  /** Signs with a key as it appears in the script; null if it cannot. */
  readonly sign: (key: Uint8Array) => Uint8Array | null;
}

/**
 * Returns the stack for a witness script or a tapscript that is a miniscript: signatures, preimages, and locks that the
 * transaction satisfies. Every key signs, so that all possible signatures become known.
 */
export function satisfyScript(
  script: Uint8Array,
  context: MiniscriptContext,
  { creator, data, sign, ...keys }: ScriptSigning,
): readonly Uint8Array[] | null {
  const solved = solveMiniscript(script, context, (keyId) => {
    const key = findPublicKey({ ...keys, data }, keyId);
    if (key === null) data.missingKeys.push(keyId);
    return key;
  });
  if (solved === null) return null;
  return satisfyMiniscript(solved.root, {
    keyBytes: (key) => solved.keys[key]!,
    sign: (key) => sign(solved.keys[key]!),
    preimage: (hash, image) => data.preimages[hash].get(bytesToHex(image)) ?? null,
    isOlder: (lock) => creator.checker.checkSequence(lock),
    isAfter: (lock) => creator.checker.checkLockTime(lock),
  });
}

/** Returns the key of a HASH160 from the data of the input, or else from the provider. */
export function findPublicKey(
  { provider, data }: Pick<ScriptSigning, 'provider' | 'data'>,
  keyId: Uint8Array,
): Uint8Array | null {
  const id = bytesToHex(keyId);
  const known = data.signatures.get(id) ?? data.keys.get(id);
  if (known) return known.publicKey;
  const xOnly = data.tapKeysByHash.get(id);
  if (xOnly) return Uint8Array.of(2, ...xOnly);
  return provider.publicKey(keyId);
}
