import { describe, expect, test } from 'bun:test';
import { tapTweakPublicKey, tapTweakSecret, xOnlyOf } from '../../src/crypto/keys.ts';
import { signatureEngine } from '../../src/crypto/secp256k1.ts';
import { signSchnorr } from '../../src/crypto/sign-schnorr.ts';
import { hashToHex } from '../../src/primitives/hash.ts';
import { transactionFromBytes } from '../../src/primitives/transaction.ts';
import { addressOf } from '../../src/script/address.ts';
import { DecodedTxContext } from '../../src/script/decoded-tx-context.ts';
import { legacySighash } from '../../src/script/sighash-legacy.ts';
import { taprootSighash } from '../../src/script/sighash-taproot.ts';
import { newTaprootSpend } from '../../src/script/signature-checker.ts';
import { controlMerkleRoot, tapBranchHash, tapLeafHash, tapTweakHash } from '../../src/script/taproot.ts';
import { p2tr } from '../../src/script/templates.ts';
import { bytesToHex, hexToBytes } from '../../src/util/bytes.ts';
import { encodedContext } from '../lib/encoded-context.ts';
import { hasVectors, readVectorJson } from '../lib/vectors.ts';

type SighashRow = readonly [tx: string, script: string, index: number, hashType: number, hash: string];

test.skipIf(!hasVectors)('sighash.json', () => {
  const rows = readVectorJson<(SighashRow | readonly [string])[]>('core/sighash.json');
  const cases = rows.filter((row): row is SighashRow => row.length === 5);
  expect(cases.length).toBe(500);
  for (const [hex, script, index, hashType, hash] of cases) {
    const tx = transactionFromBytes(hexToBytes(hex));
    const unknown = tx.inputs.map(() => ({ value: 0n, scriptPubKey: new Uint8Array(0) }));
    for (const context of [new DecodedTxContext(tx, unknown), encodedContext(tx, unknown)])
      expect(hashToHex(legacySighash(context, index, hexToBytes(script), hashType))).toBe(hash);
  }
});

type ScriptTree =
  | { readonly id: number; readonly script: string; readonly leafVersion: number }
  | readonly [ScriptTree, ScriptTree];

interface WalletVectors {
  readonly scriptPubKey: readonly {
    readonly given: { readonly internalPubkey: string; readonly scriptTree: ScriptTree | null };
    readonly intermediary: {
      readonly merkleRoot: string | null;
      readonly tweak: string;
      readonly tweakedPubkey: string;
    };
    readonly expected: {
      readonly scriptPubKey: string;
      readonly bip350Address: string;
      readonly scriptPathControlBlocks?: readonly string[];
    };
  }[];
  readonly keyPathSpending: readonly {
    readonly given: {
      readonly rawUnsignedTx: string;
      readonly utxosSpent: readonly { readonly scriptPubKey: string; readonly amountSats: number }[];
    };
    readonly intermediary: Record<string, string>;
    readonly inputSpending: readonly {
      readonly given: {
        readonly txinIndex: number;
        readonly internalPrivkey: string;
        readonly merkleRoot: string | null;
        readonly hashType: number;
      };
      readonly intermediary: { readonly tweak: string; readonly tweakedPrivkey: string; readonly sigHash: string };
      readonly expected: { readonly witness: readonly string[] };
    }[];
  }[];
}

function leaves(tree: ScriptTree | null): { script: Uint8Array; leafVersion: number }[] {
  if (tree === null) return [];
  if ('script' in tree) return [{ script: hexToBytes(tree.script), leafVersion: tree.leafVersion }];
  return [...leaves(tree[0]), ...leaves(tree[1])];
}

function rootOf(tree: ScriptTree): Uint8Array {
  if ('script' in tree) return tapLeafHash(tree.leafVersion, hexToBytes(tree.script));
  return tapBranchHash(rootOf(tree[0]), rootOf(tree[1]));
}

describe.skipIf(!hasVectors)('bip341_wallet_vectors.json', () => {
  const vectors = hasVectors ? readVectorJson<WalletVectors>('core/bip341_wallet_vectors.json') : null;

  test('output keys, addresses and control blocks', () => {
    expect(vectors!.scriptPubKey.length).toBe(7);
    for (const { given, intermediary, expected } of vectors!.scriptPubKey) {
      const internal = hexToBytes(given.internalPubkey);
      const root = given.scriptTree === null ? null : rootOf(given.scriptTree);
      expect(root === null ? null : bytesToHex(root)).toBe(intermediary.merkleRoot);
      const tweak = tapTweakHash(internal, root);
      expect(bytesToHex(tweak)).toBe(intermediary.tweak);
      const output = tapTweakPublicKey(internal, tweak)!;
      expect(bytesToHex(output.key)).toBe(intermediary.tweakedPubkey);
      const script = p2tr(output.key);
      expect(bytesToHex(script)).toBe(expected.scriptPubKey);
      expect(addressOf(script, { p2pkh: 0, p2sh: 5, hrp: 'bc' })).toBe(expected.bip350Address);
      for (const [i, leaf] of leaves(given.scriptTree).entries()) {
        const control = hexToBytes(expected.scriptPathControlBlocks![i]!);
        expect(control[0]).toBe(leaf.leafVersion | output.parity);
        expect(controlMerkleRoot(control, tapLeafHash(leaf.leafVersion, leaf.script))).toEqual(root!);
      }
    }
  });

  test('signature hashes and signatures of key path spends', () => {
    for (const { given, intermediary, inputSpending } of vectors!.keyPathSpending) {
      const tx = transactionFromBytes(hexToBytes(given.rawUnsignedTx));
      const spent = given.utxosSpent.map(({ scriptPubKey, amountSats }) => ({
        value: BigInt(amountSats),
        scriptPubKey: hexToBytes(scriptPubKey),
      }));
      const context = new DecodedTxContext(tx, spent);
      expect(bytesToHex(context.spentAmountsHash)).toBe(intermediary.hashAmounts!);
      expect(bytesToHex(context.outputsHash)).toBe(intermediary.hashOutputs!);
      expect(bytesToHex(context.prevoutsHash)).toBe(intermediary.hashPrevouts!);
      expect(bytesToHex(context.spentScriptsHash)).toBe(intermediary.hashScriptPubkeys!);
      expect(bytesToHex(context.sequencesHash)).toBe(intermediary.hashSequences!);
      expect(inputSpending.length).toBeGreaterThan(0);
      for (const { given: input, intermediary: middle, expected } of inputSpending) {
        const secret = hexToBytes(input.internalPrivkey);
        const tweak = tapTweakHash(xOnlyOf(secret), input.merkleRoot === null ? null : hexToBytes(input.merkleRoot));
        expect(bytesToHex(tweak)).toBe(middle.tweak);
        const tweaked = tapTweakSecret(secret, tweak);
        expect(bytesToHex(tweaked)).toBe(middle.tweakedPrivkey);
        const hash = taprootSighash(context, input.txinIndex, input.hashType, newTaprootSpend())!;
        expect(bytesToHex(hash)).toBe(middle.sigHash);
        const signature = signSchnorr(hash, tweaked, new Uint8Array(32));
        const suffix = input.hashType === 0 ? '' : input.hashType.toString(16).padStart(2, '0');
        expect(bytesToHex(signature) + suffix).toBe(expected.witness[0]!);
        expect(signatureEngine().verifySchnorr(signature, hash, xOnlyOf(tweaked))).toBe(true);
      }
    }
  });
});
