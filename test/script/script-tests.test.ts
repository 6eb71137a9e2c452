import { describe, expect, test } from 'bun:test';
import { tapTweakPublicKey, xOnlyOf } from '../../src/crypto/keys.ts';
import { signatureEngine } from '../../src/crypto/secp256k1.ts';
import type { Txid } from '../../src/primitives/hash.ts';
import type { Transaction } from '../../src/primitives/transaction.ts';
import { txidOf } from '../../src/primitives/transaction.ts';
import { tapLeafHash, tapTweakHash } from '../../src/script/taproot.ts';
import { concatBytes, hexToBytes } from '../../src/util/bytes.ts';
import { inputVerifier } from '../lib/encoded-context.ts';
import { parseScriptFlags } from '../lib/script-flags.ts';
import { hasVectors, readVectorJson } from '../lib/vectors.ts';
import { filled, flagSets, trimmed } from './flag-sets.ts';
import { parseScript } from './parse-script.ts';

const FINAL = 0xffff_ffff;
// The internal key of the taproot outputs in the vectors.
const KEY0 = concatBytes(new Uint8Array(31), Uint8Array.of(1));

interface Case {
  readonly title: string;
  readonly witness: readonly Uint8Array[];
  readonly amount: bigint;
  readonly scriptSig: Uint8Array;
  readonly scriptPubKey: Uint8Array;
  readonly flags: number;
  readonly expected: string;
}

/**
 * A transaction that creates the output, and one that spends it: the description of the vectors defines every field.
 */
function verify({ witness, amount, scriptSig, scriptPubKey, flags }: Case): string {
  const credit: Transaction = {
    version: 1,
    inputs: [
      {
        prevout: { txid: new Uint8Array(32) as Txid, vout: FINAL },
        scriptSig: Uint8Array.of(0, 0),
        sequence: FINAL,
        witness: [],
      },
    ],
    outputs: [{ value: amount, scriptPubKey }],
    locktime: 0,
  };
  const spend: Transaction = {
    version: 1,
    inputs: [{ prevout: { txid: txidOf(credit), vout: 0 }, scriptSig, sequence: FINAL, witness }],
    outputs: [{ value: amount, scriptPubKey: new Uint8Array(0) }],
    locktime: 0,
  };
  return inputVerifier(spend, credit.outputs, signatureEngine())(0, flags);
}

function readCase(row: readonly unknown[]): Case | null {
  if (row.length === 1) return null;
  const [first, ...others] = row;
  const [witnessRow, rest] = Array.isArray(first) ? [first, others] : [[], row];
  const [scriptSig, scriptPubKey, flags, expected] = rest as string[];
  const { witness, outputKey } = readWitness(witnessRow.slice(0, -1));
  const spendsGenerated = scriptPubKey === '0x51 0x20 #TAPROOTOUTPUT#';
  return {
    title: JSON.stringify(row).slice(0, 160),
    witness,
    amount: BigInt(Math.round(Number(witnessRow.at(-1) ?? 0) * 1e8)),
    scriptSig: parseScript(scriptSig!),
    scriptPubKey: spendsGenerated ? concatBytes(Uint8Array.of(0x51, 32), outputKey!) : parseScript(scriptPubKey!),
    flags: filled(parseScriptFlags(flags!)),
    expected: expected!,
  };
}

/** `#SCRIPT#` is a leaf in text form, `#CONTROLBLOCK#` the control block of the tree with this leaf alone. */
function readWitness(items: readonly string[]): { witness: Uint8Array[]; outputKey: Uint8Array | null } {
  const witness: Uint8Array[] = [];
  let outputKey: Uint8Array | null = null;
  for (const item of items) {
    if (item.startsWith('#SCRIPT#')) witness.push(parseScript(item.slice(8)));
    else if (item === '#CONTROLBLOCK#') {
      const internal = xOnlyOf(KEY0);
      const tweaked = tapTweakPublicKey(internal, tapTweakHash(internal, tapLeafHash(0xc0, witness.at(-1)!)))!;
      outputKey = tweaked.key;
      witness.push(concatBytes(Uint8Array.of(0xc0 | tweaked.parity), internal));
    } else witness.push(hexToBytes(item));
  }
  return { witness, outputKey };
}

describe.skipIf(!hasVectors)('script_tests.json', () => {
  const cases = hasVectors
    ? readVectorJson<unknown[][]>('core/script_tests.json').flatMap((row) => readCase(row) ?? [])
    : [];

  test('all rows were read', () => expect(cases.length).toBe(1233));

  for (const [index, row] of cases.entries())
    test(`${index}: ${row.title}`, () => {
      expect(verify(row)).toBe(row.expected);
      // Every flag is a soft fork: fewer flags keep valid scripts valid, more keep invalid scripts invalid.
      const valid = row.expected === 'OK';
      for (const random of flagSets(index, 16)) {
        const flags = valid ? trimmed(row.flags & ~random) : filled(row.flags | random);
        expect(verify({ ...row, flags }) === 'OK').toBe(valid);
      }
    });
});
