import { describe, expect, test } from 'bun:test';
import { signatureEngine } from '../../../src/crypto/secp256k1.ts';
import { STANDARD_SCRIPT_FLAGS } from '../../../src/policy/standard-inputs.ts';
import { type Transaction, type TxOutput, transactionBytes } from '../../../src/primitives/transaction.ts';
import { DecodedTxContext } from '../../../src/script/decoded-tx-context.ts';
import { checkInput } from '../../../src/script/tx-checker.ts';
import { SigningData } from '../../../src/wallet/keys/signing-data.ts';
import { combineTransactions, signTransaction } from '../../../src/wallet/signing/sign-transaction.ts';
import { keyOf, solvingAll, spendingTx, templates, withKeys } from './signing-fixture.ts';

const MAX_MONEY = 21_000_000n * 100_000_000n;
const SINGLE = 3;

function verdicts(tx: Transaction, spent: readonly TxOutput[]): string[] {
  const context = new DecodedTxContext(tx, spent);
  return spent.map((_, i) => checkInput(context, i, STANDARD_SCRIPT_FLAGS, signatureEngine()));
}

const HASH_TYPES: readonly (readonly [string, number])[] = [
  ['DEFAULT', 0],
  ['ALL', 1],
  ['NONE', 2],
  ['SINGLE', SINGLE],
  ['ALL|ANYONECANPAY', 0x81],
  ['NONE|ANYONECANPAY', 0x82],
  ['SINGLE|ANYONECANPAY', 0x83],
];

describe('standard scripts', () => {
  const list = templates();
  const { tx, spent } = spendingTx(list);
  const allKeys = list.flatMap(({ signers }) => signers);

  for (const [name, hashType] of HASH_TYPES)
    test(`the interpreter accepts a signed ${name}`, () => {
      const signed = signTransaction(tx, spent, withKeys(solvingAll(list), allKeys), hashType);
      expect([...signed.errors]).toEqual([]);
      expect(verdicts(signed.tx, spent)).toEqual(list.map(() => 'OK'));
    });

  test('signing twice gives the same bytes', () => {
    const provider = withKeys(solvingAll(list), allKeys);
    const once = transactionBytes(signTransaction(tx, spent, provider).tx);
    expect(transactionBytes(signTransaction(tx, spent, provider).tx)).toEqual(once);
    // Existing signatures stay.
    const signed = signTransaction(tx, spent, provider).tx;
    expect(transactionBytes(signTransaction(signed, spent, provider).tx)).toEqual(once);
  });

  test('signing grinds R, so that no signature is longer than 71 bytes with its hash type', () => {
    const signed = signTransaction(tx, spent, withKeys(solvingAll(list), allKeys), 1);
    const items = signed.tx.inputs.flatMap(({ witness }) => witness).filter((item) => item[0] === 0x30);
    expect(items.length).toBeGreaterThan(5);
    for (const item of items) expect(item.length).toBeLessThanOrEqual(71);
  });
});

describe('partial signatures', () => {
  const list = templates().filter(({ required, taproot }) => required > 1 && !taproot);
  const { tx, spent } = spendingTx(list);
  const solving = solvingAll(list);

  test('the signatures of three parties merge to a complete input in any order', () => {
    const parts = ['a', 'b', 'c'].map((name) => signTransaction(tx, spent, withKeys(solving, [keyOf(name)])));
    for (const part of parts) expect(part.errors.size).toBe(list.length);
    for (const [first, second] of [
      [0, 1],
      [1, 0],
      [2, 0],
      [1, 2],
    ] as const) {
      const combined = combineTransactions([parts[first]!.tx, parts[second]!.tx], spent);
      expect(verdicts(combined, spent)).toEqual(list.map(() => 'OK'));
    }
  });

  test('the next signer keeps the signatures that are there', () => {
    const first = signTransaction(tx, spent, withKeys(solving, [keyOf('c')])).tx;
    const second = signTransaction(first, spent, withKeys(solving, [keyOf('a')]));
    expect([...second.errors]).toEqual([]);
    expect(verdicts(second.tx, spent)).toEqual(list.map(() => 'OK'));
  });

  test('too few signatures are reported', () => {
    const { errors } = signTransaction(tx, spent, withKeys(solving, [keyOf('a')]));
    for (const error of errors.values())
      expect(error).toBe('CHECK(MULTI)SIG failing with non-zero signature (possibly need more signatures)');
  });
});

describe('errors', () => {
  const list = templates();
  const { tx, spent } = spendingTx(list);

  test('an input with an unknown coin is not signed, and neither are taproot inputs beside it, which commit to that coin', () => {
    const keys = list.flatMap(({ signers }) => signers);
    const { errors } = signTransaction(tx, [null, ...spent.slice(1)], withKeys(solvingAll(list), keys));
    expect(errors.get(0)).toBe('Input not found or already spent');
    for (const [i, { taproot }] of list.entries()) if (i > 0) expect(errors.has(i)).toBe(taproot === true);
  });

  test('an input without any key is not signed', () => {
    const { errors } = signTransaction(tx, spent, new SigningData());
    expect(errors.get(2)).toBe('Unable to sign input, invalid stack size (possibly missing key)');
    expect(errors.get(4)).toBe('Witness program hash mismatch');
    const taproot = list.findIndex((template) => template.taproot);
    expect(errors.get(taproot)).toBe('Witness program was passed an empty witness');
    expect(errors.size).toBe(list.length);
  });

  test('a witness input with an unknown amount is not signed', () => {
    const index = list.findIndex(({ name }) => name === 'p2wpkh');
    const one = { ...tx, inputs: [tx.inputs[index]!] };
    const provider = withKeys(solvingAll(list), list[index]!.signers);
    const { errors } = signTransaction(one, [{ ...spent[index]!, value: MAX_MONEY }], provider);
    expect(errors.get(0)).toBe('Missing amount');
  });

  test('SIGHASH_SINGLE without a matching output is not signed', () => {
    const index = list.findIndex(({ name }) => name === 'p2pkh');
    const short = { ...tx, outputs: [], inputs: [tx.inputs[index]!] };
    const provider = withKeys(solvingAll(list), list[index]!.signers);
    const { tx: signed, errors } = signTransaction(short, [spent[index]!], provider, SINGLE);
    expect(signed.inputs[0]!.scriptSig.length).toBe(0);
    expect(errors.size).toBe(1);
  });

  test('signing errors never contain a secret', () => {
    const { errors } = signTransaction(tx, spent, withKeys(solvingAll(list), [keyOf('a')]));
    const text = [...errors.values()].join(' ');
    expect(text).not.toContain(keyOf('a').reveal().toHex());
  });

  test('an uncompressed key does not sign in a witness', () => {
    const fat = keyOf('fat', false);
    const { tx: blank } = spendingTx(list.slice(0, 1));
    const [target] = templates().filter(({ name }) => name === 'p2wpkh');
    const { errors } = signTransaction(
      blank,
      [{ value: 1000n, scriptPubKey: target!.scriptPubKey }],
      withKeys(target!.solving, [fat]),
    );
    expect(errors.size).toBe(1);
  });
});
