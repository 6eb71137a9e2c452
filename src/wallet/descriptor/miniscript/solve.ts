import { hasPublicKeyShape } from '../../../crypto/curve.ts';
import { decodeMiniscript } from './decode-miniscript.ts';
import type { MiniscriptContext } from './fragment.ts';
import type { MiniscriptNode } from './miniscript-node.ts';

/** A script that was parsed as miniscript. */
export interface SolvedMiniscript {
  readonly root: MiniscriptNode;
  /** Keys by their numbers in the tree, as they appear in the script: 33 bytes, or 32 in tapscript. */
  readonly keys: readonly Uint8Array[];
}

/**
 * Reads a witness script or a tapscript to sign for it. `publicKeyOf` finds a key, compressed, by the HASH160 that the
 * script has of it (in tapscript, of X alone). Null for what is no valid miniscript, or has a key that is not known.
 */
export function solveMiniscript(
  script: Uint8Array,
  context: MiniscriptContext,
  publicKeyOf: (hash20: Uint8Array) => Uint8Array | null,
): SolvedMiniscript | null {
  const isTapscript = context === 'tapscript';
  const keys: Uint8Array[] = [];
  const number = (key: Uint8Array) => keys.push(key) - 1;
  const root = decodeMiniscript(script, context, {
    findKey: (bytes) => ((isTapscript ? bytes.length === 32 : hasPublicKeyShape(bytes)) ? number(bytes) : null),
    findKeyHash(hash) {
      const key = publicKeyOf(hash);
      return key && number(isTapscript ? key.subarray(1, 33) : key);
    },
  });
  return root && { root, keys };
}
