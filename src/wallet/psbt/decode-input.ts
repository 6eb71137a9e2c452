import { LOCKTIME_THRESHOLD } from '../../consensus/limits.ts';
import { hash160 } from '../../crypto/hash-functions.ts';
import { readVarBytes } from '../../primitives/compact-size.ts';
import type { Txid } from '../../primitives/hash.ts';
import { decodeOutput, decodeTransaction, decodeWitness } from '../../primitives/transaction.ts';
import { SCRIPT_FLAGS } from '../../script/flags.ts';
import { checkSignatureEncoding } from '../../script/signature-encoding.ts';
import { type ByteReader, bytesToHex } from '../../util/bytes.ts';
import { type MusigContribution, musigKey } from '../signing/musig-data.ts';
import { mergeTapScripts, type TapScript } from '../signing/tap-spend.ts';
import { INPUT } from './field-types.ts';
import { newPsbtInput, type PartialSignature, type PsbtInput, type PsbtVersion } from './psbt.ts';
import {
  COMPRESSED_KEY_SIZE,
  expectKeySize,
  type OpenField,
  readDerivation,
  readFields,
  readI32,
  readKeyOrNull,
  readMusigContributor,
  readMusigParticipants,
  readPreimage,
  readProprietary,
  readPublicKey,
  readScriptOrNull,
  readSized,
  readSizedHash,
  readTapDerivation,
  readU32,
  readUnknown,
  refuse,
  type Writable,
} from './read-fields.ts';

const MUSIG_NONCE_SIZE = 66;

/** Reads an input's map. Of version 0, the prevout and sequence are given, as the transaction has them. */
export function decodeInputFields(
  r: ByteReader,
  version: PsbtVersion,
  base: PsbtInput = newPsbtInput({ txid: new Uint8Array(32) as Txid, vout: 0 }, null),
): PsbtInput {
  const input = { ...base } as Writable<PsbtInput>;
  let txid: Txid | null = null;
  let vout: number | null = null;
  const tapScripts: TapScript[] = [];
  const forVersion2 = (field: OpenField, keyName: string, name: string) => {
    expectKeySize(field, 1, keyName);
    if (version < 2) refuse(`${name} is not allowed in PSBTv0`);
  };
  readFields(r, 'input', 'an', (field) => {
    switch (field.type) {
      case INPUT.NON_WITNESS_UTXO:
        expectKeySize(field, 1, 'Input Non-witness UTXO');
        input.nonWitnessUtxo = readSized(r, decodeTransaction);
        break;
      case INPUT.WITNESS_UTXO: {
        expectKeySize(field, 1, 'Input Witness UTXO');
        const utxo = readSized(r, decodeOutput);
        // Core's mark of an output that is none.
        input.witnessUtxo = utxo.value === -1n ? null : utxo;
        break;
      }
      case INPUT.PARTIAL_SIG: {
        const signed = readPartialSignature(r, field);
        const keyId = bytesToHex(hash160(signed.publicKey));
        if (!input.partialSignatures.has(keyId)) input.partialSignatures.set(keyId, signed);
        break;
      }
      case INPUT.SIGHASH:
        expectKeySize(field, 1, 'Input Sighash Type');
        input.sighashType = readI32(r);
        break;
      case INPUT.REDEEM_SCRIPT:
        expectKeySize(field, 1, 'Input redeemScript');
        input.redeemScript = readScriptOrNull(r);
        break;
      case INPUT.WITNESS_SCRIPT:
        expectKeySize(field, 1, 'Input witnessScript');
        input.witnessScript = readScriptOrNull(r);
        break;
      case INPUT.BIP32_DERIVATION: {
        const derivation = readDerivation(r, field);
        input.derivations.set(bytesToHex(derivation.publicKey), derivation);
        break;
      }
      case INPUT.FINAL_SCRIPT_SIG:
        expectKeySize(field, 1, 'Input Final scriptSig');
        input.finalScriptSig = readScriptOrNull(r);
        break;
      case INPUT.FINAL_SCRIPT_WITNESS: {
        expectKeySize(field, 1, 'Input Final scriptWitness');
        const witness = readSized(r, decodeWitness);
        input.finalScriptWitness = witness.length === 0 ? null : witness;
        break;
      }
      case INPUT.RIPEMD160:
        addPreimage(r, input.ripemd160Preimages, field, 20, 'RIPEMD160');
        break;
      case INPUT.SHA256:
        addPreimage(r, input.sha256Preimages, field, 32, 'SHA256');
        break;
      case INPUT.HASH160:
        addPreimage(r, input.hash160Preimages, field, 20, 'Hash160');
        break;
      case INPUT.HASH256:
        addPreimage(r, input.hash256Preimages, field, 32, 'Hash256');
        break;
      case INPUT.PREVIOUS_TXID:
        forVersion2(field, 'Input Previous TXID', 'Previous txid');
        txid = readSizedHash(r) as Txid;
        break;
      case INPUT.OUTPUT_INDEX:
        forVersion2(field, "Input Previous Output's Index", "Previous output's index");
        vout = readU32(r);
        break;
      case INPUT.SEQUENCE:
        forVersion2(field, 'Input Sequence', 'Sequence');
        input.sequence = readU32(r);
        break;
      case INPUT.REQUIRED_TIME_LOCKTIME:
        forVersion2(field, 'Input Required Time Based Locktime', 'Required time based locktime');
        input.requiredTimeLocktime = readU32(r);
        if (input.requiredTimeLocktime < LOCKTIME_THRESHOLD)
          refuse('Required time based locktime is invalid (less than 500000000)');
        break;
      case INPUT.REQUIRED_HEIGHT_LOCKTIME:
        forVersion2(field, 'Input Required Height Based Locktime', 'Required height based locktime');
        input.requiredHeightLocktime = readU32(r);
        if (input.requiredHeightLocktime >= LOCKTIME_THRESHOLD)
          refuse('Required height based locktime is invalid (greater than or equal to 500000000)');
        if (input.requiredHeightLocktime === 0) refuse('Required height based locktime is invalid (0)');
        break;
      case INPUT.TAP_KEY_SIG:
        expectKeySize(field, 1, 'Input Taproot Key Path Signature');
        input.tapKeySignature = readSchnorrSignature(r, 'key path');
        break;
      case INPUT.TAP_SCRIPT_SIG: {
        expectKeySize(field, 65, 'Input Taproot Script Path Signature');
        const publicKey = field.keyData.bytes(32);
        const leafHash = field.keyData.bytes(32);
        const signature = readSchnorrSignature(r, 'script path');
        input.tapScriptSignatures.set(bytesToHex(publicKey) + bytesToHex(leafHash), { publicKey, leafHash, signature });
        break;
      }
      case INPUT.TAP_LEAF_SCRIPT:
        tapScripts.push(readTapLeafScript(r, field));
        break;
      case INPUT.TAP_BIP32_DERIVATION: {
        const derivation = readTapDerivation(r, field, 'Input');
        input.tapDerivations.set(bytesToHex(derivation.publicKey), derivation);
        break;
      }
      case INPUT.TAP_INTERNAL_KEY:
        expectKeySize(field, 1, 'Input Taproot Internal Key');
        input.tapInternalKey = readKeyOrNull(r);
        break;
      case INPUT.TAP_MERKLE_ROOT:
        expectKeySize(field, 1, 'Input Taproot Merkle Root');
        input.tapMerkleRoot = readKeyOrNull(r);
        break;
      case INPUT.MUSIG2_PARTICIPANTS: {
        const participants = readMusigParticipants(r, field, 'Input');
        input.musigParticipants.set(bytesToHex(participants.aggregateKey), participants);
        break;
      }
      case INPUT.MUSIG2_PUB_NONCE: {
        const contributor = readMusigContributor(field, 'pubnonce');
        const value = readVarBytes(r);
        if (value.length !== MUSIG_NONCE_SIZE) refuse('Input musig2 pubnonce value is not 66 bytes');
        addMusig(input.musigNonces, { ...contributor, value });
        break;
      }
      case INPUT.MUSIG2_PARTIAL_SIG: {
        const contributor = readMusigContributor(field, 'partial sig');
        addMusig(input.musigPartialSignatures, { ...contributor, value: readSizedHash(r) });
        break;
      }
      case INPUT.PROPRIETARY:
        input.proprietary.set(bytesToHex(field.key), readProprietary(r, field));
        break;
      default:
        input.unknown.set(bytesToHex(field.key), readUnknown(r, field));
    }
  });
  input.tapScripts = mergeTapScripts(input.tapScripts, tapScripts);
  if (version < 2) return input;
  if (txid === null) return refuse('Previous TXID is required in PSBTv2');
  if (vout === null) return refuse("Previous output's index is required in PSBTv2");
  return { ...input, prevout: { txid, vout } };
}

function readPartialSignature(r: ByteReader, field: OpenField): PartialSignature {
  const publicKey = readPublicKey(field, 'Size of key was not the expected size for the type partial signature pubkey');
  const signature = readVarBytes(r);
  const flags = SCRIPT_FLAGS.DERSIG | SCRIPT_FLAGS.STRICTENC;
  if (signature.length === 0 || checkSignatureEncoding(signature, flags) !== 'OK')
    refuse('Signature is not a valid encoding');
  return { publicKey, signature };
}

function addPreimage(
  r: ByteReader,
  preimages: Writable<PsbtInput>['sha256Preimages'],
  field: OpenField,
  size: number,
  name: string,
): void {
  const preimage = readPreimage(r, field, size, name);
  preimages.set(bytesToHex(preimage.hash), preimage);
}

function readSchnorrSignature(r: ByteReader, path: 'key path' | 'script path'): Uint8Array {
  const signature = readVarBytes(r);
  if (signature.length < 64) refuse(`Input Taproot ${path} signature is shorter than 64 bytes`);
  if (signature.length > 65) refuse(`Input Taproot ${path} signature is longer than 65 bytes`);
  return signature;
}

function readTapLeafScript(r: ByteReader, { key }: OpenField): TapScript {
  if (key.length < COMPRESSED_KEY_SIZE + 1) refuse('Input Taproot leaf script key is not at least 34 bytes');
  if ((key.length - 2) % 32 !== 0) refuse("Input Taproot leaf script key's control block size is not valid");
  const value = readVarBytes(r);
  if (value.length === 0) refuse('Input Taproot leaf script must be at least 1 byte');
  return { script: value.subarray(0, -1), leafVersion: value.at(-1)!, controlBlocks: [key.subarray(1)] };
}

function addMusig(contributions: Map<string, MusigContribution>, contribution: MusigContribution): void {
  contributions.set(musigKey(contribution), contribution);
}
