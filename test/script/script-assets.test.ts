import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { signatureEngine } from '../../src/crypto/secp256k1.ts';
import { decodeOutput, type Transaction, transactionFromBytes } from '../../src/primitives/transaction.ts';
import { parseScriptFlags } from '../../src/script/flags.ts';
import type { ScriptError } from '../../src/script/script-error.ts';
import { checkInput } from '../../src/script/tx-checker.ts';
import { TxContext } from '../../src/script/tx-context.ts';
import { ByteReader, hexToBytes } from '../../src/util/bytes.ts';
import { hasVectors, vectorPath } from '../lib/vectors.ts';
import { filled, flagSets } from './flag-sets.ts';

interface Asset {
  readonly tx: string;
  readonly prevouts: readonly string[];
  readonly index: number;
  readonly flags: string;
  readonly comment: string;
  readonly final?: boolean;
  readonly success?: Spend;
  readonly failure?: Spend;
}

interface Spend {
  readonly scriptSig: string;
  readonly witness: readonly string[];
}

// Every set of consensus flags that was ever in force, in the order of the forks.
const CONSENSUS_FLAGS = [
  '',
  'P2SH',
  'P2SH,DERSIG',
  'P2SH,DERSIG,CHECKLOCKTIMEVERIFY',
  'P2SH,DERSIG,CHECKLOCKTIMEVERIFY,CHECKSEQUENCEVERIFY',
  'P2SH,DERSIG,CHECKLOCKTIMEVERIFY,CHECKSEQUENCEVERIFY,WITNESS,NULLDUMMY',
  'P2SH,DERSIG,CHECKLOCKTIMEVERIFY,CHECKSEQUENCEVERIFY,WITNESS,NULLDUMMY,TAPROOT',
].map((list) => parseScriptFlags(list)!);

function judge(asset: Asset, spend: Spend, flags: number): ScriptError {
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
  return checkInput(new TxContext(signed, spent), asset.index, flags, signatureEngine());
}

describe.skipIf(!hasVectors)('script assets', () => {
  const lines = hasVectors
    ? readFileSync(vectorPath('taproot/script_assets_half.ndjson'), 'utf8').trim().split('\n')
    : [];
  const assets = lines.map((line) => JSON.parse(line) as Asset);
  test('every case has been read', () => expect(assets.length).toBe(1380));

  for (const [number, asset] of assets.entries())
    test(`${number}: ${asset.comment}`, () => {
      const flags = parseScriptFlags(asset.flags)!;
      const { success, failure } = asset;
      // Core's rule: a success stays one under every set with no more flags, a final one under every set whatever; a
      // failure stays one under every set with no fewer.
      if (success) {
        expect(judge(asset, success, flags)).toBe('OK');
        for (const others of CONSENSUS_FLAGS)
          if (asset.final || (others & flags) === others) expect(judge(asset, success, others)).toBe('OK');
      }
      if (failure) {
        expect(judge(asset, failure, flags)).not.toBe('OK');
        for (const others of CONSENSUS_FLAGS)
          if ((others & flags) === flags) expect(judge(asset, failure, others)).not.toBe('OK');
        for (const more of flagSets(number, 2)) expect(judge(asset, failure, filled(flags | more))).not.toBe('OK');
      }
    }, 20_000);
});
