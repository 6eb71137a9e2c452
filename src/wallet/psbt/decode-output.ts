import { readVarBytes } from '../../primitives/compact-size.ts';
import type { TxOutput } from '../../primitives/transaction.ts';
import { TAPROOT_LEAF_MASK } from '../../script/taproot.ts';
import { ByteReader, bytesToHex } from '../../util/bytes.ts';
import { isWholeTree, MAX_TAPROOT_DEPTH, type TreeLeaf } from '../descriptor/taproot-tree.ts';
import { OUTPUT } from './field-types.ts';
import { newPsbtOutput, type PsbtOutput, type PsbtVersion } from './psbt.ts';
import {
  expectKeySize,
  readDerivation,
  readFields,
  readI64,
  readKeyOrNull,
  readMusigParticipants,
  readProprietary,
  readScriptOrNull,
  readTapDerivation,
  readUnknown,
  refuse,
  type Writable,
} from './read-fields.ts';

/** Reads an output's map. Of version 0, value and script are given, as the transaction has them. */
export function decodeOutputFields(r: ByteReader, version: PsbtVersion, base: TxOutput | null): PsbtOutput {
  const none = { value: 0n, scriptPubKey: new Uint8Array(0) };
  const output = newPsbtOutput(base ?? none) as Writable<PsbtOutput>;
  let value: bigint | null = null;
  let script: Uint8Array | null = null;
  readFields(r, 'output', 'an', (field) => {
    switch (field.type) {
      case OUTPUT.REDEEM_SCRIPT:
        expectKeySize(field, 1, 'Output redeemScript');
        output.redeemScript = readScriptOrNull(r);
        break;
      case OUTPUT.WITNESS_SCRIPT:
        expectKeySize(field, 1, 'Output witnessScript');
        output.witnessScript = readScriptOrNull(r);
        break;
      case OUTPUT.BIP32_DERIVATION: {
        const derivation = readDerivation(r, field);
        output.derivations.set(bytesToHex(derivation.publicKey), derivation);
        break;
      }
      case OUTPUT.AMOUNT:
        expectKeySize(field, 1, 'Output Amount');
        if (version < 2) refuse('Output amount is not allowed in PSBTv0');
        value = readI64(r);
        break;
      case OUTPUT.SCRIPT:
        expectKeySize(field, 1, 'Output Script');
        if (version < 2) refuse('Output script is not allowed in PSBTv0');
        script = readVarBytes(r);
        break;
      case OUTPUT.TAP_INTERNAL_KEY:
        expectKeySize(field, 1, 'Output Taproot Internal Key');
        output.tapInternalKey = readKeyOrNull(r);
        break;
      case OUTPUT.TAP_TREE:
        expectKeySize(field, 1, 'Output Taproot Tree Key');
        output.tapTree = readTapTree(readVarBytes(r));
        break;
      case OUTPUT.TAP_BIP32_DERIVATION: {
        const derivation = readTapDerivation(r, field, 'Output');
        output.tapDerivations.set(bytesToHex(derivation.publicKey), derivation);
        break;
      }
      case OUTPUT.MUSIG2_PARTICIPANTS: {
        const participants = readMusigParticipants(r, field, 'Output');
        output.musigParticipants.set(bytesToHex(participants.aggregateKey), participants);
        break;
      }
      case OUTPUT.PROPRIETARY:
        output.proprietary.set(bytesToHex(field.key), readProprietary(r, field));
        break;
      default:
        output.unknown.set(bytesToHex(field.key), readUnknown(r, field));
    }
  });
  if (version < 2) return output;
  if (value === null) return refuse('Output amount is required in PSBTv2');
  if (script === null) return refuse('Output script is required in PSBTv2');
  return { ...output, value, scriptPubKey: script };
}

function readTapTree(bytes: Uint8Array): TreeLeaf[] {
  const r = new ByteReader(bytes);
  if (r.remaining === 0) refuse('Output Taproot tree must not be empty');
  const leaves: TreeLeaf[] = [];
  while (r.remaining > 0) {
    const depth = r.u8();
    const leafVersion = r.u8();
    const script = readVarBytes(r);
    if (depth > MAX_TAPROOT_DEPTH) refuse('Output Taproot tree has as leaf greater than Taproot maximum depth');
    if (leafVersion & ~TAPROOT_LEAF_MASK) refuse('Output Taproot tree has a leaf with an invalid leaf version');
    leaves.push({ depth, leafVersion, script });
  }
  if (!isWholeTree(leaves.map(({ depth }) => depth))) refuse('Output Taproot tree is malformed');
  return leaves;
}
