import { bytesToHex, equalBytes } from '../../util/bytes.ts';
import { globalXpubKey } from './decode-psbt.ts';
import type { Fields, GlobalXpub, Psbt, PsbtInput, PsbtOutput } from './psbt.ts';
import { added } from './psbt-signature-data.ts';
import { psbtUniqueId } from './unsigned-tx.ts';

/** BIP-370: bit of `modifiable` for SIGHASH_SINGLE, which stays set if any party has set it. */
const SIGHASH_SINGLE_FLAG = 4;

/** Merges PSBTs of one transaction; null if their transactions or versions differ. BIP-174's combiner. */
export function combinePsbts(psbts: readonly Psbt[]): Psbt | null {
  let combined = psbts[0]!;
  for (const psbt of psbts.slice(1)) {
    const [id, otherId] = [psbtUniqueId(combined), psbtUniqueId(psbt)];
    if (id === null || otherId === null || !equalBytes(id, otherId)) return null;
    if (combined.version !== psbt.version) return null;
    combined = mergePsbts(combined, psbt);
  }
  return combined;
}

function mergePsbts(a: Psbt, b: Psbt): Psbt {
  return {
    ...a,
    inputs: a.inputs.map((input, i) => mergeInputs(input, b.inputs[i]!)),
    outputs: a.outputs.map((output, i) => mergeOutputs(output, b.outputs[i]!)),
    xpubs: mergeXpubs(a.xpubs, b.xpubs),
    fallbackLocktime: a.fallbackLocktime ?? b.fallbackLocktime,
    modifiable: mergeModifiable(a.modifiable, b.modifiable),
    proprietary: added(a.proprietary, b.proprietary),
    unknown: added(a.unknown, b.unknown),
  };
}

function mergeModifiable(a: number | null, b: number | null): number | null {
  if (a === null && b === null) return null;
  const [left, right] = [a ?? 0, b ?? 0];
  return (left & right) | ((left | right) & SIGHASH_SINGLE_FLAG);
}

/** A known key keeps its origin, since a key can be written only once. */
function mergeXpubs(a: Fields<GlobalXpub>, b: Fields<GlobalXpub>): Fields<GlobalXpub> {
  const merged = new Map(a);
  const known = new Set([...a.values()].map(keyAndChainCode));
  for (const xpub of b.values()) {
    if (known.has(keyAndChainCode(xpub))) continue;
    known.add(keyAndChainCode(xpub));
    merged.set(globalXpubKey(xpub), xpub);
  }
  return merged;
}

function keyAndChainCode({ xpub }: GlobalXpub): string {
  return bytesToHex(xpub.subarray(13));
}

function mergeInputs(a: PsbtInput, b: PsbtInput): PsbtInput {
  return {
    prevout: a.prevout,
    sequence: a.sequence ?? b.sequence,
    requiredTimeLocktime: a.requiredTimeLocktime ?? b.requiredTimeLocktime,
    requiredHeightLocktime: a.requiredHeightLocktime ?? b.requiredHeightLocktime,
    nonWitnessUtxo: a.nonWitnessUtxo ?? b.nonWitnessUtxo,
    witnessUtxo: a.witnessUtxo ?? b.witnessUtxo,
    partialSignatures: added(a.partialSignatures, b.partialSignatures),
    sighashType: a.sighashType,
    redeemScript: a.redeemScript ?? b.redeemScript,
    witnessScript: a.witnessScript ?? b.witnessScript,
    finalScriptSig: a.finalScriptSig ?? b.finalScriptSig,
    finalScriptWitness: a.finalScriptWitness ?? b.finalScriptWitness,
    derivations: added(a.derivations, b.derivations),
    ripemd160Preimages: added(a.ripemd160Preimages, b.ripemd160Preimages),
    sha256Preimages: added(a.sha256Preimages, b.sha256Preimages),
    hash160Preimages: added(a.hash160Preimages, b.hash160Preimages),
    hash256Preimages: added(a.hash256Preimages, b.hash256Preimages),
    tapKeySignature: a.tapKeySignature ?? b.tapKeySignature,
    tapScriptSignatures: added(a.tapScriptSignatures, b.tapScriptSignatures),
    tapScripts: added(a.tapScripts, b.tapScripts),
    tapDerivations: added(a.tapDerivations, b.tapDerivations),
    tapInternalKey: a.tapInternalKey ?? b.tapInternalKey,
    tapMerkleRoot: a.tapMerkleRoot ?? b.tapMerkleRoot,
    musigParticipants: added(a.musigParticipants, b.musigParticipants),
    musigNonces: added(a.musigNonces, b.musigNonces),
    musigPartialSignatures: added(a.musigPartialSignatures, b.musigPartialSignatures),
    proprietary: added(a.proprietary, b.proprietary),
    unknown: added(a.unknown, b.unknown),
  };
}

function mergeOutputs(a: PsbtOutput, b: PsbtOutput): PsbtOutput {
  return {
    value: a.value,
    scriptPubKey: a.scriptPubKey,
    redeemScript: a.redeemScript ?? b.redeemScript,
    witnessScript: a.witnessScript ?? b.witnessScript,
    derivations: added(a.derivations, b.derivations),
    tapInternalKey: a.tapInternalKey ?? b.tapInternalKey,
    tapTree: a.tapTree.length > 0 ? a.tapTree : b.tapTree,
    tapDerivations: added(a.tapDerivations, b.tapDerivations),
    musigParticipants: added(a.musigParticipants, b.musigParticipants),
    proprietary: added(a.proprietary, b.proprietary),
    unknown: added(a.unknown, b.unknown),
  };
}
