import { describe, expect, test } from 'bun:test';
import { hash160 } from '../../src/crypto/hash-functions.ts';
import { addressOf } from '../../src/script/address.ts';
import { scriptToAsm } from '../../src/script/asm.ts';
import { pushData, pushNumber, scriptOf } from '../../src/script/script-builder.ts';
import {
  countP2shSigops,
  countSigops,
  countWitnessSigops,
  isUnspendable,
  multisig,
  p2sh,
  p2shOf,
  p2wpkh,
  p2wshOf,
  scriptType,
} from '../../src/script/templates.ts';
import { bytesToHex, concatBytes, hexToBytes } from '../../src/util/bytes.ts';
import { hasVectors, readVectorJson } from '../lib/vectors.ts';
import { parseScript } from './parse-script.ts';

const regtest = { p2pkh: 111, p2sh: 196, hrp: 'bcrt' };
const KEY = hexToBytes('0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798');

interface ScriptView {
  readonly asm: string;
  readonly hex: string;
  readonly type: string;
  readonly address?: string;
}

interface DecodedScript extends Omit<ScriptView, 'hex'> {
  readonly p2sh?: string;
  readonly segwit?: ScriptView & { readonly 'p2sh-segwit': string };
}

interface DecodedTransaction {
  readonly vin: readonly {
    readonly scriptSig?: { readonly asm: string; readonly hex: string };
    readonly prevout?: { readonly scriptPubKey: ScriptView };
  }[];
  readonly vout: readonly { readonly scriptPubKey: ScriptView }[];
}

function view(hex: string): ScriptView {
  const script = hexToBytes(hex);
  const address = addressOf(script, regtest);
  return { asm: scriptToAsm(script), hex, type: scriptType(script).type, ...(address === null ? {} : { address }) };
}

function plain({ asm, hex, type, address }: ScriptView): ScriptView {
  return { asm, hex, type, ...(address === undefined ? {} : { address }) };
}

describe.skipIf(!hasVectors)('scripts have the types of Bitcoin Core', () => {
  test('in the regtest chain', () => {
    const { transactions, tipBlockVerbosity3 } = readVectorJson<{
      transactions: DecodedTransaction[];
      tipBlockVerbosity3: { tx: DecodedTransaction[] };
    }>('chains/regtest-mixed-160.expected.json');
    let seen = 0;
    for (const { vin, vout } of [...transactions, ...tipBlockVerbosity3.tx]) {
      for (const { scriptSig, prevout } of vin) {
        if (scriptSig) expect(scriptToAsm(hexToBytes(scriptSig.hex), { sighashDecode: true })).toBe(scriptSig.asm);
        if (prevout) expect(view(prevout.scriptPubKey.hex)).toEqual(plain(prevout.scriptPubKey));
      }
      for (const { scriptPubKey } of vout) {
        expect(view(scriptPubKey.hex)).toEqual(plain(scriptPubKey));
        seen++;
      }
    }
    expect(seen).toBeGreaterThan(35);
  });

  test('in results of decodescript', () => {
    const rows = readVectorJson<[string, DecodedScript][]>('functional/rpc_decodescript.json');
    expect(rows.length).toBe(10);
    for (const [hex, expected] of rows) {
      const { p2sh: wrapped, segwit, ...decoded } = expected;
      expect(view(hex)).toEqual(plain({ hex, ...decoded }));
      const script = hexToBytes(hex);
      if (wrapped) expect(addressOf(p2shOf(script), regtest)).toBe(wrapped);
      if (segwit) {
        expect(view(segwit.hex)).toEqual(plain(segwit));
        expect(addressOf(p2shOf(hexToBytes(segwit.hex)), regtest)).toBe(segwit['p2sh-segwit']);
      }
    }
  });
});

test('multisig', () => {
  const keys = Array.from({ length: 20 }, () => KEY);
  const solutions = scriptType(multisig(2, keys.slice(0, 3))).solutions;
  expect(solutions.map(bytesToHex)).toEqual(['02', ...keys.slice(0, 3).map(bytesToHex), '03']);
  expect(scriptType(multisig(20, keys)).type).toBe('multisig');
  const nonstandard = [
    // More signatures than keys, none at all, a wrong count, and numbers in a longer form.
    multisig(2, [KEY]),
    parseScript('0 0 CHECKMULTISIG'),
    scriptOf(0x51, KEY, 0x52, 0xae),
    concatBytes(Uint8Array.of(0x01, 0x01), pushData(KEY), Uint8Array.of(0x51, 0xae)),
    concatBytes(Uint8Array.of(0x51), pushData(KEY), Uint8Array.of(0x51, 0x61, 0xae)),
    concatBytes(Uint8Array.of(0x51), pushData(KEY), Uint8Array.of(0xae)),
    Uint8Array.of(0xae),
    Uint8Array.of(0x51, 0xae),
  ];
  for (const script of nonstandard) expect(scriptType(script).type).toBe('nonstandard');
});

test('unspendable outputs are recognized', () => {
  expect(isUnspendable(Uint8Array.of(0x6a))).toBe(true);
  expect(isUnspendable(new Uint8Array(10_001))).toBe(true);
  expect(isUnspendable(new Uint8Array(10_000))).toBe(false);
  expect(isUnspendable(new Uint8Array(0))).toBe(false);
});

test('signature operations are counted', () => {
  const threeKeys = multisig(2, [KEY, KEY, KEY]);
  expect(countSigops(threeKeys, true)).toBe(3);
  expect(countSigops(threeKeys, false)).toBe(20);
  expect(countSigops(parseScript('CHECKSIG 17 CHECKMULTISIGVERIFY CHECKSIGVERIFY'), true)).toBe(22);
  // A number in a data push is ignored.
  expect(countSigops(parseScript('0x01 0x03 CHECKMULTISIG'), true)).toBe(20);
  // Operations after a push past the end are not counted; those before are.
  expect(countSigops(parseScript('CHECKSIG 0x4c CHECKSIG'), true)).toBe(1);
  expect(countSigops(parseScript('0x02 0xacac CHECKSIG'), true)).toBe(1);

  const spend = scriptOf(0x00, KEY, threeKeys);
  expect(countP2shSigops(spend, p2shOf(threeKeys))).toBe(3);
  expect(countP2shSigops(spend, threeKeys)).toBe(0);
  expect(countP2shSigops(concatBytes(spend, Uint8Array.of(0x61)), p2shOf(threeKeys))).toBe(0);
  expect(countP2shSigops(concatBytes(spend, Uint8Array.of(0x02, 0x01)), p2shOf(threeKeys))).toBe(0);
  expect(countP2shSigops(concatBytes(spend, Uint8Array.of(0x51)), p2shOf(threeKeys))).toBe(0);

  const flags = 1 | (1 << 11);
  const none = new Uint8Array(0);
  const keyHash = p2wpkh(hash160(KEY));
  const scriptHash = p2wshOf(threeKeys);
  expect(countWitnessSigops(none, keyHash, [], flags)).toBe(1);
  expect(countWitnessSigops(none, keyHash, [], 1)).toBe(0);
  expect(countWitnessSigops(none, scriptHash, [none, threeKeys], flags)).toBe(3);
  expect(countWitnessSigops(none, scriptHash, [], flags)).toBe(0);
  expect(countWitnessSigops(pushData(keyHash), p2shOf(keyHash), [], flags)).toBe(1);
  expect(countWitnessSigops(pushData(scriptHash), p2shOf(scriptHash), [threeKeys], flags)).toBe(3);
  expect(countWitnessSigops(concatBytes(Uint8Array.of(0x61), pushData(keyHash)), p2shOf(keyHash), [], flags)).toBe(0);
  expect(countWitnessSigops(none, concatBytes(Uint8Array.of(0x51, 32), new Uint8Array(32)), [threeKeys], flags)).toBe(
    0,
  );
  expect(countWitnessSigops(none, p2sh(new Uint8Array(20)), [threeKeys], flags)).toBe(0);
});

test('numbers and data are pushed in their shortest form', () => {
  const numbers: readonly (readonly [number, string])[] = [
    [0, '00'],
    [-1, '4f'],
    [1, '51'],
    [16, '60'],
    [17, '0111'],
    [127, '017f'],
    [128, '028000'],
    [-128, '028080'],
    [255, '02ff00'],
    [227_931, '035b7a03'],
    [8_388_608, '0400008000'],
    [2_147_483_647, '04ffffff7f'],
    [4_294_967_295, '05ffffffff00'],
  ];
  for (const [number, hex] of numbers) expect(bytesToHex(pushNumber(number))).toBe(hex);
  expect(bytesToHex(scriptOf(0x76, Uint8Array.of(5), Uint8Array.of(0x81), new Uint8Array(0), Uint8Array.of(17)))).toBe(
    '76554f000111',
  );
  expect(bytesToHex(pushData(Uint8Array.of(5)))).toBe('0105');
  for (const [size, header] of [
    [75, '4b'],
    [76, '4c4c'],
    [255, '4cff'],
    [256, '4d0001'],
    [65_535, '4dffff'],
    [65_536, '4e00000100'],
  ] as const)
    expect(bytesToHex(pushData(new Uint8Array(size)).subarray(0, -size))).toBe(header);
});

test('scripts are formatted as in Core', () => {
  expect(scriptToAsm(new Uint8Array(0))).toBe('');
  expect(scriptToAsm(parseScript('0x4c'))).toBe('[error]');
  expect(scriptToAsm(parseScript('0 -1 16 17 -2147483647 0x05 0x0000000001 0x50 0x7e 0xba 0xfe 0xff'))).toBe(
    '0 -1 16 17 -2147483647 0000000001 OP_RESERVED OP_CAT OP_CHECKSIGADD OP_UNKNOWN OP_INVALIDOPCODE',
  );
  // A negative zero of four bytes is a zero.
  expect(scriptToAsm(parseScript('0x04 0x00000080 0x01 0x80'))).toBe('0 0');
});
