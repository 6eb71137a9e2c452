import { tapTweakPublicKey } from '../../src/crypto/keys.ts';
import { tapLeafHash, tapTweakHash } from '../../src/script/taproot.ts';
import { p2tr } from '../../src/script/templates.ts';

/** Returns an output with one leaf, and the control block that proves it. */
export function taprootOutput(
  internalKey: Uint8Array,
  script: Uint8Array,
  leafVersion = 0xc0,
): { output: Uint8Array; control: Uint8Array } {
  const tweaked = tapTweakPublicKey(internalKey, tapTweakHash(internalKey, tapLeafHash(leafVersion, script)))!;
  return { output: p2tr(tweaked.key), control: Uint8Array.of(leafVersion | tweaked.parity, ...internalKey) };
}
