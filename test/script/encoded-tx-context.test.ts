import { expect, test } from 'bun:test';
import fc from 'fast-check';
import type { Txid } from '../../src/primitives/hash.ts';
import { type Transaction, transactionBytes } from '../../src/primitives/transaction.ts';
import { DecodedTxContext } from '../../src/script/decoded-tx-context.ts';
import { EncodedTxContext } from '../../src/script/encoded-tx-context.ts';
import { legacySighash } from '../../src/script/sighash-legacy.ts';
import { taprootSighash } from '../../src/script/sighash-taproot.ts';
import { witnessV0Sighash } from '../../src/script/sighash-v0.ts';
import { newTaprootSpend } from '../../src/script/signature-checker.ts';
import { DecodeError } from '../../src/util/bytes.ts';
import { encodedContext } from '../lib/encoded-context.ts';

const u32 = fc.integer({ min: 0, max: 0xffff_ffff });
const script = fc.uint8Array({ maxLength: 80 });
const output = fc.record({ value: fc.bigInt({ min: -1n, max: 2_100_000_000_000_000n }), scriptPubKey: script });
const input = fc.record({
  prevout: fc.record({ txid: fc.uint8Array({ minLength: 32, maxLength: 32 }) as fc.Arbitrary<Txid>, vout: u32 }),
  scriptSig: script,
  sequence: u32,
  witness: fc.array(script, { maxLength: 3 }),
});
const transaction: fc.Arbitrary<Transaction> = fc.record({
  version: u32,
  inputs: fc.array(input, { minLength: 1, maxLength: 5 }),
  outputs: fc.array(output, { maxLength: 4 }),
  locktime: u32,
});
const HASH_TYPES = [0, 1, 2, 3, 4, 0x81, 0x82, 0x83];

test('an encoded transaction has the fields and the signature hashes of the decoded one', () => {
  fc.assert(
    fc.property(transaction, fc.array(output, { minLength: 5, maxLength: 5 }), script, (tx, outputs, scriptCode) => {
      const spent = outputs.slice(0, tx.inputs.length);
      // Each hash has new contexts, so that none depends on what an earlier one has kept.
      const pair = () => [new DecodedTxContext(tx, spent), encodedContext(tx, spent)] as const;
      const [decoded, encoded] = pair();
      for (const name of ['version', 'locktime', 'inputCount', 'outputCount'] as const)
        expect(encoded[name]).toBe(decoded[name]);
      for (let i = 0; i < tx.inputs.length; i++) {
        for (const name of ['sequenceOf', 'scriptSigOf', 'witnessOf', 'spentScriptOf'] as const)
          expect(encoded[name](i)).toEqual(decoded[name](i));
        for (const hashType of HASH_TYPES) {
          const hashesOf = (context: DecodedTxContext | EncodedTxContext) => [
            legacySighash(context, i, scriptCode, hashType),
            witnessV0Sighash(context, i, scriptCode, hashType),
            taprootSighash(context, i, hashType, newTaprootSpend()),
          ];
          const [one, other] = pair();
          expect(hashesOf(other)).toEqual(hashesOf(one));
          expect(hashesOf(encoded)).toEqual(hashesOf(one));
        }
      }
    }),
    { numRuns: 200 },
  );
});

test('every part of an encoding that ends early is rejected', () => {
  const tx = fc.sample(transaction, { numRuns: 1, seed: 3 })[0]!;
  const raw = transactionBytes({ ...tx, inputs: tx.inputs.map((each) => ({ ...each, witness: [Uint8Array.of(1)] })) });
  const records = new Uint8Array(17 * tx.inputs.length);
  const whole = new Uint8Array(raw.length + records.length);
  whole.set(raw);
  expect(new EncodedTxContext(whole, 0, raw.length).inputCount).toBe(tx.inputs.length);
  for (let end = 0; end < raw.length; end++)
    expect(() => new EncodedTxContext(raw.subarray(0, end), 0, 0)).toThrow(DecodeError);
  for (let end = raw.length; end < whole.length; end++)
    expect(() => new EncodedTxContext(whole.subarray(0, end), 0, raw.length)).toThrow(DecodeError);
});

test('flags other than that of the witness are rejected', () => {
  const raw = Uint8Array.of(1, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0);
  expect(() => new EncodedTxContext(raw, 0, 0)).toThrow('unknown transaction flags');
});
