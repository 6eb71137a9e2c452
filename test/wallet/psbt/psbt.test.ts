import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { hash160, sha256 } from '../../../src/crypto/hash-functions.ts';
import { type Transaction, transactionBytes, txidOf } from '../../../src/primitives/transaction.ts';
import { Op } from '../../../src/script/opcodes.ts';
import { scriptOf } from '../../../src/script/script-builder.ts';
import { p2pkh, p2wshOf } from '../../../src/script/templates.ts';
import { runSteps } from '../../../src/util/slices.ts';
import { SigningData } from '../../../src/wallet/keys/signing-data.ts';
import { analyzePsbt } from '../../../src/wallet/psbt/analyze.ts';
import { combinePsbts } from '../../../src/wallet/psbt/combine.ts';
import { decodePsbtBase64 } from '../../../src/wallet/psbt/decode-psbt.ts';
import { encodePsbt, encodePsbtBase64 } from '../../../src/wallet/psbt/encode.ts';
import { joinPsbts } from '../../../src/wallet/psbt/join.ts';
import { createPsbt, newPsbtInput, type Psbt } from '../../../src/wallet/psbt/psbt.ts';
import { extractTransactionSteps, finalizePsbt } from '../../../src/wallet/psbt/sign-psbt.ts';
import { psbtLocktime } from '../../../src/wallet/psbt/unsigned-tx.ts';
import { processPsbt, type UtxoLookup } from '../../../src/wallet/psbt/update.ts';
import { signTransaction } from '../../../src/wallet/signing/sign-transaction.ts';
import { keyOf, solvingAll, spendingTx, templates, withKeys } from '../signing/signing-fixture.ts';
import { anyPsbt } from './psbt-fixture.ts';

const NOTHING: UtxoLookup = { transaction: () => null, coin: () => null };
const firstOf = () => 0;
const decodePsbt = (bytes: Uint8Array) => decodePsbtBase64(bytes.toBase64());
const extractTransaction = (psbt: Psbt) => runSteps(extractTransactionSteps(psbt));

describe('codec', () => {
  for (const version of [0, 2] as const)
    test(`version ${version} survives a round trip`, () =>
      fc.assert(
        fc.property(anyPsbt(version), (psbt) => {
          const encoded = encodePsbt(psbt).slice();
          const decoded = decodePsbt(encoded);
          expect(encodePsbt(decoded)).toEqual(encoded);
          // Maps in the order of the bytes.
          expect(decoded.inputs.map((input) => new Map([...input.unknown].sort()))).toEqual(
            psbt.inputs.map((input) => new Map([...input.unknown].sort())),
          );
          expect(decoded.outputs.map(({ tapTree }) => tapTree)).toEqual(
            psbt.outputs.map(({ tapTree }) => [...tapTree]),
          );
        }),
      ));

  test('hostile bytes are rejected, or survive being written again', () => {
    const seeds = fc.oneof(anyPsbt(0), anyPsbt(2)).map((psbt) => encodePsbt(psbt).slice());
    const changes = fc.array(fc.tuple(fc.nat(), fc.nat({ max: 255 })), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(seeds, changes, fc.nat(), (bytes, edits, cut) => {
        for (const [at, value] of edits) bytes[at % bytes.length] = value;
        const input = cut % 4 === 0 ? bytes.subarray(0, cut % bytes.length) : bytes;
        let psbt: Psbt;
        try {
          psbt = decodePsbt(input);
        } catch (error) {
          expect((error as Error).name).toBe('DecodeError');
          return;
        }
        const written = encodePsbt(psbt).slice();
        expect(encodePsbt(decodePsbt(written))).toEqual(written);
      }),
      { numRuns: 100 },
    );
  });

  test('decoding errors have the texts of Bitcoin Core', () => {
    expect(() => decodePsbtBase64(';definitely not base64;')).toThrow('invalid base64');
    for (const bad of ['cHNi dP8=', 'cHNidP8=\n', 'cHNidP8', 'cHNidP9=', 'cHNidP-_'])
      expect(() => decodePsbtBase64(bad)).toThrow('invalid base64');
    // Long valid and invalid Base64 is distinguished quickly.
    expect(() => decodePsbtBase64('QUFB'.repeat(4_000_000))).toThrow('Invalid PSBT magic bytes');
    expect(() => decodePsbt(Uint8Array.of(1, 2, 3, 4, 5))).toThrow('Invalid PSBT magic bytes: iostream error');
    const whole = encodePsbt(createPsbt(spendingTx(templates().slice(0, 1)).tx, 2)).slice();
    expect(() => decodePsbt(new Uint8Array([...whole, 0]))).toThrow('extra data after PSBT');
    expect(() => decodePsbt(whole.subarray(0, whole.length - 1))).toThrow('Separator is missing');
  });
});

describe('many leaves and control blocks', () => {
  const unsigned = spendingTx(templates().slice(0, 1)).tx;

  // Each used to be merged with all before it: minutes.
  test('the control blocks of one leaf are stored once each, shortest first', () => {
    const count = 20_000;
    const controlBlocks = Array.from({ length: count }, (_, i) => {
      const block = new Uint8Array(i % 2 === 0 ? 65 : 33);
      new DataView(block.buffer).setUint32(1, i);
      return block;
    });
    const leaf = { script: Uint8Array.of(Op.OP_1), leafVersion: 0xc0, controlBlocks };
    const psbt = createPsbt(unsigned, 2);
    const inputs = [{ ...psbt.inputs[0]!, tapScripts: new Map([['51 c0', leaf]]) }];
    const [read] = [...decodePsbt(encodePsbt({ ...psbt, inputs })).inputs[0]!.tapScripts.values()];
    const sorted = controlBlocks.toSorted((a, b) => a.length - b.length || Buffer.compare(a, b));
    expect(read).toEqual({ ...leaf, controlBlocks: sorted });
  }, 180_000);

  // 60 kB of it: it took 17 seconds and a gigabyte.
  test('a tree of maximum depth and many leaves survives a round trip', () => {
    const wide = 14;
    const leaves = [
      ...Array.from({ length: 128 - wide }, (_, i) => i + 1),
      ...Array.from({ length: 1 << wide }, () => 128),
    ];
    const tapTree = leaves.map((depth) => ({ depth, leafVersion: 0xc0, script: Uint8Array.of(Op.OP_1) }));
    const psbt = createPsbt(unsigned, 2);
    const tapInternalKey = keyOf('tree').publicKey.subarray(1);
    const outputs = [{ ...psbt.outputs[0]!, tapInternalKey, tapTree }];
    const processed = processPsbt({ ...psbt, outputs }, NOTHING, new SigningData(), {});
    // Core writes it from right to left.
    expect(processed.ok && processed.value.outputs[0]!.tapTree).toEqual(tapTree.toReversed());
  }, 180_000);
});

describe('roles', () => {
  const list = templates();
  const { tx, spent } = spendingTx(list);
  const known = signable(tx);
  const keys = list.flatMap(({ signers }) => signers);
  const provider = withKeys(solvingAll(list), keys);

  /** The same spend, of coins whose transactions are there. */
  function signable(template: Transaction): { tx: Transaction; lookup: UtxoLookup } {
    const befores = spent.map((output, i) => ({ ...template, inputs: [template.inputs[i]!], outputs: [output] }));
    const inputs = template.inputs.map((input, i) => ({ ...input, prevout: { txid: txidOf(befores[i]!), vout: 0 } }));
    const byTxid = new Map(befores.map((before) => [txidOf(before).toHex(), before]));
    return {
      tx: { ...template, inputs },
      lookup: { transaction: (txid) => byTxid.get(txid.toHex()) ?? null, coin: () => null },
    };
  }

  function processed(psbt: Psbt, with_: SigningData, finalize = true): Psbt {
    const outcome = processPsbt(psbt, known.lookup, with_, { finalize });
    if (!outcome.ok) throw new Error(outcome.error);
    return outcome.value;
  }

  for (const version of [0, 2] as const)
    test(`version ${version}: a PSBT that is updated, signed, finalized and extracted equals the signed transaction`, () => {
      const psbt = processed(createPsbt(known.tx, version), provider);
      const expected = signTransaction(known.tx, spent, provider).tx;
      const extracted = extractTransaction(decodePsbt(encodePsbt(psbt).slice()))!;
      expect(transactionBytes(extracted)).toEqual(transactionBytes(expected));
    });

  test('the combined signatures of several parties can be finalized', () => {
    const created = createPsbt(known.tx, 2);
    const parts = ['a', 'b', 'c', 'fat'].map((name) => {
      const signer = withKeys(solvingAll(list), [keyOf(name, name !== 'fat')]);
      const part = processed(created, signer, false);
      // Through the bytes, as between machines.
      return decodePsbt(encodePsbt(part).slice());
    });
    const combined = combinePsbts(parts)!;
    const backwards = combinePsbts(parts.toReversed())!;
    expect(encodePsbt(backwards)).toEqual(encodePsbt(combined));
    expect(finalizePsbt(parts[0]!).complete).toBe(false);
    const { psbt, complete } = finalizePsbt(combined);
    expect(complete).toBe(true);
    expect(extractTransaction(psbt)).not.toBeNull();
  });

  test('PSBTs of different transactions or versions are not combined', () => {
    const other = { ...known.tx, locktime: 1 };
    expect(combinePsbts([createPsbt(known.tx, 2), createPsbt(other, 2)])).toBeNull();
    expect(combinePsbts([createPsbt(known.tx, 2), createPsbt(known.tx, 0)])).toBeNull();
  });

  test('analysis names the next role', () => {
    const created = createPsbt(known.tx, 2);
    expect(analyzePsbt(created)).toMatchObject({ next: 'updater', fee: null });
    const updated = processed(created, solvingAll(list));
    const fee = spent.reduce((sum, { value }) => sum + value, 0n) - 90_000n * BigInt(spent.length);
    const analysis = analyzePsbt(updated);
    expect(analysis).toMatchObject({ fee, error: null });
    for (const [i, { name, taproot, scriptPubKey }] of list.entries()) {
      const { next, hasUtxo, isFinal } = analysis.inputs[i]!;
      expect({ name, hasUtxo, isFinal }).toEqual({ name, hasUtxo: true, isFinal: false });
      // Missing taproot signatures are not counted, and an updater does not know the key of a hash.
      const keyHash = ['p2pkh', 'p2pkh uncompressed', 'p2wpkh', 'p2sh-p2wpkh', 'p2wsh pkh'].includes(name);
      expect({ name, next }).toEqual({ name, next: taproot || keyHash ? 'updater' : 'signer' });
      expect(scriptPubKey.length).toBeGreaterThan(0);
    }
    const signed = processed(created, provider, false);
    expect(analyzePsbt(signed).next).toBe('finalizer');
    const final = analyzePsbt(finalizePsbt(signed).psbt);
    expect(final.next).toBe('extractor');
    const size = extractTransaction(signed)!;
    const weight = transactionBytes(size, { witness: false }).length * 3 + transactionBytes(size).length;
    expect(Math.abs(final.estimatedVsize! - Math.ceil(weight / 4))).toBeLessThanOrEqual(1);
  });

  test('analysis rejects a PSBT that cannot be valid', () => {
    const psbt = createPsbt(known.tx, 2);
    const bad = (witnessUtxo: { value: bigint; scriptPubKey: Uint8Array }) =>
      analyzePsbt({ ...psbt, inputs: [{ ...psbt.inputs[0]!, witnessUtxo }, ...psbt.inputs.slice(1)] }).error;
    expect(bad({ value: -5n, scriptPubKey: Uint8Array.of(0x51) })).toBe('PSBT is not valid. Input 0 has invalid value');
    expect(bad({ value: 5n, scriptPubKey: Uint8Array.of(0x6a) })).toBe(
      'PSBT is not valid. Input 0 spends unspendable output',
    );
    const output = { ...psbt.outputs[0]!, value: 22_000_000n * 100_000_000n };
    const updated = processed({ ...psbt, outputs: [output] }, new SigningData());
    expect(analyzePsbt(updated).error).toBe('PSBT is not valid. Output amount invalid');
  });

  test('a sighash type that the input does not request is rejected', () => {
    const asking = createPsbt(known.tx, 2);
    const inputs = asking.inputs.map((input) => ({ ...input, sighashType: 0x81 }));
    expect(processPsbt({ ...asking, inputs }, known.lookup, provider, { sighashType: 1 })).toEqual({
      ok: false,
      error: 'Specified sighash value does not match value stored in PSBT',
    });
  });

  test('an amount without its transaction is only accepted for witness signatures', () => {
    const key = keyOf('a');
    const scriptPubKey = p2pkh(hash160(key.publicKey));
    const [input] = createPsbt({ ...known.tx, inputs: [known.tx.inputs[0]!] }, 2).inputs;
    const psbt = createPsbt({ ...known.tx, inputs: [known.tx.inputs[0]!] }, 2);
    const lying = { ...psbt, inputs: [{ ...input!, witnessUtxo: { value: 5n, scriptPubKey } }] };
    const outcome = processPsbt(lying, NOTHING, withKeys(new SigningData(), [key]), {});
    expect(outcome.ok && outcome.value.inputs[0]!.finalScriptSig).toBeNull();
    expect(outcome.ok && outcome.value.inputs[0]!.partialSignatures.size).toBe(0);
  });

  test('a joined PSBT has the inputs and outputs of all', () => {
    const half = Math.floor(list.length / 2);
    const part = (from: number, to: number): Psbt =>
      createPsbt(
        { ...known.tx, inputs: known.tx.inputs.slice(from, to), outputs: known.tx.outputs.slice(from, to) },
        0,
      );
    const joined = joinPsbts([part(0, half), part(half, list.length)], firstOf);
    expect(joined.ok && joined.value.inputs.length).toBe(list.length);
    expect(joined.ok && joined.value.outputs.length).toBe(list.length);
    const twice = joinPsbts([part(0, half), part(0, 1)], firstOf);
    expect(!twice.ok && twice.error).toMatch(/^Input [0-9a-f]{64}:0 exists in multiple PSBTs$/);
  });

  test('a preimage in the PSBT satisfies a hash lock', () => {
    const key = keyOf('a');
    const preimage = sha256(Uint8Array.of(9));
    const hash = sha256(preimage);
    const size = scriptOf(Op.OP_SIZE, Uint8Array.of(32), Op.OP_EQUALVERIFY);
    const lock = scriptOf(Op.OP_SHA256, hash, Op.OP_EQUAL);
    const script = new Uint8Array([...scriptOf(key.publicKey, Op.OP_CHECKSIGVERIFY), ...size, ...lock]);
    const psbt = createPsbt({ ...known.tx, inputs: [known.tx.inputs[0]!] }, 2);
    const solving = withKeys(new SigningData(), [key]);
    solving.addScript(script);
    const utxo = { value: 100_000n, scriptPubKey: p2wshOf(script) };
    const withUtxo = (sha256Preimages: Psbt['inputs'][number]['sha256Preimages']) => ({
      ...psbt,
      inputs: [{ ...psbt.inputs[0]!, witnessUtxo: utxo, sha256Preimages }],
    });
    const without = processPsbt(withUtxo(new Map()), NOTHING, solving, {});
    expect(without.ok && without.value.inputs[0]!.finalScriptWitness).toBeNull();
    const outcome = processPsbt(withUtxo(new Map([[hash.toHex(), { hash, preimage }]])), NOTHING, solving, {});
    expect(outcome.ok && outcome.value.inputs[0]!.finalScriptWitness?.at(0)).toEqual(preimage);
  });
});

test('the locktime of version 2 is one on which all inputs agree', () => {
  const { tx } = spendingTx(templates().slice(0, 1));
  const { prevout } = tx.inputs[0]!;
  const locktime = (fallbackLocktime: number | null, ...required: [number | null, number | null][]) =>
    psbtLocktime({
      ...createPsbt(tx, 2),
      fallbackLocktime,
      inputs: required.map(([requiredHeightLocktime, requiredTimeLocktime]) => ({
        ...newPsbtInput(prevout, null),
        requiredHeightLocktime,
        requiredTimeLocktime,
      })),
    });
  const time = 1_600_000_000;
  expect(locktime(null, [null, null])).toBe(0);
  expect(locktime(7, [null, null])).toBe(7);
  expect(locktime(7, [10, null], [20, null])).toBe(20);
  expect(locktime(7, [null, time], [null, null])).toBe(time);
  expect(locktime(7, [10, time], [null, time + 1])).toBe(time + 1);
  expect(locktime(7, [10, time], [20, time + 1])).toBe(20);
  expect(locktime(7, [10, null], [null, time])).toBeNull();
  expect(encodePsbtBase64(createPsbt(tx, 2))).toStartWith('cHNidP8B');
});
