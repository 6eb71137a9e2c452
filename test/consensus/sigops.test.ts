import { describe, expect, test } from 'bun:test';
import { legacySigops, txSigopCost } from '../../src/consensus/sigops.ts';
import { hash160, sha256 } from '../../src/crypto/hash-functions.ts';
import { SCRIPT_FLAGS } from '../../src/script/flags.ts';
import { pushData } from '../../src/script/script-builder.ts';
import { concatBytes, hexToBytes } from '../../src/util/bytes.ts';
import { coinbaseInput, input, output, txOf } from './block-fixture.ts';

const ALL = SCRIPT_FLAGS.P2SH | SCRIPT_FLAGS.WITNESS;
const KEY = '02'.repeat(33);
/** A 1-of-2 multisig: counts two if counted accurately, else twenty. */
const MULTISIG = hexToBytes(`5121${KEY}21${KEY}52ae`);

const p2sh = (script: Uint8Array) => concatBytes(hexToBytes('a914'), hash160(script), hexToBytes('87'));
const p2wsh = (script: Uint8Array) => concatBytes(hexToBytes('0020'), sha256(script));

describe('legacy sigops', () => {
  test('are those of all scripts of the transaction, and a multisig counts twenty', () => {
    const tx = txOf({
      inputs: [input(1, { scriptSig: hexToBytes('acad') }), input(2)],
      outputs: [output(1n, MULTISIG), output(1n, hexToBytes('76a9ac'))],
    });
    expect(legacySigops(tx)).toBe(2 + 20 + 1);
  });

  test('are counted up to a push past the end of the script', () =>
    expect(legacySigops(txOf({ outputs: [output(1n, hexToBytes('ac4cac'))] }))).toBe(1));
});

describe('sigop cost', () => {
  const cost = (scriptSig: Uint8Array, spent: Uint8Array, witness: Uint8Array[], flags = ALL) =>
    txSigopCost(txOf({ inputs: [input(1, { scriptSig, witness })] }), [output(1n, spent)], flags);
  const NONE = new Uint8Array();

  test('is four for each in a redeem script with BIP-16', () => {
    expect(cost(pushData(MULTISIG), p2sh(MULTISIG), [])).toBe(8);
    expect(cost(pushData(MULTISIG), p2sh(MULTISIG), [], 0)).toBe(0);
  });

  test('is one for each in a witness with BIP-141', () => {
    expect(cost(NONE, hexToBytes(`0014${'11'.repeat(20)}`), [])).toBe(1);
    expect(cost(NONE, p2wsh(MULTISIG), [NONE, MULTISIG])).toBe(2);
    expect(cost(NONE, p2wsh(MULTISIG), [NONE, MULTISIG], SCRIPT_FLAGS.P2SH)).toBe(0);
  });

  test('includes a witness program in a redeem script', () =>
    expect(cost(pushData(p2wsh(MULTISIG)), p2sh(p2wsh(MULTISIG)), [MULTISIG])).toBe(2));

  test('is zero for taproot, which has a budget instead', () =>
    expect(cost(NONE, hexToBytes(`5120${'11'.repeat(32)}`), [MULTISIG, NONE])).toBe(0));

  test('of a coinbase ignores its input', () => {
    const coinbase = txOf({ inputs: [coinbaseInput({ scriptSig: hexToBytes('acac') })] });
    expect(txSigopCost(coinbase, [], ALL)).toBe(8);
  });

  test('is four for each in the scripts of the transaction', () =>
    expect(cost(hexToBytes('ac'), hexToBytes('51'), [])).toBe(4));
});
