import { coins } from '../../http/core-number.ts';
import type { NetworkParams } from '../../params/network-params.ts';
import { isMoneyRange } from '../../primitives/amount.ts';
import { hashToHex } from '../../primitives/hash.ts';
import type { TxOutput } from '../../primitives/transaction.ts';
import { scriptToAsm } from '../../script/asm.ts';
import { encodeBase58Check } from '../../script/base58.ts';
import { sighashName } from '../../script/sighash-type.ts';
import { scriptType } from '../../script/templates.ts';
import { formatKeyPath } from '../../wallet/keys/key-path.ts';
import {
  type Fields,
  type KeyDerivation,
  type Preimage,
  type ProprietaryField,
  type Psbt,
  type PsbtInput,
  type PsbtOutput,
  type PsbtVersion,
  sortedFields,
  type TapDerivation,
  type UnknownField,
} from '../../wallet/psbt/psbt.ts';
import { unsignedTx } from '../../wallet/psbt/unsigned-tx.ts';
import type { MusigContribution, MusigParticipants } from '../../wallet/signing/musig-data.ts';
import { coreScript } from './core-script.ts';
import { decodedTx } from './decoded-tx.ts';

type Format = Pick<NetworkParams, 'address'>;

/** Returns a PSBT in the form of Core's decodepsbt. */
export function corePsbt(psbt: Psbt, params: Format) {
  const { version, modifiable } = psbt;
  const fee = feeOf(psbt);
  return {
    ...(version === 0 && { tx: decodedTx(unsignedTx(psbt)!, params) }),
    global_xpubs: sortedFields(psbt.xpubs).map(({ xpub, origin }) => ({
      xpub: encodeBase58Check(xpub),
      ...originView(origin),
    })),
    ...(version === 2 && {
      tx_version: psbt.txVersion,
      ...(psbt.fallbackLocktime !== null && { fallback_locktime: psbt.fallbackLocktime }),
      input_count: psbt.inputs.length,
      output_count: psbt.outputs.length,
      ...(modifiable !== null && {
        inputs_modifiable: (modifiable & 1) !== 0,
        outputs_modifiable: (modifiable & 2) !== 0,
        has_sighash_single: (modifiable & 4) !== 0,
      }),
    }),
    psbt_version: version,
    proprietary: sortedFields(psbt.proprietary).map(proprietaryView),
    unknown: unknownView(psbt.unknown),
    inputs: psbt.inputs.map((input) => inputView(input, version, params)),
    outputs: psbt.outputs.map((output) => outputView(output, version, params)),
    ...(fee !== null && { fee: coins(fee) }),
  };
}

/** Returns the fee; null if an amount of an input is unknown, or any amount is out of range. */
function feeOf({ inputs, outputs }: Psbt): bigint | null {
  const spent = inputs.map(spentOutput);
  if (!spent.every((output) => output !== null)) return null;
  const total = (list: readonly TxOutput[]): bigint | null => {
    let sum = 0n;
    for (const { value } of list) {
      if (!isMoneyRange(value) || !isMoneyRange(sum + value)) return null;
      sum += value;
    }
    return sum;
  };
  const [valueIn, valueOut] = [total(spent), total(outputs)];
  return valueIn === null || valueOut === null ? null : valueIn - valueOut;
}

function spentOutput({ nonWitnessUtxo, witnessUtxo, prevout }: PsbtInput): TxOutput | null {
  return nonWitnessUtxo === null ? witnessUtxo : nonWitnessUtxo.outputs[prevout.vout]!;
}

function inputView(input: PsbtInput, version: PsbtVersion, params: Format) {
  const { witnessUtxo, nonWitnessUtxo, finalScriptSig, finalScriptWitness, sighashType } = input;
  return {
    ...(witnessUtxo && {
      witness_utxo: { amount: coins(witnessUtxo.value), scriptPubKey: coreScript(witnessUtxo.scriptPubKey, params) },
    }),
    ...(nonWitnessUtxo && { non_witness_utxo: decodedTx(nonWitnessUtxo, params) }),
    ...(input.partialSignatures.size > 0 && {
      partial_signatures: Object.fromEntries(
        sortedFields(input.partialSignatures).map(({ publicKey, signature }) => [publicKey.toHex(), signature.toHex()]),
      ),
    }),
    ...(sighashType !== null && { sighash: sighashName(sighashType & 0xff) ?? '' }),
    ...scriptViews(input),
    ...derivationsView(input.derivations),
    ...(finalScriptSig && {
      final_scriptSig: { asm: scriptToAsm(finalScriptSig, { sighashDecode: true }), hex: finalScriptSig.toHex() },
    }),
    ...(finalScriptWitness && { final_scriptwitness: finalScriptWitness.map((item) => item.toHex()) }),
    ...preimagesView('ripemd160_preimages', input.ripemd160Preimages),
    ...preimagesView('sha256_preimages', input.sha256Preimages),
    ...preimagesView('hash160_preimages', input.hash160Preimages),
    ...preimagesView('hash256_preimages', input.hash256Preimages),
    ...(version === 2 && version2View(input)),
    ...taprootInputView(input),
    ...musigParticipantsView(input.musigParticipants),
    ...contributionsView('musig2_pubnonces', 'pubnonce', input.musigNonces),
    ...contributionsView('musig2_partial_sigs', 'partial_sig', input.musigPartialSignatures),
    ...unknownViews(input),
  };
}

function version2View({ prevout, sequence, requiredTimeLocktime, requiredHeightLocktime }: PsbtInput) {
  return {
    previous_txid: hashToHex(prevout.txid),
    previous_vout: prevout.vout,
    ...(sequence !== null && { sequence }),
    ...(requiredTimeLocktime !== null && { time_locktime: requiredTimeLocktime }),
    ...(requiredHeightLocktime !== null && { height_locktime: requiredHeightLocktime }),
  };
}

function taprootInputView(input: PsbtInput) {
  return {
    ...(input.tapKeySignature && { taproot_key_path_sig: input.tapKeySignature.toHex() }),
    ...(input.tapScriptSignatures.size > 0 && {
      taproot_script_path_sigs: sortedFields(input.tapScriptSignatures).map(({ publicKey, leafHash, signature }) => ({
        pubkey: publicKey.toHex(),
        leaf_hash: leafHash.toHex(),
        sig: signature.toHex(),
      })),
    }),
    ...(input.tapScripts.size > 0 && {
      taproot_scripts: sortedFields(input.tapScripts).map(({ script, leafVersion, controlBlocks }) => ({
        script: script.toHex(),
        leaf_ver: leafVersion,
        control_blocks: controlBlocks.map((block) => block.toHex()),
      })),
    }),
    ...tapDerivationsView(input.tapDerivations),
    ...(input.tapInternalKey && { taproot_internal_key: input.tapInternalKey.toHex() }),
    ...(input.tapMerkleRoot && { taproot_merkle_root: input.tapMerkleRoot.toHex() }),
  };
}

function outputView(output: PsbtOutput, version: PsbtVersion, params: Format) {
  return {
    ...scriptViews(output),
    ...derivationsView(output.derivations),
    ...(version === 2 && { amount: coins(output.value), script: coreScript(output.scriptPubKey, params) }),
    ...(output.tapInternalKey && { taproot_internal_key: output.tapInternalKey.toHex() }),
    ...(output.tapTree.length > 0 && {
      taproot_tree: output.tapTree.map(({ depth, leafVersion, script }) => ({
        depth,
        leaf_ver: leafVersion,
        script: script.toHex(),
      })),
    }),
    ...tapDerivationsView(output.tapDerivations),
    ...musigParticipantsView(output.musigParticipants),
    ...unknownViews(output),
  };
}

function scriptViews({ redeemScript, witnessScript }: Pick<PsbtOutput, 'redeemScript' | 'witnessScript'>) {
  const view = (script: Uint8Array) => ({
    asm: scriptToAsm(script),
    hex: script.toHex(),
    type: scriptType(script).type,
  });
  return {
    ...(redeemScript && { redeem_script: view(redeemScript) }),
    ...(witnessScript && { witness_script: view(witnessScript) }),
  };
}

function originView({ fingerprint, path }: KeyDerivation['origin']) {
  return { master_fingerprint: fingerprint.toHex(), path: `m${formatKeyPath(path)}` };
}

function derivationsView(derivations: Fields<KeyDerivation>) {
  if (derivations.size === 0) return {};
  return {
    bip32_derivs: sortedFields(derivations).map(({ publicKey, origin }) => ({
      pubkey: publicKey.toHex(),
      ...originView(origin),
    })),
  };
}

function tapDerivationsView(derivations: Fields<TapDerivation>) {
  if (derivations.size === 0) return {};
  return {
    taproot_bip32_derivs: sortedFields(derivations).map(({ publicKey, origin, leafHashes }) => ({
      pubkey: publicKey.toHex(),
      ...originView(origin),
      leaf_hashes: leafHashes.map((hash) => hash.toHex()),
    })),
  };
}

function preimagesView(name: string, preimages: Fields<Preimage>) {
  if (preimages.size === 0) return {};
  const view = sortedFields(preimages).map(({ hash, preimage }) => [hash.toHex(), preimage.toHex()]);
  return { [name]: Object.fromEntries(view) };
}

function musigParticipantsView(fields: Fields<MusigParticipants>) {
  if (fields.size === 0) return {};
  return {
    musig2_participant_pubkeys: sortedFields(fields).map(({ aggregateKey, participants }) => ({
      aggregate_pubkey: aggregateKey.toHex(),
      participant_pubkeys: participants.map((key) => key.toHex()),
    })),
  };
}

function contributionsView(name: string, valueName: string, fields: Fields<MusigContribution>) {
  if (fields.size === 0) return {};
  const view = sortedFields(fields).map(({ participant, aggregateKey, leafHash, value }) => ({
    participant_pubkey: participant.toHex(),
    aggregate_pubkey: aggregateKey.toHex(),
    ...(leafHash && { leaf_hash: leafHash.toHex() }),
    [valueName]: value.toHex(),
  }));
  return { [name]: view };
}

function proprietaryView({ identifier, subtype, key, value }: ProprietaryField) {
  return { identifier: identifier.toHex(), subtype, key: key.toHex(), value: value.toHex() };
}

function unknownView(fields: Fields<UnknownField>): Record<string, string> {
  return Object.fromEntries(sortedFields(fields).map(({ key, value }) => [key.toHex(), value.toHex()]));
}

function unknownViews({ proprietary, unknown }: Pick<PsbtOutput, 'proprietary' | 'unknown'>) {
  return {
    ...(proprietary.size > 0 && { proprietary: sortedFields(proprietary).map(proprietaryView) }),
    ...(unknown.size > 0 && { unknown: unknownView(unknown) }),
  };
}
