import { describe, expect, test } from 'bun:test';
import { signatureEngine } from '../../src/crypto/secp256k1.ts';
import { hashFromHex } from '../../src/primitives/hash.ts';
import { outpointKey } from '../../src/primitives/outpoint.ts';
import { type Transaction, type TxOutput, transactionFromBytes } from '../../src/primitives/transaction.ts';
import { hexToBytes } from '../../src/util/bytes.ts';
import { inputVerifier } from '../lib/encoded-context.ts';
import { ALL_SCRIPT_FLAGS, parseScriptFlags } from '../lib/script-flags.ts';
import { hasVectors, readVectorJson } from '../lib/vectors.ts';
import { filled, flagSets, SINGLE_FLAGS, trimmed } from './flag-sets.ts';
import { parseScript } from './parse-script.ts';

/** `[[[txid, vout, scriptPubKey, amount?], …], transaction, flags]` */
type Row = readonly [readonly (readonly [string, number, string, number?])[], string, string];

interface Case {
  readonly title: string;
  readonly tx: Transaction;
  readonly spent: readonly TxOutput[];
  readonly flags: number;
}

function readCases(name: string): Case[] {
  const rows = readVectorJson<(Row | string[])[]>(name).filter((row): row is Row => Array.isArray(row[0]));
  // BADTX rows fail before any script runs.
  return rows.filter(([, , flags]) => flags !== 'BADTX').map(readCase);
}

function readCase([prevouts, hex, flags]: Row, index: number): Case {
  const tx = transactionFromBytes(hexToBytes(hex));
  const outputs = new Map(
    prevouts.map(([txid, vout, script, amount]) => [
      outpointKey({ txid: hashFromHex(txid), vout: vout >>> 0 }),
      { value: BigInt(amount ?? 0), scriptPubKey: parseScript(script) },
    ]),
  );
  const spent = tx.inputs.map(({ prevout }) => outputs.get(outpointKey(prevout))!);
  return {
    title: `${index}: ${prevouts[0]![0].slice(0, 16)} ${flags}`,
    tx,
    spent,
    flags: parseScriptFlags(flags),
  };
}

function isValid({ tx, spent }: Pick<Case, 'tx' | 'spent'>, flags: number): boolean {
  // New contexts for each set of flags, so that cached hashes cannot help another.
  const verify = inputVerifier(tx, spent, signatureEngine());
  return tx.inputs.every((_, index) => verify(index, flags) === 'OK');
}

describe.skipIf(!hasVectors)('tx_valid.json', () => {
  const cases = hasVectors ? readCases('core/tx_valid.json') : [];
  test('all rows were read', () => expect(cases.length).toBe(121));

  // These rows list the flags that must be left out.
  for (const [index, { title, tx, spent, flags: excluded }] of cases.entries())
    test(title, () => {
      const flags = ALL_SCRIPT_FLAGS & ~excluded;
      expect(filled(flags)).toBe(flags);
      expect(isValid({ tx, spent }, flags)).toBe(true);
      for (const flag of SINGLE_FLAGS) expect(isValid({ tx, spent }, trimmed(flags & ~flag))).toBe(true);
      for (const random of flagSets(index, 16)) expect(isValid({ tx, spent }, trimmed(flags & ~random))).toBe(true);
      // No fewer flags may be left out.
      for (const flag of SINGLE_FLAGS) {
        const fewer = trimmed(excluded & ~flag);
        if (fewer !== excluded) expect(isValid({ tx, spent }, ALL_SCRIPT_FLAGS & ~fewer)).toBe(false);
      }
    });
});

describe.skipIf(!hasVectors)('tx_invalid.json', () => {
  const cases = hasVectors ? readCases('core/tx_invalid.json') : [];
  test('all rows were read', () => expect(cases.length).toBe(84));

  for (const [index, { title, tx, spent, flags }] of cases.entries())
    test(title, () => {
      expect(filled(flags)).toBe(flags);
      expect(isValid({ tx, spent }, flags)).toBe(false);
      for (const flag of SINGLE_FLAGS) expect(isValid({ tx, spent }, filled(flags | flag))).toBe(false);
      for (const random of flagSets(index, 16)) expect(isValid({ tx, spent }, filled(flags | random))).toBe(false);
      // Every flag is necessary.
      for (const flag of SINGLE_FLAGS) {
        const fewer = trimmed(flags & ~flag);
        if (fewer !== flags) expect(isValid({ tx, spent }, fewer)).toBe(true);
      }
    });
});
