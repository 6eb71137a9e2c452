import { hash160 } from '../../crypto/hash-functions.ts';
import { bytesToHex } from '../../util/bytes.ts';
import { buildTaproot, MAX_TREE_LEAVES } from '../descriptor/taproot-tree.ts';
import {
  type MusigContribution,
  type MusigShares,
  musigKey,
  musigSessionKey,
  sharesOf,
} from '../signing/musig-data.ts';
import { type KnownTapKey, newSignatureData, type SignatureData } from '../signing/signature-data.ts';
import { mergeTapSpends, tapSpendOf, treeOf } from '../signing/tap-spend.ts';
import type { Fields, KeyDerivation, Preimage, PsbtInput, PsbtOutput, TapDerivation } from './psbt.ts';

/** Returns the signature data of an input. Core's FillSignatureData. */
export function inputSignatureData(input: PsbtInput): SignatureData {
  const data = newSignatureData();
  data.scriptSig = input.finalScriptSig ?? data.scriptSig;
  data.scriptWitness = input.finalScriptWitness ?? data.scriptWitness;
  data.complete = input.finalScriptSig !== null || input.finalScriptWitness !== null;
  if (data.complete) return data;
  data.redeemScript = input.redeemScript;
  data.witnessScript = input.witnessScript;
  for (const [keyId, signature] of input.partialSignatures) data.signatures.set(keyId, signature);
  mergeKeys(data, input.derivations, input.tapDerivations);
  data.tapKeySignature = input.tapKeySignature;
  for (const [id, signature] of input.tapScriptSignatures) data.tapScriptSignatures.set(id, signature);
  data.spend = { internalKey: input.tapInternalKey, merkleRoot: input.tapMerkleRoot, scripts: input.tapScripts };
  mergeMusig(data, input);
  for (const contribution of input.musigNonces.values()) mergeShare(data.musigNonces, contribution);
  for (const contribution of input.musigPartialSignatures.values())
    mergeShare(data.musigPartialSignatures, contribution);
  for (const [kind, fields] of preimageFields(input))
    for (const [hash, { preimage }] of fields) data.preimages[kind].set(hash, preimage);
  return data;
}

/** Returns the signature data of an output, as for spending it. */
export function outputSignatureData(output: PsbtOutput): SignatureData {
  const data = newSignatureData();
  data.redeemScript = output.redeemScript;
  data.witnessScript = output.witnessScript;
  const { tapInternalKey, tapTree } = output;
  const isBuilt = tapInternalKey !== null && tapTree.length > 0 && tapTree.length <= MAX_TREE_LEAVES;
  const built = isBuilt ? buildTaproot(tapInternalKey, tapTree) : null;
  if (built !== null) {
    data.spend = mergeTapSpends(data.spend, tapSpendOf(built));
    data.tree = treeOf(built);
  }
  mergeKeys(data, output.derivations, output.tapDerivations);
  mergeMusig(data, output);
  return data;
}

function mergeMusig(data: SignatureData, { musigParticipants }: Pick<PsbtInput, 'musigParticipants'>): void {
  for (const [hex, participants] of musigParticipants) data.musigParticipants.set(hex, participants);
}

function mergeShare(sessions: Map<string, MusigShares>, contribution: MusigContribution): void {
  sharesOf(sessions, musigSessionKey(contribution)).set(bytesToHex(contribution.participant), contribution);
}

function* contributionsOf(sessions: Map<string, MusigShares>): Generator<[string, MusigContribution]> {
  for (const shares of sessions.values())
    for (const contribution of shares.values()) yield [musigKey(contribution), contribution];
}

function mergeKeys(
  data: SignatureData,
  derivations: Fields<KeyDerivation>,
  tapDerivations: Fields<TapDerivation>,
): void {
  for (const { publicKey, origin } of derivations.values())
    data.keys.set(bytesToHex(hash160(publicKey)), { publicKey, origin });
  for (const [id, { publicKey, leafHashes, origin }] of tapDerivations) {
    const hashes = new Map(leafHashes.map((hash) => [bytesToHex(hash), hash]));
    data.tapKeys.set(id, { publicKey, leafHashes: hashes, origin });
    data.tapKeysByHash.set(bytesToHex(hash160(publicKey)), publicKey);
  }
}

type PreimageKind = keyof SignatureData['preimages'];

function preimageFields(input: PsbtInput): [PreimageKind, Fields<Preimage>][] {
  return [
    ['ripemd160', input.ripemd160Preimages],
    ['sha256', input.sha256Preimages],
    ['hash160', input.hash160Preimages],
    ['hash256', input.hash256Preimages],
  ];
}

/** Returns the input with the data of a signer. If that is complete, the final scripts replace the other fields. */
export function inputWithData(input: PsbtInput, data: SignatureData): PsbtInput {
  if (data.complete)
    return {
      ...input,
      partialSignatures: new Map(),
      derivations: new Map(),
      redeemScript: null,
      witnessScript: null,
      finalScriptSig: data.scriptSig.length > 0 ? data.scriptSig : input.finalScriptSig,
      finalScriptWitness: data.scriptWitness.length > 0 ? data.scriptWitness : input.finalScriptWitness,
    };
  return {
    ...input,
    ...withKeys(input, data),
    partialSignatures: added(input.partialSignatures, data.signatures),
    tapKeySignature: data.tapKeySignature ?? input.tapKeySignature,
    tapScriptSignatures: added(input.tapScriptSignatures, data.tapScriptSignatures),
    tapMerkleRoot: data.spend.merkleRoot ?? input.tapMerkleRoot,
    tapScripts: added(input.tapScripts, data.spend.scripts),
    musigNonces: added(input.musigNonces, contributionsOf(data.musigNonces)),
    musigPartialSignatures: added(input.musigPartialSignatures, contributionsOf(data.musigPartialSignatures)),
  };
}

/** Returns the output with the data for spending it. */
export function outputWithData(output: PsbtOutput, data: SignatureData): PsbtOutput {
  const tapTree = data.tree !== null && data.tree.length > 0 ? data.tree : output.tapTree;
  return { ...output, ...withKeys(output, data), tapTree };
}

type KeyFields = Pick<
  PsbtInput,
  'redeemScript' | 'witnessScript' | 'derivations' | 'tapInternalKey' | 'tapDerivations' | 'musigParticipants'
>;

function withKeys(known: KeyFields, data: SignatureData): KeyFields {
  const derivations = [...data.keys.values()].map((key) => [bytesToHex(key.publicKey), key] as const);
  const tapDerivations = [...data.tapKeys].map(([id, key]) => [id, tapDerivation(key)] as const);
  return {
    redeemScript: known.redeemScript ?? data.redeemScript,
    witnessScript: known.witnessScript ?? data.witnessScript,
    derivations: added(known.derivations, derivations),
    tapInternalKey: data.spend.internalKey ?? known.tapInternalKey,
    tapDerivations: added(known.tapDerivations, tapDerivations),
    musigParticipants: added(known.musigParticipants, data.musigParticipants),
  };
}

function tapDerivation({ publicKey, leafHashes, origin }: KnownTapKey): TapDerivation {
  const sorted = [...leafHashes].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, hash]) => hash);
  return { publicKey, leafHashes: sorted, origin };
}

/** Returns the fields, with those of the others whose keys are new. */
export function added<T>(fields: Fields<T>, others: Iterable<readonly [string, T]>): Fields<T> {
  return new Map([...others, ...fields]);
}
