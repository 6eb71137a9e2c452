import { compactSizeLength } from '../../primitives/compact-size.ts';
import { TAPROOT_LEAF_TAPSCRIPT, tapLeafHash } from '../../script/taproot.ts';
import { bytesToHex } from '../../util/bytes.ts';
import { keyOriginOfXOnly, type SigningProvider } from '../keys/signing-data.ts';
import { satisfyScript } from './satisfy-script.ts';
import type { SignatureCreator } from './signature-creator.ts';
import type { SignatureData } from './signature-data.ts';
import { mergeTapSpends, type TapScript, tapSpendOf, treeOf } from './tap-spend.ts';

type Stack = readonly Uint8Array[];

const NO_KEY = new Uint8Array(32);

/** The witness of a taproot output: by its key where that can sign, else by the script that makes it smallest. */
export function signTaproot(
  provider: SigningProvider,
  creator: SignatureCreator,
  outputKey: Uint8Array,
  data: SignatureData,
): Stack | null {
  const known = provider.taproot(outputKey);
  if (known !== null) {
    data.spend = mergeTapSpends(data.spend, tapSpendOf(known));
    data.tree = treeOf(known);
  }
  const { internalKey, merkleRoot } = data.spend;
  if (internalKey !== null) noteTapKey(provider, internalKey, null, data);
  noteTapKey(provider, outputKey, null, data);
  data.tapKeySignature ??= creator.schnorr(provider, internalKey ?? NO_KEY, { kind: 'key', tweak: { merkleRoot } });
  data.tapKeySignature ??= creator.schnorr(provider, outputKey, { kind: 'key', tweak: null });
  if (data.tapKeySignature !== null) return [data.tapKeySignature];

  let smallest: Stack | null = null;
  // All are tried, as each signature may be one that others wait for.
  for (const [, tapScript] of [...data.spend.scripts].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const stack = signTapScript(provider, creator, tapScript, data);
    if (stack !== null && (smallest === null || stackSize(stack) < stackSize(smallest))) smallest = stack;
  }
  return smallest;
}

function signTapScript(
  provider: SigningProvider,
  creator: SignatureCreator,
  { script, leafVersion, controlBlocks }: TapScript,
  data: SignatureData,
): Stack | null {
  if (leafVersion !== TAPROOT_LEAF_TAPSCRIPT) return null;
  const leafHash = tapLeafHash(leafVersion, script);
  const sign = (key: Uint8Array) => tapScriptSignature(provider, creator, key, leafHash, data);
  const stack = satisfyScript(script, 'tapscript', { provider, creator, data, sign });
  return stack && [...stack, script, controlBlocks[0]!];
}

/** Of one key in one leaf: what is there already, or a new one. */
function tapScriptSignature(
  provider: SigningProvider,
  creator: SignatureCreator,
  publicKey: Uint8Array,
  leafHash: Uint8Array,
  data: SignatureData,
): Uint8Array | null {
  noteTapKey(provider, publicKey, leafHash, data);
  const id = bytesToHex(publicKey) + bytesToHex(leafHash);
  const known = data.tapScriptSignatures.get(id);
  if (known) return known.signature;
  const signature = creator.schnorr(provider, publicKey, { kind: 'script', leafHash });
  if (signature !== null) data.tapScriptSignatures.set(id, { publicKey, leafHash, signature });
  return signature;
}

/** Notes where a key comes from, where that is known, and the leaf it signs in. */
function noteTapKey(
  provider: SigningProvider,
  publicKey: Uint8Array,
  leafHash: Uint8Array | null,
  data: SignatureData,
): void {
  const origin = keyOriginOfXOnly(provider, publicKey);
  if (origin === null) return;
  const id = bytesToHex(publicKey);
  const known = data.tapKeys.get(id) ?? { publicKey, leafHashes: new Map<string, Uint8Array>(), origin };
  if (leafHash !== null) known.leafHashes.set(bytesToHex(leafHash), leafHash);
  data.tapKeys.set(id, known);
}

function stackSize(stack: Stack): number {
  return stack.reduce((sum, { length }) => sum + compactSizeLength(length) + length, compactSizeLength(stack.length));
}
