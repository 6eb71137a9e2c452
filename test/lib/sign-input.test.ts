import { describe, expect, test } from 'bun:test';
import { hash160 } from '../../src/crypto/hash-functions.ts';
import { signatureEngine } from '../../src/crypto/secp256k1.ts';
import { nobleEngine } from '../../src/crypto/secp256k1-noble.ts';
import { type Transaction, txidOf } from '../../src/primitives/transaction.ts';
import { DecodedTxContext } from '../../src/script/decoded-tx-context.ts';
import { multisig, p2pkh, p2shOf, p2tr, p2wpkh, p2wshOf } from '../../src/script/templates.ts';
import { checkInput } from '../../src/script/tx-checker.ts';
import { KeyRing } from './key-ring.ts';
import { ALL_SCRIPT_FLAGS } from './script-flags.ts';
import { signTransaction } from './sign-input.ts';
import {
  LOCK_KINDS,
  type LockKind,
  lockOf,
  madeUpCoin,
  signAgain,
  spend,
  type TestCoin,
  testSecret,
  withBadSignature,
  withOutput,
  withoutWitness,
} from './tx-builder.ts';

const KEYED = LOCK_KINDS.filter((kind) => !kind.endsWith('anyone'));
const [ALL, NONE, SINGLE, ANYONECANPAY] = [1, 2, 3, 0x80];

const verdicts = (tx: Transaction, coins: readonly TestCoin[], engine = signatureEngine()) => {
  const outputs = coins.map(({ output }) => output);
  const context = new DecodedTxContext(tx, outputs);
  // Standard flags and all others, so that the signatures are also of the form that is relayed.
  return tx.inputs.map((_, i) => checkInput(context, i, ALL_SCRIPT_FLAGS, engine));
};

const coinsOf = (kind: LockKind) => [madeUpCoin(kind, 70_000n, 1), madeUpCoin(lockOf(kind, 1), 40_000n, 2)];
const payees = [
  { to: 'p2tr', value: 60_000n },
  { to: 'p2pkh', value: 49_000n },
] as const;

describe.each(KEYED)('%s', (kind) => {
  const coins = coinsOf(kind);
  const tx = spend(coins, payees);

  test('is spent', () => {
    expect(verdicts(tx, coins)).toEqual(['OK', 'OK']);
    expect(verdicts(tx, coins, nobleEngine())).toEqual(['OK', 'OK']);
  });

  test('is not spent with a spoiled signature', () => {
    const [first, other] = verdicts(withBadSignature(tx), coins);
    expect(first).not.toBe('OK');
    expect(other).toBe('OK');
  });

  test('signs the outputs', () => {
    const changed = withOutput(tx, 1, { value: 49_001n });
    expect(verdicts(changed, coins)).not.toContain('OK');
    expect(verdicts(signAgain(changed, coins), coins)).toEqual(['OK', 'OK']);
  });

  test.each([ALL, NONE, SINGLE, ALL | ANYONECANPAY, NONE | ANYONECANPAY, SINGLE | ANYONECANPAY])(
    'with hash type %d',
    (hashType) => {
      const signed = spend(coins, payees, { hashType });
      expect(verdicts(signed, coins)).toEqual(['OK', 'OK']);
      // The first input's own output is the first one; the second output is bound by ALL alone.
      const changed = verdicts(withOutput(signed, 1, { value: 1n }), coins)[0];
      expect(changed === 'OK').toBe((hashType & 0x1f) !== ALL);
    },
  );
});

test.each(['anyone', 'p2wsh-anyone'] as const)('%s is spent without a key', (kind) => {
  const coins = coinsOf(kind);
  expect(verdicts(spend(coins, payees), coins)[0]).toBe('OK');
});

test('all kinds of inputs are spent in one transaction', () => {
  const coins = LOCK_KINDS.filter((kind) => kind !== 'p2wsh-anyone').map((kind, i) => madeUpCoin(kind, 1000n, i));
  expect(new Set(verdicts(spend(coins, payees), coins))).toEqual(new Set(['OK']));
});

test('segwit v0 and taproot sign the value of the coin, and taproot that of every coin', () => {
  const broken = (kind: LockKind) => {
    const coins = coinsOf(kind);
    const tx = spend(coins, payees);
    const other = { ...coins[1]!, output: { ...coins[1]!.output, value: 39_999n } };
    return verdicts(tx, [coins[0]!, other]).map((verdict) => verdict !== 'OK');
  };
  expect(broken('p2pkh')).toEqual([false, false]);
  expect(broken('p2wpkh')).toEqual([false, true]);
  expect(broken('p2tr')).toEqual([true, true]);
});

test('without its witness a transaction keeps its id and is not valid', () => {
  const coins = coinsOf('p2wpkh');
  const tx = spend(coins, payees);
  const stripped = withoutWitness(tx);
  expect(txidOf(stripped)).toEqual(txidOf(tx));
  expect(verdicts(stripped, coins)).toEqual(['WITNESS_PROGRAM_MISMATCH', 'WITNESS_PROGRAM_MISMATCH']);
});

describe('an input that cannot be signed', () => {
  const unsigned = (coins: readonly TestCoin[]) => spend(coins, payees, { sign: false });
  const outputsOf = (coins: readonly TestCoin[]) => coins.map(({ output }) => output);

  test('is left as it was, and the other inputs are signed', () => {
    const ring = new KeyRing();
    const own = p2wpkh(hash160(ring.addKey(testSecret('own'))));
    const coins = [madeUpCoin(own, 1000n, 1), madeUpCoin('p2pkh', 1000n, 2)];
    const { tx, complete } = signTransaction(unsigned(coins), outputsOf(coins), ring);
    expect(complete).toBe(false);
    expect(verdicts(tx, coins)[0]).toBe('OK');
    expect(tx.inputs[1]!.scriptSig).toHaveLength(0);
  });

  test('lacks a key of its multisig', () => {
    const ring = new KeyRing();
    const keys = ['a', 'b', 'c'].map((name) => testSecret(name));
    const script = multisig(2, [ring.addKey(keys[0]!), lockKey(keys[1]!), lockKey(keys[2]!)]);
    ring.addScript(script);
    const coins = [madeUpCoin(p2shOf(script), 1000n)];
    expect(signTransaction(unsigned(coins), outputsOf(coins), ring).complete).toBe(false);
    ring.addKey(keys[2]!);
    const { tx, complete } = signTransaction(unsigned(coins), outputsOf(coins), ring);
    expect(complete).toBe(true);
    expect(verdicts(tx, coins)).toEqual(['OK']);
  });

  test('has an uncompressed key in a witness, which is not relayed', () => {
    const ring = new KeyRing();
    const hash = hash160(ring.addKey(testSecret('uncompressed'), false));
    const coins = [madeUpCoin(p2wpkh(hash), 1000n), madeUpCoin(p2pkh(hash), 1000n, 1)];
    const { tx, complete } = signTransaction(unsigned(coins), outputsOf(coins), ring);
    expect(complete).toBe(false);
    expect(tx.inputs[0]!.witness).toHaveLength(0);
    expect(verdicts(tx, coins)[1]).toBe('OK');
  });

  test('has taproot inside P2SH, where it means nothing', () => {
    const ring = new KeyRing();
    const script = p2tr(ring.addTaproot(ring.addKey(testSecret('nested')).subarray(1)));
    ring.addScript(script);
    const coins = [madeUpCoin(p2shOf(script), 1000n)];
    expect(signTransaction(unsigned(coins), outputsOf(coins), ring).complete).toBe(false);
  });

  test('has a script behind two hashes of the same kind', () => {
    const ring = new KeyRing();
    const inner = p2wshOf(p2pkh(hash160(ring.addKey(testSecret('inner')))));
    for (const script of [inner, p2shOf(inner)]) ring.addScript(script);
    const coins = [madeUpCoin(p2wshOf(inner), 1000n), madeUpCoin(p2shOf(p2shOf(inner)), 1000n, 1)];
    const { tx } = signTransaction(unsigned(coins), outputsOf(coins), ring);
    expect(tx).toEqual(unsigned(coins));
  });

  // The hash would be the number one, and the signature good for any transaction with that key.
  test('has SIGHASH_SINGLE without an output of its own', () => {
    for (const kind of ['p2pkh', 'p2tr'] as const) {
      const coins = coinsOf(kind);
      expect(() => spend(coins, payees.slice(0, 1), { hashType: SINGLE })).toThrow('no key');
    }
  });

  function lockKey(secret: Uint8Array): Uint8Array {
    return new KeyRing().addKey(secret);
  }
});
