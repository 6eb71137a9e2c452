import { describe, expect, test } from 'bun:test';
import { MAX_CONFIRM_TARGET, type RelayOptions } from '../../src/policy/relay-options.ts';
import { checkStandardTx, standardScriptType } from '../../src/policy/standard-tx.ts';
import { weightOf } from '../../src/primitives/block.ts';
import type { Transaction } from '../../src/primitives/transaction.ts';
import { Op } from '../../src/script/opcodes.ts';
import { pushData, scriptOf } from '../../src/script/script-builder.ts';
import { multisig } from '../../src/script/templates.ts';
import { concatBytes, hexToBytes } from '../../src/util/bytes.ts';
import { DEFAULT_RELAY_OPTIONS } from '../lib/default-options.ts';
import { ANCHOR, filled, input, KEY, output, P2PKH, parsedOf, someOutpoint, txOf } from './policy-fixture.ts';

const DATA_80 = hexToBytes(
  '04678afdb0fe5548271967f1a67130b7105cd6a828e03909a67962e0ea1f61deb649f6bc3f4cef38'.repeat(2),
);
const NULLDATA_83 = concatBytes(Uint8Array.of(Op.OP_RETURN), pushData(DATA_80));

function reasonOf(changes: Partial<Transaction>, options: Partial<RelayOptions> = {}): string | null {
  const parsed = parsedOf(changes);
  const rejection = checkStandardTx(parsed.tx, { weight: weightOf(parsed) }, { ...DEFAULT_RELAY_OPTIONS, ...options });
  if (rejection !== null) expect(rejection.kind).toBe('policy');
  return rejection?.reason ?? null;
}

const withScript = (scriptPubKey: Uint8Array, options: Partial<RelayOptions> = {}) =>
  reasonOf({ outputs: [output(90_000n, scriptPubKey)] }, options);
const withScriptSig = (scriptSig: Uint8Array) => reasonOf({ inputs: [input(someOutpoint(1), { scriptSig })] });

test('versions 1 to 3 are standard', () => {
  for (const version of [1, 2, 3]) expect(reasonOf({ version })).toBeNull();
  // Versions are unsigned here.
  for (const version of [0, 4, 0x8000_0000, 0xffff_ffff]) expect(reasonOf({ version })).toBe('version');
});

test('a weight of 400,000 is standard, more is not', () => {
  const inputs = Array.from({ length: 2438 }, (_, i) => input(someOutpoint(i)));
  const sized = (bytes: number): Partial<Transaction> => ({
    inputs,
    outputs: [output(0n, scriptOf(Op.OP_RETURN, filled(bytes)))],
  });
  expect(weightOf(parsedOf(sized(19)))).toBe(400_000);
  expect(reasonOf(sized(19))).toBeNull();
  expect(weightOf(parsedOf(sized(20)))).toBe(400_004);
  expect(reasonOf(sized(20))).toBe('tx-size');
  const check = (weight: number) => checkStandardTx(txOf(), { weight }, DEFAULT_RELAY_OPTIONS)?.reason;
  expect(check(400_000)).toBeUndefined();
  expect(check(400_001)).toBe('tx-size');
});

describe('scriptSigs', () => {
  test('may have up to 1,650 bytes', () => {
    expect(withScriptSig(pushData(filled(1647)))).toBeNull();
    expect(withScriptSig(pushData(filled(1648)))).toBe('scriptsig-size');
  });

  test('must contain only pushes', () => {
    const parts = [
      ...[Op.OP_1, Op.OP_0, Op.OP_1NEGATE, Op.OP_16].map((opcode) => Uint8Array.of(opcode)),
      ...[75, 235, 1234].map((size) => pushData(filled(size))),
      Uint8Array.of(Op.OP_9),
    ];
    expect(withScriptSig(concatBytes(...parts))).toBeNull();
    const other = [Op.OP_NOP, Op.OP_VERIFY, Op.OP_IF, Op.OP_ROT, Op.OP_3DUP, Op.OP_SIZE, Op.OP_EQUAL, Op.OP_ADD];
    for (const opcode of [...other, Op.OP_HASH256, Op.OP_CODESEPARATOR, Op.OP_CHECKSIG, Op.OP_CHECKLOCKTIMEVERIFY])
      for (const [i, part] of parts.entries())
        if (part.length === 1)
          expect(withScriptSig(concatBytes(...parts.with(i, Uint8Array.of(opcode))))).toBe('scriptsig-not-pushonly');
    // A push that runs past the end.
    expect(withScriptSig(hexToBytes('4c'))).toBe('scriptsig-not-pushonly');
    expect(withScriptSig(hexToBytes('0201'))).toBe('scriptsig-not-pushonly');
  });

  test('are checked for every input', () =>
    expect(
      reasonOf({ inputs: [input(someOutpoint(1)), input(someOutpoint(2), { scriptSig: Uint8Array.of(0x61) })] }),
    ).toBe('scriptsig-not-pushonly'));
});

describe('output scripts', () => {
  test('of unknown forms are not standard', () => {
    expect(withScript(Uint8Array.of(Op.OP_1))).toBe('scriptpubkey');
    expect(withScript(new Uint8Array(0))).toBe('scriptpubkey');
    expect(withScript(scriptOf(Op.OP_RETURN, Op.OP_RETURN))).toBe('scriptpubkey');
    // Version 0 has two lengths; unknown versions may be paid to, but not spent.
    expect(withScript(scriptOf(Op.OP_0, filled(31)))).toBe('scriptpubkey');
    expect(withScript(scriptOf(Op.OP_16, filled(40)))).toBeNull();
  });

  test('with data may use any push', () => {
    for (const script of [
      scriptOf(Op.OP_RETURN),
      scriptOf(Op.OP_RETURN, new Uint8Array(0)),
      hexToBytes('6a01000101'),
      hexToBytes('6a504f0001015253545556575859'),
      concatBytes(hexToBytes('6a0001015224'), filled(36, 0xff)),
    ])
      expect(withScript(script)).toBeNull();
  });

  test('with data are limited for all outputs together', () => {
    expect(NULLDATA_83.length).toBe(83);
    expect(withScript(NULLDATA_83)).toBeNull();
    expect(withScript(NULLDATA_83, { datacarrier: 83 })).toBeNull();
    expect(withScript(NULLDATA_83, { datacarrier: 82 })).toBe('datacarrier');
    const two = { outputs: [output(0n, NULLDATA_83), output(0n, NULLDATA_83)] };
    expect(reasonOf(two)).toBeNull();
    expect(reasonOf(two, { datacarrier: 166 })).toBeNull();
    expect(reasonOf(two, { datacarrier: 165 })).toBe('datacarrier');
  });

  test('with data can be forbidden', () => {
    expect(withScript(scriptOf(Op.OP_RETURN), { datacarrier: null })).toBe('datacarrier');
    expect(withScript(P2PKH, { datacarrier: null })).toBeNull();
  });

  test('of bare multisig may have three keys', () => {
    const keys = (count: number) => Array.from({ length: count }, () => KEY);
    expect(withScript(multisig(1, keys(1)))).toBeNull();
    expect(withScript(multisig(3, keys(3)))).toBeNull();
    expect(withScript(multisig(1, keys(4)))).toBe('scriptpubkey');
    expect(withScript(multisig(1, keys(1)), { permitBareMultisig: false })).toBe('bare-multisig');
    expect(withScript(multisig(1, keys(4)), { permitBareMultisig: false })).toBe('scriptpubkey');
    // The template requires at least one signature, and no more than there are keys.
    expect(withScript(concatBytes(Uint8Array.of(Op.OP_0), multisig(1, keys(1)).subarray(1)))).toBe('scriptpubkey');
    expect(withScript(concatBytes(Uint8Array.of(Op.OP_2), multisig(1, keys(1)).subarray(1)))).toBe('scriptpubkey');
  });

  test('have a standard type', () => {
    expect(standardScriptType(ANCHOR)).toBe('anchor');
    expect(standardScriptType(P2PKH)).toBe('pubkeyhash');
    expect(standardScriptType(Uint8Array.of(Op.OP_1))).toBeNull();
  });
});

test('one dust output is allowed', () => {
  const outputs = (...values: bigint[]) => ({ outputs: values.map((value) => output(value)) });
  expect(reasonOf(outputs(90_000n, 0n))).toBeNull();
  expect(reasonOf(outputs(546n, 0n))).toBeNull();
  expect(reasonOf(outputs(545n, 0n))).toBe('dust');
  expect(reasonOf(outputs(674n, 0n), { dustFeerate: 3702n })).toBeNull();
  expect(reasonOf(outputs(673n, 0n), { dustFeerate: 3702n })).toBe('dust');
  expect(reasonOf({ outputs: [output(240n, ANCHOR), output(0n)] })).toBeNull();
  expect(reasonOf({ outputs: [output(239n, ANCHOR), output(0n)] })).toBe('dust');
});

test('the first fault is reported in the order of the checks', () => {
  const bad = { version: 0, inputs: [input(someOutpoint(1), { scriptSig: filled(1651, 0x61) })] };
  const outputs = [
    output(0n),
    output(0n, multisig(1, [KEY])),
    output(0n, NULLDATA_83),
    output(0n, Uint8Array.of(0x51)),
  ];
  const options = { permitBareMultisig: false, datacarrier: 0 };
  expect(reasonOf({ ...bad, outputs }, options)).toBe('version');
  expect(reasonOf({ ...bad, version: 1, outputs }, options)).toBe('scriptsig-size');
  const notPush = [input(someOutpoint(1), { scriptSig: filled(1650, 0x61) })];
  expect(reasonOf({ inputs: notPush, outputs }, options)).toBe('scriptsig-not-pushonly');
  // Outputs are checked in order, dust after all of them.
  expect(reasonOf({ outputs }, options)).toBe('bare-multisig');
  expect(reasonOf({ outputs: outputs.slice(2) }, options)).toBe('datacarrier');
  expect(reasonOf({ outputs: outputs.slice(3) }, options)).toBe('scriptpubkey');
  expect(reasonOf({ outputs: outputs.slice(0, 2) })).toBe('dust');
});

test('the default relay options are those of Core', () => {
  expect(DEFAULT_RELAY_OPTIONS).toEqual({
    minRelayFeerate: 100n,
    incrementalFeerate: 100n,
    dustFeerate: 3000n,
    maxMempoolBytes: 300_000_000,
    expirySeconds: 1_209_600,
    datacarrier: 100_000,
    permitBareMultisig: true,
    clusterCount: 64,
    clusterVsize: 101_000,
    bytesPerSigop: 20,
    requireStandard: true,
  });
  expect(MAX_CONFIRM_TARGET).toBe(1008);
});
