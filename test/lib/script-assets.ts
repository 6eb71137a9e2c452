import { readFileSync } from 'node:fs';
import { signatureEngine } from '../../src/crypto/secp256k1.ts';
import { decodeOutput, type Transaction, transactionFromBytes } from '../../src/primitives/transaction.ts';
import type { ScriptError } from '../../src/script/script-error.ts';
import { ByteReader, hexToBytes } from '../../src/util/bytes.ts';
import { inputVerifier } from './encoded-context.ts';
import { hasVectors, vectorPath } from './vectors.ts';

/** One case of Core's script assets: a spend that is good under its flags, and one that is not. */
export interface Asset {
  readonly tx: string;
  readonly prevouts: readonly string[];
  readonly index: number;
  readonly flags: string;
  readonly comment: string;
  readonly final?: boolean;
  readonly success?: Spend;
  readonly failure?: Spend;
}

export interface Spend {
  readonly scriptSig: string;
  readonly witness: readonly string[];
}

/** All cases, none where there are no vectors. */
export function scriptAssets(): Asset[] {
  if (!hasVectors) return [];
  const lines = readFileSync(vectorPath('taproot/script_assets_half.ndjson'), 'utf8').trim().split('\n');
  return lines.map((line) => JSON.parse(line) as Asset);
}

/** Returns a function that verifies a spend with any flags; the transaction is read once. */
export function verifierOf(asset: Asset, spend: Spend): (flags: number) => ScriptError {
  const tx = transactionFromBytes(hexToBytes(asset.tx));
  const inputs = tx.inputs.slice();
  const { scriptSig, witness } = spend;
  inputs[asset.index] = {
    ...inputs[asset.index]!,
    scriptSig: hexToBytes(scriptSig),
    witness: witness.map((item) => hexToBytes(item)),
  };
  const signed: Transaction = { ...tx, inputs };
  const spent = asset.prevouts.map((hex) => decodeOutput(new ByteReader(hexToBytes(hex))));
  const verify = inputVerifier(signed, spent, signatureEngine());
  return (flags) => verify(asset.index, flags);
}
