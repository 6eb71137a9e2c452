import { compactSizeLength } from '../../primitives/compact-size.ts';
import { TAPROOT_LEAF_TAPSCRIPT, tapLeafHash } from '../../script/taproot.ts';
import { bytesToHex, hexToBytes } from '../../util/bytes.ts';
import type { SigningProvider } from '../keys/signing-data.ts';
import { noteTapKey } from './note-tap-key.ts';
import { satisfyScript } from './satisfy-script.ts';
import { MusigSigner } from './sign-musig.ts';
import type { SignatureCreator, TaprootPath } from './signature-creator.ts';
import type { SignatureData } from './signature-data.ts';
import { mergeTapSpends, type TapScript, tapSpendOf, treeOf } from './tap-spend.ts';

type Stack = readonly Uint8Array[];

interface TaprootSigning {
  readonly provider: SigningProvider;
  readonly creator: SignatureCreator;
  readonly data: SignatureData;
  readonly musig: MusigSigner;
}

const NO_KEY = new Uint8Array(32);

/**
 * Returns the witness of a taproot output: a key path signature if possible, or else the script path with the smallest
 * witness.
 */
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
  for (const [hex, participants] of provider.aggregates)
    if (!data.musigParticipants.has(hex))
      data.musigParticipants.set(hex, { aggregateKey: hexToBytes(hex), participants });
  const musig = new MusigSigner({ provider, creator, data });
  const signing: TaprootSigning = { provider, creator, data, musig };
  const { internalKey, merkleRoot } = data.spend;
  if (internalKey !== null) noteTapKey(provider, internalKey, null, data);
  noteTapKey(provider, outputKey, null, data);
  const signByKey = (key: Uint8Array, path: TaprootPath) => {
    data.tapKeySignature ??= creator.schnorr(provider, key, path);
    if (data.tapKeySignature === null) musig.sign(key, path);
  };
  signByKey(internalKey ?? NO_KEY, { kind: 'key', tweak: { merkleRoot } });
  signByKey(outputKey, { kind: 'key', tweak: null });
  if (data.tapKeySignature !== null) return [data.tapKeySignature];

  let smallest: Stack | null = null;
  // All leaves are signed, since other signers may need any of these signatures.
  for (const [, tapScript] of [...data.spend.scripts].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const stack = signTapScript(signing, tapScript);
    if (stack !== null && (smallest === null || stackSize(stack) < stackSize(smallest))) smallest = stack;
  }
  return smallest;
}

function signTapScript(signing: TaprootSigning, { script, leafVersion, controlBlocks }: TapScript): Stack | null {
  if (leafVersion !== TAPROOT_LEAF_TAPSCRIPT) return null;
  const leafHash = tapLeafHash(leafVersion, script);
  const sign = (key: Uint8Array) => tapScriptSignature(signing, key, leafHash);
  const stack = satisfyScript(script, 'tapscript', { ...signing, sign });
  return stack && [...stack, script, controlBlocks[0]!];
}

/** Returns the existing signature of a key in a leaf, or a new one. */
function tapScriptSignature(
  { provider, creator, data, musig }: TaprootSigning,
  publicKey: Uint8Array,
  leafHash: Uint8Array,
): Uint8Array | null {
  noteTapKey(provider, publicKey, leafHash, data);
  const id = bytesToHex(publicKey) + bytesToHex(leafHash);
  const known = data.tapScriptSignatures.get(id);
  if (known) return known.signature;
  const path = { kind: 'script', leafHash } as const;
  const signature = creator.schnorr(provider, publicKey, path);
  if (signature !== null) data.tapScriptSignatures.set(id, { publicKey, leafHash, signature });
  else musig.sign(publicKey, path);
  return data.tapScriptSignatures.get(id)?.signature ?? null;
}

function stackSize(stack: Stack): number {
  return stack.reduce((sum, { length }) => sum + compactSizeLength(length) + length, compactSizeLength(stack.length));
}
